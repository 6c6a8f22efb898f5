/* Launching kernels on views of a device's own memory, without Python's own work in between and without waiting.

   Its twin in Python is runtime/memory.py's Resident with runtime/executable.py, which also tells OpenCL's errors. Like
   _native.c it knows no OpenCL header and links no OpenCL library. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

typedef int (*SetArgument)(void *kernel, unsigned index, size_t size, const void *value);
typedef int (*Enqueue)(void *queue, void *kernel, unsigned dimensions, const size_t *offset, const size_t *global_size,
                       const size_t *local_size, unsigned waits, void *const *wait_list, void **event);

typedef struct {
    void *kernel;
    size_t global_size, local_size;
} Launch;

typedef struct { /* argument `index` of a launch's kernel is the buffer of array `slot`, or the offset in it */
    Py_ssize_t launch, slot;
    unsigned index;
    int is_offset;
    npy_int64 last; /* the offset set at the launch before */
} Binding;

typedef struct { /* where an array is */
    void *buffer;
    npy_int64 offset;
} Place;

typedef struct {
    PyObject_HEAD
    SetArgument set_argument;
    Enqueue enqueue;
    void *queue;
    PyObject *lease; /* the type of views' last base */
    Py_ssize_t arrays, launches, bindings;
    int offsets_set; /* whether all offsets are what `last` says */
    Py_ssize_t *lows; /* of each array: bytes from its first element to the lowest */
    Place *places;
    Launch *launch;
    Binding *binding;
} Enqueuer;

static PyObject *handle_name, *base_name;

static void
enqueuer_dealloc(Enqueuer *self)
{
    PyMem_Free(self->lows);
    PyMem_Free(self->places);
    PyMem_Free(self->launch);
    PyMem_Free(self->binding);
    Py_XDECREF(self->lease);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static int
read_launches(Enqueuer *self, PyObject *lows, PyObject *launches, PyObject *bindings)
{
    for (Py_ssize_t n = 0; n < self->arrays; ++n) {
        self->lows[n] = PyLong_AsSsize_t(PyTuple_GET_ITEM(lows, n));
        if (PyErr_Occurred())
            return -1;
    }
    for (Py_ssize_t n = 0; n < self->launches; ++n) {
        unsigned long long kernel;
        Py_ssize_t global_size, local_size;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(launches, n), "Knn", &kernel, &global_size, &local_size))
            return -1;
        self->launch[n] = (Launch){(void *)(uintptr_t)kernel, (size_t)global_size, (size_t)local_size};
    }
    for (Py_ssize_t n = 0; n < self->bindings; ++n) {
        Binding *b = &self->binding[n];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(bindings, n), "nInp", &b->launch, &b->index, &b->slot, &b->is_offset))
            return -1;
        if (b->launch < 0 || b->launch >= self->launches || b->slot < 0 || b->slot >= self->arrays) {
            PyErr_SetString(PyExc_ValueError, "Enqueuer: bindings name a launch or an array that is not there");
            return -1;
        }
    }
    return 0;
}

static PyObject *
enqueuer_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    unsigned long long functions[2], queue;
    PyObject *lease, *lows, *launches, *bindings;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Enqueuer takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "(KK)KO!O!O!O!:Enqueuer", &functions[0], &functions[1], &queue, &PyType_Type,
                          &lease, &PyTuple_Type, &lows, &PyTuple_Type, &launches, &PyTuple_Type, &bindings))
        return NULL;
    Enqueuer *self = (Enqueuer *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->set_argument = (SetArgument)(uintptr_t)functions[0];
    self->enqueue = (Enqueue)(uintptr_t)functions[1];
    self->queue = (void *)(uintptr_t)queue;
    self->lease = Py_NewRef(lease);
    self->arrays = PyTuple_GET_SIZE(lows);
    self->launches = PyTuple_GET_SIZE(launches);
    self->bindings = PyTuple_GET_SIZE(bindings);
    self->lows = PyMem_Calloc(self->arrays, sizeof *self->lows);
    self->places = PyMem_Calloc(self->arrays, sizeof *self->places);
    self->launch = PyMem_Calloc(self->launches, sizeof *self->launch);
    self->binding = PyMem_Calloc(self->bindings, sizeof *self->binding);
    if (!self->lows || !self->places || !self->launch || !self->binding)
        PyErr_NoMemory();
    else if (read_launches(self, lows, launches, bindings) == 0)
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

/* Read the address of an OpenCL object from an attribute. */
static void *
handle_of(PyObject *owner)
{
    PyObject *number = PyObject_GetAttr(owner, handle_name);
    if (number == NULL)
        return NULL;
    void *handle = PyLong_AsVoidPtr(number);
    Py_DECREF(number);
    return handle;
}

/* Find a view's lease: its base, or its base's, …; a borrowed reference, since the view holds it. */
static PyObject *
lease_of(Enqueuer *self, PyObject *view)
{
    PyObject *base = view;
    while (base != NULL && (PyObject *)Py_TYPE(base) != self->lease) {
        if (PyArray_Check(base))
            base = PyArray_BASE((PyArrayObject *)base);
        else {
            base = PyObject_GetAttr(base, base_name); /* of what NumPy puts between arrays */
            Py_XDECREF(base);
        }
    }
    if (base == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "an array is no view of a device's own memory");
    return base;
}

/* Say where views from `slot` on are, and give the slot after them; -1 for an error. */
static Py_ssize_t
find_places(Enqueuer *self, PyObject *views, Py_ssize_t slot)
{
    if (!PyTuple_Check(views) && !PyList_Check(views)) {
        PyErr_SetString(PyExc_TypeError, "views must come in a tuple or a list");
        return -1;
    }
    Py_ssize_t end = slot + PySequence_Fast_GET_SIZE(views);
    for (Py_ssize_t n = slot; n < end; ++n) {
        PyObject *view = PySequence_Fast_GET_ITEM(views, n - slot);
        if (n >= self->arrays || !PyArray_Check(view)) {
            PyErr_SetString(PyExc_TypeError, "views are not as many as in the plan, or no arrays");
            return -1;
        }
        PyObject *lease = lease_of(self, view);
        if (lease == NULL || (self->places[n].buffer = handle_of(lease)) == NULL)
            return -1;
        self->places[n].offset =
            PyArray_BYTES((PyArrayObject *)view) - PyArray_BYTES((PyArrayObject *)lease) + self->lows[n];
    }
    return end;
}

PyDoc_STRVAR(enqueue_doc,
"enqueue(inputs, outputs, blocks, with_event)\n--\n\n"
"Enqueue all kernels on views and on blocks for temporaries. Gives the last one's event, 0 where none is wanted; None if\n"
"OpenCL refused something.");

static PyObject *
enqueuer_enqueue(Enqueuer *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 4 || !PyTuple_Check(arguments[2])) {
        PyErr_SetString(PyExc_TypeError, "enqueue: takes inputs, outputs, a tuple of blocks and whether to give an event");
        return NULL;
    }
    Py_ssize_t filled = find_places(self, arguments[0], 0);
    if (filled >= 0)
        filled = find_places(self, arguments[1], filled);
    if (filled < 0)
        return NULL;
    Py_ssize_t blocks = PyTuple_GET_SIZE(arguments[2]);
    if (filled + blocks != self->arrays) {
        PyErr_SetString(PyExc_TypeError, "views and blocks are not as many as in the plan");
        return NULL;
    }
    for (Py_ssize_t n = 0; n < blocks; ++n) {
        void *buffer = handle_of(PyTuple_GET_ITEM(arguments[2], n));
        if (buffer == NULL)
            return NULL;
        self->places[filled + n] = (Place){buffer, 0};
    }
    int error = 0, with_event = arguments[3] == Py_True;
    void *event = NULL;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t n = 0; n < self->bindings && error == 0; ++n) {
        Binding *b = &self->binding[n];
        Place *at = &self->places[b->slot];
        if (!b->is_offset)
            error = self->set_argument(self->launch[b->launch].kernel, b->index, sizeof at->buffer, &at->buffer);
        else if (b->last != at->offset || !self->offsets_set) {
            error = self->set_argument(self->launch[b->launch].kernel, b->index, sizeof at->offset, &at->offset);
            b->last = at->offset;
        }
    }
    for (Py_ssize_t n = 0; n < self->launches && error == 0; ++n) {
        Launch *l = &self->launch[n];
        void **last = with_event && n == self->launches - 1 ? &event : NULL;
        error = self->enqueue(self->queue, l->kernel, 1, NULL, &l->global_size, &l->local_size, 0, NULL, last);
    }
    Py_END_ALLOW_THREADS
    self->offsets_set = error == 0;
    return error == 0 ? PyLong_FromVoidPtr(event) : Py_NewRef(Py_None);
}

PyDoc_STRVAR(enqueuer_doc,
"Enqueuer(functions, queue, lease, lows, launches, bindings)\n--\n\n"
"Kernels ready to be launched on views of a device's own memory; one call at a time. All it is given must outlive it.\n\n"
"functions: addresses of clSetKernelArg, clEnqueueNDRangeKernel. queue: the command queue's address. lease: the type of\n"
"views' last base; like a block it has an attribute `handle`, its buffer's address. lows: of each view and block the\n"
"bytes from its first element to the lowest. launches: (kernel's address, global size, local size) each. bindings:\n"
"(launch, argument's index, view or block, whether it is its offset) each.");

static PyMethodDef enqueuer_methods[] = {
    {"enqueue", (PyCFunction)(void (*)(void))enqueuer_enqueue, METH_FASTCALL, enqueue_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot enqueuer_slots[] = {
    {Py_tp_doc, (void *)enqueuer_doc}, {Py_tp_new, enqueuer_new}, {Py_tp_dealloc, enqueuer_dealloc},
    {Py_tp_methods, enqueuer_methods}, {0, NULL},
};

static PyType_Spec enqueuer_spec = {
    .name = "mdhnp._enqueue.Enqueuer",
    .basicsize = sizeof(Enqueuer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = enqueuer_slots,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "mdhnp._enqueue", "Enqueues kernels on views of a device's own memory.", -1, NULL, NULL, NULL,
    NULL, NULL,
};

PyMODINIT_FUNC
PyInit__enqueue(void)
{
    import_array();
    handle_name = PyUnicode_InternFromString("handle");
    base_name = PyUnicode_InternFromString("base");
    PyObject *made = PyModule_Create(&module);
    PyObject *type = PyType_FromSpec(&enqueuer_spec);
    if (handle_name == NULL || base_name == NULL || made == NULL || type == NULL
        || PyModule_AddObjectRef(made, "Enqueuer", type) < 0 || PyModule_AddIntConstant(made, "INTERFACE", 1) < 0)
        Py_CLEAR(made);
    Py_XDECREF(type);
    return made;
}

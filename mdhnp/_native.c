/* What a repeat call does most of the time, without Python's own work in between: finding its entry, launching kernels.

   Both have a twin in Python (calls/store.py, runtime/executable.py), slower by some microseconds, for where this file is not
   compiled and for what is rare: OpenCL's errors, devices with memory of their own. Knows no OpenCL header and links no OpenCL library:
   the functions are those that pyopencl calls, given as addresses. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

/* Finding an entry */

static PyObject *
numbers(int count, const npy_intp *values)
{
    PyObject *tuple = PyTuple_New(count);
    for (int n = 0; tuple != NULL && n < count; ++n) {
        PyObject *number = PyLong_FromSsize_t(values[n]);
        if (number == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, n, number);
    }
    return tuple;
}

/* Whether an operand is what a key describes: a plain array of native byte order, aligned. */
static int
is_plain(PyObject *operand)
{
    return PyArray_CheckExact(operand) && PyArray_ISALIGNED((PyArrayObject *)operand)
           && PyArray_ISNOTSWAPPED((PyArrayObject *)operand);
}

/* Look up (what, device, mode, shape, strides, type number, shape, ...); NULL for an error, else a new reference. */
static PyObject *
look_up(PyObject *entries, PyObject *what, PyObject *device, PyObject *mode, PyObject *arrays)
{
    Py_ssize_t count = PyTuple_GET_SIZE(arrays);
    PyObject *key = PyTuple_New(3 + 3 * count);
    if (key == NULL)
        return NULL;
    PyTuple_SET_ITEM(key, 0, Py_NewRef(what));
    PyTuple_SET_ITEM(key, 1, Py_NewRef(device));
    PyTuple_SET_ITEM(key, 2, Py_NewRef(mode));
    for (Py_ssize_t n = 0; n < count; ++n) {
        PyArrayObject *array = (PyArrayObject *)PyTuple_GET_ITEM(arrays, n);
        PyObject *shape = numbers(PyArray_NDIM(array), PyArray_DIMS(array));
        PyObject *strides = numbers(PyArray_NDIM(array), PyArray_STRIDES(array));
        PyObject *type = PyLong_FromLong(PyArray_TYPE(array));
        PyTuple_SET_ITEM(key, 3 + 3 * n, shape); /* the key owns them now, also in case of an error */
        PyTuple_SET_ITEM(key, 4 + 3 * n, strides);
        PyTuple_SET_ITEM(key, 5 + 3 * n, type);
        if (shape == NULL || strides == NULL || type == NULL) {
            Py_DECREF(key);
            return NULL;
        }
    }
    PyObject *found = PyDict_GetItemWithError(entries, key);
    if (found == NULL && !PyErr_Occurred())
        found = Py_None;
    Py_XINCREF(found);
    Py_DECREF(key);
    return found;
}

PyDoc_STRVAR(find_doc,
"find(entries, what, device, mode, operands)\n--\n\n"
"Look up ``(what, device, mode, shape, strides, type number, shape, ...)``.\n\n"
"None where nothing is found, and for operands that are not plain arrays of native byte order, aligned.");

static PyObject *
find(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 5 || !PyDict_Check(arguments[0]) || !PyTuple_Check(arguments[4])) {
        PyErr_SetString(PyExc_TypeError, "find: takes a dict, three parts of a key and a tuple of operands");
        return NULL;
    }
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(arguments[4]); ++n)
        if (!is_plain(PyTuple_GET_ITEM(arguments[4], n)))
            Py_RETURN_NONE;
    return look_up(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);
}

PyDoc_STRVAR(find_views_doc,
"find_views(entries, what, mode, operands, kind)\n--\n\n"
"Look up a call all of whose operands are of the type `kind`, with attributes `_view` and `device`.\n\n"
"Gives what is found, the operands' views and their device, the attribute `key` of which is part of the key; None where\n"
"nothing is found, and for other operands, or such on several devices.");

static PyObject *
find_views(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    static PyObject *view_name, *device_name, *key_name;
    if (count != 5 || !PyDict_Check(arguments[0]) || !PyTuple_Check(arguments[3])) {
        PyErr_SetString(PyExc_TypeError, "find_views: takes a dict, two parts of a key, a tuple of operands and a type");
        return NULL;
    }
    if (view_name == NULL) {
        view_name = PyUnicode_InternFromString("_view");
        device_name = PyUnicode_InternFromString("device");
        key_name = PyUnicode_InternFromString("key");
    }
    PyObject *operands = arguments[3], *device = NULL, *key = NULL, *found = NULL, *result = NULL;
    Py_ssize_t arrays = PyTuple_GET_SIZE(operands);
    PyObject *views = PyTuple_New(arrays);
    if (views == NULL)
        return NULL;
    for (Py_ssize_t n = 0; n < arrays; ++n) {
        PyObject *operand = PyTuple_GET_ITEM(operands, n);
        if ((PyObject *)Py_TYPE(operand) != arguments[4])
            goto nothing;
        PyObject *view = PyObject_GetAttr(operand, view_name), *where = PyObject_GetAttr(operand, device_name);
        if (view == NULL || where == NULL || !is_plain(view) || (device != NULL && device != where)) {
            Py_XDECREF(view);
            Py_XDECREF(where);
            goto nothing;
        }
        PyTuple_SET_ITEM(views, n, view);
        Py_XSETREF(device, where);
    }
    if (device == NULL || (key = PyObject_GetAttr(device, key_name)) == NULL)
        goto nothing;
    found = look_up(arguments[0], arguments[1], key, arguments[2], views);
    if (found != NULL && found != Py_None)
        result = PyTuple_Pack(3, found, views, device);
nothing:
    Py_DECREF(views);
    Py_XDECREF(device);
    Py_XDECREF(key);
    Py_XDECREF(found);
    return result == NULL && !PyErr_Occurred() ? Py_NewRef(Py_None) : result;
}

/* Launching kernels */

typedef int (*SetPointer)(void *kernel, unsigned index, const void *address);
typedef int (*Enqueue)(void *queue, void *kernel, unsigned dimensions, const size_t *offset, const size_t *global_size,
                       const size_t *local_size, unsigned waits, void *const *wait_list, void **event);
typedef int (*WaitFor)(unsigned count, void *const *events);
typedef int (*Release)(void *event);

typedef struct {
    void *kernel;
    size_t global_size, local_size;
} Launch;

typedef struct { /* argument `index` of a launch's kernel is the address of array `slot` */
    Py_ssize_t launch, slot;
    unsigned index;
} Binding;

typedef struct {
    PyObject_HEAD
    SetPointer set_pointer;
    Enqueue enqueue;
    WaitFor wait_for;
    Release release;
    void *queue;
    Py_ssize_t arrays, launches, bindings;
    Py_ssize_t *lows;    /* of each array: bytes from its first element to the lowest */
    const char **bound;  /* what the kernels' arguments are; NULL where that is not known */
    const char **wanted; /* what this call's arrays need */
    Launch *launch;
    Binding *binding;
} Launcher;

static void
launcher_dealloc(Launcher *self)
{
    PyMem_Free(self->lows);
    PyMem_Free(self->bound);
    PyMem_Free(self->wanted);
    PyMem_Free(self->launch);
    PyMem_Free(self->binding);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *
launcher_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    unsigned long long functions[4], queue;
    PyObject *lows, *launches, *bindings;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Launcher takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "(KKKK)KO!O!O!:Launcher", &functions[0], &functions[1], &functions[2],
                          &functions[3], &queue, &PyTuple_Type, &lows, &PyTuple_Type, &launches, &PyTuple_Type,
                          &bindings))
        return NULL;
    Launcher *self = (Launcher *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->set_pointer = (SetPointer)(uintptr_t)functions[0];
    self->enqueue = (Enqueue)(uintptr_t)functions[1];
    self->wait_for = (WaitFor)(uintptr_t)functions[2];
    self->release = (Release)(uintptr_t)functions[3];
    self->queue = (void *)(uintptr_t)queue;
    self->arrays = PyTuple_GET_SIZE(lows);
    self->launches = PyTuple_GET_SIZE(launches);
    self->bindings = PyTuple_GET_SIZE(bindings);
    self->lows = PyMem_Calloc(self->arrays, sizeof *self->lows);
    self->bound = PyMem_Calloc(self->arrays, sizeof *self->bound);
    self->wanted = PyMem_Calloc(self->arrays, sizeof *self->wanted);
    self->launch = PyMem_Calloc(self->launches, sizeof *self->launch);
    self->binding = PyMem_Calloc(self->bindings, sizeof *self->binding);
    if (!self->lows || !self->bound || !self->wanted || !self->launch || !self->binding) {
        PyErr_NoMemory();
        goto failed;
    }
    for (Py_ssize_t n = 0; n < self->arrays; ++n) {
        self->lows[n] = PyLong_AsSsize_t(PyTuple_GET_ITEM(lows, n));
        if (PyErr_Occurred())
            goto failed;
    }
    for (Py_ssize_t n = 0; n < self->launches; ++n) {
        unsigned long long kernel;
        Py_ssize_t global_size, local_size;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(launches, n), "Knn", &kernel, &global_size, &local_size))
            goto failed;
        self->launch[n] = (Launch){(void *)(uintptr_t)kernel, (size_t)global_size, (size_t)local_size};
    }
    for (Py_ssize_t n = 0; n < self->bindings; ++n) {
        Binding *b = &self->binding[n];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(bindings, n), "nIn", &b->launch, &b->index, &b->slot))
            goto failed;
        if (b->launch < 0 || b->launch >= self->launches || b->slot < 0 || b->slot >= self->arrays) {
            PyErr_SetString(PyExc_ValueError, "Launcher: bindings name a launch or an array that is not there");
            goto failed;
        }
    }
    return (PyObject *)self;
failed:
    Py_DECREF(self);
    return NULL;
}

/* Write the lowest addresses of arrays from `slot` on, and give the slot after them; -1 for an error. */
static Py_ssize_t
addresses(Launcher *self, PyObject *arrays, Py_ssize_t slot)
{
    if (!PyTuple_Check(arrays) && !PyList_Check(arrays)) { /* which hold the arrays while kernels run */
        PyErr_SetString(PyExc_TypeError, "arrays must come in a tuple or a list");
        return -1;
    }
    Py_ssize_t end = slot + PySequence_Fast_GET_SIZE(arrays);
    for (Py_ssize_t n = slot; n < end; ++n) {
        PyObject *array = PySequence_Fast_GET_ITEM(arrays, n - slot);
        if (n >= self->arrays || !PyArray_Check(array)) {
            PyErr_SetString(PyExc_TypeError, "arrays are not as many as in the plan, or no arrays");
            return -1;
        }
        self->wanted[n] = PyArray_BYTES((PyArrayObject *)array) + self->lows[n];
    }
    return end;
}

PyDoc_STRVAR(launch_doc,
"launch(inputs, outputs)\n--\n\n"
"Launch all kernels on arrays' own memory and wait; False if OpenCL refused something or failed.");

static PyObject *
launcher_launch(Launcher *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "launch: takes inputs and outputs");
        return NULL;
    }
    Py_ssize_t filled = addresses(self, arguments[0], 0);
    if (filled >= 0)
        filled = addresses(self, arguments[1], filled);
    if (filled < 0)
        return NULL;
    if (filled != self->arrays) {
        PyErr_SetString(PyExc_TypeError, "arrays are not as many as in the plan");
        return NULL;
    }
    int error = 0;
    void *event = NULL;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t n = 0; n < self->bindings && error == 0; ++n) {
        Binding *b = &self->binding[n];
        if (self->bound[b->slot] != self->wanted[b->slot])
            error = self->set_pointer(self->launch[b->launch].kernel, b->index, self->wanted[b->slot]);
    }
    for (Py_ssize_t n = 0; n < self->launches && error == 0; ++n) {
        Launch *l = &self->launch[n];
        void **last = n == self->launches - 1 ? &event : NULL;
        error = self->enqueue(self->queue, l->kernel, 1, NULL, &l->global_size, &l->local_size, 0, NULL, last);
    }
    if (event != NULL) {
        int failure = self->wait_for(1, &event);
        error = error != 0 ? error : failure;
        self->release(event);
    }
    Py_END_ALLOW_THREADS
    for (Py_ssize_t n = 0; n < self->arrays; ++n)
        self->bound[n] = error == 0 ? self->wanted[n] : NULL;
    return PyBool_FromLong(error == 0);
}

PyDoc_STRVAR(forget_doc,
"forget()\n--\n\n"
"Set all arguments at the next launch: someone else has set the kernels' arguments.");

static PyObject *
launcher_forget(Launcher *self, PyObject *Py_UNUSED(nothing))
{
    for (Py_ssize_t n = 0; n < self->arrays; ++n)
        self->bound[n] = NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(launcher_doc,
"Launcher(functions, queue, lows, launches, bindings)\n--\n\n"
"Kernels ready to be launched on arrays' own memory; one call at a time. All it is given must outlive it.\n\n"
"functions: addresses of clSetKernelArgSVMPointer, clEnqueueNDRangeKernel, clWaitForEvents, clReleaseEvent.\n"
"queue: the command queue's address. lows: of each input, then each output, the bytes from its first element to the\n"
"lowest. launches: (kernel's address, global size, local size) each. bindings: (launch, argument's index, array) each.");

static PyMethodDef launcher_methods[] = {
    {"launch", (PyCFunction)(void (*)(void))launcher_launch, METH_FASTCALL, launch_doc},
    {"forget", (PyCFunction)launcher_forget, METH_NOARGS, forget_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot launcher_slots[] = {
    {Py_tp_doc, (void *)launcher_doc}, {Py_tp_new, launcher_new},  {Py_tp_dealloc, launcher_dealloc},
    {Py_tp_methods, launcher_methods}, {0, NULL},
};

static PyType_Spec launcher_spec = {
    .name = "mdhnp._native.Launcher",
    .basicsize = sizeof(Launcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = launcher_slots,
};

static PyMethodDef functions[] = {
    {"find", (PyCFunction)(void (*)(void))find, METH_FASTCALL, find_doc},
    {"find_views", (PyCFunction)(void (*)(void))find_views, METH_FASTCALL, find_views_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "mdhnp._native", "Finds entries and launches kernels.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    import_array();
    PyObject *made = PyModule_Create(&module);
    PyObject *type = PyType_FromSpec(&launcher_spec);
    if (made == NULL || type == NULL || PyModule_AddObjectRef(made, "Launcher", type) < 0
        || PyModule_AddIntConstant(made, "INTERFACE", 3) < 0) /* see native.py */
        Py_CLEAR(made);
    Py_XDECREF(type);
    return made;
}

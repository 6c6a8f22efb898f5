/* Calls on views of a device's own memory, without Python's own work in between and without waiting: new memory for the
   results, arguments, launches, and a record of who called.

   Its twin in Python is runtime/executable.py with memory.py's Resident and pending.py, which also tells OpenCL's
   errors. */

#define NO_IMPORT_ARRAY
#include "shared.h"

typedef int (*SetArgument)(void *kernel, unsigned index, size_t size, const void *value);

typedef struct { /* argument `index` of a launch's kernel is the buffer of array `slot`, or the offset in it */
    Py_ssize_t launch, slot;
    unsigned index;
    int is_offset;
    npy_int64 last; /* the offset, or the block's serial number, set at the call before */
} Binding;

typedef struct { /* where an array is */
    void *buffer;
    npy_int64 offset, serial; /* no two blocks share a serial number, as two buffers one after the other may an address */
} Place;

typedef struct {
    PyObject_HEAD
    SetArgument set_argument;
    Enqueue enqueue;
    void *queue;
    Py_ssize_t arrays, launches, bindings, each;
    int are_set; /* whether all arguments are what `last` says */
    int distance; /* frames to the caller outside of the package, at the call before */
    Py_ssize_t *lows; /* of each array: bytes from its first element to the lowest */
    Place *places;
    Launch *launch;
    Binding *binding;
    PyObject *outputs, *temporaries, *new_block; /* (home, size, shape, dtype) and (home, size) each; size -> block */
    PyObject *what, *package, *records, *waiting;
    PyObject *last; /* what was last written down */
} Enqueuer;

static void
enqueuer_dealloc(Enqueuer *self)
{
    PyMem_Free(self->lows);
    PyMem_Free(self->places);
    PyMem_Free(self->launch);
    PyMem_Free(self->binding);
    Py_XDECREF(self->outputs);
    Py_XDECREF(self->temporaries);
    Py_XDECREF(self->new_block);
    Py_XDECREF(self->what);
    Py_XDECREF(self->package);
    Py_XDECREF(self->records);
    Py_XDECREF(self->waiting);
    Py_XDECREF(self->last);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* Read the entry `n` of a tuple of tuples. */
static int
entry(PyObject *tuple, Py_ssize_t n, const char *format, ...)
{
    PyObject *found = PyTuple_GET_ITEM(tuple, n);
    if (!PyTuple_Check(found)) {
        PyErr_SetString(PyExc_TypeError, "Enqueuer: what is launched and where is given in tuples of tuples");
        return 0;
    }
    va_list fields;
    va_start(fields, format);
    int read = PyArg_VaParse(found, format, fields);
    va_end(fields);
    return read;
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
        if (!entry(launches, n, "Knn", &kernel, &global_size, &local_size))
            return -1;
        self->launch[n] = (Launch){(void *)(uintptr_t)kernel, (size_t)global_size, (size_t)local_size};
    }
    for (Py_ssize_t n = 0; n < self->bindings; ++n) {
        Binding *b = &self->binding[n];
        if (!entry(bindings, n, "nInp", &b->launch, &b->index, &b->slot, &b->is_offset))
            return -1;
        if (b->launch < 0 || b->launch >= self->launches || b->slot < 0 || b->slot >= self->arrays) {
            PyErr_SetString(PyExc_ValueError, "Enqueuer: bindings name a launch or an array that is not there");
            return -1;
        }
    }
    return 0;
}

/* See that outputs and temporaries say what `new_outputs` and `take` rely on. */
static int
check_memory(Enqueuer *self)
{
    PyObject *home, *size, *shape, *type;
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(self->outputs); ++n)
        if (!entry(self->outputs, n, "O!O!O!O!", &PyList_Type, &home, &PyLong_Type, &size, &PyTuple_Type, &shape,
                   &PyArrayDescr_Type, &type))
            return -1;
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(self->temporaries); ++n)
        if (!entry(self->temporaries, n, "O!O!", &PyList_Type, &home, &PyLong_Type, &size))
            return -1;
    return 0;
}

static PyObject *
enqueuer_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    unsigned long long functions[2], queue;
    PyObject *lows, *launches, *bindings, *outputs, *temporaries, *new_block, *what, *package, *records, *waiting;
    Py_ssize_t each;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Enqueuer takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "(KK)KO!O!O!(O!O!O)(UUO!nO):Enqueuer", &functions[0], &functions[1], &queue,
                          &PyTuple_Type, &lows, &PyTuple_Type, &launches, &PyTuple_Type, &bindings, &PyTuple_Type,
                          &outputs, &PyTuple_Type, &temporaries, &new_block, &what, &package, &PyList_Type, &records,
                          &each, &waiting))
        return NULL;
    Enqueuer *self = (Enqueuer *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->set_argument = (SetArgument)(uintptr_t)functions[0];
    self->enqueue = (Enqueue)(uintptr_t)functions[1];
    self->queue = (void *)(uintptr_t)queue;
    self->arrays = PyTuple_GET_SIZE(lows);
    self->launches = PyTuple_GET_SIZE(launches);
    self->bindings = PyTuple_GET_SIZE(bindings);
    self->each = each;
    self->distance = 1;
    self->lows = PyMem_Calloc(self->arrays, sizeof *self->lows);
    self->places = PyMem_Calloc(self->arrays, sizeof *self->places);
    self->launch = PyMem_Calloc(self->launches, sizeof *self->launch);
    self->binding = PyMem_Calloc(self->bindings, sizeof *self->binding);
    self->outputs = Py_NewRef(outputs);
    self->temporaries = Py_NewRef(temporaries);
    self->new_block = Py_NewRef(new_block);
    self->what = Py_NewRef(what);
    self->package = Py_NewRef(package);
    self->records = Py_NewRef(records);
    self->waiting = Py_NewRef(waiting);
    if (!self->lows || !self->places || !self->launch || !self->binding)
        PyErr_NoMemory();
    else if (check_memory(self) == 0 && read_launches(self, lows, launches, bindings) == 0)
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

/* Take a free block of a size from its home, or have a new one made. */
static PyObject *
take(Enqueuer *self, PyObject *home, PyObject *size)
{
    return PyList_GET_SIZE(home) > 0 ? take_last(home) : PyObject_CallOneArg(self->new_block, size);
}

/* Make views of new memory for the results. */
static PyObject *
new_outputs(Enqueuer *self)
{
    Py_ssize_t count = PyTuple_GET_SIZE(self->outputs);
    PyObject *views = PyTuple_New(count);
    for (Py_ssize_t n = 0; views != NULL && n < count; ++n) {
        PyObject *output = PyTuple_GET_ITEM(self->outputs, n), *home = PyTuple_GET_ITEM(output, 0);
        PyObject *shape = PyTuple_GET_ITEM(output, 2);
        npy_intp sizes[NPY_MAXDIMS];
        int rank = (int)PyTuple_GET_SIZE(shape);
        for (int axis = 0; axis < rank; ++axis)
            sizes[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
        PyObject *view = NULL, *block = PyErr_Occurred() ? NULL : take(self, home, PyTuple_GET_ITEM(output, 1));
        if (block != NULL)
            view = leased_view(block, home, rank, sizes, (PyArray_Descr *)PyTuple_GET_ITEM(output, 3));
        Py_XDECREF(block);
        if (view == NULL)
            Py_CLEAR(views);
        else
            PyTuple_SET_ITEM(views, n, view);
    }
    return views;
}

/* Say where a block's buffer is; -1 for an error. */
static int
find_place(PyObject *block, npy_int64 offset, Place *place)
{
    static Slot handle_slot = {"handle"}, serial_slot = {"serial"};
    PyObject *handle = get_slot(&handle_slot, block), *serial = handle == NULL ? NULL : get_slot(&serial_slot, block);
    if (handle != NULL && serial != NULL)
        *place = (Place){PyLong_AsVoidPtr(handle), offset, PyLong_AsLongLong(serial)};
    Py_XDECREF(handle);
    Py_XDECREF(serial);
    return PyErr_Occurred() ? -1 : 0;
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
        char *start;
        PyObject *block = leased_block(view, &start);
        npy_int64 offset = block == NULL ? 0 : PyArray_BYTES((PyArrayObject *)view) - start + self->lows[n];
        if (block == NULL || find_place(block, offset, &self->places[n]) < 0)
            return -1;
    }
    return end;
}

/* Launch all kernels on what stands in `places`; OpenCL's error, or 0. */
static int
launch(Enqueuer *self, void **event)
{
    int error = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t n = 0; n < self->bindings && error == 0; ++n) {
        Binding *b = &self->binding[n];
        Place *at = &self->places[b->slot];
        npy_int64 wanted = b->is_offset ? at->offset : at->serial;
        if (b->last == wanted && self->are_set)
            continue;
        const void *value = b->is_offset ? (void *)&at->offset : (void *)&at->buffer;
        error = self->set_argument(self->launch[b->launch].kernel, b->index, 8, value);
        b->last = wanted;
    }
    for (Py_ssize_t n = 0; n < self->launches && error == 0; ++n) {
        Launch *l = &self->launch[n];
        void **last = n == self->launches - 1 ? event : NULL;
        error = self->enqueue(self->queue, l->kernel, 1, NULL, &l->global_size, &l->local_size, 0, NULL, last);
    }
    Py_END_ALLOW_THREADS
    self->are_set = error == 0;
    return error;
}

/* Write down what was launched, by whom. */
static int
record(Enqueuer *self, void *event)
{
    PyObject *written = caller_of(self->what, self->package, &self->distance, &self->last), *nothing = NULL;
    if (written == NULL || PyList_Append(self->records, written) < 0)
        PyErr_Clear(); /* an error of these kernels will name others, or none */
    Py_XDECREF(written);
    if (event == NULL)
        return 0;
    nothing = PyObject_CallFunction(self->waiting, "K", (unsigned long long)(uintptr_t)event);
    Py_XDECREF(nothing);
    return nothing == NULL ? -1 : 0;
}

static PyObject *
run(Enqueuer *self, PyObject *inputs, PyObject *given)
{
    PyObject *outputs = given == Py_None ? new_outputs(self) : Py_NewRef(given), *result = NULL;
    Py_ssize_t filled = outputs == NULL ? -1 : find_places(self, inputs, 0);
    if (filled >= 0)
        filled = find_places(self, outputs, filled);
    Py_ssize_t temporaries = PyTuple_GET_SIZE(self->temporaries), taken = 0;
    if (filled >= 0 && filled + temporaries != self->arrays) {
        PyErr_SetString(PyExc_TypeError, "views are not as many as in the plan");
        filled = -1;
    }
    PyObject *blocks = filled < 0 ? NULL : PyTuple_New(temporaries);
    for (; blocks != NULL && taken < temporaries; ++taken) {
        PyObject *wanted = PyTuple_GET_ITEM(self->temporaries, taken);
        PyObject *block = take(self, PyTuple_GET_ITEM(wanted, 0), PyTuple_GET_ITEM(wanted, 1));
        if (block == NULL)
            break;
        PyTuple_SET_ITEM(blocks, taken, block);
        if (find_place(block, 0, &self->places[filled + taken]) < 0) {
            ++taken;
            break;
        }
    }
    if (blocks != NULL && taken == temporaries && !PyErr_Occurred()) {
        void *event = NULL;
        int wanted = PyList_GET_SIZE(self->records) >= self->each - 1;
        if (launch(self, wanted ? &event : NULL) != 0)
            result = Py_NewRef(Py_None);
        else if (record(self, event) == 0)
            result = Py_NewRef(outputs);
    }
    for (Py_ssize_t n = 0; n < taken; ++n) /* what uses them next is behind these kernels */
        bring_home(PyTuple_GET_ITEM(PyTuple_GET_ITEM(self->temporaries, n), 0), PyTuple_GET_ITEM(blocks, n));
    Py_XDECREF(blocks);
    Py_XDECREF(outputs);
    return result;
}

PyObject *
enqueue_for_new(PyObject *enqueuer, PyObject *views)
{
    if (Py_TYPE(enqueuer)->tp_dealloc == (destructor)enqueuer_dealloc)
        return run((Enqueuer *)enqueuer, views, Py_None);
    PyErr_SetString(PyExc_TypeError, "what is to enqueue kernels is no Enqueuer");
    return NULL;
}

PyDoc_STRVAR(run_doc,
"run(inputs, outputs)\n--\n\n"
"Enqueue all kernels on views, and give the outputs: new views, where they are None. None if OpenCL refused something.");

static PyObject *
enqueuer_run(Enqueuer *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count == 2)
        return run(self, arguments[0], arguments[1]);
    PyErr_SetString(PyExc_TypeError, "run: takes inputs and outputs");
    return NULL;
}

PyDoc_STRVAR(forget_doc,
"forget()\n--\n\n"
"Set all arguments at the next run: someone else sets the kernels' arguments.");

static PyObject *
enqueuer_forget(Enqueuer *self, PyObject *Py_UNUSED(nothing))
{
    self->are_set = 0;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(enqueuer_doc,
"Enqueuer(functions, queue, lows, launches, bindings, memory, notes)\n--\n\n"
"Kernels ready to be launched on views of a device's own memory; one call at a time. All it is given must outlive it.\n\n"
"functions: addresses of clSetKernelArg, clEnqueueNDRangeKernel. queue: the command queue's address. lows: of each view\n"
"and temporary the bytes from its first element to the lowest. launches: (kernel's address, global size, local size)\n"
"each. bindings: (launch, argument's index, view or temporary, whether it is its offset) each. memory: of each output\n"
"(list of free blocks, their size, shape, dtype), of each temporary (list of free blocks, their size), and what makes a\n"
"block of a size. notes: what is launched, the package's folder, a list for (what, the caller's code, its instruction),\n"
"how many of them there are for an event, and what takes the event's address.");

static PyMethodDef enqueuer_methods[] = {
    {"run", (PyCFunction)(void (*)(void))enqueuer_run, METH_FASTCALL, run_doc},
    {"forget", (PyCFunction)enqueuer_forget, METH_NOARGS, forget_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot enqueuer_slots[] = {
    {Py_tp_doc, (void *)enqueuer_doc}, {Py_tp_new, enqueuer_new}, {Py_tp_dealloc, enqueuer_dealloc},
    {Py_tp_methods, enqueuer_methods}, {0, NULL},
};

PyType_Spec enqueuer_spec = {
    .name = "mdhnp._native.Enqueuer",
    .basicsize = sizeof(Enqueuer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = enqueuer_slots,
};

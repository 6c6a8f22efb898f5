/* Calls on views of a device's own memory, without Python's own work in between and without waiting: new memory for the
   results, arguments, launches, and a record of who called.

   Its twin in Python is runtime/executable.py with memory.py's Resident and pending.py, which also tells OpenCL's
   errors. */

#define NO_IMPORT_ARRAY
#include "shared.h"

typedef struct {
    Kernels kernels;
    Py_ssize_t each;
    PyObject *given; /* all that follows is a part of it, but `last` */
    PyObject *outputs, *temporaries, *new_block; /* (home, size, shape, dtype) and (home, size) each; size -> block */
    PyObject *what, *package, *records, *waiting;
    PyObject *last; /* what was last written down */
} Enqueuer;

static void
enqueuer_dealloc(Enqueuer *self)
{
    Py_XDECREF(self->given);
    Py_XDECREF(self->last);
    drop_kernels(&self->kernels);
}

/* See that outputs and temporaries say what `new_outputs` and `take` rely on. */
static int
check_memory(Enqueuer *self)
{
    PyObject *home, *size, *shape, *type;
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(self->outputs); ++n)
        if (!read_entry(self->outputs, n, "O!O!O!O!", &PyList_Type, &home, &PyLong_Type, &size, &PyTuple_Type, &shape,
                   &PyArrayDescr_Type, &type))
            return -1;
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(self->temporaries); ++n)
        if (!read_entry(self->temporaries, n, "O!O!", &PyList_Type, &home, &PyLong_Type, &size))
            return -1;
    return 0;
}

static PyObject *
enqueuer_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    unsigned long long functions[2], queue;
    PyObject *lows, *launches, *bindings;
    Enqueuer *self = (Enqueuer *)allocated(type, keywords);
    if (self != NULL
        && PyArg_ParseTuple(arguments, "(KK)KO!O!O!(O!O!O)(UUO!nO):Enqueuer", &functions[0], &functions[1], &queue,
                            &PyTuple_Type, &lows, &PyTuple_Type, &launches, &PyTuple_Type, &bindings, &PyTuple_Type,
                            &self->outputs, &PyTuple_Type, &self->temporaries, &self->new_block, &self->what,
                            &self->package, &PyList_Type, &self->records, &self->each, &self->waiting)) {
        self->given = Py_NewRef(arguments);
        self->kernels.set_argument = (SetArgument)(uintptr_t)functions[0];
        self->kernels.enqueue = (Enqueue)(uintptr_t)functions[1];
        self->kernels.queue = (void *)(uintptr_t)queue;
        if (check_memory(self) == 0 && read_kernels(&self->kernels, lows, launches, bindings) == 0)
            return (PyObject *)self;
    }
    Py_XDECREF(self);
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
find_block(PyObject *block, npy_int64 offset, Place *place)
{
    static Slot handle_slot = {"handle"}, serial_slot = {"serial"};
    PyObject *handle = get_slot(&handle_slot, block), *serial = handle == NULL ? NULL : get_slot(&serial_slot, block);
    if (handle != NULL && serial != NULL) {
        place->buffer = PyLong_AsVoidPtr(handle);
        place->serial = PyLong_AsLongLong(serial);
        place->offset = offset;
    }
    Py_XDECREF(handle);
    Py_XDECREF(serial);
    return PyErr_Occurred() ? -1 : 0;
}

static int
find_view(PyArrayObject *view, Place *place)
{
    char *start;
    PyObject *block = leased_block((PyObject *)view, &start);
    return block == NULL ? -1 : find_block(block, PyArray_BYTES(view) - start + place->low, place);
}

/* Give (what, code, instruction) of the code outside of the package's folder that makes the call, a new reference. */
static PyObject *
caller_of(Enqueuer *self)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    PyObject *code = NULL, *before = self->last;
    while (frame != NULL) {
        Py_XSETREF(code, (PyObject *)PyFrame_GetCode(frame));
        PyObject *file = ((PyCodeObject *)code)->co_filename;
        PyFrameObject *back = PyUnicode_Tailmatch(file, self->package, 0, PY_SSIZE_T_MAX, -1) ? PyFrame_GetBack(frame) : NULL;
        if (back == NULL)
            break;
        Py_SETREF(frame, back);
    }
    if (frame == NULL)
        return NULL;
    int instruction = PyFrame_GetLasti(frame);
    Py_DECREF(frame);
    if (before == NULL || PyTuple_GET_ITEM(before, 1) != code
        || PyLong_AsLong(PyTuple_GET_ITEM(before, 2)) != instruction)
        Py_XSETREF(self->last, Py_BuildValue("OOi", self->what, code, instruction));
    Py_DECREF(code);
    return Py_XNewRef(self->last);
}

/* Write down what was launched, by whom. */
static int
record(Enqueuer *self, void *event)
{
    PyObject *written = caller_of(self), *nothing = NULL;
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
    Py_ssize_t temporaries = PyTuple_GET_SIZE(self->temporaries), taken = 0, filled = -1;
    if (outputs != NULL)
        filled = place_arrays(&self->kernels, inputs, outputs, temporaries, find_view);
    PyObject *blocks = filled < 0 ? NULL : PyTuple_New(temporaries);
    for (; blocks != NULL && taken < temporaries; ++taken) {
        PyObject *wanted = PyTuple_GET_ITEM(self->temporaries, taken);
        PyObject *block = take(self, PyTuple_GET_ITEM(wanted, 0), PyTuple_GET_ITEM(wanted, 1));
        if (block == NULL)
            break;
        PyTuple_SET_ITEM(blocks, taken, block);
        if (find_block(block, 0, &self->kernels.places[filled + taken]) < 0) {
            ++taken;
            break;
        }
    }
    if (blocks != NULL && taken == temporaries && !PyErr_Occurred()) {
        void *event = NULL, **wanted = PyList_GET_SIZE(self->records) >= self->each - 1 ? &event : NULL;
        int error;
        Py_BEGIN_ALLOW_THREADS
        error = launch_all(&self->kernels, wanted);
        Py_END_ALLOW_THREADS
        if (error != 0)
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
    FORGET,
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

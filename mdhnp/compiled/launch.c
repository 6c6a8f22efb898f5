/* Launching kernels: on arrays' own memory, waiting for them (`Launcher`), and what enqueue.c has of that. Its twin in
   Python, for what is rare, too, is runtime/executable.py. */

#define NO_IMPORT_ARRAY
#include "shared.h"

typedef int (*WaitFor)(unsigned count, void *const *events);
typedef int (*Release)(void *event);

int
read_entry(PyObject *tuple, Py_ssize_t n, const char *format, ...)
{
    PyObject *found = PyTuple_GET_ITEM(tuple, n);
    if (!PyTuple_Check(found)) {
        PyErr_SetString(PyExc_TypeError, "what is launched and where is given in tuples of tuples");
        return 0;
    }
    va_list fields;
    va_start(fields, format);
    int read = PyArg_VaParse(found, format, fields);
    va_end(fields);
    return read;
}

int
read_kernels(Kernels *self, PyObject *lows, PyObject *launches, PyObject *bindings)
{
    self->arrays = PyTuple_GET_SIZE(lows);
    self->launches = PyTuple_GET_SIZE(launches);
    self->bindings = PyTuple_GET_SIZE(bindings);
    self->places = PyMem_Calloc(self->arrays, sizeof *self->places);
    self->launch = PyMem_Calloc(self->launches, sizeof *self->launch);
    self->binding = PyMem_Calloc(self->bindings, sizeof *self->binding);
    if (!self->places || !self->launch || !self->binding) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t n = 0; n < self->arrays; ++n) {
        self->places[n].low = PyLong_AsSsize_t(PyTuple_GET_ITEM(lows, n));
        if (PyErr_Occurred())
            return -1;
    }
    for (Py_ssize_t n = 0; n < self->launches; ++n) {
        unsigned long long kernel;
        Py_ssize_t global_size, local_size;
        if (!read_entry(launches, n, "Knn", &kernel, &global_size, &local_size))
            return -1;
        self->launch[n] = (Launch){(void *)(uintptr_t)kernel, (size_t)global_size, (size_t)local_size};
    }
    for (Py_ssize_t n = 0; n < self->bindings; ++n) {
        Binding *b = &self->binding[n];
        if (!read_entry(bindings, n, "nInp", &b->launch, &b->index, &b->slot, &b->is_offset))
            return -1;
        if (b->launch < 0 || b->launch >= self->launches || b->slot < 0 || b->slot >= self->arrays) {
            PyErr_SetString(PyExc_ValueError, "bindings name a launch or an array that is not there");
            return -1;
        }
    }
    return 0;
}

void
drop_kernels(Kernels *self)
{
    PyMem_Free(self->places);
    PyMem_Free(self->launch);
    PyMem_Free(self->binding);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

Py_ssize_t
place_arrays(Kernels *self, PyObject *inputs, PyObject *outputs, Py_ssize_t others, int (*place)(PyArrayObject *, Place *))
{
    PyObject *both[] = {inputs, outputs};
    Py_ssize_t slot = 0;
    for (int side = 0; side < 2; ++side) {
        if (!PyTuple_Check(both[side]) && !PyList_Check(both[side])) { /* which hold the arrays while kernels run */
            PyErr_SetString(PyExc_TypeError, "arrays must come in a tuple or a list");
            return -1;
        }
        Py_ssize_t count = PySequence_Fast_GET_SIZE(both[side]);
        for (Py_ssize_t n = 0; n < count; ++n, ++slot) {
            PyObject *array = PySequence_Fast_GET_ITEM(both[side], n);
            if (slot >= self->arrays || !PyArray_Check(array)) {
                PyErr_SetString(PyExc_TypeError, "arrays are not as many as in the plan, or no arrays");
                return -1;
            }
            if (place((PyArrayObject *)array, &self->places[slot]) < 0)
                return -1;
        }
    }
    if (slot + others == self->arrays)
        return slot;
    PyErr_SetString(PyExc_TypeError, "arrays are not as many as in the plan");
    return -1;
}

int
launch_all(Kernels *self, void **event)
{
    int error = 0;
    for (Py_ssize_t n = 0; n < self->bindings && error == 0; ++n) {
        Binding *b = &self->binding[n];
        Place *at = &self->places[b->slot];
        npy_int64 wanted = b->is_offset ? at->offset : at->serial;
        if (b->last == wanted && self->are_set)
            continue;
        void *kernel = self->launch[b->launch].kernel;
        if (self->set_pointer != NULL)
            error = self->set_pointer(kernel, b->index, at->buffer);
        else
            error = self->set_argument(kernel, b->index, 8, b->is_offset ? (void *)&at->offset : (void *)&at->buffer);
        b->last = wanted;
    }
    for (Py_ssize_t n = 0; n < self->launches && error == 0; ++n) {
        Launch *l = &self->launch[n];
        void **last = n == self->launches - 1 ? event : NULL;
        error = self->enqueue(self->queue, l->kernel, 1, NULL, &l->global_size, &l->local_size, 0, NULL, last);
    }
    self->are_set = error == 0;
    return error;
}

PyObject *
forget(Kernels *self, PyObject *Py_UNUSED(nothing))
{
    self->are_set = 0;
    Py_RETURN_NONE;
}

typedef struct {
    Kernels kernels;
    WaitFor wait_for;
    Release release;
} Launcher;

static PyObject *
launcher_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    unsigned long long functions[4], queue;
    PyObject *lows, *launches, *bindings;
    Launcher *self = (Launcher *)allocated(type, keywords);
    if (self != NULL
        && PyArg_ParseTuple(arguments, "(KKKK)KO!O!O!:Launcher", &functions[0], &functions[1], &functions[2], &functions[3],
                            &queue, &PyTuple_Type, &lows, &PyTuple_Type, &launches, &PyTuple_Type, &bindings)) {
        self->kernels.set_pointer = (SetPointer)(uintptr_t)functions[0];
        self->kernels.enqueue = (Enqueue)(uintptr_t)functions[1];
        self->wait_for = (WaitFor)(uintptr_t)functions[2];
        self->release = (Release)(uintptr_t)functions[3];
        self->kernels.queue = (void *)(uintptr_t)queue;
        if (read_kernels(&self->kernels, lows, launches, bindings) == 0)
            return (PyObject *)self;
    }
    Py_XDECREF(self);
    return NULL;
}

/* The lowest address of an array, by which it is told from others, too. */
static int
find_address(PyArrayObject *array, Place *place)
{
    place->buffer = PyArray_BYTES(array) + place->low;
    place->serial = (npy_int64)(uintptr_t)place->buffer;
    return 0;
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
    if (place_arrays(&self->kernels, arguments[0], arguments[1], 0, find_address) < 0)
        return NULL;
    void *event = NULL;
    Py_BEGIN_ALLOW_THREADS
    launch_all(&self->kernels, &event);
    if (event != NULL) {
        self->kernels.are_set &= self->wait_for(1, &event) == 0;
        self->release(event);
    }
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(self->kernels.are_set);
}

PyDoc_STRVAR(launcher_doc,
"Launcher(functions, queue, lows, launches, bindings)\n--\n\n"
"Kernels ready to be launched on arrays' own memory; one call at a time. All it is given must outlive it.\n\n"
"functions: addresses of clSetKernelArgSVMPointer, clEnqueueNDRangeKernel, clWaitForEvents, clReleaseEvent.\n"
"queue: the command queue's address. lows: of each input, then each output, the bytes from its first element to the\n"
"lowest. launches: (kernel's address, global size, local size) each. bindings: (launch, argument's index, array, false)\n"
"each.");

static PyMethodDef launcher_methods[] = {
    {"launch", (PyCFunction)(void (*)(void))launcher_launch, METH_FASTCALL, launch_doc},
    FORGET,
    {NULL, NULL, 0, NULL},
};

static PyType_Slot launcher_slots[] = {
    {Py_tp_doc, (void *)launcher_doc}, {Py_tp_new, launcher_new},  {Py_tp_dealloc, drop_kernels},
    {Py_tp_methods, launcher_methods}, {0, NULL},
};

PyType_Spec launcher_spec = {
    .name = "mdhnp._native.Launcher",
    .basicsize = sizeof(Launcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = launcher_slots,
};

/* Launching kernels on arrays' own memory. Its twin in Python, for what is rare, too, is runtime/executable.py. */

#define NO_IMPORT_ARRAY
#include "shared.h"

typedef int (*SetPointer)(void *kernel, unsigned index, const void *address);
typedef int (*WaitFor)(unsigned count, void *const *events);
typedef int (*Release)(void *event);

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

PyType_Spec launcher_spec = {
    .name = "mdhnp._native.Launcher",
    .basicsize = sizeof(Launcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = launcher_slots,
};

/* Functions, and operators and methods of Arrays: calls on nothing but Arrays, or nothing but ndarrays, are found again and
   made here, all others are made by the function in Python that each has, which it looks like. */

#define NO_IMPORT_ARRAY
#include "shared.h"
#include <structmember.h>

enum { KINDS = 512 }; /* of calls, of which what is called is kept */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *attributes, *function, *what_of;
    PyObject *entries, *wrap, *config, *block, *observed, *loading;
    PyTypeObject *kind;
    PyObject *whats; /* by the first operand's rank, or the string before it; None: not to be found again */
} Method;

static void
method_dealloc(Method *self)
{
    Py_XDECREF(self->attributes);
    Py_XDECREF(self->function);
    Py_XDECREF(self->what_of);
    Py_XDECREF(self->entries);
    Py_XDECREF(self->wrap);
    Py_XDECREF(self->config);
    Py_XDECREF(self->block);
    Py_XDECREF(self->observed);
    Py_XDECREF(self->loading);
    Py_XDECREF(self->kind);
    Py_XDECREF(self->whats);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* Give the settings of a call where no block changes them and nobody looks on; NULL, without an error, elsewhere. */
static PyObject *
mode_of(Method *self)
{
    static Slot process_slot = {"_process"};
    static PyObject *mode_name, *blocks_name;
    if (mode_name == NULL) {
        mode_name = PyUnicode_InternFromString("mode");
        blocks_name = PyUnicode_InternFromString("blocks");
    }
    PyObject *block = NULL, *process = NULL, *mode = NULL;
    PyObject *blocks = PyDict_GetItemWithError(self->observed, blocks_name);
    if (blocks != NULL && PyLong_Check(blocks) && PyLong_AsLong(blocks) == 0
        && PyContextVar_Get(self->block, Py_None, &block) == 0 && block == Py_None)
        process = get_slot(&process_slot, self->config);
    if (process != NULL && PyDict_Check(process))
        mode = Py_XNewRef(PyDict_GetItemWithError(process, mode_name));
    Py_XDECREF(block);
    Py_XDECREF(process);
    PyErr_Clear();
    return mode;
}

/* Give the devices that calls on ndarrays may use now; NULL, without an error, where there are none. */
static PyObject *
devices_of(Method *self)
{
    static PyObject *devices_name;
    if (devices_name == NULL)
        devices_name = PyUnicode_InternFromString("devices");
    PyObject *devices = PyDict_GetItemWithError(self->loading, devices_name);
    devices = devices == NULL ? NULL : PyObject_CallNoArgs(devices);
    PyErr_Clear();
    return devices;
}

/* Make a call that was made before; NULL, without an error where it was not, or fails: the function says why. */
static PyObject *
repeated(Method *self, PyObject *what, PyObject *const *operands, Py_ssize_t count)
{
    PyObject *mode = mode_of(self), *result = NULL, *devices;
    if (mode != NULL && Py_IS_TYPE(operands[0], self->kind))
        result = repeat_call(self->entries, what, mode, operands, count, self->kind, self->wrap);
    else if (mode != NULL && (devices = devices_of(self)) != NULL) {
        result = repeat_on_host(self->entries, what, devices, mode, operands, count);
        Py_DECREF(devices);
    }
    Py_XDECREF(mode);
    return result;
}

/* What tells one kind of call from others: the string it begins with, or its first operand's rank; NULL, without an error,
   for calls that are not to be found again. */
static PyObject *
kind_of(Method *self, PyObject *const *arguments, Py_ssize_t count, Py_ssize_t *begin)
{
    *begin = count > 0 && PyUnicode_CheckExact(arguments[0]);
    if (count <= *begin)
        return NULL;
    PyObject *first = arguments[*begin];
    if (Py_IS_TYPE(first, self->kind))
        return *begin ? NULL : PyLong_FromLong(rank_of(first));
    if (!PyArray_CheckExact(first))
        return NULL;
    return *begin ? Py_NewRef(arguments[0]) : PyLong_FromLong(PyArray_NDIM((PyArrayObject *)first));
}

/* Keep what is called by calls of a kind; may set an error. */
static void
learn(Method *self, PyObject *kind)
{
    PyObject *what = PyObject_CallOneArg(self->what_of, kind);
    if (what != NULL && PyDict_GET_SIZE(self->whats) >= KINDS)
        PyDict_Clear(self->whats);
    if (what != NULL)
        PyDict_SetItem(self->whats, kind, what);
    Py_XDECREF(what);
}

static PyObject *
method_vectorcall(Method *self, PyObject *const *arguments, size_t flags, PyObject *names)
{
    Py_ssize_t count = PyVectorcall_NARGS(flags), begin;
    PyObject *kind = NULL, *what = NULL, *result = NULL;
    if (names == NULL || PyTuple_GET_SIZE(names) == 0)
        kind = kind_of(self, arguments, count, &begin);
    if (kind != NULL)
        what = PyDict_GetItemWithError(self->whats, kind);
    if (what != NULL && what != Py_None) {
        Py_INCREF(what);
        result = repeated(self, what, arguments + begin, count - begin);
        Py_DECREF(what);
    }
    else if (what == NULL && kind != NULL && !PyErr_Occurred())
        learn(self, kind);
    Py_XDECREF(kind);
    if (result == NULL && !PyErr_Occurred())
        result = PyObject_Vectorcall(self->function, arguments, flags, names);
    return result;
}

static PyObject *
method_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *function, *what_of, *entries, *kind, *wrap, *config, *block, *observed, *loading;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Method takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "OO(O!O!OOOO!O!):Method", &function, &what_of, &PyDict_Type, &entries, &PyType_Type,
                          &kind, &wrap, &config, &block, &PyDict_Type, &observed, &PyDict_Type, &loading))
        return NULL;
    if (!PyContextVar_CheckExact(block)) {
        PyErr_SetString(PyExc_TypeError, "Method: what holds the settings of a block is a ContextVar");
        return NULL;
    }
    Method *self = (Method *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = (vectorcallfunc)method_vectorcall;
    self->function = Py_NewRef(function);
    self->what_of = Py_NewRef(what_of);
    self->entries = Py_NewRef(entries);
    self->kind = (PyTypeObject *)Py_NewRef(kind);
    self->wrap = Py_NewRef(wrap);
    self->config = Py_NewRef(config);
    self->block = Py_NewRef(block);
    self->observed = Py_NewRef(observed);
    self->loading = Py_NewRef(loading);
    self->whats = PyDict_New();
    if (self->whats == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *
method_get(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

PyDoc_STRVAR(method_doc,
"Method(function, what_of, place)\n--\n\n"
"A function, operator or method that calls `function`, or does the same at once where the call was made before.\n\n"
"what_of: gives what is called, as keys have it, by the first operand's rank, or by the string before the operands, or\n"
"None. place: entries, the type of Arrays, what makes these of results on a device, the settings, the ContextVar of\n"
"blocks that change them, the names of the modules `observe` and `loading`, of which `devices` gives those for ndarrays.");

static PyObject *
method_reduce(PyObject *self, PyObject *Py_UNUSED(nothing))
{
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyObject *
method_repr(Method *self)
{
    return PyObject_Repr(self->function);
}

static PyMethodDef method_methods[] = {
    {"__reduce__", method_reduce, METH_NOARGS, PyDoc_STR("Have it pickled by its name, as a function.")},
    {NULL},
};

static PyMemberDef method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Method, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(Method, attributes), READONLY, NULL},
    {NULL},
};

static PyGetSetDef method_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL},
};

static PyType_Slot method_slots[] = {
    {Py_tp_doc, (void *)method_doc},  {Py_tp_new, method_new},         {Py_tp_dealloc, method_dealloc},
    {Py_tp_call, PyVectorcall_Call},  {Py_tp_descr_get, method_get},   {Py_tp_members, method_members},
    {Py_tp_getset, method_getset},    {Py_tp_methods, method_methods}, {Py_tp_repr, method_repr},
    {0, NULL},
};

PyType_Spec method_spec = {
    .name = "mdhnp._native.Method",
    .basicsize = sizeof(Method),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = method_slots,
};

/* Operators and methods of Arrays: calls on nothing but Arrays are found again and made here, all others are made by the
   function in Python that each has, which it looks like. */

#define NO_IMPORT_ARRAY
#include "shared.h"
#include <structmember.h>

enum { RANKS = 8 }; /* of the first operand, below which what is called is kept */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *attributes, *function, *what_of;
    PyObject *entries, *wrap, *config, *block, *observed;
    PyTypeObject *kind;
    PyObject *whats[RANKS]; /* by rank; None: not to be found again */
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
    Py_XDECREF(self->kind);
    for (int rank = 0; rank < RANKS; ++rank)
        Py_XDECREF(self->whats[rank]);
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

/* Make a call that was made before; NULL, without an error where it was not, or fails: the function says why. */
static PyObject *
repeated(Method *self, PyObject *what, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *mode = mode_of(self);
    PyObject *result = NULL;
    if (mode != NULL)
        result = repeat_call(self->entries, what, mode, arguments, count, self->kind, self->wrap);
    Py_XDECREF(mode);
    return result;
}

static PyObject *
method_vectorcall(Method *self, PyObject *const *arguments, size_t flags, PyObject *names)
{
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    int rank = RANKS;
    if (count > 0 && Py_IS_TYPE(arguments[0], self->kind) && (names == NULL || PyTuple_GET_SIZE(names) == 0))
        rank = rank_of(arguments[0]);
    PyObject *what = rank < RANKS ? self->whats[rank] : Py_None;
    if (what != NULL && what != Py_None) {
        PyObject *result = repeated(self, what, arguments, count);
        if (result != NULL || PyErr_Occurred())
            return result;
    }
    PyObject *result = PyObject_Vectorcall(self->function, arguments, flags, names);
    if (what != NULL || result == NULL || !Py_IS_TYPE(result, self->kind))
        return result;
    PyObject *found = PyObject_CallFunction(self->what_of, "i", rank);
    if (found == NULL)
        Py_CLEAR(result);
    else
        Py_XSETREF(self->whats[rank], found);
    return result;
}

static PyObject *
method_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *function, *what_of, *entries, *kind, *wrap, *config, *block, *observed;
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Method takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "OO(O!O!OOOO!):Method", &function, &what_of, &PyDict_Type, &entries, &PyType_Type,
                          &kind, &wrap, &config, &block, &PyDict_Type, &observed))
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
    return (PyObject *)self;
}

static PyObject *
method_get(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

PyDoc_STRVAR(method_doc,
"Method(function, what_of, place)\n--\n\n"
"An operator or a method that calls `function`, or does the same at once where the call was made before.\n\n"
"what_of: gives what is called, as keys have it, by the first operand's rank, or None. place: entries, the type of\n"
"Arrays, what makes these of results on a device, the settings, the ContextVar of blocks that change them, the names of\n"
"the module `observe`.");

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
    {Py_tp_getset, method_getset},    {0, NULL},
};

PyType_Spec method_spec = {
    .name = "mdhnp._native.Method",
    .basicsize = sizeof(Method),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = method_slots,
};

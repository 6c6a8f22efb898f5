/* Functions, and operators and methods of Arrays: calls on nothing but Arrays, or nothing but ndarrays, beside what has a
   key (given.c), are found again and made here by the recipe of their kind. All others are made by the function in Python
   that each has, which it looks like. Recipes are those of calls/recipes.py. */

#define NO_IMPORT_ARRAY
#include "shared.h"
#include <structmember.h>

enum { KINDS = 512 }; /* of calls of a function, of which recipes are kept */
enum { ROUTINE, READS, VIEWS }; /* as `observe.Kind` has them */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *attributes, *given; /* all that follows is a part of the latter */
    PyObject *function, *learn, *recipes, *entries, *wrap, *config, *block, *observed, *loading, *constant, *parts;
    PyTypeObject *kind;
    int numbers, least;
} Method;

static void
method_dealloc(Method *self)
{
    Py_XDECREF(self->attributes);
    Py_XDECREF(self->given);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static int
is_zero(PyObject *names, PyObject *name)
{
    PyObject *number = PyDict_GetItemWithError(names, name);
    return number != NULL && PyLong_Check(number) && PyLong_AsLong(number) == 0;
}

/* Give the settings of a call where no block changes them and nobody looks on; NULL, without an error, elsewhere. */
static PyObject *
mode_of(Method *self)
{
    static Slot process_slot = {"_process"};
    static PyObject *mode_name, *blocks_name, *learning_name;
    PyObject *block = NULL, *process = NULL, *mode = NULL;
    if (is_zero(self->observed, interned(&blocks_name, "blocks"))
        && is_zero(self->observed, interned(&learning_name, "learning"))
        && PyContextVar_Get(self->block, Py_None, &block) == 0 && block == Py_None)
        process = get_slot(&process_slot, self->config);
    if (process != NULL && PyDict_Check(process))
        mode = Py_XNewRef(PyDict_GetItemWithError(process, interned(&mode_name, "mode")));
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
    PyObject *devices = PyDict_GetItemWithError(self->loading, interned(&devices_name, "devices"));
    devices = devices == NULL ? NULL : PyObject_CallNoArgs(devices);
    PyErr_Clear();
    return devices;
}

/* Whether a device has memory that the host cannot read; -1 for an error. */
static int
is_away(PyObject *device)
{
    static PyObject *name;
    PyObject *found = PyObject_GetAttr(device, interned(&name, "own_memory"));
    int away = found == NULL ? -1 : PyObject_IsTrue(found);
    Py_XDECREF(found);
    return away;
}

/* Give an array of a number, in a type, on the device that there may be. */
static PyObject *
array_of(Method *self, PyObject *number, PyObject *type, PyObject *device)
{
    PyObject *array = PyArray_FromAny(number, (PyArray_Descr *)Py_NewRef(type), 0, 0, 0, NULL);
    int away = array == NULL ? -1 : device == NULL ? 0 : is_away(device);
    if (away != 0)
        Py_XSETREF(array, away < 0 ? NULL : PyObject_CallFunctionObjArgs(self->constant, array, device, NULL));
    return array;
}

/* Give one operand of what is called: a view of what was given, the array of a number, or a constant; NULL, maybe without
   an error, where that is not what kernels can address. */
static PyObject *
operand_of(Method *self, PyObject *source, const Given *given, PyObject *device)
{
    if (PyTuple_CheckExact(source) && PyTuple_GET_SIZE(source) == 1)
        return Py_NewRef(PyTuple_GET_ITEM(source, 0));
    PyObject *type = PyTuple_CheckExact(source) ? PyTuple_GET_ITEM(source, 1) : NULL;
    Py_ssize_t n = PyLong_AsSsize_t(type == NULL ? source : PyTuple_GET_ITEM(source, 0));
    if (n < 0 || n >= given->count)
        return NULL;
    if (type != NULL)
        return array_of(self, given->operands[n], type, device);
    PyObject *view = given->views[n];
    return view != NULL && is_plain(view) ? Py_NewRef(view) : NULL;
}

/* Give all operands; NULL, maybe without an error, where there is none. */
static PyObject *
operands_of(Method *self, PyObject *sources, const Given *given, PyObject *device)
{
    Py_ssize_t count = PyTuple_GET_SIZE(sources);
    PyObject *operands = PyTuple_New(count);
    for (Py_ssize_t n = 0; operands != NULL && n < count; ++n) {
        PyObject *operand = operand_of(self, PyTuple_GET_ITEM(sources, n), given, device);
        if (operand != NULL)
            PyTuple_SET_ITEM(operands, n, operand);
        else
            Py_CLEAR(operands);
    }
    return operands;
}

/* Make a call of a function of views of Arrays; NULL, maybe without an error, where it cannot read them. */
static PyObject *
on_views(Method *self, PyObject *function, int reads, PyObject *operands, PyObject *device)
{
    PyObject *const *items = &PyTuple_GET_ITEM(operands, 0);
    if (reads && is_away(device) != 0)
        return NULL;
    PyObject *results = PyObject_Vectorcall(function, items, PyTuple_GET_SIZE(operands), NULL);
    return as_arrays(results, self->kind, device, self->wrap);
}

/* Make a call by a recipe (what is called, of which kind that is, where operands are from); NULL, without an error where
   it was not made before, or fails: the function says why. */
static PyObject *
repeated(Method *self, PyObject *recipe, const Given *given)
{
    PyObject *what = PyTuple_GET_ITEM(recipe, 0), *mode = mode_of(self), *result = NULL, *devices;
    long kind = PyLong_AsLong(PyTuple_GET_ITEM(recipe, 1));
    PyObject *device = given->device, *operands = NULL;
    if (mode != NULL)
        operands = operands_of(self, PyTuple_GET_ITEM(recipe, 2), given, device);
    if (operands == NULL)
        ;
    else if (kind != ROUTINE)
        result = device == NULL ? NULL : on_views(self, what, kind == READS, operands, device);
    else if (device != NULL)
        result = repeat_call(self->entries, what, mode, operands, device, self->kind, self->wrap);
    else if ((devices = devices_of(self)) != NULL) {
        result = repeat_on_host(self->entries, what, devices, mode, operands);
        Py_DECREF(devices);
    }
    if (result == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    Py_XDECREF(operands);
    Py_XDECREF(mode);
    return result;
}

/* Make the second call of a kind, from which others are learned. */
static PyObject *
learned(Method *self, PyObject *key, const Given *given, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *operands = PyTuple_New(given->count), *result = NULL;
    for (Py_ssize_t n = 0; operands != NULL && n < given->count; ++n)
        PyTuple_SET_ITEM(operands, n, Py_NewRef(given->operands[n]));
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyObject **all = operands == NULL ? NULL : PyMem_New(PyObject *, 3 + count + named);
    if (all != NULL) {
        all[0] = self->recipes;
        all[1] = key;
        all[2] = operands;
        for (Py_ssize_t n = 0; n < count + named; ++n)
            all[3 + n] = arguments[n];
        result = PyObject_Vectorcall(self->learn, all, 3 + count, names);
        PyMem_Free(all);
    }
    Py_XDECREF(operands);
    return result;
}

static PyObject *
method_vectorcall(Method *self, PyObject *const *arguments, size_t flags, PyObject *names)
{
    Given given;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    PyObject *key = key_of_given(&given, arguments, count, names, self->kind, self->parts, self->numbers, self->least);
    PyObject *recipe = key == NULL ? NULL : PyDict_GetItemWithError(self->recipes, key), *result = NULL;
    if (key != NULL && recipe == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) { /* something given has no hash */
        PyErr_Clear();
        Py_CLEAR(key);
    }
    if (recipe != NULL && PyTuple_CheckExact(recipe)) {
        Py_INCREF(recipe);
        result = repeated(self, recipe, &given);
        Py_DECREF(recipe);
    }
    else if (recipe == NULL && key != NULL && !PyErr_Occurred()) {
        if (PyDict_GET_SIZE(self->recipes) >= KINDS)
            PyDict_Clear(self->recipes);
        PyDict_SetItem(self->recipes, key, Py_False);
    }
    else if (recipe == Py_False)
        result = learned(self, key, &given, arguments, count, names);
    Py_XDECREF(key);
    Py_XDECREF(given.parts);
    if (result == NULL && !PyErr_Occurred())
        result = PyObject_Vectorcall(self->function, arguments, flags, names);
    return result;
}

static PyObject *
method_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    Method *self = (Method *)allocated(type, keywords);
    if (self != NULL
        && PyArg_ParseTuple(arguments, "OOO!pi(O!O!OOOO!O!OO!):Method", &self->function, &self->learn, &PyDict_Type,
                            &self->recipes, &self->numbers, &self->least, &PyDict_Type, &self->entries, &PyType_Type,
                            &self->kind, &self->wrap, &self->config, &self->block, &PyDict_Type, &self->observed,
                            &PyDict_Type, &self->loading, &self->constant, &PyDict_Type, &self->parts)) {
        self->given = Py_NewRef(arguments);
        self->vectorcall = (vectorcallfunc)method_vectorcall;
        if (PyContextVar_CheckExact(self->block))
            return (PyObject *)self;
        PyErr_SetString(PyExc_TypeError, "Method: what holds the settings of a block is a ContextVar");
    }
    Py_XDECREF(self);
    return NULL;
}

static PyObject *
method_get(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

PyDoc_STRVAR(method_doc,
"Method(function, learn, recipes, numbers, least, place)\n--\n\n"
"A function, operator or method that calls `function`, or does the same at once where such a call was made before.\n\n"
"learn: makes the second call of a kind, given `recipes`, the kind, arrays and numbers among the arguments, and these.\n"
"recipes: by kinds of calls (what is called, the `observe.Kind` of that, where each operand is from), or None for\n"
"those that are not to be found again.\n"
"numbers: whether they are operands, whatever they are, and not part of a kind. least: how many arrays calls are given\n"
"that are found again. place: entries, the type of Arrays, what makes these of results on a device, the settings, the\n"
"ContextVar of blocks that change them, the names of the modules `observe` and `loading`, of which `devices` gives those\n"
"for ndarrays, what brings a number to a device, and names of attributes by types of what is made of these.");

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

/* Finding the entry of a call that was made before. Its twin in Python is calls/store.py. */

#define NO_IMPORT_ARRAY
#include "shared.h"

/* Of Arrays. */
static Slot view_slot = {"_view"}, device_slot = {"device"}, copy_slot = {"_copy"};

int
is_plain(PyObject *operand)
{
    return PyArray_CheckExact(operand) && PyArray_ISALIGNED((PyArrayObject *)operand)
           && PyArray_ISNOTSWAPPED((PyArrayObject *)operand);
}

/* Write down what of some arrays is part of a key, as calls/store.py does: 8 bytes each number. */
static PyObject *
layouts_of(PyObject *arrays)
{
    Py_ssize_t count = PyTuple_GET_SIZE(arrays), numbers = 0;
    for (Py_ssize_t n = 0; n < count; ++n)
        numbers += 2 + 2 * PyArray_NDIM((PyArrayObject *)PyTuple_GET_ITEM(arrays, n));
    PyObject *layouts = PyBytes_FromStringAndSize(NULL, numbers * (Py_ssize_t)sizeof(npy_int64));
    npy_int64 *next = layouts == NULL ? NULL : (npy_int64 *)PyBytes_AS_STRING(layouts);
    for (Py_ssize_t n = 0; next != NULL && n < count; ++n) {
        PyArrayObject *array = (PyArrayObject *)PyTuple_GET_ITEM(arrays, n);
        int rank = PyArray_NDIM(array);
        *next++ = PyArray_TYPE(array);
        *next++ = rank;
        for (int axis = 0; axis < rank; ++axis) {
            *next++ = PyArray_DIM(array, axis);
            *next++ = PyArray_STRIDE(array, axis);
        }
    }
    return layouts;
}

/* Look up (what, device, mode, layouts); NULL for an error, else a new reference. */
static PyObject *
look_up(PyObject *entries, PyObject *what, PyObject *device, PyObject *mode, PyObject *arrays)
{
    PyObject *layouts = layouts_of(arrays), *key = layouts == NULL ? NULL : PyTuple_Pack(4, what, device, mode, layouts);
    Py_XDECREF(layouts);
    if (key == NULL)
        return NULL;
    PyObject *found = PyDict_GetItemWithError(entries, key);
    if (found == NULL && !PyErr_Occurred())
        found = Py_None;
    Py_XINCREF(found);
    Py_DECREF(key);
    return found;
}

PyDoc_STRVAR(find_doc,
"find(entries, what, device, mode, operands)\n--\n\n"
"Look up ``(what, device, mode, layouts)``.\n\n"
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

/* An entry that was found, and what it is to be run on. */
typedef struct {
    PyObject *entry, *views, *device;
} Found;

static void
drop(Found *found)
{
    Py_CLEAR(found->entry);
    Py_CLEAR(found->views);
    Py_CLEAR(found->device);
}

/* Look up a call all of whose operands are of a type; 0 where there is none, or for an error. */
static int
look_up_views(PyObject *entries, PyObject *what, PyObject *mode, PyObject *operands, PyTypeObject *kind, Found *found)
{
    static PyObject *key_name;
    Py_ssize_t count = PyTuple_GET_SIZE(operands);
    PyObject *key = NULL;
    *found = (Found){NULL, PyTuple_New(count), NULL};
    for (Py_ssize_t n = 0; found->views != NULL && n < count; ++n) {
        PyObject *operand = PyTuple_GET_ITEM(operands, n);
        if (!Py_IS_TYPE(operand, kind))
            goto nothing;
        PyObject *view = get_slot(&view_slot, operand), *where = view == NULL ? NULL : get_slot(&device_slot, operand);
        if (view == NULL || where == NULL || !is_plain(view) || (found->device != NULL && found->device != where)) {
            Py_XDECREF(view);
            Py_XDECREF(where);
            goto nothing;
        }
        PyTuple_SET_ITEM(found->views, n, view);
        Py_XSETREF(found->device, where);
    }
    if (found->views == NULL || found->device == NULL
        || (key = PyObject_GetAttr(found->device, interned(&key_name, "key"))) == NULL)
        goto nothing;
    found->entry = look_up(entries, what, key, mode, found->views);
    Py_DECREF(key);
    if (found->entry != NULL && found->entry != Py_None)
        return 1;
nothing:
    drop(found);
    return 0;
}

/* Count a call of an entry; 0 if it is one that its watcher is to be told of, which is Python's work. */
static int
is_unseen(PyObject *entry)
{
    static Slot unseen_slot = {"unseen"};
    PyObject *unseen = get_slot(&unseen_slot, entry);
    if (unseen == NULL || !PyLong_Check(unseen)) {
        Py_XDECREF(unseen);
        PyErr_Clear();
        return 1;
    }
    long left = PyLong_AsLong(unseen) - 1;
    PyObject *number = left < 0 ? NULL : PyLong_FromLong(left);
    int counted = number != NULL && set_slot(&unseen_slot, entry, number) == 0;
    Py_XDECREF(number);
    Py_DECREF(unseen);
    return counted;
}

/* Have Python do what an entry's kernels need before them, as looking at indices; NULL for an error. */
static PyObject *
prepared(PyObject *entry, PyObject *views)
{
    static Slot prepare_slot = {"prepare"};
    PyObject *prepare = get_slot(&prepare_slot, entry), *found = NULL;
    if (prepare == NULL || prepare == Py_None) {
        PyErr_Clear();
        found = Py_NewRef(views);
    }
    else if ((found = PyObject_CallOneArg(prepare, views)) != NULL)
        Py_SETREF(found, PySequence_Tuple(found));
    Py_XDECREF(prepare);
    return found;
}

/* Enqueue with a free state of an entry; the views of the results, or NULL, without an error where nothing was done. */
static PyObject *
enqueued(PyObject *entry, PyObject *views)
{
    static Slot free_slot = {"free"}, enqueuer_slot = {"enqueuer"};
    PyObject *states = get_slot(&free_slot, entry), *results = NULL;
    Py_ssize_t last = states != NULL && PyList_CheckExact(states) ? PyList_GET_SIZE(states) - 1 : -1;
    if (last < 0 || !is_unseen(entry)) {
        Py_XDECREF(states);
        PyErr_Clear();
        return NULL;
    }
    PyObject *inputs = prepared(entry, views), *enqueuer = NULL, *state = NULL;
    last = PyList_GET_SIZE(states) - 1; /* which preparing may have changed */
    if (inputs != NULL && last >= 0 && (enqueuer = get_slot(&enqueuer_slot, PyList_GET_ITEM(states, last))) == NULL)
        PyErr_Clear();
    else if (enqueuer != NULL && enqueuer != Py_None && (state = take_last(states)) != NULL) {
        results = enqueue_for_new(enqueuer, inputs);
        if (results != NULL && PyList_Append(states, state) < 0)
            Py_CLEAR(results);
        if (results == Py_None)
            Py_CLEAR(results);
    }
    Py_XDECREF(enqueuer);
    Py_XDECREF(state);
    Py_XDECREF(inputs);
    Py_DECREF(states);
    return results;
}

/* Make an array of a type with attributes `_view`, `device` and `_copy`. */
static PyObject *
wrapped(PyTypeObject *kind, PyObject *view, PyObject *device)
{
    PyObject *made = kind->tp_alloc(kind, 0);
    if (made != NULL
        && (set_slot(&view_slot, made, view) < 0 || set_slot(&device_slot, made, device) < 0
            || set_slot(&copy_slot, made, Py_None) < 0))
        Py_CLEAR(made);
    return made;
}

/* Make a call where all it does is to enqueue kernels: gives the result, or an empty tuple of one that went into the last
   view. NULL, without an error where it has to be made otherwise. */
static PyObject *
enqueue(Found *found, PyTypeObject *kind)
{
    PyObject *results = enqueued(found->entry, found->views);
    if (results == NULL || PyTuple_GET_SIZE(results) == 0)
        return results;
    PyObject *made = wrapped(kind, PyTuple_GET_ITEM(results, 0), found->device);
    Py_DECREF(results);
    return made;
}

int
is_located(PyObject *operand, PyObject **view, PyObject **device)
{
    *view = get_slot(&view_slot, operand);
    *device = *view == NULL ? NULL : get_slot(&device_slot, operand);
    if (*device != NULL && PyArray_CheckExact(*view))
        return 1;
    Py_CLEAR(*view);
    Py_CLEAR(*device);
    PyErr_Clear();
    return 0;
}

/* Give an ndarray, or a scalar of NumPy's, as an Array; NULL, maybe without an error, for what is neither. */
static PyObject *
as_array(PyObject *result, PyTypeObject *kind, PyObject *device)
{
    if (PyArray_CheckExact(result))
        return wrapped(kind, result, device);
    PyObject *view = PyArray_CheckScalar(result) && !PyArray_Check(result) ? PyArray_FromScalar(result, NULL) : NULL;
    PyObject *made = view == NULL ? NULL : wrapped(kind, view, device);
    Py_XDECREF(view);
    return made;
}

/* Give a tuple of results as one of Arrays, with the names that it may have; NULL, maybe without an error, for others. */
static PyObject *
as_tuple(PyObject *results, PyTypeObject *kind, PyObject *device)
{
    Py_ssize_t count = PyTuple_GET_SIZE(results);
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t n = 0; made != NULL && n < count; ++n) {
        PyObject *one = as_array(PyTuple_GET_ITEM(results, n), kind, device);
        if (one == NULL)
            Py_CLEAR(made);
        else
            PyTuple_SET_ITEM(made, n, one);
    }
    if (made == NULL || PyTuple_CheckExact(results) || !PyObject_HasAttrString(results, "_fields"))
        return made;
    PyObject *arguments = PyTuple_Pack(1, made);
    Py_SETREF(made, arguments == NULL ? NULL : PyTuple_Type.tp_new(Py_TYPE(results), arguments, NULL));
    Py_XDECREF(arguments);
    return made;
}

PyObject *
as_arrays(PyObject *results, PyTypeObject *kind, PyObject *device, PyObject *wrap)
{
    PyObject *made = NULL;
    if (results == Py_None)
        return results;
    if (results != NULL)
        made = PyTuple_Check(results) ? as_tuple(results, kind, device) : as_array(results, kind, device);
    if (made == NULL && results != NULL && !PyErr_Occurred())
        made = PyObject_CallFunctionObjArgs(wrap, results, device, NULL);
    if (made == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    Py_XDECREF(results);
    return made;
}

/* Have a function compute, and count that; `host` is the function, and a list of the number, or None. */
static PyObject *
by_function(PyObject *host, PyObject *operands)
{
    PyObject *counts = PyTuple_GET_ITEM(host, 1);
    if (counts != Py_None) {
        PyObject *one = PyLong_FromLong(1), *number = one == NULL ? NULL : PyNumber_Add(PyList_GET_ITEM(counts, 0), one);
        Py_XDECREF(one);
        if (number == NULL || PyList_SetItem(counts, 0, number) < 0)
            return NULL;
    }
    PyObject *const *items = &PyTuple_GET_ITEM(operands, 0);
    return PyObject_Vectorcall(PyTuple_GET_ITEM(host, 0), items, PyTuple_GET_SIZE(operands), NULL);
}

/* Run an entry: by a function where that is all it does, else in Python; NULL for an error. */
static PyObject *
run(PyObject *entry, PyObject *operands)
{
    static Slot host_slot = {"host"};
    static PyObject *run_name;
    PyObject *host = get_slot(&host_slot, entry), *result;
    if (host == NULL)
        return NULL;
    PyObject *counts = PyTuple_Check(host) && PyTuple_GET_SIZE(host) == 2 ? PyTuple_GET_ITEM(host, 1) : NULL;
    int counted = counts != NULL && PyList_Check(counts) && PyList_GET_SIZE(counts) > 0;
    int all = (counted || counts == Py_None) && is_unseen(entry);
    result = all ? by_function(host, operands) : PyObject_CallMethodOneArg(entry, interned(&run_name, "run"), operands);
    Py_DECREF(host);
    return result;
}

PyObject *
repeat_on_host(PyObject *entries, PyObject *what, PyObject *devices, PyObject *mode, PyObject *operands)
{
    PyObject *entry = look_up(entries, what, devices, mode, operands), *result = NULL;
    if (entry != NULL && entry != Py_None)
        result = run(entry, operands);
    if (result != NULL && PyArray_CheckExact(result) && PyArray_ISWRITEABLE((PyArrayObject *)result))
        result = PyArray_Return((PyArrayObject *)result);
    if (result == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    Py_XDECREF(entry);
    return result;
}

PyObject *
repeat_call(PyObject *entries, PyObject *what, PyObject *mode, PyObject *views, PyObject *device, PyTypeObject *kind,
            PyObject *wrap)
{
    static PyObject *key_name;
    PyObject *key = PyObject_GetAttr(device, interned(&key_name, "key")), *made = NULL;
    Found found = {key == NULL ? NULL : look_up(entries, what, key, mode, views), Py_NewRef(views), Py_NewRef(device)};
    Py_XDECREF(key);
    if (found.entry != NULL && found.entry != Py_None) {
        made = enqueue(&found, kind);
        if (made == NULL && !PyErr_Occurred())
            made = as_arrays(run(found.entry, views), kind, device, wrap);
    }
    drop(&found);
    return made;
}

PyDoc_STRVAR(repeat_doc,
"repeat(entries, what, mode, operands, kind)\n--\n\n"
"Look up a call all of whose operands are of the type `kind`, with attributes `_view` and `device`, and make it where all\n"
"it does is to enqueue kernels.\n\n"
"Such an entry has in its attribute `free` a list of what has an `enqueuer`, of a single result or of one that goes into the\n"
"last operand, and in `unseen` how often that may be done before others are to know. Gives the result as one of `kind`,\n"
"or an empty tuple where it went into an operand. Of another entry gives that, the operands' views and their device, the\n"
"attribute `key` of which is part of the key; None where none is found, and for other operands, or such on several devices.");

static PyObject *
repeat(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Found found;
    PyObject *made = NULL;
    if (count != 5 || !PyDict_Check(arguments[0]) || !PyTuple_Check(arguments[3]) || !PyType_Check(arguments[4])) {
        PyErr_SetString(PyExc_TypeError, "repeat: takes a dict, two parts of a key, a tuple of operands and a type");
        return NULL;
    }
    PyTypeObject *kind = (PyTypeObject *)arguments[4];
    if (look_up_views(arguments[0], arguments[1], arguments[2], arguments[3], kind, &found)) {
        made = enqueue(&found, kind);
        if (made == NULL && !PyErr_Occurred())
            made = PyTuple_Pack(3, found.entry, found.views, found.device);
        drop(&found);
    }
    else if (!PyErr_Occurred())
        made = Py_NewRef(Py_None);
    return made;
}

PyMethodDef finders[] = {
    {"find", (PyCFunction)(void (*)(void))find, METH_FASTCALL, find_doc},
    {"repeat", (PyCFunction)(void (*)(void))repeat, METH_FASTCALL, repeat_doc},
    {NULL, NULL, 0, NULL},
};

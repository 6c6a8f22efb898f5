/* Finding the entry of a call that was made before. Its twin in Python is calls/store.py. */

#define NO_IMPORT_ARRAY
#include "shared.h"

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

/* Look up a call all of whose operands are of a type; gives the entry, views and device, or 0 where there is none. */
static int
look_up_views(PyObject *const *arguments, Py_ssize_t count, PyObject **found, PyObject **views, PyObject **device)
{
    static PyObject *view_name, *device_name, *key_name;
    *found = *views = *device = NULL;
    if (count != 5 || !PyDict_Check(arguments[0]) || !PyTuple_Check(arguments[3])) {
        PyErr_SetString(PyExc_TypeError, "takes a dict, two parts of a key, a tuple of operands and a type");
        return 0;
    }
    if (view_name == NULL) {
        view_name = PyUnicode_InternFromString("_view");
        device_name = PyUnicode_InternFromString("device");
        key_name = PyUnicode_InternFromString("key");
    }
    PyObject *operands = arguments[3], *key = NULL;
    Py_ssize_t arrays = PyTuple_GET_SIZE(operands);
    *views = PyTuple_New(arrays);
    for (Py_ssize_t n = 0; *views != NULL && n < arrays; ++n) {
        PyObject *operand = PyTuple_GET_ITEM(operands, n);
        if ((PyObject *)Py_TYPE(operand) != arguments[4])
            goto nothing;
        PyObject *view = PyObject_GetAttr(operand, view_name), *where = PyObject_GetAttr(operand, device_name);
        if (view == NULL || where == NULL || !is_plain(view) || (*device != NULL && *device != where)) {
            Py_XDECREF(view);
            Py_XDECREF(where);
            goto nothing;
        }
        PyTuple_SET_ITEM(*views, n, view);
        Py_XSETREF(*device, where);
    }
    if (*device == NULL || (key = PyObject_GetAttr(*device, key_name)) == NULL)
        goto nothing;
    *found = look_up(arguments[0], arguments[1], key, arguments[2], *views);
    Py_DECREF(key);
    if (*found != NULL && *found != Py_None)
        return 1;
nothing:
    Py_CLEAR(*views);
    Py_CLEAR(*device);
    Py_CLEAR(*found);
    return 0;
}

/* Give all three, no longer ours, or None; NULL for an error. */
static PyObject *
all_three(PyObject *found, PyObject *views, PyObject *device)
{
    if (found == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *result = PyTuple_Pack(3, found, views, device);
    Py_DECREF(found);
    Py_DECREF(views);
    Py_DECREF(device);
    return result;
}

PyDoc_STRVAR(find_views_doc,
"find_views(entries, what, mode, operands, kind)\n--\n\n"
"Look up a call all of whose operands are of the type `kind`, with attributes `_view` and `device`.\n\n"
"Gives what is found, the operands' views and their device, the attribute `key` of which is part of the key; None where\n"
"nothing is found, and for other operands, or such on several devices.");

static PyObject *
find_views(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *found, *views, *device;
    look_up_views(arguments, count, &found, &views, &device);
    return all_three(found, views, device);
}

/* Enqueue with a free state of an entry; the views of the results, or NULL, without an error where nothing was done. */
static PyObject *
enqueued(PyObject *entry, PyObject *views)
{
    static PyObject *free_name, *enqueuer_name, *run_name;
    if (free_name == NULL) {
        free_name = PyUnicode_InternFromString("free");
        enqueuer_name = PyUnicode_InternFromString("enqueuer");
        run_name = PyUnicode_InternFromString("run");
    }
    PyObject *states = PyObject_GetAttr(entry, free_name), *results = NULL;
    Py_ssize_t last = states != NULL && PyList_CheckExact(states) ? PyList_GET_SIZE(states) - 1 : -1;
    if (last < 0) {
        Py_XDECREF(states);
        PyErr_Clear();
        return NULL;
    }
    PyObject *state = Py_NewRef(PyList_GET_ITEM(states, last));
    PyObject *enqueuer = PyObject_GetAttr(state, enqueuer_name);
    if (enqueuer == NULL)
        PyErr_Clear(); /* which `run` is looked up in, too */
    else if (enqueuer != Py_None && PyList_SetSlice(states, last, last + 1, NULL) == 0) {
        results = PyObject_CallMethodObjArgs(enqueuer, run_name, views, Py_None, NULL);
        if (results != NULL && PyList_Append(states, state) < 0)
            Py_CLEAR(results);
        if (results == Py_None)
            Py_CLEAR(results);
    }
    Py_XDECREF(enqueuer);
    Py_DECREF(state);
    Py_DECREF(states);
    return results;
}

/* Make an array of a type with attributes `_view`, `device` and `_copy`. */
static PyObject *
wrapped(PyTypeObject *kind, PyObject *view, PyObject *device)
{
    static PyObject *view_name, *device_name, *copy_name;
    if (view_name == NULL) {
        view_name = PyUnicode_InternFromString("_view");
        device_name = PyUnicode_InternFromString("device");
        copy_name = PyUnicode_InternFromString("_copy");
    }
    PyObject *made = kind->tp_alloc(kind, 0);
    if (made != NULL
        && (PyObject_SetAttr(made, view_name, view) < 0 || PyObject_SetAttr(made, device_name, device) < 0
            || PyObject_SetAttr(made, copy_name, Py_None) < 0))
        Py_CLEAR(made);
    return made;
}

PyDoc_STRVAR(repeat_doc,
"repeat(entries, what, mode, operands, kind)\n--\n\n"
"Look up a call as `find_views` does, and make it where all it does is to enqueue kernels.\n\n"
"Such an entry has in its attribute `free` a list of what has an `enqueuer`, of a single result. Gives that as one of\n"
"`kind`, or what `find_views` gives.");

static PyObject *
repeat(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *found, *views, *device, *result = NULL;
    if (!look_up_views(arguments, count, &found, &views, &device))
        return all_three(found, views, device);
    PyObject *results = enqueued(found, views);
    if (results == NULL && !PyErr_Occurred())
        return all_three(found, views, device);
    if (results != NULL)
        result = wrapped((PyTypeObject *)arguments[4], PyTuple_GET_ITEM(results, 0), device);
    Py_XDECREF(results);
    Py_DECREF(found);
    Py_DECREF(views);
    Py_DECREF(device);
    return result;
}

PyMethodDef finders[] = {
    {"find", (PyCFunction)(void (*)(void))find, METH_FASTCALL, find_doc},
    {"find_views", (PyCFunction)(void (*)(void))find_views, METH_FASTCALL, find_views_doc},
    {"repeat", (PyCFunction)(void (*)(void))repeat, METH_FASTCALL, repeat_doc},
    {NULL, NULL, 0, NULL},
};

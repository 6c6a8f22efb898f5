/* Grouping positions by whole numbers, in as many steps as there are of both. Its twin in Python is in mdh/scatter.py. */

#define NO_IMPORT_ARRAY
#include "shared.h"

/* Whether something is an array along one axis of numbers of a pointer's size, in C order, `length` of them if that is not
   negative. */
static int
is_row(PyObject *operand, npy_intp length)
{
    return PyArray_CheckExact(operand) && PyArray_NDIM((PyArrayObject *)operand) == 1
           && PyArray_TYPE((PyArrayObject *)operand) == NPY_INTP && PyArray_ISCARRAY_RO((PyArrayObject *)operand)
           && (length < 0 || PyArray_DIM((PyArrayObject *)operand, 0) == length);
}

/* Count numbers less than `count`, those less than 0 from the end, and put them in order; false if one is neither. */
static int
counted(const npy_intp *numbers, npy_intp length, npy_intp *order, npy_intp *begin, npy_intp count)
{
    /* begin[g + 1] is where the next number of group g goes; in the end that is where the group's end is. */
    memset(begin, 0, (count + 1) * sizeof(*begin));
    for (npy_intp n = 0; n < length; ++n) {
        npy_intp group = numbers[n] + (numbers[n] < 0 ? count : 0);
        if (group < 0 || group >= count)
            return 0;
        ++begin[group + 1];
    }
    for (npy_intp group = 0, before = 0; group < count; ++group) {
        npy_intp many = begin[group + 1];
        begin[group + 1] = before;
        before += many;
    }
    for (npy_intp n = 0; n < length; ++n) {
        /* Another thread may change numbers meanwhile: nothing is written outside then. */
        npy_intp group = numbers[n] + (numbers[n] < 0 ? count : 0);
        if (group < 0 || group >= count || begin[group + 1] >= length)
            return 0;
        order[begin[group + 1]++] = n;
    }
    return 1;
}

static PyObject *
group(PyObject *module, PyObject *const *operands, Py_ssize_t count)
{
    if (count != 3 || !is_row(operands[0], -1) || !is_row(operands[2], -1) || PyArray_DIM((PyArrayObject *)operands[2], 0) < 1
        || !is_row(operands[1], PyArray_DIM((PyArrayObject *)operands[0], 0))
        || !PyArray_ISWRITEABLE((PyArrayObject *)operands[1]) || !PyArray_ISWRITEABLE((PyArrayObject *)operands[2])) {
        PyErr_SetString(PyExc_TypeError, "group takes numbers, their order, and where groups begin, all of them intp");
        return NULL;
    }
    npy_intp length = PyArray_DIM((PyArrayObject *)operands[0], 0), groups = PyArray_DIM((PyArrayObject *)operands[2], 0) - 1;
    const npy_intp *numbers = PyArray_DATA((PyArrayObject *)operands[0]);
    npy_intp *order = PyArray_DATA((PyArrayObject *)operands[1]), *begin = PyArray_DATA((PyArrayObject *)operands[2]);
    int inside;
    Py_BEGIN_ALLOW_THREADS
    inside = counted(numbers, length, order, begin, groups);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(inside);
}

PyDoc_STRVAR(group_doc,
"group(numbers, order, begin)\n--\n\n"
"Put positions in the order of their numbers, and say where those of each number begin, and the last ones end.\n\n"
"Numbers less than 0 count from the end. False if one is none of a group: then nothing is said.");

PyMethodDef groupers[] = {
    {"group", (PyCFunction)(void (*)(void))group, METH_FASTCALL, group_doc},
    {NULL, NULL, 0, NULL},
};

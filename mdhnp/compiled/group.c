/* Grouping positions by whole numbers, in as many steps as there are of both. Its twin in Python is in mdh/scatter.py.

   Counters that no cache near a core holds would be waited for at each number, and places in the order, too: so many numbers
   are first put into parts by their leading bits, each of which then is counted where its counters and places are near. */

#define NO_IMPORT_ARRAY
#include "shared.h"

enum {
    PARTS = 256,       /* at most: places that are written at by turns */
    NEAR = 1 << 17,    /* groups up to which parts took no less time, on a Xeon with 2 MB of cache a core */
    MANY = 1 << 15,    /* numbers from which on parts take less time */
    POSITION_BITS = 32 /* of a position in a part, beside which the rest of its number is kept */
};

/* Whether something is an array along one axis of numbers of a pointer's size, in C order, `length` of them if that is not
   negative. */
static int
is_row(PyObject *operand, npy_intp length)
{
    return PyArray_CheckExact(operand) && PyArray_NDIM((PyArrayObject *)operand) == 1
           && PyArray_TYPE((PyArrayObject *)operand) == NPY_INTP && PyArray_ISCARRAY_RO((PyArrayObject *)operand)
           && (length < 0 || PyArray_DIM((PyArrayObject *)operand, 0) == length);
}

/* Give a number's group, also one less than 0, which counts from the end; -1 for none. */
static inline npy_intp
group_of(npy_intp number, npy_intp count)
{
    npy_intp group = number + (number < 0 ? count : 0);
    return group < 0 || group >= count ? -1 : group;
}

/* Make counters the numbers of those before them, beginning at `before`. */
static void
summed(npy_intp *counters, npy_intp count, npy_intp before)
{
    for (npy_intp n = 0; n < count; ++n) {
        npy_intp many = counters[n];
        counters[n] = before;
        before += many;
    }
}

/* Count numbers less than `count`, those less than 0 from the end, and put them in order; false if one is neither. */
static int
counted(const npy_intp *numbers, npy_intp length, npy_intp *order, npy_intp *begin, npy_intp count)
{
    /* begin[g + 1] is where the next number of group g goes; in the end that is where the group's end is. */
    memset(begin, 0, (count + 1) * sizeof(*begin));
    for (npy_intp n = 0; n < length; ++n) {
        npy_intp group = group_of(numbers[n], count);
        if (group < 0)
            return 0;
        ++begin[group + 1];
    }
    summed(begin + 1, count, 0);
    for (npy_intp n = 0; n < length; ++n) {
        /* Another thread may change numbers meanwhile: nothing is written outside then. */
        npy_intp group = group_of(numbers[n], count);
        if (group < 0 || begin[group + 1] >= length)
            return 0;
        order[begin[group + 1]++] = n;
    }
    return 1;
}

/* Do the same by parts, each of as many groups, a power of two; `places` has room for all numbers. */
static int
parted(const npy_intp *numbers, npy_intp length, npy_intp *order, npy_intp *begin, npy_intp count, npy_uint64 *places)
{
    npy_intp next[PARTS + 1] = {0}, end[PARTS];
    int shift = 0;
    while ((count - 1) >> shift >= PARTS)
        ++shift;
    npy_intp each = (npy_intp)1 << shift;
    for (npy_intp n = 0; n < length; ++n) {
        npy_intp group = group_of(numbers[n], count);
        if (group < 0)
            return 0;
        ++next[group >> shift];
    }
    summed(next, PARTS + 1, 0);
    memcpy(end, next + 1, sizeof(end));
    for (npy_intp n = 0; n < length; ++n) {
        npy_intp group = group_of(numbers[n], count), part = group >> shift;
        if (group < 0 || next[part] >= end[part]) /* changed meanwhile */
            return 0;
        places[next[part]++] = (npy_uint64)(group & (each - 1)) << POSITION_BITS | (npy_uint64)n;
    }
    begin[0] = 0;
    for (npy_intp part = 0, first = 0, from = 0; first < count; from = end[part++], first += each) {
        npy_intp *counters = begin + first + 1, groups = count - first < each ? count - first : each;
        memset(counters, 0, groups * sizeof(*counters));
        for (npy_intp p = from; p < end[part]; ++p)
            ++counters[places[p] >> POSITION_BITS];
        summed(counters, groups, from);
        for (npy_intp p = from; p < end[part]; ++p)
            order[counters[places[p] >> POSITION_BITS]++] = (npy_intp)(places[p] & (((npy_uint64)1 << POSITION_BITS) - 1));
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
    PyObject *places = NULL; /* an array, as NumPy asks for large pages */
    if (groups > NEAR && length >= MANY && (npy_uint64)length >> POSITION_BITS == 0
        && (places = PyArray_SimpleNew(1, &length, NPY_UINT64)) == NULL)
        return NULL;
    int inside;
    Py_BEGIN_ALLOW_THREADS
    inside = places == NULL ? counted(numbers, length, order, begin, groups)
                            : parted(numbers, length, order, begin, groups, PyArray_DATA((PyArrayObject *)places));
    Py_END_ALLOW_THREADS
    Py_XDECREF(places);
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

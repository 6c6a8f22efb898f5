/* What tells one kind of call from others: how it is written, types and ranks of arrays, and all else that it is given.
   Objects of some types are made of parts, which stand for them. */

#define NO_IMPORT_ARRAY
#include "shared.h"

#include <math.h>

enum { LETTERS = 96, DEPTH = 3 };

typedef struct {
    Given *given;
    char letters[LETTERS]; /* one or more an argument */
    PyObject *values[MOST];
    Py_ssize_t letter_count, value_count;
    PyTypeObject *kind;
    PyObject *parts;
    int numbers;
} Reading;

static int read_one(Reading *reading, PyObject *argument, int depth);

static int
write_down(Reading *reading, int letter)
{
    if (reading->letter_count >= LETTERS)
        return 0;
    reading->letters[reading->letter_count++] = (char)letter;
    return 1;
}

/* Note what is the same in all calls of a kind. */
static int
read_value(Reading *reading, PyObject *value, char letter)
{
    if (reading->value_count >= MOST)
        return 0;
    reading->values[reading->value_count++] = value;
    return write_down(reading, letter);
}

static int
read_operand(Reading *reading, PyObject *operand, PyObject *view)
{
    Given *given = reading->given;
    if (given->count >= MOST)
        return 0;
    given->views[given->count] = view;
    given->operands[given->count++] = operand;
    return 1;
}

static int
read_array(Reading *reading, PyObject *array, PyObject *view, PyObject *device)
{
    Given *given = reading->given;
    if (given->arrays++ > 0 && (given->of != Py_TYPE(array) || given->device != device))
        return 0;
    given->of = Py_TYPE(array);
    given->device = device;
    int type = PyArray_TYPE((PyArrayObject *)view);
    if (!PyTypeNum_ISNUMBER(type) && !PyTypeNum_ISBOOL(type)) /* whose number does not say all, or is no letter */
        return 0;
    for (Py_ssize_t n = 0; n < given->count; ++n) /* given twice, it is not told which of them is called with */
        if (given->operands[n] == array && !(write_down(reading, '=') && write_down(reading, (int)n)))
            return 0;
    return read_operand(reading, array, view) && write_down(reading, given->of == reading->kind ? 'A' : 'N')
           && write_down(reading, type) && write_down(reading, PyArray_NDIM((PyArrayObject *)view));
}

/* Whether it is -0.0, which is 0.0 where numbers are compared. */
static int
is_below_zero(double number)
{
    return number == 0 && signbit(number) != 0;
}

static int
read_number(Reading *reading, PyObject *number, char letter)
{
    return read_operand(reading, number, NULL)
           && (reading->numbers ? write_down(reading, letter) : read_value(reading, number, letter));
}

static int
read_slice(Reading *reading, PySliceObject *slice, int depth)
{
    return write_down(reading, ':') && read_one(reading, slice->start, depth) && read_one(reading, slice->stop, depth)
           && read_one(reading, slice->step, depth);
}

static int
read_sequence(Reading *reading, PyObject *sequence, int depth)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
    int read = count <= MOST && write_down(reading, PyList_CheckExact(sequence) ? '[' : '(');
    for (Py_ssize_t n = 0; read && n < count; ++n)
        read = read_one(reading, PySequence_Fast_GET_ITEM(sequence, n), depth + 1);
    return read && write_down(reading, ')');
}

/* Read what is made of parts, whose type is the same in all calls of a kind. */
static int
read_parts(Reading *reading, PyObject *object, PyObject *names)
{
    Given *given = reading->given;
    if (given->parts == NULL && (given->parts = PyList_New(0)) == NULL)
        return 0;
    int read = read_value(reading, (PyObject *)Py_TYPE(object), 'p');
    for (Py_ssize_t n = 0; read && n < PyTuple_GET_SIZE(names); ++n) {
        PyObject *part = PyObject_GetAttr(object, PyTuple_GET_ITEM(names, n));
        /* The list holds it. */
        read = part != NULL && PyList_Append(given->parts, part) == 0 && read_one(reading, part, 1);
        Py_XDECREF(part);
    }
    return read;
}

/* Read an argument; 0 where it is none that calls are found by. */
static int
read_one(Reading *reading, PyObject *argument, int depth)
{
    if (Py_IS_TYPE(argument, reading->kind)) {
        PyObject *view, *device;
        if (!is_located(argument, &view, &device))
            return 0;
        Py_DECREF(view); /* which the Array holds */
        Py_DECREF(device);
        return read_array(reading, argument, view, device);
    }
    if (PyArray_CheckExact(argument))
        return read_array(reading, argument, argument, NULL);
    if (PyLong_CheckExact(argument))
        return read_number(reading, argument, 'i');
    if (PyFloat_CheckExact(argument))
        return read_number(reading, argument, is_below_zero(PyFloat_AS_DOUBLE(argument)) ? 'F' : 'f');
    if (PyBool_Check(argument))
        return read_number(reading, argument, 'b');
    if (PyComplex_CheckExact(argument)) {
        int signs = is_below_zero(PyComplex_RealAsDouble(argument)) + 2 * is_below_zero(PyComplex_ImagAsDouble(argument));
        return read_number(reading, argument, "cCdD"[signs]);
    }
    if (argument == Py_None || argument == Py_Ellipsis)
        return write_down(reading, argument == Py_None ? '0' : '.');
    if (PyUnicode_CheckExact(argument))
        return read_value(reading, argument, 's');
    if (PyType_Check(argument) || PyArray_DescrCheck(argument))
        return read_value(reading, argument, 't');
    if (PySlice_Check(argument))
        return read_slice(reading, (PySliceObject *)argument, depth);
    if (PyTuple_CheckExact(argument) || PyList_CheckExact(argument))
        return depth < DEPTH && read_sequence(reading, argument, depth);
    PyObject *names = PyDict_GetItemWithError(reading->parts, (PyObject *)Py_TYPE(argument));
    return names != NULL && PyTuple_CheckExact(names) && read_parts(reading, argument, names);
}

PyObject *
key_of_given(Given *given, PyObject *const *arguments, Py_ssize_t count, PyObject *names, PyTypeObject *kind,
             PyObject *parts, int numbers, int least)
{
    Reading reading = {.given = given, .kind = kind, .parts = parts, .numbers = numbers};
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    given->count = given->arrays = 0;
    given->parts = given->device = NULL;
    for (Py_ssize_t n = 0; n < count + named; ++n)
        if (!read_one(&reading, arguments[n], 0)) {
            if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
                PyErr_Clear();
            return NULL;
        }
    if (given->arrays < least)
        return NULL;
    PyObject *letters = PyBytes_FromStringAndSize(reading.letters, reading.letter_count);
    if (letters == NULL || (named == 0 && reading.value_count == 0))
        return letters;
    PyObject *key = PyTuple_New(2 + reading.value_count);
    if (key == NULL) {
        Py_DECREF(letters);
        return NULL;
    }
    PyTuple_SET_ITEM(key, 0, letters);
    PyTuple_SET_ITEM(key, 1, Py_NewRef(named == 0 ? Py_None : names));
    for (Py_ssize_t n = 0; n < reading.value_count; ++n)
        PyTuple_SET_ITEM(key, 2 + n, Py_NewRef(reading.values[n]));
    return key;
}

/* Products of sparse matrices, whose entries lie in groups by rows, with vectors and matrices, by the calling thread: of small
   ones in less time than a launch takes. */

#define NO_IMPORT_ARRAY
#include "shared.h"

/* A version for each width of vectors, of which the one that the processor has is taken when the library is loaded. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define WIDE
#endif

typedef struct {
    npy_intp rows, columns, count; /* of entries */
    npy_uintp extent;              /* of what is summed over */
    const void *elements, *x, *indices, *begins;
    void *found;
} Product;

/* Where an entry is; what is outside is taken for the first element. */
#define PLACE(N) ((npy_uintp)indices[N] < extent ? (npy_uintp)indices[N] : 0)

/* A row by a vector; of a longer one four sums, none of which waits for another. */
#define ELEMENT(TYPE) \
    { \
        TYPE sum = 0; \
        npy_intp n = begin; \
        if (end - n >= 8) { \
            TYPE sums[4] = {0}; \
            for (; n + 4 <= end; n += 4) \
                for (int c = 0; c < 4; ++c) \
                    sums[c] += elements[n + c] * x[PLACE(n + c)]; \
            sum = (sums[0] + sums[2]) + (sums[1] + sums[3]); \
        } \
        for (; n < end; ++n) \
            sum += elements[n] * x[PLACE(n)]; \
        found[row] = sum; \
    }

/* The next columns of a row's result as long as so many are left; their sums stay in registers. */
#define COLUMNS(TYPE, COUNT) \
    for (; at + COUNT <= columns; at += COUNT) { \
        TYPE sums[COUNT] = {0}; \
        for (npy_intp n = begin; n < end; ++n) { \
            const TYPE *from = x + PLACE(n) * columns + at; \
            for (int c = 0; c < COUNT; ++c) \
                sums[c] += elements[n] * from[c]; \
        } \
        for (int c = 0; c < COUNT; ++c) \
            found[row * columns + at + c] = sums[c]; \
    }

#define PRODUCT(NAME, TYPE, INDEX) \
    WIDE static void NAME(const Product *p) \
    { \
        const TYPE *elements = p->elements, *x = p->x; \
        const INDEX *indices = p->indices, *begins = p->begins; \
        TYPE *found = p->found; \
        npy_intp rows = p->rows, columns = p->columns, count = p->count; \
        npy_uintp extent = p->extent; \
        for (npy_intp row = 0; row < rows; ++row) { \
            npy_intp at = 0, begin = begins[row] < 0 ? 0 : begins[row]; \
            npy_intp end = begins[row + 1] < count ? begins[row + 1] : count; \
            if (columns == 1) \
                ELEMENT(TYPE) \
            else { \
                COLUMNS(TYPE, 16) \
                COLUMNS(TYPE, 4) \
                COLUMNS(TYPE, 1) \
            } \
        } \
    }

PRODUCT(float_short, float, npy_int32)
PRODUCT(float_long, float, npy_int64)
PRODUCT(double_short, double, npy_int32)
PRODUCT(double_long, double, npy_int64)

typedef void Multiply(const Product *);

/* Give what multiplies these; NULL, without an error, for others. */
static Multiply *
product_of(PyObject *const *operands, Py_ssize_t count)
{
    PyArrayObject *const *a = (PyArrayObject *const *)operands;
    for (Py_ssize_t n = 0; n < 4; ++n)
        if (count != 4 || !is_plain(operands[n]) || (n != 1 && PyArray_NDIM(a[n]) != 1))
            return NULL;
    int type = PyArray_TYPE(a[0]), known = type == NPY_FLOAT || type == NPY_DOUBLE, size = (int)PyArray_ITEMSIZE(a[2]);
    int rank = PyArray_NDIM(a[1]);
    if (!known || PyArray_TYPE(a[1]) != type || rank < 1 || rank > 2 || !PyArray_ISSIGNED(a[2]) || (size != 4 && size != 8)
        || PyArray_TYPE(a[3]) != PyArray_TYPE(a[2]) || PyArray_DIM(a[3], 0) < 1)
        return NULL;
    if (size == 4)
        return type == NPY_FLOAT ? float_short : double_short;
    return type == NPY_FLOAT ? float_long : double_long;
}

static PyObject *
multiply_rows(PyObject *Py_UNUSED(module), PyObject *const *operands, Py_ssize_t count)
{
    Multiply *multiply = product_of(operands, count);
    if (multiply == NULL) {
        PyErr_SetString(PyExc_TypeError, "multiply_rows takes elements, a vector or matrix of the same type, float32 or float64, "
                                         "where elements are in rows, and where rows begin, both int32 or int64");
        return NULL;
    }
    PyArrayObject *a[4], *found = NULL;
    for (int n = 0; n < 4; ++n)
        a[n] = PyArray_GETCONTIGUOUS((PyArrayObject *)operands[n]);
    if (a[0] != NULL && a[1] != NULL && a[2] != NULL && a[3] != NULL) {
        npy_intp shape[] = {PyArray_DIM(a[3], 0) - 1, PyArray_NDIM(a[1]) == 1 ? 1 : PyArray_DIM(a[1], 1)};
        found = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(a[1]), shape, PyArray_TYPE(a[1]));
        if (found != NULL) {
            npy_intp extent = PyArray_DIM(a[1], 0), count = PyArray_DIM(a[0], 0) < PyArray_DIM(a[2], 0) ? PyArray_DIM(a[0], 0) : PyArray_DIM(a[2], 0);
            Product p = {shape[0], shape[1], extent ? count : 0, extent, PyArray_DATA(a[0]), PyArray_DATA(a[1]), PyArray_DATA(a[2]), PyArray_DATA(a[3]),
                         PyArray_DATA(found)};
            Py_BEGIN_ALLOW_THREADS
            multiply(&p);
            Py_END_ALLOW_THREADS
        }
    }
    for (int n = 0; n < 4; ++n)
        Py_XDECREF(a[n]);
    return (PyObject *)found;
}

PyDoc_STRVAR(multiply_rows_doc,
"multiply_rows(elements, x, indices, begins)\n--\n\n"
"Multiply a sparse matrix by a vector or a matrix, and give a new array in C order.\n\n"
"Its entries lie in groups by rows, which begin where `begins` says, the last end included. Neither that nor where they are\n"
"in rows, `indices`, is looked at.");

PyMethodDef multipliers[] = {
    {"multiply_rows", (PyCFunction)(void (*)(void))multiply_rows, METH_FASTCALL, multiply_rows_doc},
    {NULL, NULL, 0, NULL},
};

/* What the files of mdhnp._native share.

   They know no OpenCL header and link no OpenCL library: the functions are those that pyopencl calls, given as addresses. */

#ifndef MDHNP_SHARED_H
#define MDHNP_SHARED_H

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL mdhnp_native_numpy
#include <Python.h>
#include <numpy/arrayobject.h>

typedef int (*Enqueue)(void *queue, void *kernel, unsigned dimensions, const size_t *offset, const size_t *global_size,
                       const size_t *local_size, unsigned waits, void *const *wait_list, void **event);
typedef int (*SetArgument)(void *kernel, unsigned index, size_t size, const void *value);
typedef int (*SetPointer)(void *kernel, unsigned index, const void *address);

typedef struct {
    void *kernel;
    size_t global_size, local_size;
} Launch;

typedef struct { /* argument `index` of a launch's kernel is the buffer, or address, of array `slot`, or the offset there */
    Py_ssize_t launch, slot;
    unsigned index;
    int is_offset;
    npy_int64 last; /* the offset, or the serial number, set at the call before */
} Binding;

typedef struct { /* where an array is */
    Py_ssize_t low; /* bytes from its first element to the lowest */
    void *buffer;
    npy_int64 offset, serial; /* no two blocks share a serial number, as two buffers one after the other may an address */
} Place;

/* Kernels, and what their arguments are, which one of two functions sets. `Launcher` and `Enqueuer` begin so. */
typedef struct {
    PyObject_HEAD
    SetPointer set_pointer;
    SetArgument set_argument;
    Enqueue enqueue;
    void *queue;
    Py_ssize_t arrays, launches, bindings;
    int are_set; /* whether all arguments are what `last` says */
    Place *places;
    Launch *launch;
    Binding *binding;
} Kernels;

/* Read all but functions and queue, as `Launcher` and `Enqueuer` take them; -1 for an error. */
int read_kernels(Kernels *self, PyObject *lows, PyObject *launches, PyObject *bindings);
void drop_kernels(Kernels *self);

/* Read the entry `n` of a tuple of tuples; 0 for an error. */
int read_entry(PyObject *tuple, Py_ssize_t n, const char *format, ...);

/* Have `place` say where inputs and outputs are, beside which there are so many others; the first slot of these, or -1. */
Py_ssize_t place_arrays(Kernels *self, PyObject *inputs, PyObject *outputs, Py_ssize_t others,
                        int (*place)(PyArrayObject *array, Place *place));

/* Launch all kernels on what stands in `places`, without the interpreter; OpenCL's error, or 0. */
int launch_all(Kernels *self, void **event);

PyObject *forget(Kernels *self, PyObject *nothing);
#define FORGET {"forget", (PyCFunction)forget, METH_NOARGS, PyDoc_STR("forget()\n--\n\n" \
               "Set all arguments at the next launch: someone else sets the kernels' arguments.")}

/* What the module gives. */
extern PyMethodDef finders[], groupers[], multipliers[];
extern PyType_Spec launcher_spec, enqueuer_spec, method_spec;

/* An attribute, read and written where it lies in objects of a type with `__slots__`, of the type seen first. */
typedef struct {
    const char *name;
    PyObject *key;
    PyTypeObject *type;
    Py_ssize_t offset;
} Slot;

/* Give an attribute, a new reference. */
PyObject *get_slot(Slot *slot, PyObject *object);
int set_slot(Slot *slot, PyObject *object, PyObject *value);

/* Make an object of a type that takes no keyword arguments; NULL for an error. */
PyObject *allocated(PyTypeObject *type, PyObject *keywords);

/* Give the interned text of a name, kept in `place`. */
PyObject *interned(PyObject **place, const char *name);

/* Take the last item of a list that has one, as list.pop() does; NULL for an error. */
PyObject *take_last(PyObject *list);

/* Make the type of leases; a new reference. */
PyTypeObject *lease_type(void);

/* Give the block of a view's lease, and where the lease begins; a borrowed reference, since the view holds it. */
PyObject *leased_block(PyObject *view, char **start);

/* Give a view of a block in C order, which goes home when nobody sees it any more. */
PyObject *leased_view(PyObject *block, PyObject *home, int rank, const npy_intp *shape, PyArray_Descr *type);

/* Enqueue with an Enqueuer on views, for new results: these, None if OpenCL refused something, NULL for an error. */
PyObject *enqueue_for_new(PyObject *enqueuer, PyObject *views);

/* Whether an operand is what a key describes: a plain array of native byte order, aligned. */
int is_plain(PyObject *operand);

/* Give an Array's view and device, new references; 0, without an error, for what has none. */
int is_located(PyObject *operand, PyObject **view, PyObject **device);

/* Make a call on views of Arrays on a device again; NULL, without an error where it was not made before, or fails. `wrap`
   gives what is no single array as one, or several, of the type `kind`, given the results and the device. */
PyObject *repeat_call(PyObject *entries, PyObject *what, PyObject *mode, PyObject *views, PyObject *device,
                      PyTypeObject *kind, PyObject *wrap);

/* The same on ndarrays. */
PyObject *repeat_on_host(PyObject *entries, PyObject *what, PyObject *devices, PyObject *mode, PyObject *operands);

/* Give results, no longer the caller's, as Arrays; NULL, without an error but those that end a program: whoever calls
   again hears of others. */
PyObject *as_arrays(PyObject *results, PyTypeObject *kind, PyObject *device, PyObject *wrap);

/* What a call is given: arrays and numbers, in order, also those in its lists, tuples and sparse operands. */
enum { MOST = 16 };
typedef struct {
    PyObject *operands[MOST];
    PyObject *views[MOST]; /* of arrays, which hold them */
    PyObject *device;      /* of Arrays, which hold it */
    Py_ssize_t count;
    int arrays;        /* how many of them are */
    PyTypeObject *of;  /* the type of these, which is one */
    PyObject *parts;   /* a list that holds those of what is made of parts, or NULL; whoever has asked drops it */
} Given;

/* Give what tells a kind of call from others: all but arrays' elements and extents, and numbers' values where `numbers` are
   operands. NULL, without an error, for calls on arrays of several types or devices, on fewer than `least`, and with what
   has no key; `kind` is the type of Arrays, `parts` are names of attributes by types of what is made of them. */
PyObject *key_of_given(Given *given, PyObject *const *arguments, Py_ssize_t count, PyObject *names, PyTypeObject *kind,
                       PyObject *parts, int numbers, int least);

/* Give a block home, and keep the error that there may be. */
void bring_home(PyObject *home, PyObject *block);

#endif

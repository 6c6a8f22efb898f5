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

typedef struct {
    void *kernel;
    size_t global_size, local_size;
} Launch;

/* What the module gives. */
extern PyMethodDef finders[], groupers[];
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

/* Take the last item of a list that has one, as list.pop() does; NULL for an error. */
PyObject *take_last(PyObject *list);

/* Make the type of leases; a new reference. */
PyTypeObject *lease_type(void);

/* Give the block of a view's lease, and where the lease begins; a borrowed reference, since the view holds it. */
PyObject *leased_block(PyObject *view, char **start);

/* Give a view of a block in C order, which goes home when nobody sees it any more. */
PyObject *leased_view(PyObject *block, PyObject *home, int rank, const npy_intp *shape, PyArray_Descr *type);

/* Give (what, code, instruction) of the code outside of the package's folder that makes a call, a new reference;
   `distance` is how many frames away it was found the last time, `last` what was given then, or NULL. */
PyObject *caller_of(PyObject *what, PyObject *package, int *distance, PyObject **last);

/* Enqueue with an Enqueuer on views, for new results: these, None if OpenCL refused something, NULL for an error. */
PyObject *enqueue_for_new(PyObject *enqueuer, PyObject *views);

/* Make a call again, all of whose operands are of a type; NULL, without an error where it was not made before, or fails.
   `wrap` gives what is no single array as one, or several, of that type, given the results and the device. */
PyObject *repeat_call(PyObject *entries, PyObject *what, PyObject *mode, PyObject *const *operands, Py_ssize_t count,
                      PyTypeObject *kind, PyObject *wrap);

/* The same, all of whose operands are ndarrays. */
PyObject *repeat_on_host(PyObject *entries, PyObject *what, PyObject *devices, PyObject *mode, PyObject *const *operands,
                         Py_ssize_t count);

/* Give how many axes an operand of that type has. */
int rank_of(PyObject *operand);

/* Give a block home, and keep the error that there may be. */
void bring_home(PyObject *home, PyObject *block);

#endif

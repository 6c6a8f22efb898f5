/* Leases: arrays over all bytes of a block of memory, which is free again when no array sees them any more.

   The twin in Python is runtime/results.py. A lease is a NumPy array with two more fields, at the end of NumPy's own. */

#define NO_IMPORT_ARRAY
#include "shared.h"
#include <structmember.h>

#if PY_VERSION_HEX < 0x030D0000
#define Py_IsFinalizing _Py_IsFinalizing
#endif

typedef struct { /* behind NumPy's fields; both NULL of slices and copies of leases */
    PyObject *block, *home;
} Fields;

static PyTypeObject *Lease;

static Fields *
fields_of(PyObject *lease)
{
    return (Fields *)((char *)lease + PyArray_Type.tp_basicsize);
}

void
bring_home(PyObject *home, PyObject *block)
{
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    if (PyList_CheckExact(home)) {
        if (PyList_Append(home, block) < 0)
            PyErr_WriteUnraisable(home);
    }
    else if (!Py_IsFinalizing()) { /* when modules' names go before the last result */
        PyObject *nothing = PyObject_CallMethod(home, "append", "O", block);
        if (nothing == NULL)
            PyErr_WriteUnraisable(home);
        Py_XDECREF(nothing);
    }
    PyErr_Restore(kind, value, trace);
}

static void
lease_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Fields fields = *fields_of(self);
    PyArray_Type.tp_dealloc(self);
    if (fields.block != NULL && fields.home != NULL && fields.home != Py_None)
        bring_home(fields.home, fields.block);
    Py_XDECREF(fields.home);
    Py_XDECREF(fields.block);
    Py_DECREF(type);
}

PyTypeObject *
lease_type(void)
{
    static PyMemberDef members[] = {{"block", T_OBJECT_EX, 0, 0, NULL}, {"home", T_OBJECT_EX, 0, 0, NULL}, {NULL}};
    static PyType_Slot slots[] = {
        {Py_tp_doc, "All bytes of a block, which goes home when no array sees them any more."},
        {Py_tp_dealloc, lease_dealloc},
        {Py_tp_members, members},
        {0, NULL},
    };
    Py_ssize_t fields = PyArray_Type.tp_basicsize;
    members[0].offset = fields + (Py_ssize_t)offsetof(Fields, block);
    members[1].offset = fields + (Py_ssize_t)offsetof(Fields, home);
    PyType_Spec spec = {
        .name = "mdhnp._native.Lease",
        .basicsize = (int)(fields + (Py_ssize_t)sizeof(Fields)),
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = slots,
    };
    Lease = (PyTypeObject *)PyType_FromSpecWithBases(&spec, (PyObject *)&PyArray_Type);
    return Lease;
}

PyObject *
leased_block(PyObject *view, char **start)
{
    static PyObject *base_name;
    PyObject *base = view;
    while (base != NULL && (Py_TYPE(base) != Lease || fields_of(base)->block == NULL)) {
        if (PyArray_Check(base))
            base = PyArray_BASE((PyArrayObject *)base);
        else {
            base = PyObject_GetAttr(base, interned(&base_name, "base")); /* of what NumPy puts between arrays */
            Py_XDECREF(base);
        }
    }
    if (base == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "an array is no view of a device's own memory");
        return NULL;
    }
    *start = PyArray_BYTES((PyArrayObject *)base);
    return fields_of(base)->block;
}

PyObject *
leased_view(PyObject *block, PyObject *home, int rank, const npy_intp *shape, PyArray_Descr *type)
{
    static Slot start_slot = {"start"}, size_slot = {"size"};
    PyObject *start = get_slot(&start_slot, block), *size = start == NULL ? NULL : get_slot(&size_slot, block);
    PyObject *lease = NULL;
    if (start != NULL && size != NULL) {
        npy_intp bytes = PyLong_AsSsize_t(size);
        char *memory = PyLong_AsVoidPtr(start);
        if (!PyErr_Occurred())
            lease = PyArray_NewFromDescr(Lease, PyArray_DescrFromType(NPY_UINT8), 1, &bytes, NULL, memory,
                                         NPY_ARRAY_CARRAY_RO, NULL);
    }
    Py_XDECREF(start);
    Py_XDECREF(size);
    if (lease == NULL) {
        bring_home(home, block);
        return NULL;
    }
    *fields_of(lease) = (Fields){Py_NewRef(block), Py_NewRef(home)};
    Py_INCREF(type);
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, type, rank, shape, NULL,
                                          PyArray_BYTES((PyArrayObject *)lease), NPY_ARRAY_CARRAY_RO, NULL);
    if (view == NULL)
        Py_DECREF(lease);
    else if (PyArray_SetBaseObject((PyArrayObject *)view, lease) < 0)
        Py_CLEAR(view);
    return view;
}

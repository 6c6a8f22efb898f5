/* mdhnp._native: what a repeat call does most of the time, without Python's own work in between.

   All of it has a twin in Python, slower by some microseconds, for where it is not compiled and for what is rare:
   OpenCL's errors, copies to devices. native.py says what is used. */

#include "shared.h"
#include <structmember.h>

/* Find out where a type's objects have an attribute; 0 if that is not in a slot. */
static int
find_slot(Slot *slot, PyTypeObject *type)
{
    if (slot->key == NULL && (slot->key = PyUnicode_InternFromString(slot->name)) == NULL)
        return 0;
    if (slot->type != NULL)
        return slot->type == type;
    PyObject *member = PyObject_GetAttr((PyObject *)type, slot->key);
    if (member == NULL)
        PyErr_Clear();
    else if (Py_IS_TYPE(member, &PyMemberDescr_Type) && ((PyMemberDescrObject *)member)->d_member->type == T_OBJECT_EX) {
        slot->offset = ((PyMemberDescrObject *)member)->d_member->offset;
        slot->type = (PyTypeObject *)Py_NewRef(type);
    }
    Py_XDECREF(member);
    return slot->type != NULL;
}

PyObject *
get_slot(Slot *slot, PyObject *object)
{
    if (slot->type == Py_TYPE(object) || find_slot(slot, Py_TYPE(object))) {
        PyObject *found = *(PyObject **)((char *)object + slot->offset);
        if (found != NULL)
            return Py_NewRef(found);
    }
    return slot->key == NULL ? NULL : PyObject_GetAttr(object, slot->key);
}

int
set_slot(Slot *slot, PyObject *object, PyObject *value)
{
    if (slot->type != Py_TYPE(object) && !find_slot(slot, Py_TYPE(object)))
        return slot->key == NULL ? -1 : PyObject_SetAttr(object, slot->key, value);
    PyObject **place = (PyObject **)((char *)object + slot->offset), *before = *place;
    *place = Py_NewRef(value);
    Py_XDECREF(before);
    return 0;
}

PyObject *
take_last(PyObject *list)
{
    Py_ssize_t last = PyList_GET_SIZE(list) - 1;
    PyObject *item = PyList_GET_ITEM(list, last);
    Py_SET_SIZE((PyVarObject *)list, last); /* the list's memory stays: most often it is soon as long again */
    return item;
}

PyObject *
allocated(PyTypeObject *type, PyObject *keywords)
{
    if (keywords == NULL || PyDict_GET_SIZE(keywords) == 0)
        return type->tp_alloc(type, 0);
    PyErr_Format(PyExc_TypeError, "%s takes no keyword arguments", type->tp_name);
    return NULL;
}

PyObject *
interned(PyObject **place, const char *name)
{
    if (*place == NULL)
        *place = PyUnicode_InternFromString(name);
    return *place;
}

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "mdhnp._native", "Finds entries, launches and enqueues kernels, groups numbers, multiplies rows.", -1, finders, NULL, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    import_array();
    PyObject *made = PyModule_Create(&module), *lease = (PyObject *)lease_type();
    PyType_Spec *specs[] = {&launcher_spec, &enqueuer_spec, &method_spec};
    int added = made != NULL && lease != NULL && PyModule_AddObjectRef(made, "Lease", lease) == 0
                && PyModule_AddFunctions(made, groupers) == 0 && PyModule_AddFunctions(made, multipliers) == 0
                && PyModule_AddIntConstant(made, "INTERFACE", 12) == 0;
    for (int n = 0; added && n < 3; ++n) {
        PyObject *type = PyType_FromSpec(specs[n]);
        added = type != NULL && PyModule_AddType(made, (PyTypeObject *)type) == 0;
        Py_XDECREF(type);
    }
    if (!added)
        Py_CLEAR(made);
    return made;
}

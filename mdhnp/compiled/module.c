/* mdhnp._native: what a repeat call does most of the time, without Python's own work in between.

   All of it has a twin in Python, slower by some microseconds, for where it is not compiled and for what is rare:
   OpenCL's errors, copies to devices. native.py says what is used. */

#include "shared.h"

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "mdhnp._native", "Finds entries, launches and enqueues kernels.", -1, finders, NULL, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    import_array();
    PyObject *made = PyModule_Create(&module);
    PyObject *launcher = PyType_FromSpec(&launcher_spec), *enqueuer = PyType_FromSpec(&enqueuer_spec);
    PyObject *lease = (PyObject *)lease_type();
    if (made == NULL || launcher == NULL || enqueuer == NULL || lease == NULL
        || PyModule_AddObjectRef(made, "Launcher", launcher) < 0 || PyModule_AddObjectRef(made, "Enqueuer", enqueuer) < 0
        || PyModule_AddObjectRef(made, "Lease", lease) < 0 || PyModule_AddIntConstant(made, "INTERFACE", 4) < 0)
        Py_CLEAR(made);
    Py_XDECREF(launcher);
    Py_XDECREF(enqueuer);
    return made;
}

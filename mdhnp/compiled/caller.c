/* Who outside of the package makes a call, for errors that are found later. */

#define NO_IMPORT_ARRAY
#include "shared.h"

static PyObject *getframe;

static int
is_inside(PyObject *package, PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    int inside = (int)PyUnicode_Tailmatch(code->co_filename, package, 0, PY_SSIZE_T_MAX, -1);
    Py_DECREF(code);
    return inside;
}

/* Give the frame outside of the package that makes the call; most are as far away as the one before. */
static PyFrameObject *
caller(PyObject *package, int *distance)
{
    PyObject *near = PyObject_CallFunction(getframe, "i", *distance - 1), *far = NULL;
    if (near != NULL && is_inside(package, (PyFrameObject *)near))
        far = PyObject_CallFunction(getframe, "i", *distance);
    Py_XDECREF(near);
    PyErr_Clear(); /* the stack is shorter */
    if (far != NULL && !is_inside(package, (PyFrameObject *)far))
        return (PyFrameObject *)far;
    Py_XDECREF(far);
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    *distance = 0;
    for (PyFrameObject *back; frame != NULL && is_inside(package, frame); frame = back, ++*distance) {
        back = PyFrame_GetBack(frame);
        if (back == NULL)
            return frame;
        Py_DECREF(frame);
    }
    return frame;
}

PyObject *
caller_of(PyObject *what, PyObject *package, int *distance)
{
    if (getframe == NULL) {
        getframe = PySys_GetObject("_getframe");
        Py_XINCREF(getframe);
    }
    PyFrameObject *frame = getframe == NULL ? NULL : caller(package, distance);
    if (frame == NULL)
        return NULL;
    PyObject *written = Py_BuildValue("ONi", what, PyFrame_GetCode(frame), PyFrame_GetLasti(frame));
    Py_DECREF(frame);
    return written;
}

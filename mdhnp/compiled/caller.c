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

/* Give the frame so many frames away; NULL, without an error, if the stack is shorter. */
static PyFrameObject *
frame_at(int distance)
{
    PyObject *number = PyLong_FromLong(distance), *frame = number == NULL ? NULL : PyObject_CallOneArg(getframe, number);
    Py_XDECREF(number);
    PyErr_Clear();
    return (PyFrameObject *)frame;
}

/* Give the frame outside of the package that makes the call; most are as far away as the one before. */
static PyFrameObject *
caller(PyObject *package, int *distance)
{
    PyFrameObject *far = NULL;
    if (*distance == 0) /* what is compiled has no frames */
        far = (PyFrameObject *)Py_XNewRef(PyEval_GetFrame());
    else {
        PyFrameObject *near = frame_at(*distance - 1);
        if (near != NULL && is_inside(package, near))
            far = frame_at(*distance);
        Py_XDECREF(near);
    }
    if (far != NULL && !is_inside(package, far))
        return far;
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
caller_of(PyObject *what, PyObject *package, int *distance, PyObject **last)
{
    if (getframe == NULL) {
        getframe = PySys_GetObject("_getframe");
        Py_XINCREF(getframe);
    }
    PyFrameObject *frame = getframe == NULL ? NULL : caller(package, distance);
    if (frame == NULL)
        return NULL;
    PyObject *code = (PyObject *)PyFrame_GetCode(frame), *before = *last;
    int instruction = PyFrame_GetLasti(frame);
    Py_DECREF(frame);
    if (before == NULL || PyTuple_GET_ITEM(before, 1) != code
        || PyLong_AsLong(PyTuple_GET_ITEM(before, 2)) != instruction)
        Py_XSETREF(*last, Py_BuildValue("OOi", what, code, instruction));
    Py_DECREF(code);
    return Py_XNewRef(*last);
}

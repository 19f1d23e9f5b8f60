/* Passes over columns of events as functions of Python. Each takes the address and the size in bytes of each of its columns, then
 * of room for each that it fills, and returns how many rows it filled, or None where it declines. The limited API of the
 * oldest Python has no buffers, and copies as bytes take longer than a pass. Only tb_steptime/trace/extension.py calls
 * them, with arrays that it keeps meanwhile. */
#ifndef TB_STEPTIME_PASSES_H
#define TB_STEPTIME_PASSES_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>

PyObject *python_mix(PyObject *module, PyObject *given);
PyObject *python_nest(PyObject *module, PyObject *given);
PyObject *python_around(PyObject *module, PyObject *given);
PyObject *python_paths(PyObject *module, PyObject *given);
PyObject *python_stretches(PyObject *module, PyObject *given);
PyObject *python_may_be_long(PyObject *module, PyObject *given);
PyObject *python_number_keys(PyObject *module, PyObject *given);
PyObject *python_overlaps(PyObject *module, PyObject *given);
PyObject *python_with_inner(PyObject *module, PyObject *given);
PyObject *python_topmost(PyObject *module, PyObject *given);

#endif

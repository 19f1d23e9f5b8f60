/* The frequent opcodes of a pickle of plain values. trace/plain.py says what they mean and which are refused. */
#ifndef TB_STEPTIME_PLAIN_H
#define TB_STEPTIME_PLAIN_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>

/* plain_opcodes(text, at, stack, marks, memo, runs, record, references, take, deepest) -> at, stack: does opcodes from `at`
 * on until one that it leaves to Python, or whose argument may lie beyond the text. */
PyObject *plain_opcodes(PyObject *module, PyObject *args);

#endif

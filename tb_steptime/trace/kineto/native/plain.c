/* Whatever is rare, odd or to be refused is left where it is: Python meets it again, and says what is wrong. */
#include "plain.h"

#include <stdint.h>

enum { APPENDS = 'e', BINGET = 'h', BININT = 'J', BININT1 = 'K', BININT2 = 'M', BINPUT = 'q', EMPTY_DICT = '}',
       EMPTY_LIST = ']', EMPTY_TUPLE = ')', LONG1 = 0x8a, LONG_BINGET = 'j', LONG_BINPUT = 'r', MARK = '(', MEMOIZE = 0x94,
       NEWFALSE = 0x89, NEWTRUE = 0x88, NONE = 'N', SETITEMS = 'u', TUPLE1 = 0x85, TUPLE3 = 0x87 };

/* The bytes of the longest opcode here, a LONG1 of 8; runs of references look for their own end. */
enum { MOST_BYTES = 10 };

typedef enum { FAILED = -1, LEFT, DONE } Outcome;

/* As in trace/plain.py. record, references: its types; memo, runs: what can be referred to. */
typedef struct {
    const unsigned char *text;
    Py_ssize_t length, at, deepest;
    PyObject *stack, *marks, *memo, *runs, *record, *references, *take;
} Walk;

static uint32_t little_endian(const unsigned char *bytes, int count)
{
    uint32_t number = 0;
    for (int each = count - 1; each >= 0; each--)
        number = number << 8 | bytes[each];
    return number;
}

/* Borrowed; NULL where it is empty. */
static PyObject *last(PyObject *stack)
{
    Py_ssize_t count = PyList_Size(stack);
    return count > 0 ? PyList_GetItem(stack, count - 1) : NULL;
}

static Outcome replace_last(PyObject *stack, PyObject *value)
{
    Py_INCREF(value);
    return PyList_SetItem(stack, PyList_Size(stack) - 1, value) ? FAILED : DONE;
}

/* Takes the reference; NULL is an error. */
static Outcome push(Walk *walk, PyObject *value)
{
    int failed = !value || PyList_Append(walk->stack, value);
    Py_XDECREF(value);
    return failed ? FAILED : DONE;
}

static Outcome remember(Walk *walk, Py_ssize_t number)
{
    PyObject *value = last(walk->stack);
    Py_ssize_t count = PyList_Size(walk->memo);
    if (!value || number > count)
        return LEFT;
    if (number == count) {
        if (PyList_Append(walk->memo, value))
            return FAILED;
    } else {
        Py_INCREF(value);
        if (PyList_SetItem(walk->memo, number, value))
            return FAILED;
    }
    if (Py_TYPE(value) == (PyTypeObject *)walk->record) {
        PyObject *slot = PyLong_FromSsize_t(number);
        int failed = !slot || PyObject_SetAttrString(value, "slot", slot);
        Py_XDECREF(slot);
        return failed ? FAILED : DONE;
    }
    return DONE;
}

/* A container other than a known run is for Python, which looks how high it is. */
static Outcome refer(Walk *walk, Py_ssize_t number)
{
    PyObject *value;
    if (number >= PyList_Size(walk->memo))
        return LEFT;
    value = PyList_GetItem(walk->memo, number);
    if (!value)
        return FAILED;
    if (Py_TYPE(value) != (PyTypeObject *)walk->references &&
        (PyDict_Check(value) || PyList_Check(value) || PyTuple_Check(value)))
        return LEFT;
    Py_INCREF(value);
    return push(walk, value);
}

static Outcome long1(Walk *walk, const unsigned char *bytes, int count)
{
    uint64_t wide = 0;
    if (count < 1 || count > 8)
        return LEFT;
    if (bytes[count - 1] & 0x80)
        wide = ~(uint64_t)0;
    for (int each = count - 1; each >= 0; each--)
        wide = wide << 8 | bytes[each];
    return push(walk, PyLong_FromLongLong((int64_t)wide));
}

static Outcome tuple_of(Walk *walk, Py_ssize_t items)
{
    Py_ssize_t count = PyList_Size(walk->stack);
    PyObject *slice, *made;
    if (count < items)
        return LEFT;
    slice = PyList_GetSlice(walk->stack, count - items, count);
    made = slice ? PyList_AsTuple(slice) : NULL;
    Py_XDECREF(slice);
    if (made && PyList_SetSlice(walk->stack, count - items, count, NULL))
        Py_CLEAR(made);
    return push(walk, made);
}

static Outcome mark(Walk *walk)
{
    PyObject *inner;
    if (PyList_Size(walk->marks) >= walk->deepest)
        return LEFT;
    inner = PyList_New(0);
    if (!inner || PyList_Append(walk->marks, walk->stack)) {
        Py_XDECREF(inner);
        return FAILED;
    }
    Py_DECREF(walk->stack);
    walk->stack = inner;
    return DONE;
}

/* What stands for a dict that is complete, in its place and where it is referred to. */
static Outcome taken(Walk *walk, PyObject *record)
{
    PyObject *slot = NULL, *value = PyObject_CallFunctionObjArgs(walk->take, record, NULL);
    Py_ssize_t number;
    Outcome outcome = FAILED;
    if (!value)
        return FAILED;
    if (value == record)
        outcome = DONE;
    else if ((slot = PyObject_GetAttrString(record, "slot")) && replace_last(walk->stack, value) == DONE) {
        number = PyLong_AsSsize_t(slot);
        outcome = DONE;
        if (number >= 0) {
            Py_INCREF(value);
            outcome = PyList_SetItem(walk->memo, number, value) ? FAILED : DONE;
        }
    }
    Py_XDECREF(slot);
    Py_DECREF(value);
    return outcome;
}

static Outcome set_items(Walk *walk)
{
    PyObject *items = walk->stack, *outer = last(walk->marks), *record = outer ? last(outer) : NULL;
    Py_ssize_t marks = PyList_Size(walk->marks), count = PyList_Size(items);
    Outcome outcome = DONE;
    if (!record || Py_TYPE(record) != (PyTypeObject *)walk->record || count % 2)
        return LEFT;
    Py_INCREF(outer);
    Py_INCREF(record);
    walk->stack = outer;
    if (PyList_SetSlice(walk->marks, marks - 1, marks, NULL))
        outcome = FAILED;
    for (Py_ssize_t each = 0; outcome == DONE && each < count; each += 2)
        if (PyDict_SetItem(record, PyList_GetItem(items, each), PyList_GetItem(items, each + 1)))
            outcome = FAILED;
    if (outcome == DONE)
        outcome = taken(walk, record);
    Py_DECREF(items);
    Py_DECREF(record);
    return outcome;
}

/* What a run refers to, if all of it is numbers: a new reference, remembered for the next run of the same bytes. NULL where
 * Python has to look, or with an error. */
static PyObject *new_run(Walk *walk, PyObject *run, const unsigned char *at, const unsigned char *end)
{
    PyObject *values = PyList_New(0), *made = NULL;
    while (values && at < end) {
        int size = *at == BINGET ? 1 : 4;
        Py_ssize_t number = (Py_ssize_t)little_endian(at + 1, size);
        PyObject *value = number < PyList_Size(walk->memo) ? PyList_GetItem(walk->memo, number) : NULL;
        if (!value || !PyLong_CheckExact(value) || PyList_Append(values, value))
            Py_CLEAR(values);
        at += 1 + size;
    }
    if (values)
        made = PyObject_CallFunctionObjArgs(walk->references, values, NULL);
    if (made && PyDict_SetItem(walk->runs, run, made))
        Py_CLEAR(made);
    Py_XDECREF(values);
    return made;
}

/* A list that holds references alone, if its like was read before or it is of numbers; else an empty list, if it is surely no
 * run. end: behind what was read. */
static Outcome list_or_run(Walk *walk, Py_ssize_t *end)
{
    const unsigned char *text = walk->text;
    Py_ssize_t at = walk->at + 1, first, put = -1;
    PyObject *run, *known;
    *end = at;
    if (text[at] == MEMOIZE) {
        put = PyList_Size(walk->memo);
        at += 1;
    } else if (text[at] == BINPUT) {
        put = text[at + 1];
        at += 2;
    } else if (text[at] == LONG_BINPUT) {
        put = little_endian(text + at + 1, 4);
        at += 5;
    }
    if (text[at] != MARK)
        return push(walk, PyList_New(0));
    first = ++at;
    while (at + 5 < walk->length && (text[at] == BINGET || text[at] == LONG_BINGET))
        at += text[at] == BINGET ? 2 : 5;
    if (at + 5 >= walk->length)
        return LEFT;
    if (at == first || text[at] != APPENDS)
        return push(walk, PyList_New(0));
    if (put > PyList_Size(walk->memo))
        return LEFT;
    run = PyBytes_FromStringAndSize((const char *)text + first, at - first);
    known = run ? PyDict_GetItemWithError(walk->runs, run) : NULL;
    Py_XINCREF(known);
    if (run && !known && !PyErr_Occurred())
        known = new_run(walk, run, text + first, text + at);
    Py_XDECREF(run);
    if (!known)
        return PyErr_Occurred() ? FAILED : LEFT;
    *end = at + 1;
    if (push(walk, known) != DONE)
        return FAILED;
    return put < 0 ? DONE : remember(walk, put);
}

/* One opcode. */
static Outcome step(Walk *walk)
{
    const unsigned char *argument = walk->text + walk->at + 1;
    Py_ssize_t end = walk->at + 1;
    Outcome outcome;
    switch (argument[-1]) {
    case BINGET:
    case LONG_BINGET: {
        int size = argument[-1] == BINGET ? 1 : 4;
        end += size;
        outcome = refer(walk, (Py_ssize_t)little_endian(argument, size));
        break;
    }
    case BINPUT:
    case LONG_BINPUT: {
        int size = argument[-1] == BINPUT ? 1 : 4;
        end += size;
        outcome = remember(walk, (Py_ssize_t)little_endian(argument, size));
        break;
    }
    case MEMOIZE:
        outcome = remember(walk, PyList_Size(walk->memo));
        break;
    case BININT1:
        end += 1;
        outcome = push(walk, PyLong_FromLong(argument[0]));
        break;
    case BININT2:
        end += 2;
        outcome = push(walk, PyLong_FromLong((long)little_endian(argument, 2)));
        break;
    case BININT:
        end += 4;
        outcome = push(walk, PyLong_FromLong((int32_t)little_endian(argument, 4)));
        break;
    case LONG1:
        end += 1 + argument[0];
        outcome = long1(walk, argument + 1, argument[0]);
        break;
    case EMPTY_DICT:
        outcome = push(walk, PyObject_CallFunctionObjArgs(walk->record, NULL));
        break;
    case EMPTY_LIST:
        outcome = list_or_run(walk, &end);
        break;
    case EMPTY_TUPLE:
        outcome = push(walk, PyTuple_New(0));
        break;
    case NEWTRUE:
    case NEWFALSE:
        outcome = push(walk, PyBool_FromLong(argument[-1] == NEWTRUE));
        break;
    case NONE:
        Py_INCREF(Py_None);
        outcome = push(walk, Py_None);
        break;
    case MARK:
        outcome = mark(walk);
        break;
    case SETITEMS:
        outcome = set_items(walk);
        break;
    default:
        if (argument[-1] < TUPLE1 || argument[-1] > TUPLE3)
            return LEFT;
        outcome = tuple_of(walk, argument[-1] - TUPLE1 + 1);
    }
    if (outcome == DONE)
        walk->at = end;
    return outcome;
}

PyObject *plain_opcodes(PyObject *module, PyObject *args)
{
    Walk walk;
    Outcome outcome = DONE;
    const char *text;
    PyObject *found;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#nO!O!O!O!O!O!On", &text, &walk.length, &walk.at, &PyList_Type, &walk.stack, &PyList_Type,
                          &walk.marks, &PyList_Type, &walk.memo, &PyDict_Type, &walk.runs, &PyType_Type, &walk.record,
                          &PyType_Type, &walk.references, &walk.take, &walk.deepest))
        return NULL;
    if (walk.at < 0) {
        PyErr_SetString(PyExc_ValueError, "at is negative");
        return NULL;
    }
    walk.text = (const unsigned char *)text;
    Py_INCREF(walk.stack);
    while (outcome == DONE && walk.length - walk.at >= MOST_BYTES)
        outcome = step(&walk);
    found = outcome == FAILED ? NULL : Py_BuildValue("nO", walk.at, walk.stack);
    Py_DECREF(walk.stack);
    return found;
}

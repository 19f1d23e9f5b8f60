/* The scanner of blocks of events as a Python type. blocks.py says what it does, events.c how. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <string.h>

#include "events.h"
#include "passes.h"
#include "plain.h"
#include "waits.h"

/* A hash of these sources, set by the build: what was built of other ones is not used (trace/extension.py). */
#ifndef BUILT_FROM
#define BUILT_FROM ""
#endif

/* label: gives (number, flags) of a label's spelling; texts: mappings of spellings to numbers, -1 for none. text: what was
 * scanned, which rows refer to. busy: some thread is within, and may not hold Python's lock. */
typedef struct {
    PyObject_HEAD
    PyObject *label, *texts[TEXT_TABLES], *text;
    Scan scan;
    int busy;
} Scanner;

static int scanner_init(PyObject *self, PyObject *args, PyObject *named)
{
    Scanner *scanner = (Scanner *)self;
    PyObject *label, *texts[TEXT_TABLES];
    if (scanner->label) {
        PyErr_SetString(PyExc_RuntimeError, "a scanner is made once");
        return -1;
    }
    if (named && PyDict_Size(named)) {
        PyErr_SetString(PyExc_TypeError, "Scanner takes no keyword arguments");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "OOOOO", &label, &texts[0], &texts[1], &texts[2], &texts[3]))
        return -1;
    scan_init(&scanner->scan);
    Py_INCREF(label);
    scanner->label = label;
    for (int each = 0; each < TEXT_TABLES; each++) {
        Py_INCREF(texts[each]);
        scanner->texts[each] = texts[each];
    }
    return 0;
}

static int scanner_traverse(PyObject *self, visitproc visit, void *arg)
{
    Scanner *scanner = (Scanner *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(scanner->label);
    for (int each = 0; each < TEXT_TABLES; each++)
        Py_VISIT(scanner->texts[each]);
    return 0;
}

static int scanner_clear(PyObject *self)
{
    Scanner *scanner = (Scanner *)self;
    Py_CLEAR(scanner->label);
    Py_CLEAR(scanner->text);
    for (int each = 0; each < TEXT_TABLES; each++)
        Py_CLEAR(scanner->texts[each]);
    return 0;
}

static void scanner_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    scanner_clear(self);
    scan_free(&((Scanner *)self)->scan);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static int enter(Scanner *scanner)
{
    if (scanner->busy || !scanner->label) {
        PyErr_SetString(PyExc_RuntimeError, "a scanner is used by one thread at a time");
        return 0;
    }
    scanner->busy = 1;
    return 1;
}

static PyObject *scanner_scan(PyObject *self, PyObject *args)
{
    Scanner *scanner = (Scanner *)self;
    PyObject *text;
    int exact, answer;
    if (!PyArg_ParseTuple(args, "Sp", &text, &exact) || !enter(scanner))
        return NULL;
    Py_INCREF(text);
    Py_XDECREF(scanner->text);
    scanner->text = text;
    const char *bytes = PyBytes_AsString(text); /* with a zero behind it */
    size_t length = (size_t)PyBytes_Size(text);
    Py_BEGIN_ALLOW_THREADS
    answer = scan_events(&scanner->scan, bytes, length, exact);
    Py_END_ALLOW_THREADS
    scanner->busy = 0;
    if (answer != SCANNED)
        Py_CLEAR(scanner->text);
    return PyLong_FromSsize_t(answer == SCANNED ? (Py_ssize_t)scanner->scan.event_count : answer == LATE ? -2 : -1);
}

/* Pieces of the text, with commas between. */
static PyObject *joined(const Scan *scan, const Span *spans, size_t count)
{
    size_t length = count ? count - 1 : 0;
    for (size_t each = 0; each < count; each++)
        length += spans[each].end - spans[each].start;
    PyObject *pieces = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)length);
    if (!pieces)
        return NULL;
    char *to = PyBytes_AsString(pieces);
    for (size_t each = 0; each < count; each++) {
        size_t size = spans[each].end - spans[each].start;
        if (each)
            *to++ = ',';
        memcpy(to, scan->text + spans[each].start, size);
        to += size;
    }
    return pieces;
}

static PyObject *scanner_others(PyObject *self, PyObject *nothing)
{
    Scanner *scanner = (Scanner *)self;
    (void)nothing;
    if (!enter(scanner))
        return NULL;
    scanner->busy = 0;
    return joined(&scanner->scan, scanner->scan.others, scanner->text ? scanner->scan.other_count : 0);
}

static int number_labels(Scanner *scanner)
{
    Table *labels = &scanner->scan.labels;
    for (size_t each = 0; each < scanner->scan.row_count; each++) {
        Entry *entry = &labels->entries[scanner->scan.rows[each].label];
        if (entry->number != UNNUMBERED)
            continue;
        PyObject *said = PyObject_CallFunction(scanner->label, "y#", labels->bytes + entry->start, (Py_ssize_t)entry->length);
        int number, flags, fine = said && PyArg_ParseTuple(said, "ii", &number, &flags);
        Py_XDECREF(said);
        if (!fine)
            return 0;
        entry->number = number;
        entry->flags = flags;
    }
    return 1;
}

/* The number of a text, asked for once. */
static int number_of(PyObject *numbers, const Table *table, Entry *entry)
{
    PyObject *text = PyBytes_FromStringAndSize(table->bytes + entry->start, (Py_ssize_t)entry->length);
    PyObject *said = text ? PyObject_GetItem(numbers, text) : NULL;
    long number = said ? PyLong_AsLong(said) : -1;
    Py_XDECREF(text);
    Py_XDECREF(said);
    if (PyErr_Occurred())
        return 0;
    entry->number = (int32_t)number;
    return 1;
}

/* Places in a table of texts -> their numbers, those of a new text in the order of the column. */
static int number_texts(Scanner *scanner)
{
    static const int columns[] = {OF_STACK, OF_HIERARCHY, OF_SHAPES, OF_DTYPES, OF_SETTINGS, OF_MEMORY_TRACK};
    for (size_t each = 0; each < sizeof columns / sizeof *columns; each++) {
        Column *column = &scanner->scan.columns[columns[each]];
        Table *table = table_of(&scanner->scan, columns[each]);
        PyObject *numbers = scanner->texts[table - scanner->scan.texts];
        for (size_t at = 0; at < column->used; at += 4) {
            int32_t place;
            memcpy(&place, column->bytes + at, 4);
            if (place < 0)
                continue;
            Entry *entry = &table->entries[place];
            if (entry->number == UNNUMBERED && !number_of(numbers, table, entry))
                return 0;
            memcpy(column->bytes + at, &entry->number, 4);
        }
    }
    drop_empty_texts(&scanner->scan);
    return 1;
}

static PyObject *all_columns(const Scan *scan)
{
    PyObject *all = PyTuple_New(COLUMNS + 1);
    for (int each = 0; all && each <= COLUMNS; each++) {
        const Column *column = &scan->columns[each < COLUMNS ? each : 0];
        PyObject *piece = each < COLUMNS ? PyBytes_FromStringAndSize(column->bytes, (Py_ssize_t)column->used)
                                         : joined(scan, scan->collectives, scan->collective_count);
        if (!piece || PyTuple_SetItem(all, each, piece))
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *columns_of(Scanner *scanner, long long first)
{
    int filled;
    if (!scanner->text) {
        PyErr_SetString(PyExc_RuntimeError, "nothing is scanned");
        return NULL;
    }
    if (!number_labels(scanner))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    filled = fill_columns(&scanner->scan, first);
    Py_END_ALLOW_THREADS
    if (!filled) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    return number_texts(scanner) ? all_columns(&scanner->scan) : NULL;
}

static PyObject *scanner_columns(PyObject *self, PyObject *args)
{
    Scanner *scanner = (Scanner *)self;
    long long first;
    if (!PyArg_ParseTuple(args, "L", &first) || !enter(scanner))
        return NULL;
    PyObject *columns = columns_of(scanner, first);
    scanner->busy = 0;
    Py_CLEAR(scanner->text); /* a block is taken once */
    return columns;
}

static PyMethodDef scanner_methods[] = {
    {"scan", scanner_scan, METH_VARARGS,
     "scan(text, exact): how many events this is, -1 where something is odd, -2 where a time needs `exact`."},
    {"others", scanner_others, METH_NOARGS, "others(): the scanned events without a duration that say something, comma-separated."},
    {"columns", scanner_columns, METH_VARARGS,
     "columns(first): the scanned events that last as columns and the arguments of collectives, or None where one is odd."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot scanner_slots[] = {
    {Py_tp_doc, "Scanner(label, inputs, stacks, hierarchies, tracks): blocks of plain events as columns."},
    {Py_tp_init, scanner_init},
    {Py_tp_traverse, scanner_traverse},
    {Py_tp_clear, scanner_clear},
    {Py_tp_dealloc, scanner_dealloc},
    {Py_tp_methods, scanner_methods},
    {0, NULL},
};

static PyType_Spec scanner_spec = {
    .name = "tb_steptime.trace.kineto.native._scan.Scanner",
    .basicsize = sizeof(Scanner),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = scanner_slots,
};

/* Columns come as bytes, which the limited API of the oldest Python can read. */
static const int64_t *numbers(PyObject *bytes, int64_t *count)
{
    *count = PyBytes_Size(bytes) / (Py_ssize_t)sizeof(int64_t);
    return (const int64_t *)PyBytes_AsString(bytes);
}

static PyObject *module_sweep(PyObject *module, PyObject *args)
{
    PyObject *column[8], *result;
    const int64_t *each[8];
    int64_t count[8], *starts;
    long long copies;
    int done;
    (void)module;
    if (!PyArg_ParseTuple(args, "SSSSSSSSL", &column[0], &column[1], &column[2], &column[3], &column[4], &column[5],
                          &column[6], &column[7], &copies))
        return NULL;
    for (int place = 0; place < 8; place++)
        each[place] = numbers(column[place], &count[place]);
    if (count[1] != count[0] || count[2] != count[0] + 1 || count[5] != count[0] + 1 || count[4] != count[3] ||
        count[7] != count[6] || copies < 1 || copies > 64) {
        PyErr_SetString(PyExc_ValueError, "columns of different lengths");
        return NULL;
    }
    result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count[0] * copies * (int64_t)sizeof(int64_t)));
    if (!result)
        return NULL;
    starts = (int64_t *)PyBytes_AsString(result);
    Waits inner = {each[2], each[3], each[4], count[3]}, links = {each[5], each[6], each[7], count[6]};
    Py_BEGIN_ALLOW_THREADS
    done = sweep(count[0], copies, each[0], each[1], &inner, &links, starts);
    Py_END_ALLOW_THREADS
    if (!done) {
        Py_DECREF(result);
        PyErr_SetString(PyExc_ValueError, "an edge leads nowhere");
        return NULL;
    }
    return result;
}

static PyObject *bytes_of(const int64_t *column, int64_t count)
{
    return PyBytes_FromStringAndSize((const char *)column, (Py_ssize_t)(count * (int64_t)sizeof(int64_t)));
}

static PyObject *module_reduce(PyObject *module, PyObject *args)
{
    PyObject *column[6], *result = NULL;
    const int64_t *each[6];
    int64_t count[6];
    long long look_back;
    int done;
    Paths found = {.count = 0};
    (void)module;
    if (!PyArg_ParseTuple(args, "SSSSSSL", &column[0], &column[1], &column[2], &column[3], &column[4], &column[5],
                          &look_back))
        return NULL;
    for (int place = 0; place < 6; place++)
        each[place] = numbers(column[place], &count[place]);
    if (count[1] != count[0] || count[2] != count[0] + 1 || count[4] != count[3] || count[5] != count[0] ||
        look_back < 0 || look_back > 65536) {
        PyErr_SetString(PyExc_ValueError, "columns of different lengths");
        return NULL;
    }
    Waits waits = {each[2], each[3], each[4], count[3]};
    Py_BEGIN_ALLOW_THREADS
    done = reduce(count[0], each[0], each[1], &waits, each[5], look_back, &found);
    Py_END_ALLOW_THREADS
    if (done < 0)
        PyErr_NoMemory();
    else if (!done)
        PyErr_SetString(PyExc_ValueError, "an edge leads nowhere");
    else
        result = Py_BuildValue("(NNN)", bytes_of(found.from, found.count), bytes_of(found.to, found.count),
                               bytes_of(found.lag, found.count));
    free_paths(&found);
    return result;
}

static PyMethodDef module_methods[] = {
    {"sweep", module_sweep, METH_VARARGS,
     "sweep(lasts, release, first, before, lag, link_first, link_before, link_lag, copies): columns of int64 as bytes to "
     "the start of each node in each copy."},
    {"reduce", module_reduce, METH_VARARGS,
     "reduce(lasts, release, first, before, lag, chosen, look_back): columns of int64 as bytes to those of the paths between "
     "chosen nodes: from, to, lag."},
    {"mix", python_mix, METH_VARARGS, "columns -> number"},
    {"nest", python_nest, METH_VARARGS, "start, end -> depth, parent"},
    {"around", python_around, METH_VARARGS, "inside, before, after, own, name -> site"},
    {"paths", python_paths, METH_VARARGS, "own, parent -> path"},
    {"stretches", python_stretches, METH_VARARGS,
     "start, end, thread, parent -> thread, start, end, inside, before, after; room for twice as many"},
    {"may_be_long", python_may_be_long, METH_VARARGS, "length, turn, site, fixed, limits -> which may be"},
    {"number_keys", python_number_keys, METH_VARARGS, "keys -> number of each, the different keys"},
    {"overlaps", python_overlaps, METH_VARARGS, "low, high, start, end -> covered"},
    {"with_inner", python_with_inner, METH_VARARGS, "value, parent -> sums with those below"},
    {"topmost", python_topmost, METH_VARARGS, "parent, group -> which have none of their group above them"},
    {"plain_opcodes", plain_opcodes, METH_VARARGS,
     "text, at, stack, marks, memo, runs, record, references, take, deepest -> at, stack, after the opcodes that it knows"},
    {NULL, NULL, 0, NULL},
};

static int fill_module(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&scanner_spec);
    if (PyModule_AddStringConstant(module, "BUILT_FROM", BUILT_FROM) || !type || PyModule_AddObject(module, "Scanner", type)) {
        Py_XDECREF(type);
        return -1;
    }
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)fill_module},
    {0, NULL},
};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_scan",
    .m_doc = "The scanner of blocks of events, the sweep of a graph of waits, passes over columns, and the frequent opcodes of pickles.",
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__scan(void)
{
    return PyModuleDef_Init(&module);
}

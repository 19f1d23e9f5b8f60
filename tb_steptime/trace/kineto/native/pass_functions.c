/* See pass_functions.h. */
#include "pass_functions.h"

#include "passes.h"

enum { MOST_COLUMNS = 12 };

/* The columns of a call and the room for those that it fills. */
typedef struct {
    void *at[MOST_COLUMNS];
    size_t size[MOST_COLUMNS];
    int count;
} Columns;

static int wrong(const char *what)
{
    PyErr_SetString(PyExc_ValueError, what);
    return 0;
}

/* What a function is given; 0 and an exception where these are no columns, or have more rows than 32 bits number. */
static int take(PyObject *given, Columns *columns)
{
    Py_ssize_t numbers = PyTuple_Size(given);
    if (numbers < 2 || numbers % 2 || numbers > 2 * MOST_COLUMNS)
        return wrong("another number of columns");
    columns->count = (int)numbers / 2;
    for (int place = 0; place < columns->count; place++) {
        columns->at[place] = PyLong_AsVoidPtr(PyTuple_GetItem(given, 2 * place));
        columns->size[place] = PyLong_AsSize_t(PyTuple_GetItem(given, 2 * place + 1));
        if (PyErr_Occurred())
            return 0;
        if (columns->size[place] / sizeof(int64_t) > INT32_MAX)
            return wrong("more rows than 32 bits number");
    }
    return 1;
}

/* Whether there are just these columns. kinds: a letter for each, in their order. Of as many rows as the first one has are
 * w (64 bits wide), n (32 bits, narrow) and b (a byte); of twice as many W and N; of others, alike among each other, O. */
static int are(const Columns *columns, const char *kinds)
{
    size_t rows = columns->size[0] / (kinds[0] == 'n' ? sizeof(int32_t) : sizeof(int64_t)), others = 0;
    int place = 0;
    for (; kinds[place] && place < columns->count; place++) {
        size_t size = columns->size[place];
        int fits = kinds[place] == 'w'   ? size == rows * sizeof(int64_t)
                   : kinds[place] == 'n' ? size == rows * sizeof(int32_t)
                   : kinds[place] == 'b' ? size == rows
                   : kinds[place] == 'W' ? size == 2 * rows * sizeof(int64_t)
                   : kinds[place] == 'N' ? size == 2 * rows * sizeof(int32_t)
                                         : size % sizeof(int64_t) == 0 && (!others || size == others);
        if (!fits)
            return wrong("columns of different lengths");
        others = kinds[place] == 'O' ? size : others;
    }
    return kinds[place] || place < columns->count ? wrong("another number of columns") : 1;
}

static size_t wide_rows(const Columns *columns, int place)
{
    return columns->size[place] / sizeof(int64_t);
}

/* What a pass says: how many rows it filled. */
static PyObject *told(int64_t said)
{
    if (said == NO_MEMORY)
        return PyErr_NoMemory();
    return said == DECLINED ? Py_NewRef(Py_None) : PyLong_FromLongLong(said);
}

static PyObject *told_all(int said, size_t rows)
{
    return told(said == DONE ? (int64_t)rows : said);
}

PyObject *python_mix(PyObject *module, PyObject *given)
{
    Columns in;
    (void)module;
    if (!take(given, &in))
        return NULL;
    for (int place = 1; place < in.count; place++)
        if (in.size[place] != in.size[0])
            return wrong("columns of different lengths"), NULL;
    int64_t *number = in.at[in.count - 1];
    size_t rows = wide_rows(&in, 0);
    for (size_t row = 0; row < rows; row++) {
        uint64_t found = 0;
        for (int place = 0; place < in.count - 1; place++)
            found = mixed(found, ((const int64_t *)in.at[place])[row]);
        number[row] = (int64_t)found;
    }
    return told_all(DONE, rows);
}

PyObject *python_nest(PyObject *module, PyObject *given)
{
    Columns in;
    (void)module;
    if (!take(given, &in) || !are(&in, "wwnn"))
        return NULL;
    size_t rows = wide_rows(&in, 0);
    return told_all(nest(rows, in.at[0], in.at[1], in.at[2], in.at[3]), rows);
}

PyObject *python_paths(PyObject *module, PyObject *given)
{
    Columns in;
    (void)module;
    if (!take(given, &in) || !are(&in, "wnw"))
        return NULL;
    size_t rows = wide_rows(&in, 0);
    return told_all(paths(rows, in.at[0], in.at[1], in.at[2]), rows);
}

PyObject *python_stretches(PyObject *module, PyObject *given)
{
    Columns in;
    (void)module;
    if (!take(given, &in) || !are(&in, "wwnnNWWNNN"))
        return NULL;
    Stretches found = {in.at[4], in.at[5], in.at[6], in.at[7], in.at[8], in.at[9]};
    return told(stretches(wide_rows(&in, 0), in.at[0], in.at[1], in.at[2], in.at[3], &found));
}

PyObject *python_may_be_long(PyObject *module, PyObject *given)
{
    Columns in;
    (void)module;
    if (!take(given, &in) || !are(&in, "wwwbOb"))
        return NULL;
    if (in.size[4] != sizeof(Limits))
        return wrong("other limits"), NULL;
    size_t calls = wide_rows(&in, 0);
    return told_all(may_be_long(calls, in.at[0], in.at[1], in.at[2], in.at[3], in.at[4], in.at[5]), calls);
}

PyObject *python_number_keys(PyObject *module, PyObject *given)
{
    Columns in;
    (void)module;
    if (!take(given, &in) || !are(&in, "www"))
        return NULL;
    size_t keys = wide_rows(&in, 0);
    return told_all(number_keys(keys, in.at[0], in.at[1], in.at[2]), keys);
}

PyObject *python_overlaps(PyObject *module, PyObject *given)
{
    Columns in;
    (void)module;
    if (!take(given, &in) || !are(&in, "wwOOw"))
        return NULL;
    size_t windows = wide_rows(&in, 0);
    return told_all(overlaps(windows, in.at[0], in.at[1], wide_rows(&in, 2), in.at[2], in.at[3], in.at[4]), windows);
}

PyObject *python_with_inner(PyObject *module, PyObject *given)
{
    Columns in;
    (void)module;
    if (!take(given, &in) || !are(&in, "wnw"))
        return NULL;
    size_t rows = wide_rows(&in, 0);
    return told_all(with_inner(rows, in.at[0], in.at[1], in.at[2]), rows);
}

PyObject *python_topmost(PyObject *module, PyObject *given)
{
    Columns in;
    (void)module;
    if (!take(given, &in) || !are(&in, "nnb"))
        return NULL;
    size_t rows = in.size[0] / sizeof(int32_t);
    return told_all(topmost(rows, in.at[0], in.at[1], in.at[2]), rows);
}

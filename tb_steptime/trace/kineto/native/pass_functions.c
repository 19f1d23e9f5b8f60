/* See pass_functions.h. */
#include "pass_functions.h"

#include "passes.h"

enum { MOST_COLUMNS = 12 };

/* The columns of a call and the room for those that it fills; rows: of the first one, as `are` counts them. */
typedef struct {
    void *at[MOST_COLUMNS];
    size_t size[MOST_COLUMNS];
    int count;
    size_t rows;
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
static int are(Columns *columns, const char *kinds)
{
    size_t rows = columns->rows = columns->size[0] / (kinds[0] == 'n' ? sizeof(int32_t) : sizeof(int64_t)), others = 0;
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

/* Defines python_NAME, which takes columns of these kinds, as `in`, and returns what the pass says of them. */
#define PASS(name, kinds, said)                                \
    PyObject *python_##name(PyObject *module, PyObject *given) \
    {                                                          \
        Columns in;                                            \
        (void)module;                                          \
        if (!take(given, &in) || !are(&in, kinds))             \
            return NULL;                                       \
        return said;                                           \
    }

PASS(nest, "wwnn", told_all(nest(in.rows, in.at[0], in.at[1], in.at[2], in.at[3]), in.rows))
PASS(paths, "wnw", told_all(paths(in.rows, in.at[0], in.at[1], in.at[2]), in.rows))
PASS(number_keys, "www", told_all(number_keys(in.rows, in.at[0], in.at[1], in.at[2]), in.rows))
PASS(with_inner, "wnw", told_all(with_inner(in.rows, in.at[0], in.at[1], in.at[2]), in.rows))
PASS(topmost, "nnb", told_all(topmost(in.rows, in.at[0], in.at[1], in.at[2]), in.rows))
PASS(overlaps, "wwOOw",
     told_all(overlaps(in.rows, in.at[0], in.at[1], wide_rows(&in, 2), in.at[2], in.at[3], in.at[4]), in.rows))
PASS(stretches, "wwnnNWWNNN",
     told(stretches(in.rows, in.at[0], in.at[1], in.at[2], in.at[3],
                    &(Stretches){in.at[4], in.at[5], in.at[6], in.at[7], in.at[8], in.at[9]})))
PASS(may_be_long, "wwwbOb",
     in.size[4] == sizeof(Limits)
         ? told_all(may_be_long(in.rows, in.at[0], in.at[1], in.at[2], in.at[3], in.at[4], in.at[5]), in.rows)
         : (wrong("other limits"), NULL))

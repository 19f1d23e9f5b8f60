/* Passes over columns of events, and the functions of Python that run them. Rows are looked at once, in their order, where
 * numpy looks at all of them for each level or column. The Python that does the same, with what each result means, is
 * named at each pass. */
#include "passes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The result of a pass that counts nothing. */
enum { DONE = 0, DECLINED = -1, NO_MEMORY = -2 };

/* likeness.py, mixed: one more column of a row, and the number of a row without columns is 0. */
static uint64_t mixed(uint64_t number, int64_t column)
{
    number = (number ^ (uint64_t)column) * UINT64_C(0x9E3779B97F4A7C15);
    number = (number ^ (number >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    return number ^ (number >> 32);
}

/* The ends of the rows that are open, the first one on top: a heap. last: of each depth the last row. */
typedef struct {
    int64_t *end;
    int32_t *last;
    size_t open, room;
} Open;

static int make_room(Open *open)
{
    size_t room = open->room ? 2 * open->room : 64;
    int64_t *end = realloc(open->end, room * sizeof *end);
    if (end)
        open->end = end;
    int32_t *last = realloc(open->last, room * sizeof *last);
    if (last)
        open->last = last;
    if (!end || !last)
        return 0;
    open->room = room;
    return 1;
}

static void push(Open *open, int64_t end)
{
    size_t place = open->open++;
    for (; place && open->end[(place - 1) / 2] > end; place = (place - 1) / 2)
        open->end[place] = open->end[(place - 1) / 2];
    open->end[place] = end;
}

static void pop(Open *open)
{
    int64_t moved = open->end[--open->open];
    size_t place = 0, below;
    for (; (below = 2 * place + 1) < open->open; place = below) {
        if (below + 1 < open->open && open->end[below + 1] < open->end[below])
            below++;
        if (open->end[below] >= moved)
            break;
        open->end[place] = open->end[below];
    }
    open->end[place] = moved;
}

/* nesting.py, nesting: rows by start. Declines rows in another order. */
static int nest(size_t rows, const int64_t *start, const int64_t *end, int32_t *depth, int32_t *parent)
{
    Open open = {NULL, NULL, 0, 0};
    int said = DONE;
    for (size_t row = 0; row < rows && said == DONE; row++) {
        while (open.open && open.end[0] <= start[row])
            pop(&open);
        if (row && start[row] < start[row - 1])
            said = DECLINED;
        else if (open.open == open.room && !make_room(&open))
            said = NO_MEMORY;
        else {
            depth[row] = (int32_t)open.open;
            parent[row] = open.open ? open.last[open.open - 1] : -1;
            open.last[open.open] = (int32_t)row;
            push(&open, end[row] > start[row] ? end[row] : start[row] + 1);
        }
    }
    free(open.end);
    free(open.last);
    return said;
}

/* sites.py, _paths. Declines where a parent does not come before its rows. */
static int paths(size_t rows, const int64_t *own, const int32_t *parent, int64_t *path)
{
    for (size_t row = 0; row < rows; row++) {
        if (parent[row] >= (int64_t)row)
            return DECLINED;
        path[row] = (int64_t)mixed(parent[row] < 0 ? 0 : mixed(0, path[parent[row]]), own[row]);
    }
    return DONE;
}

/* sites.py, _around: of each segment the events that it is in, behind and before. Declines places behind the last event. */
static int around(size_t rows, const int32_t *inside, const int32_t *before, const int32_t *after, size_t events,
                  const int32_t *own, const int32_t *name, int64_t *site)
{
    for (size_t row = 0; row < rows; row++) {
        int64_t in = inside[row], behind = before[row], ahead = after[row], most = (int64_t)events - 1;
        if (in > most || behind > most || ahead > most)
            return DECLINED;
        uint64_t found = mixed(0, in < 0 ? -1 : own[in]);
        found = mixed(found, behind < 0 ? -1 : name[behind]);
        site[row] = (int64_t)mixed(found, ahead < 0 ? -1 : name[ahead]);
    }
    return DONE;
}

/* Room for twice as many as there are rows. */
typedef struct {
    int32_t *thread;
    int64_t *start, *end;
    int32_t *inside, *before, *after;
} Stretches;

/* One end of a row: `place` ends there, or begins. */
typedef struct {
    int64_t at;
    int32_t place;
    int begins;
} Edge;

/* The stretch between two edges of one thread, if it lasts. Returns how many there are now. */
static int64_t add_stretch(int64_t count, int32_t thread, Edge from, Edge to, const int32_t *parent, const Stretches *out)
{
    if (to.at <= from.at)
        return count;
    out->thread[count] = thread;
    out->start[count] = from.at;
    out->end[count] = to.at;
    out->inside[count] = from.begins ? from.place : parent[from.place];
    out->before[count] = from.begins ? -1 : from.place;
    out->after[count] = to.begins ? to.place : -1;
    return count + 1;
}

/* inner: room for `rows` edges, the ends of those that are open. A row ends where its parent does, if that is before. */
static int64_t shared_out(size_t rows, const int64_t *start, const int64_t *end, const int32_t *thread,
                          const int32_t *parent, Edge *inner, const Stretches *out)
{
    int64_t count = 0;
    size_t depth = 0;
    Edge last = {0, -1, 0};
    for (size_t row = 0; row <= rows; row++) {
        int another = row == rows || !row || thread[row] != thread[row - 1];
        for (; depth && (another || inner[depth - 1].at <= start[row]); last = inner[--depth])
            count = add_stretch(count, thread[row - 1], last, inner[depth - 1], parent, out);
        if (row == rows)
            break;
        if (parent[row] != (depth ? inner[depth - 1].place : -1) || (!another && start[row] < start[row - 1]))
            return DECLINED;
        Edge begins = {start[row], (int32_t)row, 1}, ends = {end[row], (int32_t)row, 0};
        if (!another)
            count = add_stretch(count, thread[row], last, begins, parent, out);
        if (depth && ends.at > inner[depth - 1].at)
            ends.at = inner[depth - 1].at;
        inner[depth++] = ends;
        last = begins;
    }
    return count;
}

/* host_segments.py, find_stretches: how many there are. Declines rows whose parent is not the last one that is open. */
static int64_t stretches(size_t rows, const int64_t *start, const int64_t *end, const int32_t *thread, const int32_t *parent,
                  const Stretches *out)
{
    Edge *inner = malloc((rows + 1) * sizeof *inner);
    int64_t count = inner ? shared_out(rows, start, end, thread, parent, inner, out) : NO_MEMORY;
    free(inner);
    return count;
}

typedef struct {
    int64_t times_first, least_first, times_later, least_later, fewest, least_alike;
} Limits;

/* What is known of a site: its shortest call, the first turn of any, and how many there are. */
typedef struct {
    int64_t least, first, calls;
} Site;

static Site *sites_of(size_t calls, const int64_t *length, const int64_t *turn, const int64_t *site, int64_t most)
{
    Site *sites = malloc(((size_t)most + 1) * sizeof *sites);
    if (!sites)
        return NULL;
    for (int64_t place = 0; place <= most; place++)
        sites[place] = (Site){INT64_MAX, INT64_MAX, 0};
    for (size_t call = 0; call < calls; call++) {
        Site *mine = &sites[site[call]];
        mine->least = length[call] < mine->least ? length[call] : mine->least;
        mine->first = turn[call] < mine->first ? turn[call] : mine->first;
        mine->calls++;
    }
    return sites;
}

/* repeats.py, _may_be_long. Declines sites below 0. */
static int may_be_long(size_t calls, const int64_t *length, const int64_t *turn, const int64_t *site, const char *fixed,
                const Limits *limits, char *found)
{
    int64_t most = 0, shortest = 0;
    for (size_t call = 0; call < calls; call++) {
        if (site[call] < 0)
            return DECLINED;
        most = site[call] > most ? site[call] : most;
        shortest = length[call] < shortest ? length[call] : shortest;
    }
    Site *sites = sites_of(calls, length, turn, site, most);
    if (!sites)
        return NO_MEMORY;
    for (size_t call = 0; call < calls; call++) {
        Site mine = sites[site[call]];
        int64_t over = length[call] - mine.least;
        int first = over >= limits->least_first && length[call] >= limits->times_first * mine.least;
        int later = over >= limits->least_later && length[call] >= limits->times_later * mine.least;
        int alone = fixed[call] && mine.calls < limits->fewest;
        found[call] = (char)((first && (later || turn[call] == mine.first)) ||
                             (alone && length[call] - shortest >= limits->least_alike));
    }
    free(sites);
    return DONE;
}

static size_t slot_of(int64_t key, size_t slots)
{
    uint64_t spread = (uint64_t)key * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(spread ^ (spread >> 32)) & (slots - 1);
}

/* The slot of a key, or the free one for it. number: of the key in each slot, -1 of a free one. */
static size_t find_slot(int64_t key, const int64_t *different, const int64_t *number, size_t slots)
{
    size_t slot = slot_of(key, slots);
    while (number[slot] >= 0 && different[number[slot]] != key)
        slot = (slot + 1) & (slots - 1);
    return slot;
}

static int64_t *empty_slots(size_t slots)
{
    int64_t *number = malloc(slots * sizeof *number);
    if (number)
        memset(number, -1, slots * sizeof *number);
    return number;
}

/* groups.py, _ranked: numbers keys as they come, into `place`, and keeps one of each in `different`, which has room for
 * all. */
static int number_keys(size_t keys, const int64_t *key, int64_t *place, int64_t *different)
{
    size_t slots = 1024, found = 0;
    int64_t *number = empty_slots(slots);
    for (size_t row = 0; row < keys && number; row++) {
        size_t slot = find_slot(key[row], different, number, slots);
        if (number[slot] < 0) {
            number[slot] = (int64_t)found;
            different[found++] = key[row];
        }
        place[row] = number[slot];
        if (2 * found > slots) {
            free(number);
            number = empty_slots(slots *= 4);
            for (size_t each = 0; each < found && number; each++)
                number[find_slot(different[each], different, number, slots)] = (int64_t)each;
        }
    }
    int said = number ? DONE : NO_MEMORY;
    free(number);
    return said;
}

/* How many starts are at or before an instant. guess: of the instant before, which is mostly close. */
static size_t starts_by(int64_t instant, const int64_t *start, size_t count, size_t guess)
{
    size_t low = 0, high = count;
    if (guess && start[guess - 1] > instant)
        high = guess - 1;
    else {
        low = guess;
        for (size_t ahead = 1; low < high; ahead *= 2) {
            size_t far = low + ahead <= high ? low + ahead : high;
            if (start[far - 1] > instant) {
                high = far - 1;
                break;
            }
            low = far;
        }
    }
    while (low < high) {
        size_t half = low + (high - low) / 2;
        if (start[half] <= instant)
            low = half + 1;
        else
            high = half;
    }
    return low;
}

/* intervals.py, overlap_ns: of intervals that are disjoint and sorted. */
static int overlaps(size_t windows, const int64_t *low, const int64_t *high, size_t intervals, const int64_t *start,
             const int64_t *end, int64_t *covered)
{
    int64_t *sums = malloc((intervals + 1) * sizeof *sums);
    if (!sums)
        return NO_MEMORY;
    sums[0] = 0;
    for (size_t each = 0; each < intervals; each++)
        sums[each + 1] = sums[each] + (end[each] - start[each]);
    for (int upper = 0; upper < 2; upper++) {
        const int64_t *instant = upper ? high : low;
        size_t count = 0;
        for (size_t window = 0; window < windows; window++) {
            count = starts_by(instant[window], start, intervals, count);
            int64_t ahead = count && end[count - 1] > instant[window] ? end[count - 1] - instant[window] : 0;
            covered[window] = upper ? sums[count] - ahead - covered[window] : sums[count] - ahead;
        }
    }
    free(sums);
    return DONE;
}

/* nesting.py, with_inner. Declines where a parent does not come before its rows. */
static int with_inner(size_t rows, const int64_t *value, const int32_t *parent, int64_t *total)
{
    memcpy(total, value, rows * sizeof *total);
    for (size_t row = rows; row--;) {
        if (parent[row] >= (int64_t)row)
            return DECLINED;
        if (parent[row] >= 0)
            total[parent[row]] += total[row];
    }
    return DONE;
}

/* op_tree.py, topmost. Declines where a parent does not come before its rows. */
static int topmost(size_t rows, const int32_t *parent, const int32_t *group, char *found)
{
    for (size_t row = 0; row < rows; row++) {
        int64_t above = parent[row];
        if (above >= (int64_t)row)
            return DECLINED;
        while (above >= 0 && group[above] != group[row])
            above = parent[above];
        found[row] = above < 0;
    }
    return DONE;
}

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

/* Reads the arguments of a function. Returns 0, with an exception, if they are no columns or have more rows than 32 bits
 * can number. */
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

static size_t wide_rows(const Columns *columns, int place)
{
    return columns->size[place] / sizeof(int64_t);
}

static size_t first_rows(const Columns *columns, const char *kinds)
{
    return columns->size[0] / (kinds[0] == 'n' ? sizeof(int32_t) : sizeof(int64_t));
}

/* Whether the columns are of these kinds, a letter for each in their order: w (64 bits), n (32 bits) and b (a byte) have as
 * many rows as the first column; W and N have twice as many; O (64 bits) and o (32 bits) may have any number, the same for
 * all of their letter. */
static int are(const Columns *columns, const char *kinds)
{
    size_t rows = first_rows(columns, kinds), wide = 0, narrow = 0;
    int place = 0;
    for (; kinds[place] && place < columns->count; place++) {
        size_t size = columns->size[place];
        int fits = kinds[place] == 'w'   ? size == rows * sizeof(int64_t)
                   : kinds[place] == 'n' ? size == rows * sizeof(int32_t)
                   : kinds[place] == 'b' ? size == rows
                   : kinds[place] == 'W' ? size == 2 * rows * sizeof(int64_t)
                   : kinds[place] == 'N' ? size == 2 * rows * sizeof(int32_t)
                   : kinds[place] == 'o' ? size % sizeof(int32_t) == 0 && (!narrow || size == narrow)
                                         : size % sizeof(int64_t) == 0 && (!wide || size == wide);
        if (!fits)
            return wrong("columns of different lengths");
        narrow = kinds[place] == 'o' ? size : narrow;
        wide = kinds[place] == 'O' ? size : wide;
    }
    return kinds[place] || place < columns->count ? wrong("another number of columns") : 1;
}

/* The result for Python of a pass that filled so many rows, or that ended otherwise. */
static PyObject *filled(int64_t rows)
{
    if (rows == NO_MEMORY)
        return PyErr_NoMemory();
    return rows == DECLINED ? Py_NewRef(Py_None) : PyLong_FromLongLong(rows);
}

static PyObject *filled_all(int result, size_t rows)
{
    return filled(result == DONE ? (int64_t)rows : result);
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
    return filled_all(DONE, rows);
}

/* A function of a pass with as many results as its first column has rows. */
#define PASS(name, kinds, run)                                     \
    PyObject *python_##name(PyObject *module, PyObject *given)     \
    {                                                              \
        Columns in;                                                \
        (void)module;                                              \
        if (!take(given, &in) || !are(&in, kinds))                 \
            return NULL;                                           \
        size_t rows = first_rows(&in, kinds);                      \
        return filled_all(run, rows);                                \
    }

PASS(nest, "wwnn", nest(rows, in.at[0], in.at[1], in.at[2], in.at[3]))
PASS(paths, "wnw", paths(rows, in.at[0], in.at[1], in.at[2]))
PASS(around, "nnnoow", around(rows, in.at[0], in.at[1], in.at[2], in.size[3] / sizeof(int32_t), in.at[3], in.at[4], in.at[5]))
PASS(number_keys, "www", number_keys(rows, in.at[0], in.at[1], in.at[2]))
PASS(overlaps, "wwOOw", overlaps(rows, in.at[0], in.at[1], wide_rows(&in, 2), in.at[2], in.at[3], in.at[4]))
PASS(with_inner, "wnw", with_inner(rows, in.at[0], in.at[1], in.at[2]))
PASS(topmost, "nnb", topmost(rows, in.at[0], in.at[1], in.at[2]))

PyObject *python_stretches(PyObject *module, PyObject *given)
{
    Columns in;
    (void)module;
    if (!take(given, &in) || !are(&in, "wwnnNWWNNN"))
        return NULL;
    Stretches found = {in.at[4], in.at[5], in.at[6], in.at[7], in.at[8], in.at[9]};
    return filled(stretches(wide_rows(&in, 0), in.at[0], in.at[1], in.at[2], in.at[3], &found));
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
    return filled_all(may_be_long(calls, in.at[0], in.at[1], in.at[2], in.at[3], in.at[4], in.at[5]), calls);
}

/* See passes.h. Rows are looked at once, in their order, where numpy looks at all of them for each level or column. */
#include "passes.h"

#include <stdlib.h>
#include <string.h>

uint64_t mixed(uint64_t number, int64_t column)
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

int nest(size_t rows, const int64_t *start, const int64_t *end, int32_t *depth, int32_t *parent)
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

int paths(size_t rows, const int64_t *own, const int32_t *parent, int64_t *path)
{
    for (size_t row = 0; row < rows; row++) {
        if (parent[row] >= (int64_t)row)
            return DECLINED;
        path[row] = (int64_t)mixed(parent[row] < 0 ? 0 : mixed(0, path[parent[row]]), own[row]);
    }
    return DONE;
}

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

int64_t stretches(size_t rows, const int64_t *start, const int64_t *end, const int32_t *thread, const int32_t *parent,
                  const Stretches *out)
{
    Edge *inner = malloc((rows + 1) * sizeof *inner);
    int64_t count = inner ? shared_out(rows, start, end, thread, parent, inner, out) : NO_MEMORY;
    free(inner);
    return count;
}

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

int may_be_long(size_t calls, const int64_t *length, const int64_t *turn, const int64_t *site, const char *fixed,
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

int number_keys(size_t keys, const int64_t *key, int64_t *place, int64_t *different)
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

int overlaps(size_t windows, const int64_t *low, const int64_t *high, size_t intervals, const int64_t *start,
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

int with_inner(size_t rows, const int64_t *value, const int32_t *parent, int64_t *total)
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

int topmost(size_t rows, const int32_t *parent, const int32_t *group, char *found)
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

/* Passes over columns of events. The Python that does the same, with what each result means, is named at each. */
#ifndef TB_STEPTIME_PASSES_H
#define TB_STEPTIME_PASSES_H

#include <stddef.h>
#include <stdint.h>

/* What a pass says that gives no number of its own. */
enum { DONE = 0, DECLINED = -1, NO_MEMORY = -2 };

/* likeness.py, mixed: one more column of a row, and the number of a row without columns is 0. */
uint64_t mixed(uint64_t number, int64_t column);

/* nesting.py, nesting: rows by start. Declines rows in another order. */
int nest(size_t rows, const int64_t *start, const int64_t *end, int32_t *depth, int32_t *parent);

/* sites.py, _paths. Declines where a parent does not come before its rows. */
int paths(size_t rows, const int64_t *own, const int32_t *parent, int64_t *path);

/* Room for twice as many as there are rows. */
typedef struct {
    int32_t *thread;
    int64_t *start, *end;
    int32_t *inside, *before, *after;
} Stretches;

/* host_segments.py, find_stretches: how many there are. Declines rows whose parent is not the last one that is open. */
int64_t stretches(size_t rows, const int64_t *start, const int64_t *end, const int32_t *thread, const int32_t *parent,
                  const Stretches *out);

typedef struct {
    int64_t times_first, least_first, times_later, least_later, fewest, least_alike;
} Limits;

/* repeats.py, _may_be_long. Declines sites below 0. */
int may_be_long(size_t calls, const int64_t *length, const int64_t *turn, const int64_t *site, const char *fixed,
                const Limits *limits, char *found);

/* groups.py, _ranked: numbers keys as they come, into `place`, and keeps one of each in `different`, which has room for
 * all. */
int number_keys(size_t keys, const int64_t *key, int64_t *place, int64_t *different);

/* intervals.py, overlap_ns: of intervals that are disjoint and sorted. */
int overlaps(size_t windows, const int64_t *low, const int64_t *high, size_t intervals, const int64_t *start,
             const int64_t *end, int64_t *covered);

/* nesting.py, with_inner. Declines where a parent does not come before its rows. */
int with_inner(size_t rows, const int64_t *value, const int32_t *parent, int64_t *total);

/* op_tree.py, topmost. Declines where a parent does not come before its rows. */
int topmost(size_t rows, const int32_t *parent, const int32_t *group, char *found);

#endif

/* Graphs of waits: a node starts when the last of what it waits for allows it. See tb_steptime/replay/sweep.py and
 * tb_steptime/replay/reduced.py, whose Python does the same. */
#ifndef TB_STEPTIME_WAITS_H
#define TB_STEPTIME_WAITS_H

#include <stdint.h>

/* Edges into each node: those from first[node] to first[node + 1], each from the node `before` with a lag in ns. */
typedef struct {
    const int64_t *first, *before, *lag;
    int64_t count;
} Waits;

/* When each of `nodes` nodes starts in each of `copies` copies. inner: edges within a copy, whose `before` is less than
 * the node; links: edges from the copy before. 0 where an edge leads nowhere, and then `starts` means nothing. */
int sweep(int64_t nodes, int64_t copies, const int64_t *lasts, const int64_t *release, const Waits *inner,
          const Waits *links, int64_t *starts);

/* Ways found, in room that grows. from: a chosen node, or START for the releases; lag: of the longest way between them
 * through no other chosen node. */
typedef struct {
    int64_t *from, *to, *lag;
    int64_t count, room;
} Ways;

enum { START = -1 };

/* chosen: for each node its number among the chosen ones, which ascend, else -1. release: -1 for none. A way that one
 * through other chosen nodes is never shorter than is left out; so many of these are looked back for. 1, 0 where an edge
 * leads nowhere, and -1 without memory; then free_ways is called all the same. */
int reduce(int64_t nodes, const int64_t *lasts, const int64_t *release, const Waits *waits, const int64_t *chosen,
           int64_t look_back, Ways *found);

void free_ways(Ways *ways);

#endif

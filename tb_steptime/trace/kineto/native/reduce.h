/* The longest ways between chosen nodes of a graph of waits: see tb_steptime/replay/reduced.py, whose Python does the
 * same. */
#ifndef TB_STEPTIME_REDUCE_H
#define TB_STEPTIME_REDUCE_H

#include <stdint.h>

#include "sweep.h"

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

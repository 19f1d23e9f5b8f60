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

/* The paths that were found, in columns that grow. A path leads from a chosen node, or from the releases (START), to a
 * chosen node, and through no other one. lag: of the longest such path. */
typedef struct {
    int64_t *from, *to, *lag;
    int64_t count, room;
} Paths;

enum { START = -1 };

/* Finds the paths between chosen nodes. chosen: for each node its number among the chosen ones, in ascending order, else
 * -1. release: -1 for none. A path is left out if one through other chosen nodes is at least as long; look_back says how
 * many chosen nodes before it are considered for that. Returns 1; 0 if an edge leads to no node; -1 without memory. The
 * caller frees the paths in each case. */
int reduce(int64_t nodes, const int64_t *lasts, const int64_t *release, const Waits *waits, const int64_t *chosen,
           int64_t look_back, Paths *found);

void free_paths(Paths *paths);

#endif

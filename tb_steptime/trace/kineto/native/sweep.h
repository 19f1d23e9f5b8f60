/* The replay of a graph of waits, repeated: see tb_steptime/replay/sweep.py, whose Python does the same. */
#ifndef TB_STEPTIME_SWEEP_H
#define TB_STEPTIME_SWEEP_H

#include <stdint.h>

/* Edges into each node: those from first[node] to first[node + 1], each from the node `before` with a lag in ns. */
typedef struct {
    const int64_t *first, *before, *lag;
    int64_t count;
} Waits;

/* Whether all edges are from a node before the one that they lead to. */
int leads_back(int64_t nodes, const Waits *waits);

/* When each of `nodes` nodes starts in each of `copies` copies. inner: edges within a copy, whose `before` is less than
 * the node; links: edges from the copy before. 0 where an edge leads nowhere, and then `starts` means nothing. */
int sweep(int64_t nodes, int64_t copies, const int64_t *lasts, const int64_t *release, const Waits *inner,
          const Waits *links, int64_t *starts);

#endif

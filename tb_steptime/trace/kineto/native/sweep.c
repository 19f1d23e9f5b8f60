/* One pass in the order of the nodes: a node starts when the last of what it waits for allows it. */
#include "sweep.h"

/* Whether the edges of each node are within the table, and lead from a node below `limit` (-1: below the node itself). */
static int leads_somewhere(int64_t nodes, const Waits *waits, int64_t limit)
{
    for (int64_t node = 0; node < nodes; node++) {
        int64_t from = waits->first[node], to = waits->first[node + 1], most = limit < 0 ? node : limit;
        if (from < 0 || to < from || to > waits->count)
            return 0;
        for (int64_t edge = from; edge < to; edge++)
            if (waits->before[edge] < 0 || waits->before[edge] >= most)
                return 0;
    }
    return 1;
}

int leads_back(int64_t nodes, const Waits *waits)
{
    return leads_somewhere(nodes, waits, -1);
}

static int64_t latest(const Waits *waits, int64_t node, const int64_t *starts, const int64_t *lasts, int64_t start)
{
    for (int64_t edge = waits->first[node]; edge < waits->first[node + 1]; edge++) {
        int64_t before = waits->before[edge], allowed = starts[before] + lasts[before] + waits->lag[edge];
        if (allowed > start)
            start = allowed;
    }
    return start;
}

int sweep(int64_t nodes, int64_t copies, const int64_t *lasts, const int64_t *release, const Waits *inner,
          const Waits *links, int64_t *starts)
{
    if (!leads_back(nodes, inner) || !leads_somewhere(nodes, links, nodes))
        return 0;
    for (int64_t copy = 0; copy < copies; copy++) {
        int64_t *mine = starts + copy * nodes;
        for (int64_t node = 0; node < nodes; node++) {
            int64_t start = latest(inner, node, mine, lasts, release[node]);
            mine[node] = copy ? latest(links, node, mine - nodes, lasts, start) : start;
        }
    }
    return 1;
}

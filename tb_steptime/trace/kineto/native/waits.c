/* See waits.h. Both take the nodes in their order once. */
#include "waits.h"

#include <stdlib.h>
#include <string.h>

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

/* Whether all edges are from a node before the one that they lead to. */
static int leads_back(int64_t nodes, const Waits *waits)
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

#define NO_PATH (INT64_MIN / 4)
enum { MOST_PATHS = 32 };

/* The paths to one node, in ascending order of the nodes where they begin. */
typedef struct {
    int64_t from[MOST_PATHS], lag[MOST_PATHS];
    int count;
} Reached;

/* All paths that are known. first, from, lag: the paths to each node that is not chosen, one node after another. between:
 * for each chosen node the longest paths to it from the look_back chosen nodes before it, the nearest first, and then
 * from the releases. */
typedef struct {
    int64_t *first, *from, *lag, *between;
    int64_t room, look_back;
} Known;

static int grown(int64_t **column, int64_t room)
{
    int64_t *larger = realloc(*column, (size_t)room * sizeof(int64_t));
    if (larger)
        *column = larger;
    return larger != NULL;
}

/* Adds a path. Of two paths from one node the longer one counts. If there are too many, the one from the earliest node is
 * dropped, but never the one from the releases. */
static void add(Reached *reached, int64_t from, int64_t lag)
{
    int place = 0;
    while (place < reached->count && reached->from[place] < from)
        place++;
    if (place < reached->count && reached->from[place] == from) {
        if (lag > reached->lag[place])
            reached->lag[place] = lag;
        return;
    }
    int dropped = -1;
    if (reached->count == MOST_PATHS) {
        dropped = reached->from[0] == START;
        if (place <= dropped)
            return;
        place--;
        reached->count--;
        memmove(reached->from + dropped, reached->from + dropped + 1, (size_t)(reached->count - dropped) * sizeof(int64_t));
        memmove(reached->lag + dropped, reached->lag + dropped + 1, (size_t)(reached->count - dropped) * sizeof(int64_t));
    }
    memmove(reached->from + place + 1, reached->from + place, (size_t)(reached->count - place) * sizeof(int64_t));
    memmove(reached->lag + place + 1, reached->lag + place, (size_t)(reached->count - place) * sizeof(int64_t));
    reached->from[place] = from;
    reached->lag[place] = lag;
    reached->count++;
}

/* The longest known path between chosen nodes. */
static int64_t between(const Known *known, int64_t from, int64_t to)
{
    const int64_t *row = known->between + to * (known->look_back + 1);
    if (from == START)
        return row[known->look_back];
    return to - from > known->look_back ? NO_PATH : row[to - from - 1];
}

/* Leaves out the paths that are never longer than one through a later chosen node. */
static void prune(Reached *reached, const Known *known)
{
    int kept = 0;
    for (int each = 0; each < reached->count; each++) {
        int longest = 1;
        for (int other = each + 1; other < reached->count && longest; other++)
            longest = between(known, reached->from[each], reached->from[other]) + reached->lag[other] < reached->lag[each];
        if (longest) {
            reached->from[kept] = reached->from[each];
            reached->lag[kept++] = reached->lag[each];
        }
    }
    reached->count = kept;
}

/* Records the paths to a chosen node as found, and derives from them the longest path from each chosen node before it. */
static int tell(const Reached *reached, int64_t number, Known *known, Paths *found)
{
    int64_t back = known->look_back, *row = known->between + number * (back + 1);
    for (int64_t place = 0; place <= back; place++)
        row[place] = NO_PATH;
    if (found->count + reached->count > found->room) {
        found->room = 2 * (found->count + MOST_PATHS);
        if (!grown(&found->from, found->room) || !grown(&found->to, found->room) || !grown(&found->lag, found->room))
            return 0;
    }
    for (int each = 0; each < reached->count; each++) {
        int64_t from = reached->from[each], lag = reached->lag[each];
        found->from[found->count] = from;
        found->to[found->count] = number;
        found->lag[found->count++] = lag;
        int64_t place = from == START ? back : number - from - 1;
        if (place <= back && lag > row[place])
            row[place] = lag;
        if (from == START)
            continue;
        for (int64_t earlier = 0; earlier < back && earlier + number - from < back; earlier++)
            if (known->between[from * (back + 1) + earlier] + lag > row[earlier + number - from])
                row[earlier + number - from] = known->between[from * (back + 1) + earlier] + lag;
        if (between(known, START, from) + lag > row[back])
            row[back] = between(known, START, from) + lag;
    }
    return 1;
}

static int keep(const Reached *reached, int64_t node, Known *known)
{
    int64_t at = known->first[node];
    known->first[node + 1] = at + reached->count;
    if (at + reached->count >= known->room) {
        known->room = 2 * (at + MOST_PATHS);
        if (!grown(&known->from, known->room) || !grown(&known->lag, known->room))
            return 0;
    }
    memcpy(known->from + at, reached->from, (size_t)reached->count * sizeof(int64_t));
    memcpy(known->lag + at, reached->lag, (size_t)reached->count * sizeof(int64_t));
    return 1;
}

static void gather(Reached *reached, const int64_t *lasts, const Waits *waits, const int64_t *chosen, int64_t node,
                   const Known *known)
{
    for (int64_t edge = waits->first[node]; edge < waits->first[node + 1]; edge++) {
        int64_t before = waits->before[edge], later = lasts[before] + waits->lag[edge];
        if (chosen[before] >= 0)
            add(reached, chosen[before], later);
        else
            for (int64_t each = known->first[before]; each < known->first[before + 1]; each++)
                add(reached, known->from[each], known->lag[each] + later);
    }
}

static int pass(int64_t nodes, const int64_t *lasts, const int64_t *release, const Waits *waits, const int64_t *chosen,
                Known *known, Paths *found)
{
    for (int64_t node = 0; node < nodes; node++) {
        Reached reached = {.count = 0};
        if (release[node] >= 0)
            add(&reached, START, release[node]);
        gather(&reached, lasts, waits, chosen, node, known);
        prune(&reached, known);
        if (chosen[node] >= 0 && !tell(&reached, chosen[node], known, found))
            return -1;
        if (chosen[node] >= 0)
            reached.count = 0;
        if (!keep(&reached, node, known))
            return -1;
    }
    return 1;
}

int reduce(int64_t nodes, const int64_t *lasts, const int64_t *release, const Waits *waits, const int64_t *chosen,
           int64_t look_back, Paths *found)
{
    int64_t count = 0;
    if (!leads_back(nodes, waits))
        return 0;
    for (int64_t node = 0; node < nodes; node++)
        if (chosen[node] >= 0 && chosen[node] != count++)
            return 0;
    Known known = {.look_back = look_back};
    known.first = calloc((size_t)nodes + 1, sizeof(int64_t));
    known.between = malloc((size_t)(count * (look_back + 1) + 1) * sizeof(int64_t));
    int done = known.first && known.between ? pass(nodes, lasts, release, waits, chosen, &known, found) : -1;
    free(known.first);
    free(known.from);
    free(known.lag);
    free(known.between);
    return done;
}

void free_paths(Paths *paths)
{
    free(paths->from);
    free(paths->to);
    free(paths->lag);
}

/* A block of events as JSON -> rows, and these -> columns. Knows nothing of Python, so that it can be tried without. */
#ifndef TB_STEPTIME_EVENTS_H
#define TB_STEPTIME_EVENTS_H

#include "table.h"

/* Arguments that are whole numbers, in the order of `Row.number`. */
enum {
    CORRELATION, EXTERNAL, EXTERNAL_2021, DEVICE, STREAM, BYTES, REGISTERS, SHARED_MEMORY, SEQUENCE, FORWARD,
    GRAPH, GRAPH_NODE, QUEUE,
    SIZE, ADDRESS, ALLOCATED, RESERVED, MEMORY_KIND, MEMORY_DEVICE, /* of what the allocator says */
    NUMBERS
};
enum { ALLOCATOR_NUMBERS = NUMBERS - SIZE };
/* Those that are three whole numbers, and those with decimals. */
enum { GRID = NUMBERS, BLOCK, PER_SM, OCCUPANCY };
/* Those that stay as they are spelled, and some that are looked for and not kept. ELSEWHERE: what few producers write of
 * a device's activity, which is read by someone else. */
enum { SHAPES = OCCUPANCY + 1, DTYPES, SETTINGS, STACK, HIERARCHY, COLLECTIVE, ELSEWHERE, OTHER_QUEUE, ARGUMENTS };
enum { TEXTS = HIERARCHY - SHAPES + 1 };

/* What the caller says of a label, in `Entry.flags`. */
enum { LEFT_OUT = 1, ON_DEVICE = 2, IS_OP = 4, IS_KERNEL = 8, WITH_INPUTS = 16, WITH_SETTINGS = 32, IS_CALL = 64, IS_WINDOW = 128 };

/* The columns that a block becomes: int64, then int32, then float64; `Columns` in columns.py says what they are. */
enum {
    OF_START, OF_DUR, OF_CORRELATION, OF_EXTERNAL, OF_EXTERNAL_2021, OF_ON_DEVICE, OF_BYTES, OF_SEQUENCE, OF_WITH_INPUTS,
    OF_KERNEL, OF_GRID, OF_BLOCK, OF_SHARED_MEMORY, OF_COLLECTIVE, OF_GRAPHED, OF_GRAPH, OF_GRAPH_NODE,
    OF_SHAPED, OF_SHAPED_GRID, OF_SHAPED_BLOCK, OF_SHAPED_MEMORY, OF_WINDOW_START, OF_WINDOW_DUR,
    OF_MEMORY_TIME, OF_MEMORY_SIZE, OF_MEMORY_ADDRESS, OF_MEMORY_ALLOCATED, OF_MEMORY_RESERVED,
    OF_LABEL, OF_DEVICE, OF_STREAM, OF_NUMBERED, OF_FORWARD, OF_STACKED, OF_STACK, OF_NESTED, OF_HIERARCHY,
    OF_SHAPES, OF_DTYPES, OF_SETTINGS, OF_REGISTERS, OF_MEMORY_KIND, OF_MEMORY_DEVICE, OF_MEMORY_TRACK,
    OF_PER_SM, OF_OCCUPANCY,
    COLUMNS
};

/* Answers of `scan_events`. ODD: not all of this text is plain JSON of the kind that is expected, or there was no memory
 * for it: have it read by someone else. LATE: a time is too late for a float64, and `exact` was not asked for. */
enum { SCANNED, ODD, LATE };

typedef struct {
    size_t start, end;
} Span;

/* An event with a duration. said: bits of the arguments that it has; the numbers of all others are not set. odd: bits of
 * the arguments whose type is unusual, which only matters where they are needed. */
typedef struct {
    int64_t start_ns, dur_ns, pid, tid;
    int64_t number[NUMBERS], triple[2][3];
    double decimal[2];
    Span text[TEXTS], args;
    uint32_t said, odd;
    int32_t label;
    int pid_said, tid_said;
} Row;

/* One event of the allocator; -1 for what it does not contain. track: a place in the table of tracks. */
typedef struct {
    int64_t time_ns, number[ALLOCATOR_NUMBERS];
    int32_t track;
} Instant;

typedef struct {
    char *bytes;
    size_t used, room;
} Column;

/* Tables of distinct texts: of inputs, stacks and hierarchies, and of the tracks of the allocator's events. */
enum { OF_INPUTS, OF_STACKS, OF_HIERARCHIES, OF_TRACKS, TEXT_TABLES };

/* text has a zero behind it, which no JSON has. others: events that do not last and say something. */
typedef struct {
    const char *text;
    size_t length, event_count;
    int exact, late;
    Row *rows;
    size_t row_count, row_room;
    Instant *instants;
    size_t instant_count, instant_room;
    Span *others, *collectives;
    size_t other_count, other_room, collective_count, collective_room;
    char *key;
    size_t key_room;
    Table labels, texts[TEXT_TABLES];
    Column columns[COLUMNS];
} Scan;

void scan_init(Scan *scan);
void scan_free(Scan *scan);

/* Comma-separated events -> `rows`, `instants`, `others`, `event_count`. New labels are UNNUMBERED afterwards. */
int scan_events(Scan *scan, const char *text, size_t length, int exact);

/* Rows, whose labels are numbered by now, and instants -> `columns` and `collectives`; 0 where something needed is odd. first: the
 * number of the first row. Columns of texts hold places in `texts`, -1 for none. */
int fill_columns(Scan *scan, int64_t first);

/* The table for a column of texts, NULL for other columns. */
Table *table_of(Scan *scan, int column);
/* Once places have become numbers: leave those without one out of the columns of stacks and hierarchies. */
void drop_empty_texts(Scan *scan);

#endif

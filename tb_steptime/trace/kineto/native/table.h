/* Distinct byte strings and their numbers. */
#ifndef TB_STEPTIME_TABLE_H
#define TB_STEPTIME_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* No number is known yet: the caller asks for it when the text is first needed. */
#define UNNUMBERED (-2)

typedef struct {
    uint64_t hash;
    size_t start;
    uint32_t length;
    int32_t number;
    int32_t flags;
} Entry;

/* slots: open addressing, a power of two of them, at most half full; -1 is empty. bytes: all texts behind each other. */
typedef struct {
    Entry *entries;
    int32_t count, room;
    int32_t *slots;
    size_t slot_count;
    char *bytes;
    size_t used, byte_room, most_bytes;
} Table;

/* most_bytes: of all texts together, beyond which new ones find no room. Memory comes with the first text. */
void table_init(Table *table, size_t most_bytes);
void table_free(Table *table);

/* The place of a text among `entries`, where it is put if it is new; -1 where there is no room or no memory. */
int32_t table_place(Table *table, const char *text, size_t length);

#endif

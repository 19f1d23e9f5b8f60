#include "table.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 256
#define FIRST_BYTES 4096
#define MOST_ENTRIES (INT32_MAX / 4)

void table_init(Table *table, size_t most_bytes)
{
    memset(table, 0, sizeof *table);
    table->most_bytes = most_bytes;
}

void table_free(Table *table)
{
    free(table->entries);
    free(table->slots);
    free(table->bytes);
    table_init(table, table->most_bytes);
}

/* Eight bytes at a time: names of kernels are hundreds of bytes long. */
static uint64_t hash_of(const char *text, size_t length)
{
    const uint64_t mix = 0x9E3779B97F4A7C15u;
    uint64_t hash = length * mix, word;
    for (; length >= 8; text += 8, length -= 8) {
        memcpy(&word, text, 8);
        hash = (hash ^ word) * mix;
        hash ^= hash >> 29;
    }
    word = 0;
    memcpy(&word, text, length);
    hash = (hash ^ word) * mix;
    return hash ^ (hash >> 32);
}

static int more_slots(Table *table)
{
    size_t count = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
    int32_t *slots = malloc(count * sizeof *slots);
    if (!slots)
        return 0;
    memset(slots, 0xff, count * sizeof *slots);
    for (int32_t each = 0; each < table->count; each++) {
        size_t slot = table->entries[each].hash & (count - 1);
        while (slots[slot] >= 0)
            slot = (slot + 1) & (count - 1);
        slots[slot] = each;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = count;
    return 1;
}

/* Room for one text more of this length. */
static int more_room(Table *table, size_t length)
{
    if (table->count >= MOST_ENTRIES || length > table->most_bytes || table->used > table->most_bytes - length)
        return 0;
    if (table->count == table->room) {
        int32_t room = table->room ? table->room * 2 : FIRST_SLOTS / 2;
        Entry *entries = realloc(table->entries, (size_t)room * sizeof *entries);
        if (!entries)
            return 0;
        table->entries = entries;
        table->room = room;
    }
    if (table->byte_room - table->used <= length) {
        size_t room = table->byte_room ? table->byte_room : FIRST_BYTES;
        while (room - table->used <= length)
            room *= 2;
        char *bytes = realloc(table->bytes, room);
        if (!bytes)
            return 0;
        table->bytes = bytes;
        table->byte_room = room;
    }
    return (size_t)table->count * 2 < table->slot_count || more_slots(table);
}

int32_t table_place(Table *table, const char *text, size_t length)
{
    uint64_t hash = hash_of(text, length);
    size_t slot = 0;
    if (table->slot_count) {
        for (slot = hash & (table->slot_count - 1); table->slots[slot] >= 0; slot = (slot + 1) & (table->slot_count - 1)) {
            const Entry *entry = &table->entries[table->slots[slot]];
            if (entry->hash == hash && entry->length == length && !memcmp(table->bytes + entry->start, text, length))
                return table->slots[slot];
        }
    }
    if (length > UINT32_MAX || !more_room(table, length))
        return -1;
    for (slot = hash & (table->slot_count - 1); table->slots[slot] >= 0;) /* the slots may be others now */
        slot = (slot + 1) & (table->slot_count - 1);
    memcpy(table->bytes + table->used, text, length);
    table->entries[table->count] = (Entry){hash, table->used, (uint32_t)length, UNNUMBERED, 0};
    table->used += length;
    table->slots[slot] = table->count;
    return table->count++;
}

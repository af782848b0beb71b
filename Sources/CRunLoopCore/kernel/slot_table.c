#include "slot_table.h"
#include "memory.h"

#include <errno.h>

enum { FIRST_CHUNK_ROOM = 4, MOST_SLOTS = INT32_MAX };

void rlc_slot_table_init(rlc_slot_table *table, size_t record_size) {
    *table = (rlc_slot_table){.record_size = (uint32_t)record_size};
}

void rlc_slot_table_finish(rlc_slot_table *table, const rlc_kernel *memory) {
    for (uint32_t i = 0; i < table->chunk_count; i++)
        rlc_memory_free(memory, table->chunks[i]);
    rlc_memory_free(memory, table->chunks);
}

static int reserve_chunk_room(rlc_slot_table *table, const rlc_kernel *memory) {
    if (table->chunk_count < table->chunk_room)
        return 0;
    uint32_t room = table->chunk_room == 0 ? FIRST_CHUNK_ROOM : table->chunk_room + table->chunk_room / 2;
    unsigned char **chunks = rlc_memory_resize(memory, table->chunks, room * sizeof *chunks);
    if (chunks == NULL)
        return -ENOMEM;
    table->chunks = chunks;
    table->chunk_room = room;
    return 0;
}

int rlc_slot_table_reserve(rlc_slot_table *table, const rlc_kernel *memory) {
    if (!SLIST_EMPTY(&table->unused) || table->touched < table->chunk_count * RLC_SLOTS_PER_CHUNK)
        return 0;
    if (table->touched > MOST_SLOTS - RLC_SLOTS_PER_CHUNK)
        return -ENOMEM;
    int status = reserve_chunk_room(table, memory);
    if (status < 0)
        return status;
    unsigned char *chunk = rlc_memory_new(memory, (size_t)table->record_size * RLC_SLOTS_PER_CHUNK);
    if (chunk == NULL)
        return -ENOMEM;
    table->chunks[table->chunk_count++] = chunk;
    return 0;
}

rlc_slot *rlc_slot_table_claim(rlc_slot_table *table) {
    rlc_unused_slot *unused = SLIST_FIRST(&table->unused);
    table->count++;
    if (unused != NULL) {
        SLIST_REMOVE_HEAD(&table->unused, link);
        unused->slot.generation++;
        return &unused->slot;
    }
    rlc_slot *slot = rlc_slot_table_at(table, table->touched);
    *slot = (rlc_slot){.number = table->touched++, .generation = table->generation + 1};
    return slot;
}

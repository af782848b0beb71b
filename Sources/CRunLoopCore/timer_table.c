#include "timer_table.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_CHUNK_ROOM = 4, MOST_TIMERS = INT32_MAX };

void rlc_timer_table_init(rlc_timer_table *table, size_t record_size) {
    *table = (rlc_timer_table){.record_size = (uint32_t)record_size, .first_free = RLC_NO_TIMER};
}

void rlc_timer_table_finish(rlc_timer_table *table) {
    for (uint32_t i = 0; i < table->chunk_count; i++)
        free(table->chunks[i]);
    free(table->chunks);
}

static int reserve_chunk_room(rlc_timer_table *table) {
    if (table->chunk_count < table->chunk_room)
        return 0;
    uint32_t room = table->chunk_room == 0 ? FIRST_CHUNK_ROOM : table->chunk_room + table->chunk_room / 2;
    unsigned char **chunks = realloc(table->chunks, room * sizeof *chunks);
    if (chunks == NULL)
        return -ENOMEM;
    table->chunks = chunks;
    table->chunk_room = room;
    return 0;
}

int rlc_timer_table_reserve(rlc_timer_table *table) {
    if (table->first_free != RLC_NO_TIMER || table->touched < table->chunk_count * RLC_TIMERS_PER_CHUNK)
        return 0;
    if (table->touched > MOST_TIMERS - RLC_TIMERS_PER_CHUNK)
        return -ENOMEM;
    int status = reserve_chunk_room(table);
    if (status < 0)
        return status;
    unsigned char *chunk = malloc((size_t)table->record_size * RLC_TIMERS_PER_CHUNK);
    if (chunk == NULL)
        return -ENOMEM;
    table->chunks[table->chunk_count++] = chunk;
    return 0;
}

rlc_heap_timer *rlc_timer_table_claim(rlc_timer_table *table) {
    uint32_t slot = table->first_free, generation = 0;
    rlc_heap_timer *timer;
    if (slot != RLC_NO_TIMER) {
        timer = rlc_timer_table_at(table, slot);
        table->first_free = timer->next;
        generation = timer->generation;
    } else {
        slot = table->touched++;
        timer = rlc_timer_table_at(table, slot);
    }
    *timer = (rlc_heap_timer){.slot = slot, .generation = generation + 1};
    table->count++;
    return timer;
}

void rlc_timer_table_release(rlc_timer_table *table, rlc_heap_timer *timer) {
    timer->generation++;
    timer->next = table->first_free;
    table->first_free = timer->slot;
    table->count--;
}

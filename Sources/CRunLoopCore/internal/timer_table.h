/** The timers of one heap: records that stay where they are, found by slot or by token. */
#ifndef RLC_TIMER_TABLE_H
#define RLC_TIMER_TABLE_H

#include <crunloop/base.h>

#define RLC_NO_TIMER UINT32_MAX

/** The first part of every record. */
typedef struct rlc_heap_timer {
    uint32_t slot;
    uint32_t generation; /**< Odd while the slot is in use, so that no token is ever 0. */
    uint32_t next;       /**< Next free slot; free for the owner's use while the slot is in use. */
    uint32_t sequence;   /**< Of the last arming; 0 while not armed. */
    uint64_t deadline_ns;
    void *context;
} rlc_heap_timer;

enum { RLC_TIMERS_PER_CHUNK = 16 };

typedef struct rlc_timer_table {
    unsigned char **chunks; /**< Made one by one: no timer moves, and none is paid for long before it is made. */
    uint32_t record_size;
    uint32_t chunk_count, chunk_room;
    uint32_t touched; /**< Records that were in use at least once. */
    uint32_t count;
    uint32_t first_free;
} rlc_timer_table;

void rlc_timer_table_init(rlc_timer_table *table, size_t record_size);
void rlc_timer_table_finish(rlc_timer_table *table);
/** Room for one more claim. -ENOMEM. */
int rlc_timer_table_reserve(rlc_timer_table *table);
/** A record whose first part is zero but for slot and generation. Room must have been reserved. */
rlc_heap_timer *rlc_timer_table_claim(rlc_timer_table *table);
void rlc_timer_table_release(rlc_timer_table *table, rlc_heap_timer *timer);

static inline rlc_heap_timer *rlc_timer_table_at(const rlc_timer_table *table, uint32_t slot) {
    unsigned char *chunk = table->chunks[slot / RLC_TIMERS_PER_CHUNK];
    return (rlc_heap_timer *)(void *)(chunk + (size_t)(slot % RLC_TIMERS_PER_CHUNK) * table->record_size);
}

static inline rlc_token rlc_heap_timer_token(const rlc_heap_timer *timer) {
    return (rlc_token){.bits = (uint64_t)timer->generation << 32 | timer->slot};
}

/** NULL if the token is stale. */
static inline rlc_heap_timer *rlc_timer_table_find(const rlc_timer_table *table, rlc_token token) {
    uint32_t slot = (uint32_t)token.bits;
    uint32_t generation = (uint32_t)(token.bits >> 32);
    if (slot >= table->touched || (generation & 1) == 0)
        return NULL;
    rlc_heap_timer *timer = rlc_timer_table_at(table, slot);
    return timer->generation == generation ? timer : NULL;
}

#endif

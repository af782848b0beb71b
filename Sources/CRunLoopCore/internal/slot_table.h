/** Records in slots with generations: their tokens are cheap to check, and a token never refers to a later record. */
#ifndef RLC_SLOT_TABLE_H
#define RLC_SLOT_TABLE_H

#include "lists.h"

#include <crunloop/kernel.h>
#include <crunloop_kit/token.h>

/** The first member of every record. */
typedef struct rlc_slot {
    uint32_t number;
    uint32_t generation; /**< Odd while the slot is in use, so that no token is ever 0. */
} rlc_slot;

/** An unused record. It keeps its bytes, except for this link. */
typedef struct rlc_unused_slot {
    rlc_slot slot;
    SLIST_ENTRY(rlc_unused_slot) link;
} rlc_unused_slot;

typedef SLIST_HEAD(rlc_unused_slots, rlc_unused_slot) rlc_unused_slots;

enum { RLC_SLOTS_PER_CHUNK = 8 };

typedef struct rlc_slot_table {
    unsigned char **chunks; /**< Allocated one by one, so that records do not move and few are unused. */
    uint32_t record_size;
    uint32_t chunk_count, chunk_room;
    uint32_t touched;    /**< Records that were in use at least once. */
    uint32_t count;      /**< Records in use; in a table with holes, minus rlc_slot_holes.enough, modulo 2^32. */
    uint32_t generation; /**< Even, not below any in freed memory. A slot in new memory first gets this + 1. */
    rlc_unused_slots unused;
} rlc_slot_table;

void rlc_slot_table_init(rlc_slot_table *table, size_t record_size);
/** For `memory` see memory.h. */
void rlc_slot_table_finish(rlc_slot_table *table, const rlc_kernel *memory);
/** Makes room for one more claim. Returns 0, or -ENOMEM. */
int rlc_slot_table_reserve(rlc_slot_table *table, const rlc_kernel *memory);
/** Claims a record and returns its slot; the owner sets the other members. Room must have been reserved. */
rlc_slot *rlc_slot_table_claim(rlc_slot_table *table);
/** Releases a record. It keeps its bytes, except for the eight behind its slot, until it is claimed again. */
static inline void rlc_slot_table_release(rlc_slot_table *table, rlc_slot *slot) {
    rlc_unused_slot *unused = (rlc_unused_slot *)(void *)slot;
    slot->generation++;
    SLIST_INSERT_HEAD(&table->unused, unused, link);
    table->count--;
}

static inline void *rlc_slot_table_at(const rlc_slot_table *table, uint32_t number) {
    return table->chunks[number / RLC_SLOTS_PER_CHUNK] + (size_t)(number % RLC_SLOTS_PER_CHUNK) * table->record_size;
}

static inline bool rlc_slot_is_live(const rlc_slot *record) {
    return (record->generation & 1) != 0;
}

static inline rlc_token rlc_slot_token(const rlc_slot *record) {
    return (rlc_token){.bits = (uint64_t)record->generation << 32 | record->number};
}

static inline uint32_t rlc_token_slot(rlc_token token) {
    return (uint32_t)token.bits;
}

static inline uint32_t rlc_token_generation(rlc_token token) {
    return (uint32_t)(token.bits >> 32);
}

/** Returns the record of a token; NULL if the token is stale. For tokens that were valid once. */
static inline void *rlc_slot_table_named(const rlc_slot_table *table, rlc_token token) {
    if (rlc_token_slot(token) >= table->touched)
        return NULL;
    rlc_slot *record = rlc_slot_table_at(table, rlc_token_slot(token));
    return record->generation == rlc_token_generation(token) ? record : NULL;
}

/** As rlc_slot_table_named, for any token: NULL also if no record ever had it. */
static inline void *rlc_slot_table_find(const rlc_slot_table *table, rlc_token token) {
    return (rlc_token_generation(token) & 1) != 0 ? rlc_slot_table_named(table, token) : NULL;
}

#endif

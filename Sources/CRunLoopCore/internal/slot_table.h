/** Slots with generations: identities that stay cheap to check and are never reused by accident. */
#ifndef RLC_SLOT_TABLE_H
#define RLC_SLOT_TABLE_H

#include <crunloop/base.h>

#define RLC_NO_SLOT UINT32_MAX

/** First member of every record. The generation is odd while the slot is in use, so that no token is ever 0. */
typedef struct rlc_slot {
    uint32_t generation;
    uint32_t link; /**< Next free slot; free for the owner's use while the slot is in use. */
} rlc_slot;

/** Records move when the table grows: keep slots, not pointers. */
typedef struct rlc_slot_table {
    unsigned char *records;
    uint32_t record_size;
    uint32_t capacity;
    uint32_t touched; /**< Records that were in use at least once; the memory behind them is untouched. */
    uint32_t count;
    uint32_t first_free;
} rlc_slot_table;

void rlc_slot_table_init(rlc_slot_table *table, size_t record_size);
void rlc_slot_table_finish(rlc_slot_table *table);
/** Room for `extra` more claims. -ENOMEM. */
int rlc_slot_table_reserve(rlc_slot_table *table, uint32_t extra);
/** A slot whose record is zero but for the header. Room must have been reserved. */
uint32_t rlc_slot_table_claim(rlc_slot_table *table);
void rlc_slot_table_release(rlc_slot_table *table, uint32_t slot);

static inline void *rlc_slot_table_at(const rlc_slot_table *table, uint32_t slot) {
    return table->records + (size_t)slot * table->record_size;
}

static inline bool rlc_slot_table_is_live(const rlc_slot_table *table, uint32_t slot) {
    return slot < table->touched && (((const rlc_slot *)rlc_slot_table_at(table, slot))->generation & 1) != 0;
}

static inline rlc_token rlc_slot_table_token(const rlc_slot_table *table, uint32_t slot) {
    const rlc_slot *header = rlc_slot_table_at(table, slot);
    return (rlc_token){.bits = (uint64_t)header->generation << 32 | slot};
}

static inline uint32_t rlc_slot_table_slot(const rlc_slot_table *table, const void *record) {
    return (uint32_t)((size_t)((const unsigned char *)record - table->records) / table->record_size);
}

static inline uint32_t rlc_token_slot(rlc_token token) {
    return (uint32_t)token.bits;
}

/** NULL if the token is stale. */
static inline void *rlc_slot_table_find(const rlc_slot_table *table, rlc_token token) {
    uint32_t slot = rlc_token_slot(token);
    uint32_t generation = (uint32_t)(token.bits >> 32);
    if (slot >= table->touched || (generation & 1) == 0)
        return NULL;
    rlc_slot *header = rlc_slot_table_at(table, slot);
    return header->generation == generation ? header : NULL;
}

#endif

/** Chunks of a slot table that were given back, for owners whose records come and go in large numbers. */
#ifndef RLC_SLOT_HOLES_H
#define RLC_SLOT_HOLES_H

#include "slot_table.h"

typedef struct rlc_slot_holes {
    unsigned char
        *chunk;      /**< In the place of each: no record of it is in use. NULL while the table has never been large. */
    uint32_t next;   /**< No chunk before it is a hole. */
    uint32_t enough; /**< With fewer records in use, memory is given back. */
} rlc_slot_holes;

/** In place of rlc_slot_table_finish. */
void rlc_slot_holes_finish(rlc_slot_holes *holes, rlc_slot_table *table, const rlc_kernel *memory);
/** In place of rlc_slot_table_reserve, for a table without an unused record. -ENOMEM. */
int rlc_slot_holes_reserve(rlc_slot_holes *holes, rlc_slot_table *table, const rlc_kernel *memory);
/** Frees the chunks without a record in use, whose tokens stay stale. No record in use moves. O(records). */
void rlc_slot_holes_give_back(rlc_slot_holes *holes, rlc_slot_table *table, const rlc_kernel *memory);

static inline uint32_t rlc_slot_holes_count(const rlc_slot_holes *holes, const rlc_slot_table *table) {
    return holes->enough + table->count;
}

/** After rlc_slot_table_release: true if so few are in use that memory should be given back. */
static inline bool rlc_slot_holes_are_due(const rlc_slot_table *table) {
    return (int32_t)table->count < 0;
}

#endif

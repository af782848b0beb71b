/** A hole is a chunk that a slot table has freed. Only the timer heap, whose size may change much, makes holes. */
#ifndef RLC_SLOT_HOLES_H
#define RLC_SLOT_HOLES_H

#include "slot_table.h"

typedef struct rlc_slot_holes {
    /** The table has this chunk in place of every hole. No record of it is in use. NULL until the table is large. */
    unsigned char *chunk;
    uint32_t next;   /**< No chunk before this index is a hole. */
    uint32_t enough; /**< With fewer records in use than this, the table gives back memory. */
} rlc_slot_holes;

/** Call it in place of rlc_slot_table_finish. */
void rlc_slot_holes_finish(rlc_slot_holes *holes, rlc_slot_table *table, const rlc_kernel *memory);
/** Call it in place of rlc_slot_table_reserve, for a table without an unused record. Returns 0, or -ENOMEM. */
int rlc_slot_holes_reserve(rlc_slot_holes *holes, rlc_slot_table *table, const rlc_kernel *memory);
/**
 * Frees the chunks without a record in use. Tokens of their records stay stale. Records in use do not move. O(records).
 */
void rlc_slot_holes_give_back(rlc_slot_holes *holes, rlc_slot_table *table, const rlc_kernel *memory);

static inline uint32_t rlc_slot_holes_count(const rlc_slot_holes *holes, const rlc_slot_table *table) {
    return holes->enough + table->count;
}

/** After rlc_slot_table_release: true if so few records are in use that the table should give back memory. */
static inline bool rlc_slot_holes_are_due(const rlc_slot_table *table) {
    return (int32_t)table->count < 0;
}

#endif

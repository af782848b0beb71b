/** A 4-ary heap of deadlines. Keys and positions are in arrays of their own: moving an entry touches no timer. */
#ifndef RLC_DEADLINE_HEAP_H
#define RLC_DEADLINE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rlc_deadline_entry {
    uint64_t order; /**< Sequence << 32 | slot: equal deadlines fire in the order of arming. */
    uint64_t deadline_ns;
} rlc_deadline_entry;

/* One comparison where there are numbers of 128 bits, without branches, which would be guessed wrong as often as
 * not. */
static inline bool rlc_deadline_entry_is_before(rlc_deadline_entry left, rlc_deadline_entry right) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 key;
    return ((key)left.deadline_ns << 64 | left.order) < ((key)right.deadline_ns << 64 | right.order);
#else
    if (left.deadline_ns != right.deadline_ns)
        return left.deadline_ns < right.deadline_ns;
    return left.order < right.order;
#endif
}

static inline uint32_t rlc_deadline_entry_slot(rlc_deadline_entry entry) {
    return (uint32_t)entry.order;
}

enum { RLC_HEAP_ARITY = 4 };
#define RLC_NOT_IN_HEAP UINT32_MAX

/** The arrays are the owner's: with room for every timer, so that nothing here can fail. */
typedef struct rlc_deadline_heap {
    rlc_deadline_entry *entries;
    uint32_t *positions; /**< By slot. */
    uint32_t count;
    bool is_settled; /**< The first entry's key is known to be what its timer wants. */
    uint64_t moves;  /**< Entries that were put in or moved so far. */
} rlc_deadline_heap;

/** In place and without recursion; O(n log n) but for inputs made to defeat it, O(n^1.5) for those. */
void rlc_deadline_entries_sort(rlc_deadline_entry *entries, uint32_t count);

/** `moved` goes in at `position`, whose own entry is out of the way, or towards the top, or the bottom, from there. */
void rlc_deadline_heap_sift_up(rlc_deadline_heap *heap, uint32_t position, rlc_deadline_entry moved);
void rlc_deadline_heap_sift_down(rlc_deadline_heap *heap, uint32_t position, rlc_deadline_entry moved);
void rlc_deadline_heap_take_out(rlc_deadline_heap *heap, uint32_t slot);

static inline void rlc_deadline_heap_put(rlc_deadline_heap *heap, uint32_t position, rlc_deadline_entry moved) {
    heap->entries[position] = moved;
    heap->positions[rlc_deadline_entry_slot(moved)] = position;
}

#endif

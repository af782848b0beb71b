/** A 4-ary heap of deadlines. Keys and positions have their own arrays, so moving an entry touches no timer. */
#ifndef RLC_DEADLINE_HEAP_H
#define RLC_DEADLINE_HEAP_H

#include <crunloop/base.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct rlc_deadline_entry {
    uint64_t order; /**< Sequence << 32 | slot. Timers with equal deadlines fire in the order of arming. */
    uint64_t deadline_ns;
} rlc_deadline_entry;

/* Makes one comparison of 128 bits where the compiler can: the processor would often mispredict the branches. */
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

/** The owner allocates the arrays, with room for every timer. So no function here can fail. */
typedef struct rlc_deadline_heap {
    rlc_deadline_entry *entries;
    uint32_t *positions; /**< By slot: the index of the timer's entry, or RLC_NOT_IN_HEAP. */
    uint32_t count;
    bool is_settled; /**< True: the first entry's key is up to date. False: it may be too early. */
    uint64_t moves;  /**< How often an entry was put in or moved. */
} rlc_deadline_heap;

/** Sorts in place, without recursion. O(n log n); O(n^1.5) for inputs that defeat the choice of pivots. */
void rlc_deadline_entries_sort(rlc_deadline_entry *entries, uint32_t count);

/** Puts `moved` at `position`, whose entry was taken out, and moves it up, or down, to its place. */
void rlc_deadline_heap_sift_up(rlc_deadline_heap *heap, uint32_t position, rlc_deadline_entry moved);
void rlc_deadline_heap_sift_down(rlc_deadline_heap *heap, uint32_t position, rlc_deadline_entry moved);
void rlc_deadline_heap_take_out(rlc_deadline_heap *heap, uint32_t slot);

static inline void rlc_deadline_heap_put(rlc_deadline_heap *heap, uint32_t position, rlc_deadline_entry moved) {
    heap->entries[position] = moved;
    heap->positions[rlc_deadline_entry_slot(moved)] = position;
}

#endif

/** A 4-ary heap of deadlines. Keys and positions are in arrays of their own: moving an entry touches no timer. */
#ifndef RLC_TIMER_QUEUE_H
#define RLC_TIMER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rlc_timer_entry {
    uint64_t order; /**< Sequence << 32 | slot: equal deadlines fire in the order of arming. */
    uint64_t deadline_ns;
} rlc_timer_entry;

/* One comparison where there are numbers of 128 bits, without branches, which would be guessed wrong as often as not. */
static inline bool rlc_timer_entry_is_before(rlc_timer_entry left, rlc_timer_entry right) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 key;
    return ((key)left.deadline_ns << 64 | left.order) < ((key)right.deadline_ns << 64 | right.order);
#else
    if (left.deadline_ns != right.deadline_ns)
        return left.deadline_ns < right.deadline_ns;
    return left.order < right.order;
#endif
}

static inline uint32_t rlc_timer_entry_slot(rlc_timer_entry entry) {
    return (uint32_t)entry.order;
}

enum { RLC_TIMER_ARITY = 4 };
#define RLC_TIMER_NOT_QUEUED UINT32_MAX

/** The arrays are the owner's: with room for every timer, so that nothing here can fail. */
typedef struct rlc_timer_queue {
    rlc_timer_entry *entries;
    uint32_t *positions; /**< By slot. */
    uint32_t count;
    bool is_settled; /**< The first entry's key is known to be what its timer wants. */
    uint64_t moves;  /**< Entries that were put in or moved so far. */
} rlc_timer_queue;

/** In place and without recursion; O(n log n) but for inputs made to defeat it, O(n^1.5) for those. */
void rlc_timer_entries_sort(rlc_timer_entry *entries, uint32_t count);

/** `moved` goes in at `position`, whose own entry is out of the way, or towards the top, or the bottom, from there. */
void rlc_timer_queue_sift_up(rlc_timer_queue *queue, uint32_t position, rlc_timer_entry moved);
void rlc_timer_queue_sift_down(rlc_timer_queue *queue, uint32_t position, rlc_timer_entry moved);
void rlc_timer_queue_take_out(rlc_timer_queue *queue, uint32_t slot);

static inline void rlc_timer_queue_put(rlc_timer_queue *queue, uint32_t position, rlc_timer_entry moved) {
    queue->entries[position] = moved;
    queue->positions[rlc_timer_entry_slot(moved)] = position;
}

/** A later key than the one that is there already changes nothing: see settle(). */
static inline void rlc_timer_queue_put_in(rlc_timer_queue *queue, rlc_timer_entry key) {
    uint32_t position = queue->positions[rlc_timer_entry_slot(key)];
    if (position == RLC_TIMER_NOT_QUEUED)
        position = queue->count++;
    else if (!rlc_timer_entry_is_before(key, queue->entries[position])) {
        queue->is_settled &= position != 0;
        return;
    }
    rlc_timer_queue_sift_up(queue, position, key);
}

#endif

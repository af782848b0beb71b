/** What the tests of the deadline heap and rlc_loop may see: a heap of records of their own size, by pointer. */
#ifndef RLC_TIMER_HEAP_INTERNAL_H
#define RLC_TIMER_HEAP_INTERNAL_H

#include "deadline_heap.h"
#include "slot_holes.h"

#include <crunloop_kit/timer_heap.h>

/*
 * An armed timer has one entry in RLC_EXACT or, with tolerance, in RLC_TOLERANT (by deadline). While armed timers
 * differ in their tolerances, each with one is in RLC_LATEST too (by deadline + tolerance). Until then the first of
 * RLC_TOLERANT is also the first to be late.
 * An entry's key is never later than what the timer really wants: a push-out changes the timer only, and settle()
 * brings the key up to date when the entry comes to the top.
 */

enum { RLC_EXACT, RLC_TOLERANT, RLC_LATEST, RLC_DEADLINE_HEAPS };

/** The first part of every record. */
typedef struct rlc_heap_timer {
    rlc_slot slot;
    void *context;
    uint64_t deadline_ns;
    uint32_t sequence; /**< Of the last arming; 0 while not armed. */
    bool marks[2];     /**< Free for the owner's use. */
} rlc_heap_timer;

struct rlc_timer_heap {
    const rlc_kernel *memory;                    /**< See memory.h. */
    rlc_deadline_heap heaps[RLC_DEADLINE_HEAPS]; /**< The first two share their positions: a timer is in one of them. */
    rlc_slot_table timers;
    rlc_slot_holes holes;
    uint32_t room; /**< Of the arrays. */
    uint32_t sequence;
    bool knows_tolerance;         /**< RLC_TOLERANT and RLC_LATEST have arrays, and there is: */
    uint64_t *latest_ns;          /**< By slot; 0 for a timer that was always exact. */
    bool keeps_latest;            /**< RLC_LATEST has what RLC_TOLERANT has. If not, it is empty, and there is: */
    uint64_t shared_tolerance_ns; /**< Of each armed timer with tolerance. */
};

static inline rlc_heap_timer *rlc_timer_heap_at(const rlc_timer_heap *heap, uint32_t slot) {
    return rlc_slot_table_at(&heap->timers, slot);
}

static inline rlc_deadline_entry rlc_timer_heap_wanted(
    const rlc_timer_heap *heap, const rlc_heap_timer *timer, unsigned which) {
    return (rlc_deadline_entry){
        .deadline_ns = which == RLC_LATEST ? heap->latest_ns[timer->slot.number] : timer->deadline_ns,
        .order = (uint64_t)timer->sequence << 32 | timer->slot.number};
}

static inline bool rlc_heap_timer_is_armed(const rlc_heap_timer *timer) {
    return timer->sequence != 0;
}

/** For an armed one. */
static inline bool rlc_timer_heap_tolerates(const rlc_timer_heap *heap, const rlc_heap_timer *timer) {
    return heap->knows_tolerance && heap->latest_ns[timer->slot.number] > timer->deadline_ns;
}

/** True if any member is armed. */
static inline bool rlc_timer_heap_has_armed(const rlc_timer_heap *heap) {
    return (heap->heaps[RLC_EXACT].count | heap->heaps[RLC_TOLERANT].count) != 0;
}

/**
 * The first key, which is never later than what a timer wants: before it none is due. RLC_TIME_FOREVER without armed
 * timers.
 */
static inline uint64_t rlc_timer_heap_earliest_key(const rlc_timer_heap *heap) {
    const rlc_deadline_heap *exact = &heap->heaps[RLC_EXACT], *tolerant = &heap->heaps[RLC_TOLERANT];
    uint64_t key_ns = exact->count > 0 ? exact->entries[0].deadline_ns : RLC_TIME_FOREVER;
    return tolerant->count > 0 && tolerant->entries[0].deadline_ns < key_ns ? tolerant->entries[0].deadline_ns : key_ns;
}

/** Records of `record_size` bytes that begin with an rlc_heap_timer. For `memory` see memory.h. */
int rlc_timer_heap_create_for(const rlc_kernel *memory, size_t record_size, rlc_timer_heap **ret_heap);

/** As rlc_timer_heap_insert. */
int rlc_timer_heap_add(rlc_timer_heap *heap, void *context, rlc_heap_timer **ret_timer);
/** The first tolerance makes room for all members'. False if there is no memory. */
bool rlc_timer_heap_learn_tolerance(rlc_timer_heap *heap);
/** Numbers the armed timers anew from 1, in the order in which they fire. Once in 2^32 arms. */
void rlc_timer_heap_renumber(rlc_timer_heap *heap);
/** Puts all that tolerate into RLC_LATEST, too. */
void rlc_timer_heap_begin_latest(rlc_timer_heap *heap);
void rlc_timer_heap_disarm(rlc_timer_heap *heap, rlc_heap_timer *timer);
/** For every deadline but never. */
void rlc_timer_heap_arm_anew(rlc_timer_heap *heap, rlc_heap_timer *timer, uint64_t deadline_ns, uint64_t tolerance_ns);
/** Of the last arming. */
uint64_t rlc_timer_heap_tolerance(const rlc_timer_heap *heap, const rlc_heap_timer *timer);
/** Of the timer that rlc_timer_heap_wake_at is about; 0 without one. */
uint64_t rlc_timer_heap_wake_tolerance(rlc_timer_heap *heap);
/** As rlc_timer_heap_remove. The record may be another's from now on, or no record any more. */
void rlc_timer_heap_release(rlc_timer_heap *heap, rlc_heap_timer *timer);
/** Frees what most of the timers have needed that were removed. Records in use stay where they are. */
void rlc_timer_heap_give_back(rlc_timer_heap *heap);
/** As rlc_timer_heap_take_all. */
typedef void (*rlc_heap_timer_fn)(void *context, rlc_heap_timer *timer);
size_t rlc_timer_heap_collect(rlc_timer_heap *heap, uint64_t now_ns, rlc_heap_timer_fn timer_fn, void *context);

/** Aborts unless every invariant holds. O(n). Only under RLC_INTERNAL_CHECKS. */
void rlc_timer_heap_verify(const rlc_timer_heap *heap);

/** After each change. */
static inline void rlc_timer_heap_check(const rlc_timer_heap *heap) {
#ifdef RLC_INTERNAL_CHECKS
    rlc_timer_heap_verify(heap);
#else
    (void)heap;
#endif
}

/** While all timers of the heap are exact. */
__attribute__((always_inline)) static inline void rlc_timer_heap_arm_exact(
    rlc_timer_heap *heap, rlc_heap_timer *timer, uint64_t deadline_ns) {
    rlc_deadline_heap *exact = &heap->heaps[RLC_EXACT];
    bool is_pushed_out = rlc_heap_timer_is_armed(timer) && deadline_ns >= timer->deadline_ns;
    timer->deadline_ns = deadline_ns;
    timer->sequence = ++heap->sequence;
    if (!is_pushed_out)
        rlc_deadline_heap_put_in(exact, rlc_timer_heap_wanted(heap, timer, RLC_EXACT));
    else if (rlc_deadline_entry_slot(exact->entries[0]) ==
             timer->slot.number) /* else, as with idle timeouts, nothing is touched */
        exact->is_settled = false;
    rlc_timer_heap_check(heap);
}

/** True if rlc_timer_heap_arm_exact does not serve for a deadline other than never. */
__attribute__((always_inline)) static inline bool rlc_timer_heap_arms_anew(
    const rlc_timer_heap *heap, uint64_t tolerance_ns) {
    return tolerance_ns > 0 || heap->knows_tolerance || heap->sequence == UINT32_MAX;
}

/** Sets the number of arms so far, to reach its overflow in a test's lifetime. */
void rlc_timer_heap_set_sequence(rlc_timer_heap *heap, uint32_t sequence);

#endif

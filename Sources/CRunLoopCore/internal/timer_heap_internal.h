/**
 * The inside of the timer heap, for its own files, its tests, and rlc_loop, which has larger records and refers to them
 * by pointer.
 */
#ifndef RLC_TIMER_HEAP_INTERNAL_H
#define RLC_TIMER_HEAP_INTERNAL_H

#include "deadline_heap.h"
#include "slot_holes.h"

#include <crunloop_kit/timer_heap.h>

/*
 * An armed timer has one entry, ordered by deadline: in RLC_EXACT if its tolerance is 0, else in RLC_TOLERANT. While
 * all timers of RLC_TOLERANT have the same tolerance, the first of them is also the first that becomes late. Once two
 * of them have different tolerances, and until RLC_TOLERANT is empty, each of them has a second entry, in RLC_LATEST,
 * ordered by deadline + tolerance.
 * An entry's key is never later than its timer's deadline. Arming a timer for a later date changes the timer only;
 * settle() brings the key up to date when the entry comes to the top.
 */

enum { RLC_EXACT, RLC_TOLERANT, RLC_LATEST, RLC_DEADLINE_HEAPS };

/** Each record begins with this. */
typedef struct rlc_heap_timer {
    rlc_slot slot;
    void *context;
    uint64_t deadline_ns;
    uint32_t sequence; /**< The number of its last arming; 0 while it is not armed. */
    bool marks[2];     /**< Only rlc_loop uses them. */
} rlc_heap_timer;

struct rlc_timer_heap {
    const rlc_kernel *memory;                    /**< See memory.h. */
    rlc_deadline_heap heaps[RLC_DEADLINE_HEAPS]; /**< A timer is in one of the first two, which share `positions`. */
    rlc_slot_table timers;
    rlc_slot_holes holes;
    uint32_t room; /**< For how many timers the arrays have room. */
    uint32_t sequence;
    bool knows_tolerance;         /**< A timer has had a tolerance: RLC_TOLERANT, RLC_LATEST, latest_ns have arrays. */
    uint64_t *latest_ns;          /**< By slot: deadline + tolerance; 0 if not armed since knows_tolerance was set. */
    bool keeps_latest;            /**< RLC_LATEST has the timers of RLC_TOLERANT. If not, it is empty. */
    uint64_t shared_tolerance_ns; /**< Unless keeps_latest: the tolerance of each timer in RLC_TOLERANT. */
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

/** True if the timer has a tolerance. It must be armed. */
static inline bool rlc_timer_heap_tolerates(const rlc_timer_heap *heap, const rlc_heap_timer *timer) {
    return heap->knows_tolerance && heap->latest_ns[timer->slot.number] > timer->deadline_ns;
}

/** Tells whether any timer is armed. */
static inline bool rlc_timer_heap_has_armed(const rlc_timer_heap *heap) {
    return (heap->heaps[RLC_EXACT].count | heap->heaps[RLC_TOLERANT].count) != 0;
}

/** The earliest key: no timer is due before it, but none need be due at it. RLC_TIME_FOREVER without armed timers. */
static inline uint64_t rlc_timer_heap_earliest_key(const rlc_timer_heap *heap) {
    const rlc_deadline_heap *exact = &heap->heaps[RLC_EXACT], *tolerant = &heap->heaps[RLC_TOLERANT];
    uint64_t key_ns = exact->count > 0 ? exact->entries[0].deadline_ns : RLC_TIME_FOREVER;
    return tolerant->count > 0 && tolerant->entries[0].deadline_ns < key_ns ? tolerant->entries[0].deadline_ns : key_ns;
}

/** Creates a heap whose records have `record_size` bytes and begin with an rlc_heap_timer. `memory`: see memory.h. */
int rlc_timer_heap_create_for(const rlc_kernel *memory, size_t record_size, rlc_timer_heap **ret_heap);

/** As rlc_timer_heap_insert. */
int rlc_timer_heap_add(rlc_timer_heap *heap, void *context, rlc_heap_timer **ret_timer);
/** Called before the first timer gets a tolerance: allocates the arrays of knows_tolerance. False if that fails. */
bool rlc_timer_heap_learn_tolerance(rlc_timer_heap *heap);
/** Numbers the armed timers from 1 again, in the order in which they fire. Called once in 2^32 armings. */
void rlc_timer_heap_renumber(rlc_timer_heap *heap);
/** Puts all timers of RLC_TOLERANT into RLC_LATEST, too. */
void rlc_timer_heap_begin_latest(rlc_timer_heap *heap);
void rlc_timer_heap_disarm(rlc_timer_heap *heap, rlc_heap_timer *timer);
/** Arms a timer with or without a tolerance. The deadline must not be RLC_TIME_FOREVER. */
void rlc_timer_heap_arm_anew(rlc_timer_heap *heap, rlc_heap_timer *timer, uint64_t deadline_ns, uint64_t tolerance_ns);
/** Returns the tolerance with which the timer was last armed. */
uint64_t rlc_timer_heap_tolerance(const rlc_timer_heap *heap, const rlc_heap_timer *timer);
/** Returns the tolerance of the timer that determines rlc_timer_heap_wake_at; 0 if none is armed. */
uint64_t rlc_timer_heap_wake_tolerance(rlc_timer_heap *heap);
/** As rlc_timer_heap_remove. The caller must not use the record afterwards. */
void rlc_timer_heap_release(rlc_timer_heap *heap, rlc_heap_timer *timer);
/** Frees the chunks that hold only removed timers, and shrinks the arrays. Records in use stay where they are. */
void rlc_timer_heap_give_back(rlc_timer_heap *heap);
typedef void (*rlc_heap_timer_fn)(void *context, rlc_heap_timer *timer);
/** As rlc_timer_heap_take_all, but passes the records to the function. */
size_t rlc_timer_heap_collect(rlc_timer_heap *heap, uint64_t now_ns, rlc_heap_timer_fn timer_fn, void *context);

/** Aborts if an invariant does not hold. O(n). Exists only with RLC_INTERNAL_CHECKS. */
void rlc_timer_heap_verify(const rlc_timer_heap *heap);

/** Called after each change. */
#ifdef RLC_INTERNAL_CHECKS
#define rlc_timer_heap_check(heap) rlc_timer_heap_verify(heap)
#else
#define rlc_timer_heap_check(heap) ((void)(heap))
#endif

/** Gives the entry of key's timer this key, and adds the entry if there is none. An earlier key stays: see settle(). */
__attribute__((always_inline)) static inline void rlc_timer_heap_put_in(
    rlc_deadline_heap *heap, rlc_deadline_entry key) {
    uint32_t position = heap->positions[rlc_deadline_entry_slot(key)];
    if (position == RLC_NOT_IN_HEAP)
        position = heap->count++;
    else if (!rlc_deadline_entry_is_before(key, heap->entries[position])) {
        heap->is_settled &= position != 0;
        return;
    }
    rlc_deadline_heap_sift_up(heap, position, key);
}

/**
 * Arms a timer without a tolerance. Call it only if rlc_timer_heap_arms_anew returns false, and call
 * rlc_timer_heap_check afterwards.
 */
__attribute__((always_inline)) static inline void rlc_timer_heap_arm_exact(
    rlc_timer_heap *heap, rlc_heap_timer *timer, uint64_t deadline_ns) {
    rlc_deadline_heap *exact = &heap->heaps[RLC_EXACT];
    bool is_pushed_out = rlc_heap_timer_is_armed(timer) && deadline_ns >= timer->deadline_ns;
    timer->deadline_ns = deadline_ns;
    timer->sequence = ++heap->sequence;
    if (!is_pushed_out)
        rlc_timer_heap_put_in(exact, rlc_timer_heap_wanted(heap, timer, RLC_EXACT));
    else if (rlc_deadline_entry_slot(exact->entries[0]) == timer->slot.number) /* other entries stay as they are */
        exact->is_settled = false;
}

/** True if only rlc_timer_heap_arm_anew can arm a timer with this tolerance, false if rlc_timer_heap_arm_exact can. */
__attribute__((always_inline)) static inline bool rlc_timer_heap_arms_anew(
    const rlc_timer_heap *heap, uint64_t tolerance_ns) {
    return tolerance_ns > 0 || heap->knows_tolerance || heap->sequence == UINT32_MAX;
}

/** Sets the number of armings so far, for tests of its overflow. */
void rlc_timer_heap_set_sequence(rlc_timer_heap *heap, uint32_t sequence);

#endif

/* Arming and disarming. */
#include "timer_heap_internal.h"

#include <crunloop/clock.h>
#include <errno.h>

/* Not inlined, so that disarming a timer without a tolerance saves no registers. */
__attribute__((noinline)) static void take_out_tolerant(rlc_timer_heap *heap, uint32_t slot) {
    rlc_deadline_heap_take_out(&heap->heaps[RLC_TOLERANT], slot);
    if (heap->keeps_latest)
        rlc_deadline_heap_take_out(&heap->heaps[RLC_LATEST], slot);
}

static void disarm(rlc_timer_heap *heap, rlc_heap_timer *timer) {
    if (!rlc_heap_timer_is_armed(timer))
        return;
    timer->sequence = 0;
    if (rlc_timer_heap_tolerates(heap, timer))
        take_out_tolerant(heap, timer->slot.number);
    else
        rlc_deadline_heap_take_out(&heap->heaps[RLC_EXACT], timer->slot.number);
}

static uint32_t next_sequence(rlc_timer_heap *heap) {
    if (heap->sequence == UINT32_MAX)
        rlc_timer_heap_renumber(heap);
    return ++heap->sequence;
}

/** Called before a timer is armed with this tolerance. Begins RLC_LATEST if it differs from the one that all share. */
static void note_tolerance(rlc_timer_heap *heap, uint64_t tolerance_ns) {
    if (heap->heaps[RLC_TOLERANT].count == 0) {
        heap->keeps_latest = false;
        heap->shared_tolerance_ns = tolerance_ns;
    } else if (tolerance_ns != heap->shared_tolerance_ns && !heap->keeps_latest) {
        rlc_timer_heap_begin_latest(heap);
    }
}

static void place(
    rlc_timer_heap *heap, rlc_heap_timer *timer, uint32_t sequence, uint64_t deadline_ns, uint64_t tolerance_ns) {
    bool tolerates = tolerance_ns > 0 && (heap->knows_tolerance || rlc_timer_heap_learn_tolerance(heap));
    if (rlc_timer_heap_tolerates(heap, timer) != tolerates)
        disarm(heap, timer);
    if (tolerates)
        note_tolerance(heap, tolerance_ns);
    timer->sequence = sequence;
    timer->deadline_ns = deadline_ns;
    rlc_timer_heap_put_in(
        &heap->heaps[tolerates ? RLC_TOLERANT : RLC_EXACT], rlc_timer_heap_wanted(heap, timer, RLC_EXACT));
    if (heap->knows_tolerance)
        heap->latest_ns[timer->slot.number] = rlc_time_add(deadline_ns, tolerates ? tolerance_ns : 0);
    if (tolerates && heap->keeps_latest)
        rlc_timer_heap_put_in(&heap->heaps[RLC_LATEST], rlc_timer_heap_wanted(heap, timer, RLC_LATEST));
    rlc_timer_heap_check(heap);
}

void rlc_timer_heap_arm_anew(rlc_timer_heap *heap, rlc_heap_timer *timer, uint64_t deadline_ns, uint64_t tolerance_ns) {
    place(heap, timer, next_sequence(heap), deadline_ns, tolerance_ns);
}

void rlc_timer_heap_disarm(rlc_timer_heap *heap, rlc_heap_timer *timer) {
    disarm(heap, timer);
    rlc_timer_heap_check(heap);
}

uint64_t rlc_timer_heap_tolerance(const rlc_timer_heap *heap, const rlc_heap_timer *timer) {
    uint64_t latest_ns = heap->knows_tolerance ? heap->latest_ns[timer->slot.number] : 0;
    return latest_ns > timer->deadline_ns ? latest_ns - timer->deadline_ns : 0;
}

int rlc_timer_heap_arm(rlc_timer_heap *heap, rlc_token token, uint64_t deadline_ns, uint64_t tolerance_ns) {
    rlc_heap_timer *timer = rlc_slot_table_find(&heap->timers, token);
    if (timer == NULL)
        return -ENOENT;
    if (deadline_ns == RLC_TIME_FOREVER)
        rlc_timer_heap_disarm(heap, timer);
    else if (rlc_timer_heap_arms_anew(heap, tolerance_ns))
        rlc_timer_heap_arm_anew(heap, timer, deadline_ns, tolerance_ns);
    else
        rlc_timer_heap_arm_exact(heap, timer, deadline_ns);
    rlc_timer_heap_check(heap);
    return 0;
}

int rlc_timer_heap_set_tolerance(rlc_timer_heap *heap, rlc_token token, uint64_t tolerance_ns) {
    rlc_heap_timer *timer = rlc_slot_table_find(&heap->timers, token);
    if (timer == NULL)
        return -ENOENT;
    if (rlc_heap_timer_is_armed(timer))
        place(heap, timer, timer->sequence, timer->deadline_ns, tolerance_ns);
    return 0;
}

void rlc_timer_heap_release(rlc_timer_heap *heap, rlc_heap_timer *timer) {
    disarm(heap, timer);
    rlc_slot_table_release(&heap->timers, &timer->slot);
    if (rlc_slot_holes_are_due(&heap->timers))
        rlc_timer_heap_give_back(heap);
    rlc_timer_heap_check(heap);
}

int rlc_timer_heap_remove(rlc_timer_heap *heap, rlc_token token) {
    rlc_heap_timer *timer = rlc_slot_table_find(&heap->timers, token);
    if (timer == NULL)
        return -ENOENT;
    rlc_timer_heap_release(heap, timer);
    return 0;
}

/** What the tests of the deadline heap may see. */
#ifndef RLC_TIMER_HEAP_INTERNAL_H
#define RLC_TIMER_HEAP_INTERNAL_H

#include <crunloop/timer_heap.h>

/** Aborts unless every invariant holds. O(n). Only under RLC_INTERNAL_CHECKS, and then called after each change. */
void rlc_timer_heap_verify(const rlc_timer_heap *heap);
/** Sets the number of arms so far, to reach its overflow in a test's lifetime. */
void rlc_timer_heap_set_sequence(rlc_timer_heap *heap, uint32_t sequence);

#endif

/**
 * <crunloop/timer_heap.h>: deadlines with tolerance, in order.
 *
 * Exact timers live in one 4-ary heap of 16-byte entries; timers with tolerance in two (by deadline, by deadline +
 * tolerance), since one heap cannot answer when to wake. Equal deadlines: in order of arming. Pushing a deadline out does
 * not touch the heap: the entry surfaces at the old time and sinks then.
 */
#ifndef CRUNLOOP_TIMER_HEAP_H
#define CRUNLOOP_TIMER_HEAP_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

typedef struct rlc_timer_heap rlc_timer_heap;

/** -ENOMEM. [any] */
RLC_API int rlc_timer_heap_create(rlc_timer_heap **ret_heap);
/** NULL is allowed. [locked] */
RLC_API void rlc_timer_heap_destroy(rlc_timer_heap *heap);
/** A new member, not armed. The only allocation of a timer's life, also for tolerance. -ENOMEM. [locked] O(1) amortized */
RLC_API int rlc_timer_heap_insert(rlc_timer_heap *heap, void *context, rlc_token *ret_token);
/** Arms or re-arms; RLC_TIME_FOREVER disarms. A new place among equal deadlines. -ENOENT. [locked] O(log n), a push-out O(1) */
RLC_API int rlc_timer_heap_arm(rlc_timer_heap *heap, rlc_token token, uint64_t deadline_ns, uint64_t tolerance_ns);
/** -ENOENT. [locked] O(log n) */
RLC_API int rlc_timer_heap_remove(rlc_timer_heap *heap, rlc_token token);
/** Members, armed or not. [locked] */
RLC_API size_t rlc_timer_heap_count(const rlc_timer_heap *heap);
/** Earliest deadline, or RLC_TIME_FOREVER. [locked] */
RLC_API uint64_t rlc_timer_heap_first(rlc_timer_heap *heap);
/** Earliest deadline + tolerance: the latest moment at which all are still in time. RLC_TIME_FOREVER if none. [locked] */
RLC_API uint64_t rlc_timer_heap_wake_at(rlc_timer_heap *heap);
/** Takes out and disarms the first timer whose deadline is <= now_ns: by deadline, then order of arming. [locked] */
RLC_API bool rlc_timer_heap_take_due(rlc_timer_heap *heap, uint64_t now_ns, void **ret_context, rlc_token *ret_token);

RLC_END_DECLS
#endif

/**
 * <crunloop/timer_heap.h>: deadlines with tolerance, in order.
 *
 * Exact timers live in one 4-ary heap of 16-byte entries; timers with tolerance in two (by deadline, by deadline +
 * tolerance), since one heap cannot answer when to wake. Equal deadlines: in order of arming. Pushing a deadline out
 * does not touch the heap: the entry surfaces at the old time and sinks then.
 *
 * The heap knows no clock: deadlines are numbers, on whichever clock the embedder uses. About 56 bytes per timer, 105
 * once any has had tolerance.
 */
#ifndef CRUNLOOP_TIMER_HEAP_H
#define CRUNLOOP_TIMER_HEAP_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

typedef struct rlc_timer_heap rlc_timer_heap;

/** An empty heap, the caller's until rlc_timer_heap_destroy. @return 0; -ENOMEM.  Thread: [any]. */
RLC_API int rlc_timer_heap_create(rlc_timer_heap **ret_heap);

/** Frees the heap; contexts are the caller's. NULL is allowed.  Thread: [locked]. */
RLC_API void rlc_timer_heap_destroy(rlc_timer_heap *heap);

/**
 * A new member, not armed. The only allocation of a timer's life [RLC-HEAP-7], but for the first tolerance in the
 * heap's.
 *
 * @param heap      The heap.
 * @param context   What rlc_timer_heap_take_due returns; not touched.
 * @param ret_token The caller's, until rlc_timer_heap_remove.
 * @return 0; -ENOMEM, with nothing half added [RLC-HEAP-8].
 *
 * Thread: [locked].  Cost: O(1) amortized.
 */
RLC_API int rlc_timer_heap_insert(rlc_timer_heap *heap, void *context, rlc_token *ret_token);

/**
 * Arms or re-arms, with a new place among equal deadlines: the last [RLC-HEAP-2].
 *
 * @param heap         The heap.
 * @param token        From rlc_timer_heap_insert.
 * @param deadline_ns  Absolute; RLC_TIME_FOREVER disarms [RLC-HEAP-5].
 * @param tolerance_ns How much later is still in time; 0 = exact. The first one in the heap's life makes room for the
 *                     tolerances of all members; without memory for that it counts as 0 [RLC-HEAP-9].
 * @return 0; -ENOENT if the token is stale [RLC-HEAP-6]. Never -ENOMEM: space was reserved at insert.
 *
 * Thread: [locked].  Cost: O(log n); O(1) for a later deadline [RLC-HEAP-4]. Once in 2^32 arms O(n log n).
 * See: CFRunLoopTimerSetNextFireDate.
 */
RLC_API int rlc_timer_heap_arm(rlc_timer_heap *heap, rlc_token token, uint64_t deadline_ns, uint64_t tolerance_ns);

/**
 * Changes how much later is still in time; deadline and place among equal deadlines stay [RLC-HEAP-12]. Nothing happens
 * to a member that is not armed: the next arming says its tolerance.
 *
 * @param heap         The heap.
 * @param token        From rlc_timer_heap_insert.
 * @param tolerance_ns As in rlc_timer_heap_arm.
 * @return 0; -ENOENT if the token is stale.
 *
 * Thread: [locked].  Cost: O(log n).  See: CFRunLoopTimerSetTolerance.
 */
RLC_API int rlc_timer_heap_set_tolerance(rlc_timer_heap *heap, rlc_token token, uint64_t tolerance_ns);

/**
 * False for a member that was taken, disarmed or never armed, and for a stale token [RLC-HEAP-13].  Thread: [locked].
 * Cost: O(1).
 */
RLC_API bool rlc_timer_heap_is_armed(const rlc_timer_heap *heap, rlc_token token);

/** Removes a member, armed or not. @return 0; -ENOENT [RLC-HEAP-6].  Thread: [locked].  Cost: O(log n). */
RLC_API int rlc_timer_heap_remove(rlc_timer_heap *heap, rlc_token token);

/** Members, armed or not.  Thread: [locked]. */
RLC_API size_t rlc_timer_heap_count(const rlc_timer_heap *heap);

/**
 * The members one after the other, in no order of use: the heap may serve as the owner's list of them [RLC-HEAP-11].
 *
 * @param heap     The heap.
 * @param position Where to look from: 0 at first, moved behind what is found.
 * @return Its context; NULL if there is no further member.
 *
 * Thread: [locked]; nothing is inserted or removed meanwhile.
 */
RLC_API void *rlc_timer_heap_next(const rlc_timer_heap *heap, uint32_t *position);

/** Earliest deadline, or RLC_TIME_FOREVER.  Thread: [locked].  Cost: O(1), O(log n) for each push-out that surfaces. */
RLC_API uint64_t rlc_timer_heap_first(rlc_timer_heap *heap);

/**
 * Earliest deadline + tolerance: the latest moment at which all are still in time, so that one wake-up serves as many
 * as possible [RLC-HEAP-3].
 *
 * @return The moment; RLC_TIME_FOREVER if nothing is armed or nothing is in a hurry.
 *
 * Thread: [locked].  Cost: as rlc_timer_heap_first.
 */
RLC_API uint64_t rlc_timer_heap_wake_at(rlc_timer_heap *heap);

/**
 * Takes out and disarms the first timer whose deadline is <= now_ns: by deadline, then order of arming.
 *
 * @return False if none is due: never early [RLC-HEAP-1].
 *
 * Thread: [locked].  Cost: O(log n).
 */
RLC_API bool rlc_timer_heap_take_due(rlc_timer_heap *heap, uint64_t now_ns, void **ret_context, rlc_token *ret_token);

/** What rlc_timer_heap_take_all hands over. It must not touch the heap. */
typedef void (*rlc_timer_due_fn)(void *context, void *timer_context, rlc_token token);

/**
 * As rlc_timer_heap_take_due until none is due, and less dear for many: they are sorted, not taken out one by one
 * [RLC-HEAP-10].
 *
 * @param heap    The heap.
 * @param now_ns  The moment: what has a deadline up to it is due.
 * @param due_fn  Called for each, in order.
 * @param context For due_fn; not the timer's.
 * @return How many were due.
 *
 * Thread: [locked].  Cost: O(k log n) for k that are due.
 */
RLC_API size_t rlc_timer_heap_take_all(rlc_timer_heap *heap, uint64_t now_ns, rlc_timer_due_fn due_fn, void *context);

/** How often an entry was put in or moved: a deadline that is pushed out moves nothing.  Thread: [locked]. */
RLC_API uint64_t rlc_timer_heap_moves(const rlc_timer_heap *heap);

RLC_END_DECLS
#endif

/**
 * <crunloop_kit/timer_heap.h>: timers, each with a deadline and a tolerance, in the order of their deadlines.
 *
 * Members without tolerance are in one 4-ary heap of 16-byte entries, members with tolerance in another one. While
 * armed members differ in their tolerances, a third heap sorts them by deadline + tolerance, which tells when to wake.
 * Members with equal deadlines are in the order of arming. Postponing a deadline does not move the member's entry. The
 * entry comes to the top at its old deadline, and then sinks.
 *
 * The heap has no clock: a deadline is a number, on any clock of the embedder's. It takes about 56 bytes for each
 * member, and 105 after the first tolerance.
 */
#ifndef CRUNLOOP_KIT_TIMER_HEAP_H
#define CRUNLOOP_KIT_TIMER_HEAP_H

#include <crunloop_kit/token.h>

RLC_BEGIN_DECLS

/** A heap. Its creator ends it by rlc_timer_heap_destroy. */
typedef struct rlc_timer_heap rlc_timer_heap;

/**
 * Creates a heap without members.
 *
 * @param ret_heap The heap; the caller ends it by rlc_timer_heap_destroy.
 * @return 0; -ENOMEM.
 *
 * Thread: [any].
 */
int rlc_timer_heap_create(rlc_timer_heap **ret_heap);

/**
 * Frees the heap. Members need not be removed before. The caller still owns what their contexts point to.
 *
 * @param heap The heap; NULL is allowed.
 *
 * Thread: [locked].  Cost: O(members).
 */
void rlc_timer_heap_destroy(rlc_timer_heap *heap);

/**
 * Adds a member that is not armed. The heap allocates nothing for the member later, except at the heap's first
 * tolerance [RLC-HEAP-7].
 *
 * @param context   What rlc_timer_heap_take_due returns for the member.
 * @param ret_token Identifies the member until rlc_timer_heap_remove.
 * @return 0; -ENOMEM: the heap has not changed [RLC-HEAP-8].
 *
 * Thread: [locked].  Cost: O(1) amortized.
 */
int rlc_timer_heap_insert(rlc_timer_heap *heap, void *context, rlc_token *ret_token);

/**
 * Arms a member, or arms it again. Among members with an equal deadline it becomes the last [RLC-HEAP-2].
 *
 * @param token        From rlc_timer_heap_insert.
 * @param deadline_ns  Nanoseconds on the embedder's clock; RLC_TIME_FOREVER disarms [RLC-HEAP-5].
 * @param tolerance_ns Nanoseconds by which the member may be late, so that several can share a wake; may be 0. The
 *                     heap's first tolerance allocates room for the tolerances of all members. If that fails,
 *                     tolerances count as 0 until there is memory [RLC-HEAP-9].
 * @return 0; -ENOENT (stale token) [RLC-HEAP-6]. Never -ENOMEM: rlc_timer_heap_insert has reserved the space.
 *
 * Thread: [locked].  Cost: O(log n). O(1) for a later deadline than the present one [RLC-HEAP-4]. O(n log n) once in
 * 2^32 calls, and for the first tolerance that differs from all others. Equal tolerances cost no more than none
 * [RLC-HEAP-14].  See: CFRunLoopTimerSetNextFireDate.
 */
int rlc_timer_heap_arm(rlc_timer_heap *heap, rlc_token token, uint64_t deadline_ns, uint64_t tolerance_ns);

/**
 * Changes the tolerance of an armed member, which keeps its deadline and its place among equal deadlines [RLC-HEAP-12].
 * On a member that is not armed the call has no effect, because the next rlc_timer_heap_arm sets the tolerance.
 *
 * @param token        From rlc_timer_heap_insert.
 * @param tolerance_ns As in rlc_timer_heap_arm.
 * @return 0; -ENOENT (stale token).
 *
 * Thread: [locked].  Cost: O(log n).  See: CFRunLoopTimerSetTolerance.
 */
int rlc_timer_heap_set_tolerance(rlc_timer_heap *heap, rlc_token token, uint64_t tolerance_ns);

/**
 * Tells whether a member is armed.
 *
 * @param token From rlc_timer_heap_insert.
 * @return False if the member was never armed, was disarmed or taken, or the token is stale [RLC-HEAP-13].
 *
 * Thread: [locked].
 */
bool rlc_timer_heap_is_armed(const rlc_timer_heap *heap, rlc_token token);

/**
 * Removes a member, armed or not. If the heap has had more than 131,072 members at a time, it frees memory when most of
 * them are gone [RLC-HEAP-15].
 *
 * @param token From rlc_timer_heap_insert; stale afterwards.
 * @return 0; -ENOENT (stale token) [RLC-HEAP-6].
 *
 * Thread: [locked].  Cost: O(log n), amortized.
 */
int rlc_timer_heap_remove(rlc_timer_heap *heap, rlc_token token);

/** Counts the members, armed or not. Thread: [locked]. */
size_t rlc_timer_heap_count(const rlc_timer_heap *heap);

/**
 * Iterates over the members, in no particular order. So the owner needs no list of its own [RLC-HEAP-11].
 *
 * @param heap     The heap. Insert or remove nothing during an iteration.
 * @param position Where to continue; 0 at first. The call moves the position behind the member that it returns.
 * @return The member's context; NULL if there are no more.
 *
 * Thread: [locked].
 */
void *rlc_timer_heap_next(const rlc_timer_heap *heap, uint32_t *position);

/**
 * Returns the earliest deadline, in nanoseconds; RLC_TIME_FOREVER if no member is armed.
 *
 * Thread: [locked].  Cost: O(1), and O(log n) for each postponed entry that has come to the top.
 */
uint64_t rlc_timer_heap_first(rlc_timer_heap *heap);

/**
 * Returns the latest time at which a wake is in time for all members: the earliest deadline + tolerance. One wake then
 * suffices for as many members as possible [RLC-HEAP-3].
 *
 * @return Nanoseconds; RLC_TIME_FOREVER if no member is armed, or all tolerances are unlimited.
 *
 * Thread: [locked].  Cost: as rlc_timer_heap_first.
 */
uint64_t rlc_timer_heap_wake_at(rlc_timer_heap *heap);

/**
 * Takes the first member whose deadline has come, by deadline and then by order of arming. The member stays in the
 * heap, but is not armed any more.
 *
 * @param now_ns      The present time: a deadline of at most this is due.
 * @param ret_context The member's context, which the heap does not own.
 * @param ret_token   The member's token.
 * @return False if none is due. A member is never due before its deadline [RLC-HEAP-1].
 *
 * Thread: [locked].  Cost: O(log n).
 */
bool rlc_timer_heap_take_due(rlc_timer_heap *heap, uint64_t now_ns, void **ret_context, rlc_token *ret_token);

/**
 * Receives a member from rlc_timer_heap_take_all. The function must not call functions of the heap.
 *
 * @param context       The context that rlc_timer_heap_take_all was given.
 * @param timer_context The member's own context, from rlc_timer_heap_insert.
 * @param token         The member's token.
 *
 * Thread: [locked]: on the thread that calls rlc_timer_heap_take_all.
 */
typedef void (*rlc_timer_due_fn)(void *context, void *timer_context, rlc_token token);

/**
 * Takes all members that are due, as repeated calls of rlc_timer_heap_take_due would. It is faster for many members,
 * because it sorts them instead of taking them out one by one [RLC-HEAP-10].
 *
 * @param now_ns  The present time: a deadline of at most this is due.
 * @param due_fn  Called for each member that is due, in order, before the call returns.
 * @param context For due_fn.
 * @return How many members were due.
 *
 * Thread: [locked]; due_fn runs on the same thread, under the same lock.  Cost: O(k log n) for k due members.
 */
size_t rlc_timer_heap_take_all(rlc_timer_heap *heap, uint64_t now_ns, rlc_timer_due_fn due_fn, void *context);

/**
 * Counts how often an entry was put into a heap or moved within it, which measures work. Postponing a deadline moves
 * nothing. Thread: [locked].
 */
uint64_t rlc_timer_heap_moves(const rlc_timer_heap *heap);

RLC_END_DECLS
#endif

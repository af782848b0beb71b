/** <runloopkit/perform.h>: work for a loop: now or later, in one mode or several, with an answer or without. */
#ifndef RUNLOOPKIT_PERFORM_H
#define RUNLOOPKIT_PERFORM_H

#include <runloopkit/loop.h>

RLK_BEGIN_DECLS

/** Work for a loop. Later versions append members: see `size`. */
typedef struct rlk_work {
    size_t size;              /**< sizeof(rlk_work). */
    rlk_perform_fn perform;   /**< The work. */
    void *context;            /**< Handed to the functions. */
    rlk_release_fn release;   /**< Or NULL. After the work, or when it will never run [RLK-C-8]. */
    const char *const *modes; /**< The work runs once, in the first of them that runs. NULL: the default mode. */
    size_t mode_count;        /**< How many; 0: the default mode. */
} rlk_work;

/**
 * Runs a function once on the loop's thread, in the next pass of a mode, and wakes the loop (a block of the model).
 *
 * @param loop    The loop.
 * @param mode    The mode; RLK_MODE_COMMON for all common ones.
 * @param perform The function. Work of one thread runs in the order in which it was given.
 * @param context Handed to it.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].  Cost: O(1); one write(2) if the loop sleeps.
 */
RLK_API int rlk_loop_perform(rlk_loop *loop, const char *mode, rlk_perform_fn perform, void *context);

/**
 * As rlk_loop_perform, with a release function and a list of modes.
 *
 * @param loop The loop.
 * @param work Read during the call.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_perform_work(rlk_loop *loop, const rlk_work *work);

/**
 * As rlk_loop_perform_work, without waking the loop (`CFRunLoopPerformBlock`).
 *
 * @param loop The loop.
 * @param work Read during the call.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_enqueue_work(rlk_loop *loop, const rlk_work *work);

/**
 * As rlk_loop_perform_work; a run that shall return after a source was served returns after this work, too.
 *
 * @param loop The loop.
 * @param work Read during the call.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_perform_as_source(rlk_loop *loop, const rlk_work *work);

/**
 * Runs work once when the loop has nothing else to do: before it would wait, and so never in a run that only polls. It
 * keeps no run going.
 *
 * @param loop The loop.
 * @param work Read during the call; in one mode.
 * @return 0; -EINVAL (also: several modes), -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_perform_when_idle(rlk_loop *loop, const rlk_work *work);

/**
 * Runs a function on the loop's thread and waits for its end. On that thread it is called at once.
 *
 * @param loop       The loop.
 * @param mode       The mode.
 * @param timeout_ns The longest wait for its beginning; RLK_TIME_FOREVER for any. Afterwards it never begins.
 * @param perform    The function.
 * @param context    Handed to it; the caller's all the time.
 * @return 0 (it has run); -EINVAL, -ETIMEDOUT, -ESHUTDOWN, -ECHILD (it has not, and will not). Two loops that wait for
 *         each other do so as long as their timeouts say.
 *
 * Thread: [any].  Blocks: until the function returns, or the time is over.
 */
RLK_API int rlk_loop_perform_and_wait(
    rlk_loop *loop, const char *mode, uint64_t timeout_ns, rlk_perform_fn perform, void *context);

/* ---- after a delay ---- */

/** Work that waits for its date. Who asked for it owns a reference: rlk_delayed_release, which does not cancel it. */
typedef struct rlk_delayed rlk_delayed;

/**
 * Runs work once after a delay.
 *
 * @param loop         The loop.
 * @param delay_ns     From now, on CLOCK_MONOTONIC.
 * @param tolerance_ns How late it may run to save a wake; 0: not at all.
 * @param work         Read during the call.
 * @param ret_delayed  The work, which the caller owns a reference of: rlk_delayed_release. NULL if it is not wanted.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD, -EMFILE.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_perform_after(
    rlk_loop *loop, uint64_t delay_ns, uint64_t tolerance_ns, const rlk_work *work, rlk_delayed **ret_delayed);

/**
 * Takes work back.
 *
 * @param delayed The work.
 * @return 1 (it will not run); 0 (it has begun, or was taken back); -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_delayed_cancel(rlk_delayed *delayed);

/**
 * Tells whether work still waits.
 *
 * @param delayed The work.
 * @return True if so; false for NULL.
 *
 * Thread: [any].
 */
RLK_API bool rlk_delayed_is_pending(rlk_delayed *delayed);

/**
 * Gives a reference back.
 *
 * @param delayed The work, or NULL.
 *
 * Thread: [any].
 */
RLK_API void rlk_delayed_release(rlk_delayed *delayed);

/* ---- scopes ---- */

/**
 * Runs a function when the innermost scope of the calling thread ends: with the pass of a run, at rlk_scope_with's end,
 * or with the thread. The last one comes first.
 *
 * @param perform The function.
 * @param context Handed to it.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_scope_defer(rlk_perform_fn perform, void *context);

/**
 * Runs a function in a scope of its own.
 *
 * @param perform Called before the return.
 * @param context Handed to it.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_scope_with(rlk_perform_fn perform, void *context);

RLK_END_DECLS
#endif

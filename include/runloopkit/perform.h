/**
 * <runloopkit/perform.h>: work for a loop: now or later, in one mode or in several, with or without a wait for its end.
 */
#ifndef RUNLOOPKIT_PERFORM_H
#define RUNLOOPKIT_PERFORM_H

#include <runloopkit/loop.h>

RLK_BEGIN_DECLS

/** Work for a loop. Later versions append members: see `size`. */
typedef struct rlk_work {
    size_t size;              /**< sizeof(rlk_work). */
    rlk_perform_fn perform;   /**< The work. */
    void *context;            /**< Handed to the functions. */
    rlk_release_fn release;   /**< Or NULL. Called after the work, or when the work will never run [RLK-C-8]. */
    const char *const *modes; /**< The work runs once, in the first of these that runs. NULL: the default mode. */
    size_t mode_count;        /**< The number of modes; 0 for the default mode. */
} rlk_work;

/**
 * Runs a function once on the loop's thread, in the next pass of the mode, and wakes the loop. CFRunLoop calls such
 * work a block.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 * #include <stdio.h>
 *
 * static void work(void *text) {
 *     puts(text);
 * }
 *
 * int main(void) {
 *     if (rlk_loop_perform(NULL, "panel", work, "first") < 0 || rlk_loop_perform(NULL, "panel", work, "second") < 0)
 *         return 1;
 *     return rlk_loop_run_in_mode(NULL, "panel", 0, false) < 0;
 * }
 * @endcode
 *
 * @param loop    The loop.
 * @param mode    The mode; RLK_MODE_COMMON for all common ones.
 * @param perform The function. Functions from one thread run in the order of that thread's calls.
 * @param context Handed to it.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].  Cost: O(1); one write(2) if the loop sleeps.
 */
RLK_API int rlk_loop_perform(rlk_loop *loop, const char *mode, rlk_perform_fn perform, void *context);

/**
 * As rlk_loop_perform, but with a release function and a list of modes.
 *
 * @param loop The loop.
 * @param work Read during the call.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_perform_work(rlk_loop *loop, const rlk_work *work);

/**
 * As rlk_loop_perform_work, but does not wake the loop (as `CFRunLoopPerformBlock`).
 *
 * @param loop The loop.
 * @param work Read during the call.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_enqueue_work(rlk_loop *loop, const rlk_work *work);

/**
 * As rlk_loop_perform_work. But a run that returns after a source was served also returns after this work.
 *
 * @param loop The loop.
 * @param work Read during the call.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_perform_as_source(rlk_loop *loop, const rlk_work *work);

/**
 * Runs work once when the loop has nothing else to do, just before it would wait. So the work never runs in a run that
 * only polls. The work does not keep a mode running: a run may finish before it.
 *
 * @param loop The loop.
 * @param work Read during the call; it names at most one mode.
 * @return 0; -EINVAL (also: several modes), -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_perform_when_idle(rlk_loop *loop, const rlk_work *work);

/**
 * Runs a function on the loop's thread and waits for its end. On the loop's own thread the call runs the function at
 * once.
 *
 * @param loop       The loop.
 * @param mode       The mode.
 * @param timeout_ns The longest wait for the function to begin; RLK_TIME_FOREVER for no limit. After this time the
 *                   function does not begin any more.
 * @param perform    The function.
 * @param context    Handed to it. The caller keeps it.
 * @return 0 (the function has run); -EINVAL, -ETIMEDOUT, -ESHUTDOWN, -ECHILD (the function has not run, and will not).
 *         If two loops wait for each other in this way, both wait until their timeouts end.
 *
 * Thread: [any].  Blocks: until the function returns, or the timeout ends before the function begins.
 */
RLK_API int rlk_loop_perform_and_wait(
    rlk_loop *loop, const char *mode, uint64_t timeout_ns, rlk_perform_fn perform, void *context);

/* ---- after a delay ---- */

/**
 * Work that waits for its date. The caller that created it owns a reference, and releases it by rlk_delayed_release,
 * which does not cancel the work.
 */
typedef struct rlk_delayed rlk_delayed;

/**
 * Runs work once after a delay.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 *
 * static void work(void *context) {
 *     (void)context;
 *     rlk_loop_stop(NULL);
 * }
 *
 * int main(void) {
 *     rlk_work later = {.size = sizeof later, .perform = work};
 *     if (rlk_loop_perform_after(NULL, 10000000, 0, &later, NULL) < 0)
 *         return 1;
 *     return rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false) == RLK_RUN_STOPPED ? 0 : 1;
 * }
 * @endcode
 *
 * @param loop         The loop.
 * @param delay_ns     The time from now, on CLOCK_MONOTONIC.
 * @param tolerance_ns How late the work may run, so that one wake serves several timers; may be 0.
 * @param work         Read during the call.
 * @param ret_delayed  The waiting work, of which the caller owns a reference: rlk_delayed_release. May be NULL.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD, -EMFILE.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_perform_after(
    rlk_loop *loop, uint64_t delay_ns, uint64_t tolerance_ns, const rlk_work *work, rlk_delayed **ret_delayed);

/**
 * Cancels work.
 *
 * @param delayed The work.
 * @return 1 (the work will not run); 0 (it has begun, or was cancelled before); -EINVAL.
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
 * Defers a function until the innermost scope of the calling thread ends. Each pass of a run is a scope, and so are
 * each rlk_scope_with and the thread itself. The function that was deferred last runs first.
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
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 * #include <stdio.h>
 *
 * static void end(void *context) {
 *     (void)context;
 *     puts("the end of the scope");
 * }
 *
 * static void body(void *context) {
 *     rlk_scope_defer(end, context);
 *     puts("inside");
 * }
 *
 * int main(void) {
 *     return rlk_scope_with(body, NULL);
 * }
 * @endcode
 *
 * @param perform Called before this call returns.
 * @param context Handed to it.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_scope_with(rlk_perform_fn perform, void *context);

RLK_END_DECLS
#endif

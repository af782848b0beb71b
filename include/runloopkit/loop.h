/** <runloopkit/loop.h>: loops and their modes: runs, stops, wakes, and the state of a loop. */
#ifndef RUNLOOPKIT_LOOP_H
#define RUNLOOPKIT_LOOP_H

#include <runloopkit/base.h>

RLK_BEGIN_DECLS

/**
 * A loop. Each thread has one, which is made at its first use and ends with the thread. rlk_loop_retain and
 * rlk_loop_release count references. While a reference exists the handle is valid, also after the thread's end; calls
 * with it then return -ESHUTDOWN.
 */
typedef struct rlk_loop rlk_loop;

/** The mode for most work, common from the start. NULL for a mode means this one. */
#define RLK_MODE_DEFAULT "kCFRunLoopDefaultMode"
/** Stands for all common modes: items and work can be added to it, but no loop can run in it. */
#define RLK_MODE_COMMON "kCFRunLoopCommonModes"
/** The mode of user interaction; common from the start on the main loop only. */
#define RLK_MODE_TRACKING "UITrackingRunLoopMode"

/** Why a run has ended. */
enum {
    /** The mode has nothing to wait for. For the main loop's common modes see rlk_loop_set_serves_main_queue. */
    RLK_RUN_FINISHED = 1,
    RLK_RUN_STOPPED = 2,        /**< rlk_loop_stop was called. */
    RLK_RUN_TIMED_OUT = 3,      /**< The deadline has come. */
    RLK_RUN_HANDLED_SOURCE = 4, /**< A source was served, and return_after_source_handled was true. */
};

/* ---- handles ---- */

/**
 * Returns the calling thread's loop. The first call of a thread makes it.
 *
 * @return The loop, never NULL. The thread owns it: a caller that keeps the handle beyond the thread's end, or uses it
 *         in a child of fork(2), must retain it.
 *
 * Thread: [any].
 */
RLK_API rlk_loop *rlk_loop_current(void);

/**
 * Returns the main thread's loop. The loop ends with the main thread, whichever thread makes the first call. But if
 * another thread has loaded the library, by dlopen(3), the loop ends with the main thread only if the main thread has
 * asked for its loop before, for example by rlk_loop_current.
 *
 * @return The loop, never NULL. The process owns it.
 *
 * Thread: [any].
 */
RLK_API rlk_loop *rlk_loop_main(void);

/**
 * Counts one more reference.
 *
 * @param loop The loop.
 * @return The same loop; the caller now owns a reference. NULL for NULL.
 *
 * Thread: [any].
 */
RLK_API rlk_loop *rlk_loop_retain(rlk_loop *loop);

/**
 * Gives a reference back.
 *
 * @param loop The loop, or NULL.
 *
 * Thread: [any].
 */
RLK_API void rlk_loop_release(rlk_loop *loop);

/* ---- runs ---- */

/**
 * Runs a mode [RLK-C-5].
 *
 * The run looks whether the mode is empty at the end of a pass only. If the mode's last member goes before the pass
 * sleeps, in a block or an observer, or if another thread removes or invalidates it, the run sleeps until something
 * wakes it: call rlk_loop_wake_up after removing the last member. An rlk_loop_stop that comes before the run has begun
 * is lost.
 *
 * A thread that sleeps in a run may be cancelled (pthread_cancel(3)). The run and those around it then do not return,
 * and the loop ends with the thread [RLK-C-21]. The cancellation takes effect at once in an idle loop, and after at
 * most 20 ms of sleep in a loop that was busy. If each sleep is shorter, it takes effect in one sleep of 64. A signal
 * handler that interrupts the sleep can be cancelled too, as in waits of the C library.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 * #include <stdio.h>
 *
 * static void work(void *text) {
 *     puts(text);
 *     rlk_loop_stop(NULL);
 * }
 *
 * int main(void) {
 *     if (rlk_loop_perform(NULL, NULL, work, "some work") < 0)
 *         return 1;
 *     return rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false) == RLK_RUN_STOPPED ? 0 : 1;
 * }
 * @endcode
 *
 * @param loop                       The loop, which the calling thread owns.
 * @param mode                       The mode. A run of RLK_MODE_COMMON returns RLK_RUN_FINISHED at once.
 * @param deadline_ns                The time on CLOCK_MONOTONIC at which the run ends; 0 for one pass without a wait.
 * @param return_after_source_handled Whether the run ends after a source was served.
 * @return RLK_RUN_FINISHED...; -EPERM, -ESHUTDOWN, -EINVAL; -ECHILD, also in the child if a callout calls fork(2): the
 *         runs around that callout then call nothing more in the child [RLK-C-17]; -EMFILE before the first pass;
 *         -EBADF or another -errno of epoll_pwait2(2): other code has closed the mode's epoll instance, which ends the
 *         run.
 *
 * Thread: [loop].  Blocks: until the run ends.  Re-entry: a callout may run the loop again.
 */
RLK_API int rlk_loop_run_in_mode(
    rlk_loop *loop, const char *mode, uint64_t deadline_ns, bool return_after_source_handled);

/**
 * Runs a mode until rlk_loop_stop is called, even if the mode is empty.
 *
 * @param loop The loop, which the calling thread owns.
 * @param mode The mode; not RLK_MODE_COMMON.
 * @return RLK_RUN_STOPPED; errors as rlk_loop_run_in_mode, and -EINVAL for RLK_MODE_COMMON.
 *
 * Thread: [loop].  Blocks: until the run ends.
 */
RLK_API int rlk_loop_run_until_stopped(rlk_loop *loop, const char *mode);

/**
 * Ends the innermost run after its current pass; does nothing if the loop does not run [RLK-C-10]. The end of the
 * outermost run of an rlk_thread ends the thread. The thread's loop counts as running as soon as rlk_thread_start has
 * returned.
 *
 * @param loop The loop; not NULL in a signal handler.
 * @return 0; -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any, signal-safe].
 */
RLK_API int rlk_loop_stop(rlk_loop *loop);

/**
 * Ends the loop's current wait. If the loop runs but does not wait yet, the wait of the current pass does not block
 * [RLK-C-10].
 *
 * @param loop The loop; not NULL in a signal handler.
 * @return 0; -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any, signal-safe].
 */
RLK_API int rlk_loop_wake_up(rlk_loop *loop);

/**
 * Sets whether the common modes of the main loop serve the process's main dispatch queue. At first they do, and the
 * queue counts as a member of them, whether or not the process contains libdispatch. So a run of the main loop in a
 * common mode, such as the default mode, never returns RLK_RUN_FINISHED, and rlk_loop_is_empty returns 0. rlk_loop_stop
 * and a deadline end such a run. With false, a common mode may be empty as on other threads, and the functions in the
 * queue do not run [RLK-C-18].
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 *
 * int main(void) {
 *     if (rlk_loop_set_serves_main_queue(NULL, false) < 0)
 *         return 1;
 *     // The default mode has no member now, so its run is finished at once.
 *     return rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false) == RLK_RUN_FINISHED ? 0 : 1;
 * }
 * @endcode
 *
 * @param loop   The main loop; NULL only on the main thread.
 * @param serves Whether they serve the queue. Takes effect with the next run.
 * @return 0; -EINVAL (another loop), -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_set_serves_main_queue(rlk_loop *loop, bool serves);

/* ---- modes ---- */

/**
 * Makes a mode common: the mode now contains the items that were added to RLK_MODE_COMMON. If the kernel refuses an
 * item, for a reason that rlk_loop_add lists, the call leaves that item out, reports it in a warning
 * (rlk_set_diagnostics), and succeeds.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 *
 * int main(void) {
 *     if (rlk_loop_add_common_mode(NULL, "panel") < 0)
 *         return 1;
 *     return rlk_loop_is_common_mode(NULL, "panel") == 1 ? 0 : 1;
 * }
 * @endcode
 *
 * @param loop The loop.
 * @param mode The mode; not RLK_MODE_COMMON.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_add_common_mode(rlk_loop *loop, const char *mode);

/**
 * Tells whether a mode is common.
 *
 * @param loop The loop.
 * @param mode The mode.
 * @return 1 or 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_is_common_mode(rlk_loop *loop, const char *mode);

/**
 * Tells whether a run of the mode would end at once because it has nothing to wait for.
 *
 * @param loop The loop.
 * @param mode The mode.
 * @return 1 or 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_is_empty(rlk_loop *loop, const char *mode);

/**
 * Copies the name of the mode that the loop runs in.
 *
 * @param loop   The loop.
 * @param buffer Receives the name and a 0; a longer name is cut off between characters. NULL is allowed if size is 0.
 * @param size   The bytes of the buffer.
 * @return The length of the whole name, as snprintf(3); 0 (the loop does not run); -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_copy_current_mode(rlk_loop *loop, char *buffer, size_t size);

/**
 * Receives one mode of a loop.
 *
 * @param mode    The name, valid during the call.
 * @param context The context that rlk_loop_visit_modes was given.
 *
 * Thread: [any]: the thread that calls rlk_loop_visit_modes.
 */
typedef void (*rlk_mode_fn)(const char *mode, void *context);

/**
 * Calls a function, in no order, for each mode that the loop has: the default mode, each to which an item or work was
 * added, and each that a host has asked for. A run of a mode does not add the mode to the loop.
 *
 * @param loop    The loop.
 * @param visit   Called for each mode, before rlk_loop_visit_modes returns.
 * @param context Handed to `visit`.
 * @return The number of modes; -EINVAL.
 *
 * Thread: [any].  Cost: O(modes).
 */
RLK_API int rlk_loop_visit_modes(rlk_loop *loop, rlk_mode_fn visit, void *context);

/**
 * Computes the earliest date of the mode's timers, on CLOCK_MONOTONIC.
 *
 * @param loop    The loop.
 * @param mode    The mode.
 * @param ret_date_ns The date; RLK_TIME_FOREVER if no timer has one.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_next_fire_date(rlk_loop *loop, const char *mode, uint64_t *ret_date_ns);

/* ---- what a loop is and does ---- */

/**
 * Tells whether the calling thread owns the loop.
 *
 * @param loop The loop.
 * @return True if so; also for NULL.
 *
 * Thread: [any].
 */
RLK_API bool rlk_loop_is_current(rlk_loop *loop);

/**
 * Tells whether the loop is waiting.
 *
 * @param loop The loop.
 * @return True if so. The wait may be over before the call returns.
 *
 * Thread: [any].
 */
RLK_API bool rlk_loop_is_waiting(rlk_loop *loop);

/**
 * Tells whether the loop's thread has ended.
 *
 * @param loop The loop.
 * @return True if so: the loop then accepts nothing.
 *
 * Thread: [any].
 */
RLK_API bool rlk_loop_has_ended(rlk_loop *loop);

/**
 * Describes a loop, its modes and their members. The text is for people, and each version may word it differently.
 *
 * @param loop   The loop.
 * @param buffer Receives the text and a 0; a longer text is cut off. NULL is allowed if size is 0.
 * @param size   The bytes of the buffer.
 * @return The length of the whole text, as snprintf(3); -EINVAL, -EOVERFLOW (more than INT_MAX).
 *
 * Thread: [any].  Cost: O(members).
 */
RLK_API int rlk_loop_describe(rlk_loop *loop, char *buffer, size_t size);

RLK_END_DECLS
#endif

/** <runloopkit/loop.h>: loops and their modes: runs, stops, wakes, and what a loop says of itself. */
#ifndef RUNLOOPKIT_LOOP_H
#define RUNLOOPKIT_LOOP_H

#include <runloopkit/base.h>

RLK_BEGIN_DECLS

/**
 * A loop. Each thread has one, made at its first use; the thread's end ends it. rlk_loop_retain and rlk_loop_release
 * count references: the handle stays valid after that end, and calls with it return -ESHUTDOWN.
 */
typedef struct rlk_loop rlk_loop;

/** The mode of everyday work, common from the start; also what a NULL mode is. */
#define RLK_MODE_DEFAULT "kCFRunLoopDefaultMode"
/** Stands for all common modes: items and work are added to it, no loop runs in it. */
#define RLK_MODE_COMMON "kCFRunLoopCommonModes"
/** The mode of user interaction; common from the start on the main loop only. */
#define RLK_MODE_TRACKING "UITrackingRunLoopMode"

/** Why a run has ended. */
enum {
    /** The mode has nothing to wait for. Of the main loop's common modes: see rlk_loop_set_serves_main_queue. */
    RLK_RUN_FINISHED = 1,
    RLK_RUN_STOPPED = 2,        /**< rlk_loop_stop. */
    RLK_RUN_TIMED_OUT = 3,      /**< The deadline has come. */
    RLK_RUN_HANDLED_SOURCE = 4, /**< A source was served, and the caller wanted to return then. */
};

/* ---- handles ---- */

/**
 * The calling thread's loop, made if need be.
 *
 * @return The loop, never NULL. The thread owns it: who keeps the handle beyond the thread's end, or uses it in a child
 *         of fork(2), retains it.
 *
 * Thread: [any].
 */
RLK_API rlk_loop *rlk_loop_current(void);

/**
 * The main thread's loop. It ends with the main thread, whichever thread has asked for it first. If another thread has
 * loaded the library, by dlopen(3), it ends so only if the main thread has asked for it.
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
 * @return The same loop, which the caller now owns a reference of; NULL for NULL.
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
 * Runs a mode [RLK-C-5]. A thread that sleeps in a run may be cancelled (pthread_cancel(3)): the run and those around
 * it do not return, and the loop ends with the thread, as always [RLK-C-21]. That happens at once in a loop that is
 * idle, after 20 ms at most in one that was busy, and in one of 64 sleeps if each is shorter. A signal handler that
 * interrupts such a sleep can be cancelled, too, as in the waits of the C library.
 *
 * @param loop                       The loop, which the calling thread owns.
 * @param mode                       The mode; not RLK_MODE_COMMON, which is finished at once.
 * @param deadline_ns                When the run ends on CLOCK_MONOTONIC; 0: after one pass, without waiting.
 * @param return_after_source_handled Ends the run after a source was served.
 * @return RLK_RUN_FINISHED and its kin; -EPERM, -ESHUTDOWN, -EINVAL; -ECHILD, also in the child if the process forks in
 *         a callout: the runs around it call nothing more [RLK-C-17]; -EMFILE before the first pass; -EBADF or another
 *         -errno of epoll_pwait2(2): other code has closed the mode's epoll instance, and the run has ended.
 *
 * Thread: [loop].  Blocks: until the run ends.  Re-entry: a callout may run the loop again.
 */
RLK_API int rlk_loop_run_in_mode(
    rlk_loop *loop, const char *mode, uint64_t deadline_ns, bool return_after_source_handled);

/**
 * Runs a mode until rlk_loop_stop is called, also while the mode is empty.
 *
 * @param loop The loop, which the calling thread owns.
 * @param mode The mode; not RLK_MODE_COMMON.
 * @return RLK_RUN_STOPPED; errors as rlk_loop_run_in_mode, and -EINVAL for RLK_MODE_COMMON.
 *
 * Thread: [loop].  Blocks: until the run ends.
 */
RLK_API int rlk_loop_run_until_stopped(rlk_loop *loop, const char *mode);

/**
 * Ends the innermost run after its current pass; does nothing if the loop does not run [RLK-C-10]. The outermost run
 * of an rlk_thread is the thread's life: its end ends the thread.
 *
 * @param loop The loop; not NULL in a signal handler.
 * @return 0; -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any, signal-safe].
 */
RLK_API int rlk_loop_stop(rlk_loop *loop);

/**
 * Ends the loop's current wait, or keeps the next one of the pass from blocking [RLK-C-10].
 *
 * @param loop The loop; not NULL in a signal handler.
 * @return 0; -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any, signal-safe].
 */
RLK_API int rlk_loop_wake_up(rlk_loop *loop);

/**
 * Sets whether the common modes of the main loop serve the process's main dispatch queue. They do at first, and then
 * the queue counts as a member: a run of the main loop in a common mode, which the default mode is, never returns
 * RLK_RUN_FINISHED, and rlk_loop_is_empty answers 0. That holds whether or not the process contains libdispatch.
 * rlk_loop_stop and a deadline end such a run. With false a common mode may be empty as on other threads, and what is
 * in the queue waits [RLK-C-18].
 *
 * @param loop   The main loop; NULL on the main thread.
 * @param serves What holds from the next run on.
 * @return 0; -EINVAL (another loop), -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_set_serves_main_queue(rlk_loop *loop, bool serves);

/* ---- modes ---- */

/**
 * Makes a mode common: what was added to RLK_MODE_COMMON is in it from now on. An item that the kernel does not take
 * into the mode, as rlk_loop_add says, is left out, and named in a warning (rlk_set_diagnostics); the call succeeds.
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
 * Tells whether a run of the mode would end at once, because there is nothing to wait for.
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
 * @param buffer Receives the name and a 0; a longer one is cut off between characters. NULL is allowed if size is 0.
 * @param size   The bytes of the buffer.
 * @return The length of the whole name, as snprintf(3); 0 (the loop does not run); -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_copy_current_mode(rlk_loop *loop, char *buffer, size_t size);

/**
 * Is told one mode of a loop.
 *
 * @param mode    The name, for the time of the call.
 * @param context What the caller of rlk_loop_visit_modes gave.
 *
 * Thread: [any]: the caller's.
 */
typedef void (*rlk_mode_fn)(const char *mode, void *context);

/**
 * Calls a function for each mode that the loop has had a member, a run or work of; in no order.
 *
 * @param loop    The loop.
 * @param visit   Called before the return.
 * @param context Handed to it.
 * @return The number of modes; -EINVAL.
 *
 * Thread: [any].  Cost: O(modes).
 */
RLK_API int rlk_loop_visit_modes(rlk_loop *loop, rlk_mode_fn visit, void *context);

/**
 * The earliest date of the mode's timers on CLOCK_MONOTONIC.
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
 * Tells whether the loop waits at this moment.
 *
 * @param loop The loop.
 * @return True if so. By the time the caller looks at it, that may be over.
 *
 * Thread: [any].
 */
RLK_API bool rlk_loop_is_waiting(rlk_loop *loop);

/**
 * Tells whether the loop's thread has ended.
 *
 * @param loop The loop.
 * @return True if so: the loop accepts nothing any more.
 *
 * Thread: [any].
 */
RLK_API bool rlk_loop_has_ended(rlk_loop *loop);

/**
 * Describes a loop, its modes and their members. The text is for people, and may be another one in each version.
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

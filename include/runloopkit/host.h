/** <runloopkit/host.h>: a loop inside another one, which polls its descriptor; and the figures of a loop. */
#ifndef RUNLOOPKIT_HOST_H
#define RUNLOOPKIT_HOST_H

#include <runloopkit/loop.h>

RLK_BEGIN_DECLS

/**
 * The descriptor that a host polls for reading, level-triggered, for a mode of the loop.
 *
 * @param loop           The loop, which the calling thread owns.
 * @param mode           The mode; not RLK_MODE_COMMON.
 * @param ret_generation Another number if the descriptor was made anew: an epoll instance of the host must watch it
 *                       again. Ask after each rlk_loop_run_pending_work. NULL if it is not wanted.
 * @return The descriptor, which stays the loop's; -EINVAL, -EPERM, -ESHUTDOWN, -ECHILD, -EMFILE.
 *
 * Thread: [loop].
 */
RLK_API int rlk_loop_host_descriptor(rlk_loop *loop, const char *mode, uint64_t *ret_generation);

/**
 * Prepares the loop for the host's wait; to be called before each one. Calls the observers of before-waiting, unless
 * work is pending; first, if their last wait has not ended otherwise, those of after-waiting. A host that does not call
 * rlk_loop_run_pending_work after it calls rlk_loop_cancel_wait. If this call fails, and not by -EBUSY or -EALREADY,
 * the loop does not wait in this mode.
 *
 * A callout of the loop may run the host's own loop (a dialogue, a popup, a drag), which prepares and serves the loop
 * there as outside: another wait, to any depth. What is on the stack is not called again. A wait that is open when the
 * callout returns ends then, and a stop that has come for it is the run's whose callout that was.
 *
 * @param loop The loop, which the calling thread owns.
 * @param mode The mode; not RLK_MODE_COMMON.
 * @return 1 (work is pending: do not wait); 0 (the descriptor becomes readable when there is some); -EINVAL, -EPERM,
 *         -ESHUTDOWN, -ECHILD (also if an observer forks, and this is the child), -EBUSY (in an observer that this
 *         call, rlk_loop_run_pending_work or rlk_loop_cancel_wait calls), -EALREADY (the loop waits for the host of the
 *         same callout in another mode: a host serves one mode at a time), -EMFILE; -EBADF or another error of
 *         epoll_wait(2) if other code has closed the loop's epoll instance.
 *
 * Thread: [loop].  Re-entry: allowed in callouts of the loop.
 */
RLK_API int rlk_loop_prepare_to_wait(rlk_loop *loop, const char *mode);

/**
 * Runs what is pending: a pass that does not wait, or none if nothing is. The host keeps the run: what does not keep a
 * mode from being empty (rlk_item_set_keeps_running) is served all the same. The call ends the wait.
 *
 * @param loop The loop, which the calling thread owns.
 * @param mode The mode; not RLK_MODE_COMMON.
 * @return RLK_RUN_STOPPED if the loop was stopped since rlk_loop_prepare_to_wait, also by a callout of this call; else
 *         RLK_RUN_TIMED_OUT; errors as rlk_loop_prepare_to_wait.
 *
 * Thread: [loop].  Re-entry: allowed in callouts of the loop.
 */
RLK_API int rlk_loop_run_pending_work(rlk_loop *loop, const char *mode);

/**
 * Ends the wait that rlk_loop_prepare_to_wait has begun, without a pass: for a host that serves the loop no more. Calls
 * the observers of after-waiting if those of before-waiting were called since. Drops a stop or a wake that came for the
 * wait. Nothing is done if none has begun. A host that has begun a wait in a callout of the loop, and another one
 * around it, ends both.
 *
 * @param loop The loop, which the calling thread owns.
 * @param mode The mode; not RLK_MODE_COMMON.
 * @return 0; -EINVAL, -EPERM, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [loop].  Re-entry: allowed in callouts of the loop; then the wait ends when these, or the run that called
 * them, have returned.
 */
RLK_API int rlk_loop_cancel_wait(rlk_loop *loop, const char *mode);

/**
 * How a run of a loop sleeps inside of its host, whose own sources are served meanwhile.
 *
 * It is called by a run that is about to sleep. While it iterates the host for itself, and not in a callback that runs
 * the host's loop in turn, the host does not prepare or serve the loop: the run serves its own mode alone.
 *
 * @param descriptor What the host polls for reading meanwhile: that of the run's mode.
 * @param until_ns   On RLK_CLOCK_MONOTONIC; RLK_TIME_FOREVER: no limit.
 * @param context    The one that rlk_loop_set_host_sleep was given.
 * @return True as soon as the descriptor is readable, the moment has come, or the host has served something of its own;
 *         false, with nothing done: the host cannot be iterated there, and the run sleeps by itself.
 *
 * Thread: [loop].
 */
typedef bool (*rlk_host_sleep_fn)(int descriptor, uint64_t until_ns, void *context);

/**
 * Lets the runs of a loop sleep in its host, in place of what was set before. Without this the host stands still while
 * a callout runs the loop.
 *
 * @param loop     The loop, which the calling thread owns.
 * @param sleep_fn Called by runs that are about to sleep; NULL: they sleep by themselves.
 * @param context  For sleep_fn. The caller owns it, and keeps it until sleep_fn is replaced.
 * @return 0; -EPERM, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [loop].  Re-entry: allowed in callouts of the loop.
 */
RLK_API int rlk_loop_set_host_sleep(rlk_loop *loop, rlk_host_sleep_fn sleep_fn, void *context);

/** Figures of a loop. Later versions append members: see `size`. */
typedef struct rlk_loop_statistics {
    size_t size;                /**< The caller sets it to sizeof; the library, to how much it has written. */
    uint64_t runs;              /**< Runs that have ended or are on the stack. */
    uint64_t passes;            /**< Their passes. */
    uint64_t sleeps;            /**< Waits that slept. */
    uint64_t spurious_wakes;    /**< Sleeps that ended without work. */
    uint64_t timers_fired;      /**< Callouts of timers. */
    uint64_t sources_performed; /**< Callouts of signalled sources. */
    uint64_t port_callouts;     /**< Callouts of descriptors, signals and ports. */
    uint64_t blocks_performed;  /**< Work that was done. */
    uint64_t busy_time_ns;      /**< Time in runs, but not asleep. */
    uint64_t sleep_time_ns;     /**< Time asleep. */
} rlk_loop_statistics;

/**
 * Tells a loop whether to count. It does not from the start. Each beginning starts from zero.
 *
 * @param loop     The loop.
 * @param collects True: from now on.
 * @return 0. Cannot fail.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_collect_statistics(rlk_loop *loop, bool collects);

/**
 * Reads what was counted.
 *
 * @param loop           The loop.
 * @param ret_statistics The figures. The caller owns the structure and sets its `size` before each call.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_read_statistics(rlk_loop *loop, rlk_loop_statistics *ret_statistics);

RLK_END_DECLS
#endif

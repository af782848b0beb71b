/** <runloopkit/host.h>: how a host, which is another event loop, serves a loop; and a loop's statistics. */
#ifndef RUNLOOPKIT_HOST_H
#define RUNLOOPKIT_HOST_H

#include <runloopkit/loop.h>

RLK_BEGIN_DECLS

/**
 * Returns the descriptor of a mode. The host polls it for reading, level-triggered, to learn that the mode has work.
 *
 * @param loop           The loop, which the calling thread owns.
 * @param mode           The mode; not RLK_MODE_COMMON.
 * @param ret_generation A number that changes when the loop replaces the epoll instance behind the descriptor. An epoll
 *                       instance of the host must then watch the descriptor again. Compare the number after each
 *                       rlk_loop_run_pending_work. May be NULL.
 * @return The descriptor, which the loop owns; -EINVAL, -EPERM, -ESHUTDOWN, -ECHILD, -EMFILE.
 *
 * Thread: [loop].
 */
RLK_API int rlk_loop_host_descriptor(rlk_loop *loop, const char *mode, uint64_t *ret_generation);

/**
 * Prepares the loop for the host's wait. The host calls it before each wait. If an earlier wait is still open, the call
 * first calls its after-waiting observers. Then, if no work is pending, it calls the before-waiting observers. After
 * the wait the host calls rlk_loop_run_pending_work, or else rlk_loop_cancel_wait. If this call fails with an error
 * other than -EBUSY and -EALREADY, no wait of this mode is open.
 *
 * A callout of the loop may run the host's own loop (a dialogue, a popup, a drag). The host then prepares and serves
 * the loop as it does outside of callouts. Such waits nest to any depth. Callouts that are on the stack are not called
 * again. A wait that is still open when the callout returns ends at that time. If a stop has come for that wait, it
 * stops the run that has made the callout.
 *
 * @code{.c}
 * #include <poll.h>
 * #include <runloopkit/runloopkit.h>
 *
 * static void work(void *is_done) {
 *     *(bool *)is_done = true;
 * }
 *
 * int main(void) {
 *     bool is_done = false;
 *     struct pollfd watched = {.fd = rlk_loop_host_descriptor(NULL, NULL, NULL), .events = POLLIN};
 *     if (watched.fd < 0 || rlk_loop_perform(NULL, NULL, work, &is_done) < 0)
 *         return 1;
 *     while (!is_done) {
 *         if (rlk_loop_prepare_to_wait(NULL, NULL) == 0)
 *             poll(&watched, 1, -1); // with the host's own descriptors
 *         if (rlk_loop_run_pending_work(NULL, NULL) < 0)
 *             return 1;
 *     }
 *     return 0;
 * }
 * @endcode
 *
 * @param loop The loop, which the calling thread owns.
 * @param mode The mode; not RLK_MODE_COMMON.
 * @return 1 (work is pending: do not wait); 0 (wait: the descriptor becomes readable when there is work); -EINVAL,
 *         -EPERM, -ESHUTDOWN, -ECHILD (also in the child if an observer calls fork(2)), -EBUSY (in an observer that
 *         this call, rlk_loop_run_pending_work or rlk_loop_cancel_wait calls), -EALREADY (the loop already waits in
 *         another mode for the host of the same callout: a host serves one mode at a time), -EMFILE; -EBADF or another
 *         error of epoll_wait(2) if other code has closed the loop's epoll instance.
 *
 * Thread: [loop].  Re-entry: allowed in callouts of the loop.
 */
RLK_API int rlk_loop_prepare_to_wait(rlk_loop *loop, const char *mode);

/**
 * Runs what is pending, in one pass that does not wait; makes no pass if nothing is pending. The call ends the wait. It
 * serves the mode even if no item keeps the mode running (rlk_item_set_keeps_running).
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
 * Ends the wait that rlk_loop_prepare_to_wait has begun, without a pass: for a host that stops serving the loop. Calls
 * the after-waiting observers if the before-waiting observers were called for this wait. Drops a stop or a wake that
 * came for the wait. Does nothing if no wait is open. If the host has begun a wait in a callout of the loop, and
 * another one around that callout, the call ends both.
 *
 * @param loop The loop, which the calling thread owns.
 * @param mode The mode; not RLK_MODE_COMMON.
 * @return 0; -EINVAL, -EPERM, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [loop].  Re-entry: allowed in callouts of the loop; the wait then ends when the callout, or the run that has
 * made it, has returned.
 */
RLK_API int rlk_loop_cancel_wait(rlk_loop *loop, const char *mode);

/**
 * Iterates the host in place of the sleep of a run, so that the host's own sources are served meanwhile.
 *
 * A run that is about to sleep calls this function. While the function iterates the host, the host must not call
 * rlk_loop_prepare_to_wait or rlk_loop_run_pending_work, because the run serves its own mode. But if a callback of the
 * host runs the host's loop in turn, that inner run of the host may call both.
 *
 * @param descriptor The descriptor of the run's mode, which the host polls for reading meanwhile.
 * @param until_ns   On RLK_CLOCK_MONOTONIC; RLK_TIME_FOREVER for no limit.
 * @param context    The context that rlk_loop_set_host_sleep was given.
 * @return True as soon as the descriptor is readable, until_ns has come, or the host has served something of its own.
 *         False if the function cannot iterate the host now and has done nothing: the run then sleeps by itself.
 *
 * Thread: [loop].
 */
typedef bool (*rlk_host_sleep_fn)(int descriptor, uint64_t until_ns, void *context);

/**
 * Lets the runs of a loop sleep in its host; replaces what was set before. Without sleep_fn the host's own sources are
 * not served while a callout runs the loop.
 *
 * @param loop     The loop, which the calling thread owns.
 * @param sleep_fn Called by runs that are about to sleep. With NULL runs sleep by themselves.
 * @param context  Handed to sleep_fn. The caller owns it, and keeps it until sleep_fn is replaced.
 * @return 0; -EPERM, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [loop].  Re-entry: allowed in callouts of the loop.
 */
RLK_API int rlk_loop_set_host_sleep(rlk_loop *loop, rlk_host_sleep_fn sleep_fn, void *context);

/** What a loop has counted. Later versions append members: see `size`. */
typedef struct rlk_loop_statistics {
    size_t size;                /**< The caller sets it to sizeof, the library to the number of bytes written. */
    uint64_t runs;              /**< Runs that have ended or are on the stack. */
    uint64_t passes;            /**< The passes of these runs. */
    uint64_t sleeps;            /**< Waits that slept. */
    uint64_t spurious_wakes;    /**< Sleeps that ended without work. */
    uint64_t timers_fired;      /**< Callouts of timers. */
    uint64_t sources_performed; /**< Callouts of signalled sources. */
    uint64_t port_callouts;     /**< Callouts of descriptors, signals and ports. */
    uint64_t blocks_performed;  /**< Blocks and other work that has run. */
    uint64_t busy_time_ns;      /**< Time in runs, but not asleep. */
    uint64_t sleep_time_ns;     /**< Time asleep. */
} rlk_loop_statistics;

/**
 * Sets whether a loop collects statistics. At first it does not. Turning this on sets all counts to zero.
 *
 * @param loop     The loop.
 * @param collects True to count from this call on.
 * @return 0. Cannot fail.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_collect_statistics(rlk_loop *loop, bool collects);

/**
 * Reads the statistics.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 * #include <stdio.h>
 *
 * int main(void) {
 *     rlk_loop_statistics statistics = {.size = sizeof statistics};
 *     rlk_loop_collect_statistics(NULL, true);
 *     rlk_loop_run_in_mode(NULL, NULL, rlk_now(RLK_CLOCK_MONOTONIC) + 10000000, false);
 *     if (rlk_loop_read_statistics(NULL, &statistics) < 0)
 *         return 1;
 *     printf("%llu sleeps\n", (unsigned long long)statistics.sleeps);
 *     return statistics.runs == 1 ? 0 : 1;
 * }
 * @endcode
 *
 * @param loop           The loop.
 * @param ret_statistics The statistics. The caller owns the structure and sets its `size` before each call.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_read_statistics(rlk_loop *loop, rlk_loop_statistics *ret_statistics);

RLK_END_DECLS
#endif

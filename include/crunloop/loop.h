/**
 * <crunloop/loop.h>: rlc_loop, the parts of the core as a small loop without modes, for C hosts.
 *
 * One thread owns it: the creating one. Only post, wake and stop come from elsewhere. It promises no order between
 * watches, timers and posts; work queued by work waits for the next pass [RLC-LOOP-6]; no kind can starve another
 * [RLC-LOOP-7].
 *
 * A pass adds what was added, looks at the kernel (or sleeps), then calls due timers, ready watches and posts. It costs
 * one system call, one more when a timer has to be set, and allocates nothing [RLC-COST-1, RLC-COST-3]; passes that
 * have posts to serve look at the kernel at least every 64 passes or 50 us, by a clock that without timers is read at
 * least every sixteenth pass [RLC-COST-2].
 *
 * Runs nest: a callout may run the loop again. Events, timers and posts that the outer pass has fetched go to the inner
 * one, each once [RLC-WATCH-7, RLC-DATE-8]; a watch or a repeating timer whose callout is on the stack is not entered
 * again [RLC-WATCH-5, RLC-DATE-7]. Anything may be removed from any callout [RLC-WATCH-4, RLC-WATCH-6, RLC-DATE-4].
 *
 * Descriptors: one; another with the first watch, timer or prepare; one more with the first timer. Memory: about 1 kB.
 *
 * Unless said otherwise: thread [loop], and -ECHILD in a child of fork(2) [RLC-FORK-3]. A callout that forks returns
 * into its run in both processes: in the child that one calls nothing more and answers -ECHILD, as do the runs around
 * it; what was queued, due or ready is the parent's [RLC-FORK-4].
 */
#ifndef CRUNLOOP_LOOP_H
#define CRUNLOOP_LOOP_H

#include <crunloop/kernel.h>
#include <crunloop/post_queue.h>

RLC_BEGIN_DECLS

typedef struct rlc_loop rlc_loop;
typedef struct rlc_watch rlc_watch;
typedef struct rlc_timer rlc_timer;

typedef enum rlc_run_result {
    RLC_RUN_FINISHED = 1, /**< No watch, no timer that is armed, no post. */
    RLC_RUN_STOPPED,
    RLC_RUN_TIMED_OUT,
    RLC_RUN_HANDLED, /**< Only rlc_loop_run_once: the pass called something, or rlc_loop_wake asked for it. */
} rlc_run_result;

/**
 * @param ready RLC_READABLE... as the pass's look has found it, not looked at again: what an earlier callout of the
 *              same pass has read from this descriptor is gone [RLC-WATCH-9]. Hence a descriptor that does not block.
 *              Level-triggered: called again in the next pass if nothing was done about it.
 */
typedef void (*rlc_watch_fn)(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context);
/** @param deadline_ns The date it was armed for; now may be later. */
typedef void (*rlc_timer_fn)(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context);

/**
 * Makes a loop; the calling thread owns it.
 *
 * @param kernel   NULL = rlc_kernel_default(); must outlive the loop.
 * @param ret_loop The caller's, until rlc_loop_destroy.
 * @return 0; -EMFILE, -ENFILE, -ENOMEM, with nothing left behind [RLC-LOOP-2].
 *
 * Thread: [any].  Cost: one system call.
 */
RLC_API int rlc_loop_create(const rlc_kernel *kernel, rlc_loop **ret_loop);

/**
 * Ends the loop: frees it, its watches and its timers. Descriptors that were watched stay the caller's.
 *
 * Posts that did not run get ran = false [RLC-LOOP-8]; from then on post and wake answer -ESHUTDOWN. Whoever may still
 * call them keeps the loop from being destroyed. In a child of fork(2) it frees memory only, and calls nothing.
 *
 * @param loop NULL is allowed.
 * @return 0; -EBUSY from a callout [RLC-LOOP-9].
 */
RLC_API int rlc_loop_destroy(rlc_loop *loop);

/**
 * Watches a descriptor; a loop with a watch is not finished.
 *
 * The descriptor reaches the kernel with the next pass, and one that is removed before never does [RLC-WATCH-1]. So a
 * refusal comes late: a descriptor that is closed, or a regular file, is called once with RLC_ERROR alone, and stays
 * silent until its interest is set again [RLC-WATCH-2]. So is a watch that the kernel does not take back when a run
 * inside its callout is over [RLC-WATCH-10], or when a later watch on its number is removed [RLC-WATCH-11], and one
 * that epoll has lost or refused while the loop told of it [RLC-WATCH-12]. For hang-ups and errors see
 * RLC_PORT_READINESS.
 *
 * @param loop      The loop that watches.
 * @param fd        Stays the caller's. Remove the watch before closing it.
 * @param interest  RLC_READABLE | RLC_WRITABLE; 0 still reports HANGUP and ERROR.
 * @param watch_fn  Called on the loop's thread.
 * @param context   For watch_fn; not touched.
 * @param ret_watch The loop's; valid until rlc_watch_remove or rlc_loop_destroy.
 * @return 0; -EBADF if fd is negative or the loop's own, -ENOMEM; with the first watch or timer also -EMFILE, -ENFILE,
 *         -ENOSPC. What the late adding needs is reserved here [RLC-WATCH-3].
 *
 * Cost: one system call in the next pass; two at once with the first watch or timer.
 */
RLC_API int rlc_loop_add_watch(
    rlc_loop *loop, int fd, uint32_t interest, rlc_watch_fn watch_fn, void *context, rlc_watch **ret_watch);

/**
 * Changes the interest [RLC-WATCH-8], and wakes a watch that rests after a hang-up or a refusal.
 *
 * @return 0; -ENOENT if it was removed (from its own callout), -EBADF, -ENOMEM.
 *
 * Cost: one system call; none before its first pass or while a nested run leaves it out.
 */
RLC_API int rlc_watch_set_interest(rlc_watch *watch, uint32_t interest);

/**
 * Ends the watch; also from its own callout. No callout afterwards [RLC-WATCH-4]. NULL is allowed.
 *
 * The watch is gone: valid at most until the callout that removes it returns. Its memory serves the next one, after the
 * outermost run's pass [RLC-LOOP-15]. In a child of fork(2) it frees memory only.
 *
 * Cost: one system call; none before its first pass.
 */
RLC_API void rlc_watch_remove(rlc_watch *watch);

/**
 * A new timer, not armed.
 *
 * @param loop      The loop that calls.
 * @param timer_fn  Called on the loop's thread.
 * @param context   For timer_fn; not touched.
 * @param ret_timer The loop's; valid until rlc_timer_remove or rlc_loop_destroy.
 * @return 0; -ENOMEM; with the first timer also -EMFILE, -ENFILE, -ENOSPC. Nothing is half added [RLC-DATE-9].
 *
 * Cost: two system calls with the first timer, two more if nothing was watched before, then none.
 */
RLC_API int rlc_loop_add_timer(rlc_loop *loop, rlc_timer_fn timer_fn, void *context, rlc_timer **ret_timer);

/**
 * Arms or re-arms; a loop with an armed timer is not finished.
 *
 * Never early, at most tolerance_ns late by the loop's own doing [RLC-DATE-1, RLC-DATE-3]. A repeating timer is armed
 * anew after its callout; missed dates are skipped and the phase is kept [RLC-DATE-2], unless the callout armed it
 * itself [RLC-DATE-10]. Armed for a date that has passed, it is called in the next pass [RLC-DATE-6]; one that is due
 * and not called yet is taken back [RLC-DATE-5].
 *
 * @param timer        From rlc_loop_add_timer; armed or not.
 * @param deadline_ns  On the monotonic clock; RLC_TIME_FOREVER disarms.
 * @param interval_ns  0: once.
 * @param tolerance_ns 0: exact. More lets it share a wake-up; the first in a loop's life allocates.
 * @return 0; -ENOENT if it was removed (from its own callout). Never -ENOMEM.
 *
 * Cost: O(log n), no system call; before the next sleep one, if it is earlier than what is armed.
 */
RLC_API int rlc_timer_arm(rlc_timer *timer, uint64_t deadline_ns, uint64_t interval_ns, uint64_t tolerance_ns);

/** Ends the timer, as rlc_watch_remove [RLC-DATE-4]. NULL is allowed.  Cost: O(log n), no system call. */
RLC_API void rlc_timer_remove(rlc_timer *timer);

/** As rlc_timer_heap_moves, of all timers of the loop: a deadline that is pushed out moves nothing. */
RLC_API uint64_t rlc_loop_timer_moves(const rlc_loop *loop);

/**
 * Runs node->post_fn on the loop's thread, and wakes it. Posts of one thread run in the order of posting.
 *
 * @param loop The loop that runs the node.
 * @param node The loop's until post_fn is called, unless the post fails.
 * @return 0; -ESHUTDOWN after destroy began [RLC-LOOP-8], -ECHILD: the node stays the caller's. The errno, which is
 *         above 0, if the loop sleeps and write(2) has failed, since somebody has closed its eventfd: the node is the
 *         loop's, and runs when something else has woken it [RLC-LOOP-17].
 *
 * Thread: [signal]; the caller keeps the loop alive.  Cost: at most one write(2), none while the loop is awake. None is
 * lost, and none waits for another poster that was preempted [RLC-LOOP-11, RLC-LOOP-13], unless that one was about to
 * write: there is one write for a sleep, and its thread makes it when it goes on.
 */
RLC_API int rlc_loop_post(rlc_loop *loop, rlc_post_node *node);

/**
 * As rlc_loop_post for the loop's own thread, from a callout or between runs: no atomic step, no wake [RLC-LOOP-14].
 *
 * Deferred nodes run in the order of deferring; before the posts of the same pass.
 *
 * @param loop The calling thread's loop.
 * @param node The loop's until post_fn is called, unless it fails.
 * @return 0; -ESHUTDOWN after destroy began, -ECHILD: the node stays the caller's.
 */
RLC_API int rlc_loop_defer(rlc_loop *loop, rlc_post_node *node);

/**
 * Makes the loop do one pass, also if there is nothing to do [RLC-LOOP-5].
 *
 * @return 0; -ESHUTDOWN after destroy began, -ECHILD; -errno of write(2): somebody has closed the loop's eventfd, and
 *         it sleeps on.
 *
 * Thread: [signal]; the caller keeps the loop alive.  Cost: as rlc_loop_post.
 */
RLC_API int rlc_loop_wake(rlc_loop *loop);

/**
 * Ends the innermost run after its pass; does nothing if none runs [RLC-LOOP-3, RLC-LOOP-4].
 *
 * @return 0; -ESHUTDOWN after destroy began, -ECHILD.
 *
 * Thread: [signal]; the caller keeps the loop alive [RLC-LOOP-12].  Cost: as rlc_loop_post.
 */
RLC_API int rlc_loop_stop(rlc_loop *loop);

/**
 * Looks for posts, wakes and stops for some microseconds before each sleep, as far as that turns out to be worth it:
 * <crunloop/spin.h> tells for whom it is. Off at first.
 *
 * @param loop     The loop that looks.
 * @param limit_ns The longest that a sleep is put off, e.g. RLC_SPIN_USUAL_NS; 0: off. Never beyond the next timer's
 *                 date or the run's deadline [RLC-SPIN-4].
 */
RLC_API void rlc_loop_set_spin(rlc_loop *loop, uint64_t limit_ns);

/**
 * Passes until finished, stopped or the deadline; always at least one, unless finished [RLC-LOOP-1].
 *
 * @param loop        The calling thread's loop.
 * @param deadline_ns On the monotonic clock; 0: one pass that does not wait; RLC_TIME_FOREVER: no limit.
 * @return RLC_RUN_FINISHED, RLC_RUN_STOPPED, RLC_RUN_TIMED_OUT, or -errno from the wait (-EBADF: somebody has
 *         closed the loop's own descriptor; it does not spin [RLC-LOOP-16]); -ESHUTDOWN after destroy began
 *         [RLC-LOOP-8]. A signal (EINTR) is no reason to return [RLC-LOOP-10].
 *
 * Blocks.  Re-entry: allowed from a callout, see above.
 */
RLC_API int rlc_loop_run(rlc_loop *loop, uint64_t deadline_ns);

/**
 * Waits for one pass that calls something, and returns after it.
 *
 * @param loop        The calling thread's loop.
 * @param deadline_ns As for rlc_loop_run.
 * @return RLC_RUN_HANDLED; else as rlc_loop_run.
 *
 * Blocks.  Re-entry: allowed from a callout.
 */
RLC_API int rlc_loop_run_once(rlc_loop *loop, uint64_t deadline_ns);

/**
 * The descriptor that a host polls for reading, level-triggered; it stays the loop's and never changes.
 *
 * Inside a host's loop: prepare before every sleep of the host, dispatch when the descriptor was readable or prepare
 * answered 1. Between the two the loop counts as sleeping, so that wakes and posts reach it through the descriptor,
 * with one write per sleep [RLC-HOST-3, RLC-HOST-5]. It is readable whenever there is work [RLC-HOST-2]. A host that
 * has it in an epoll of its own: see rlc_loop_rebuilds.
 */
RLC_API int rlc_loop_fd(const rlc_loop *loop);

/**
 * As rlc_port_set_rebuilds: happens only if a watched descriptor was closed before its watch was removed. A host's
 * epoll then has lost the number: to be added again, after a dispatch that has changed this [RLC-HOST-6].
 */
RLC_API uint64_t rlc_loop_rebuilds(const rlc_loop *loop);

/**
 * Before every host sleep: adds watches, arms the timer, marks the loop asleep. Twice is allowed [RLC-HOST-1].
 *
 * @return 1: dispatch at once, also for a wake that came before [RLC-HOST-7]; 0: sleep; -errno: what the first watch
 *         would have answered, or what arming the timer.
 *
 * Cost: one system call per watch added since, and one if the timer has to be set.
 */
RLC_API int rlc_loop_prepare(rlc_loop *loop);

/**
 * One pass that does not wait; nothing happens without work. Nested runs are allowed in its callouts [RLC-HOST-4].
 *
 * @return 1: more is pending; 0: not; -errno.
 *
 * Cost: one look at the kernel.
 */
RLC_API int rlc_loop_dispatch(rlc_loop *loop);

RLC_END_DECLS
#endif

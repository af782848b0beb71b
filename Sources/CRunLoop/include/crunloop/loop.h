/**
 * <crunloop/loop.h>: rlc_loop, a small event loop for C programs: watched descriptors, timers and posts, without modes.
 *
 * One thread owns a loop: the one that creates it. Other threads may only post, wake and stop. The loop promises no
 * order between watches, timers and posts. Work that a callout queues waits for the next pass [RLC-LOOP-6], and no kind
 * can starve another one [RLC-LOOP-7].
 *
 * A run consists of passes. A pass registers the watches that were added, polls the kernel, or sleeps in it if there is
 * nothing to do, and then calls what is due: timers, ready watches, posts.
 *
 * A pass makes one system call, and one more if it has to set the timerfd. It allocates nothing [RLC-COST-1,
 * RLC-COST-3]. For a timer that tolerates 100 us or more, the timeout of the sleep replaces the timerfd, unless other
 * events have ended such a sleep before the timer's date [RLC-COST-5]. A pass that polls reads the clock once if there
 * are timers, and a second time only before it sleeps for a new date [RLC-COST-4]. It skips the first read if the
 * timerfd is set for the first timer and the poll returned a few events without the timerfd's: then no timer is due
 * [RLC-COST-6].
 *
 * A pass that has posts to run may leave out the poll, but the loop polls the kernel at least every 64 passes or 50 us
 * [RLC-COST-2]. To measure the 50 us it reads the clock in each such pass. If the next timer is more than 100 ms away,
 * the loop may leave the clock unread for up to 15 passes. So if posts suddenly take longer, such a timer may be up to
 * 15 passes late, once.
 *
 * Runs nest: a callout may run the loop. The inner run calls the events, due timers and posts that the outer pass has
 * fetched and not called yet; the outer pass does not call them afterwards [RLC-WATCH-7, RLC-DATE-8]. While the callout
 * of a watch or of a repeating timer is on the stack, no run calls it again [RLC-WATCH-5, RLC-DATE-7]. A callout may
 * remove any watch or timer, also its own [RLC-WATCH-4, RLC-WATCH-6, RLC-DATE-4].
 *
 * ThreadSanitizer reports no race on what a host hands over by a post, a wake or a stop, even if the library is not
 * compiled with it [RLC-RACE-1]. A run is a cancellation point while it sleeps, and not in callouts [RLC-CANCEL-1,
 * RLC-CANCEL-2]. The cancellation takes effect at once in an idle loop, and after at most 20 ms of sleep in a loop that
 * was busy. If each sleep is shorter, it takes effect in one of 64 sleeps [RLC-CANCEL-3].
 *
 * A C++ exception, another unwinding or longjmp(3) may leave a callout, and the runs around it, up to the code that
 * catches it [RLC-LEFT-6]. The callout and these runs have then ended, as if the callout had returned. What the pass
 * had not called yet waits for the next pass, and a repeating timer keeps its phase [RLC-LEFT-1, RLC-LEFT-4]. An outer
 * run that continues obeys the stops that the left runs have not obeyed [RLC-LEFT-2, RLC-LEFT-3].
 *
 * The loop notices that runs were left when the next run, dispatch or rlc_loop_destroy begins. That call must lie at
 * their place on the stack, further up, or further down if other data has overwritten the place [RLC-LEFT-5,
 * RLC-LEFT-8]. Until then the left runs count as running. On a coroutine's stack the loop notices nothing.
 *
 * A loop has one descriptor. The first watch, timer, hook or rlc_loop_prepare adds a second one, and the first timer a
 * third one. A loop takes about 1 kB of memory. Other threads post by <crunloop/loop_post.h>.
 *
 * Unless a declaration says otherwise, a function returns -ECHILD in a child of fork(2) [RLC-FORK-3]. If a callout
 * forks, it returns into its run in both processes. In the child that run, and the runs around it, call nothing more
 * and return -ECHILD: only the parent calls what was queued, due or ready [RLC-FORK-4].
 *
 * Own descriptors. Other code may close the loop's epoll instance or eventfd by mistake, or put another file at its
 * number: close(2), closefrom(3), dup2(2). The loop notices that when it next waits or changes its epoll instance
 * [RLC-KERNEL-6], when a waker's write fails, and when a watch is added for a number that was the eventfd's
 * [RLC-KERNEL-7]. It makes a new one, with the same number if that is free, and continues; rlc_loop_rebuilds counts the
 * new epoll instances. The loop does not notice three losses: another epoll instance in the place of the loop's; in the
 * place of the eventfd a file that accepts a write of eight bytes; any loss while a host sleeps in its own epoll set.
 * For the timerfd see rlc_loop_run.
 */
#ifndef CRUNLOOP_LOOP_H
#define CRUNLOOP_LOOP_H

#include <crunloop/kernel.h>

RLC_BEGIN_DECLS

/** A loop. The thread that creates it owns it, and ends it by rlc_loop_destroy. */
typedef struct rlc_loop rlc_loop;

/** A watch of a loop, which owns it: see rlc_loop_add_watch. */
typedef struct rlc_watch rlc_watch;

/** A timer of a loop, which owns it: see rlc_loop_add_timer. */
typedef struct rlc_timer rlc_timer;

/** Why a run returned. */
typedef enum rlc_run_result {
    RLC_RUN_FINISHED = 1, /**< The loop has nothing to wait for: no watch, armed timer, post or hook. */
    RLC_RUN_STOPPED,      /**< rlc_loop_stop was called. */
    RLC_RUN_TIMED_OUT,    /**< The deadline has passed. */
    RLC_RUN_HANDLED,      /**< rlc_loop_run_once only: the pass has called something, or rlc_loop_wake was called. */
} rlc_run_result;

/**
 * The callout of a watch. It may call every function of the loop but rlc_loop_destroy.
 *
 * @param loop    The loop.
 * @param watch   The watch. If the callout removes it, the pointer is valid until the callout returns.
 * @param ready   RLC_READABLE..., as the pass found it when it polled the kernel. An earlier callout of the same pass
 *                may have read from the descriptor since [RLC-WATCH-9]: use non-blocking descriptors. Watches are
 *                level-triggered: the next pass calls again if the descriptor is still ready.
 * @param context As given to rlc_loop_add_watch.
 *
 * Thread: [loop].
 */
typedef void (*rlc_watch_fn)(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context);

/**
 * The callout of a timer. It may call every function of the loop but rlc_loop_destroy.
 *
 * @param loop        The loop.
 * @param timer       The timer. If the callout removes it, the pointer is valid until the callout returns.
 * @param deadline_ns The date for which the timer was armed, in nanoseconds; the clock may be beyond it.
 * @param context     As given to rlc_loop_add_timer.
 *
 * Thread: [loop].
 */
typedef void (*rlc_timer_fn)(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context);

/**
 * Creates a loop, which the calling thread owns.
 *
 * @param kernel   The table of system calls, which must outlive the loop; NULL: rlc_kernel_default().
 * @param ret_loop The loop; the caller ends it by rlc_loop_destroy.
 * @return 0; -EMFILE (the process has no descriptor left), -ENFILE (the system has none left), -ENOMEM, -EINVAL (the
 *         table is too short). If it fails, nothing is left open or allocated [RLC-LOOP-2].
 *
 * Thread: [any].  Cost: one system call.
 */
RLC_API int rlc_loop_create(const rlc_kernel *kernel, rlc_loop **ret_loop);

/**
 * Frees a loop with its watches and timers. The watched descriptors stay open: the caller owns them.
 *
 * A thread may be cancelled (pthread_cancel(3)) while it sleeps in a run. The run ends with the thread. Then a cleanup
 * handler of the thread destroys the loop, or the thread that has joined it does [RLC-CANCEL-1].
 *
 * rlc_loop_destroy calls the post_fn of each post that has not run, with `ran` false. From then on post, defer, wake
 * and stop return -ESHUTDOWN [RLC-LOOP-8]; the caller makes sure that no thread calls them after rlc_loop_destroy
 * returns. In a child of fork(2) it only frees memory, and calls nothing.
 *
 * @param loop The loop; NULL is allowed.
 * @return 0; -EBUSY from a callout of the loop: nothing was done [RLC-LOOP-9].
 *
 * Thread: [loop].  Cost: a system call for each descriptor of the loop's own.
 */
RLC_API int rlc_loop_destroy(rlc_loop *loop);

/**
 * Adds a watch on a descriptor. A loop that has a watch is not finished.
 *
 * Several watches may watch one descriptor, for example one that reads and one that writes. Each of them is called for
 * the events of its own interest, for hang-ups and for errors, in the order in which they were added. Each changes its
 * interest, and is removed, by itself [RLC-WATCH-14].
 *
 * The next pass registers the descriptor in the kernel; a watch that is removed before that never reaches the kernel
 * [RLC-WATCH-1]. If the registration fails, the loop calls the watch once with RLC_ERROR alone, and suspends it until
 * rlc_watch_set_interest [RLC-WATCH-2]. The causes are a closed descriptor, a regular file or /dev/null, a circle of
 * epoll descriptors, ENOSPC or ENOMEM of epoll. A file and /dev/null, which is often standard input, are always ready:
 * if `ready` is RLC_ERROR alone, read to the end in that callout, and remove the watch. The same happens to a watch
 *   - that epoll refuses to register again when a run inside its callout returns [RLC-WATCH-10],
 *   - that epoll refuses to register again when a later watch of its number is removed [RLC-WATCH-11],
 *   - that epoll has lost or refused while the loop delivered its event [RLC-WATCH-12].
 * The loop does not call a watch with RLC_ERROR while the watch's own callout runs. It does so after that callout.
 *
 * An end of the descriptor is a hang-up, an error, or the end of the file with nothing left to read. The loop calls the
 * callout once each time that such an end begins, and keeps the watch. If only reading has ended, the watch still
 * reports writing; a writer without readers is not reported again until it can write. docs/guide/descriptors.md has a
 * table of all kinds of descriptors [RLC-END-9].
 *
 * @param loop      The loop.
 * @param fd        The descriptor, which the caller owns. Remove the watch before you close it.
 * @param interest  Any of RLC_READABLE, RLC_WRITABLE and RLC_PRIORITY, which `ready` then reports [RLC-WATCH-13]. Even
 *                  with 0 it reports RLC_HANGUP and RLC_ERROR. The call ignores other bits.
 * @param watch_fn  The callout; not NULL.
 * @param context   For watch_fn.
 * @param ret_watch The watch, which the loop owns; valid until rlc_watch_remove or rlc_loop_destroy.
 * @return 0; -EINVAL (no callout) [RLC-LOOP-20], -EBADF (fd is negative, or one of the loop's own), -ENOMEM; for the
 *         first watch, timer or prepare also -EMFILE, -ENFILE, -ENOSPC. The call reserves what the registration will
 *         need [RLC-WATCH-3].
 *
 * Thread: [loop].  Cost: one system call in the next pass, two if another watch has the descriptor; two at once for the
 * first watch or timer.
 */
RLC_API int rlc_loop_add_watch(
    rlc_loop *loop, int fd, uint32_t interest, rlc_watch_fn watch_fn, void *context, rlc_watch **ret_watch);

/**
 * Changes the interest of a watch. Registers again a watch that was refused [RLC-WATCH-8]. If a hang-up or an error was
 * reported, the loop reports the present state again. If the watch's own callout makes the call, the loop does not
 * repeat the end that it has just reported to it, unless the interest has become larger since [RLC-END-8].
 *
 * @param watch    The watch.
 * @param interest As in rlc_loop_add_watch.
 * @return 0; -ENOENT (its own callout has removed it), -EBADF (the number was closed, or belongs to another file by
 *         now), -ENOSPC or -ENOMEM (epoll refuses: the interest has not changed).
 *
 * Thread: [loop].  Cost: one system call; none before the watch is registered, and none in a run inside its callout.
 */
RLC_API int rlc_watch_set_interest(rlc_watch *watch, uint32_t interest);

/**
 * Removes a watch. Its callout is not called afterwards [RLC-WATCH-4].
 *
 * The pointer is invalid afterwards; a callout that removes a watch may use it until the callout returns. The loop uses
 * the memory again after the outermost run's pass [RLC-LOOP-15]. In a child of fork(2) the call only frees memory.
 *
 * @param watch The watch; NULL is allowed. The caller may close the descriptor afterwards.
 *
 * Thread: [loop].  Cost: one system call; none before the watch is registered.
 */
RLC_API void rlc_watch_remove(rlc_watch *watch);

/**
 * Adds a timer that is not armed.
 *
 * @param loop      The loop.
 * @param timer_fn  The callout; not NULL.
 * @param context   For timer_fn.
 * @param ret_timer The timer, which the loop owns; valid until rlc_timer_remove or rlc_loop_destroy.
 * @return 0; -EINVAL (no callout) [RLC-LOOP-20], -ENOMEM; for the loop's first watch or timer also -EMFILE, -ENFILE,
 *         -ENOSPC, since the call then makes the eventfd. If it fails, no timer was added [RLC-DATE-9]. If there is no
 *         descriptor for the timerfd, the timer is added nevertheless, and fires in time: the timeout of each wait ends
 *         it at the timer's date [RLC-LOOP-18].
 *
 * Thread: [loop].  Cost: two system calls for the first timer, and two more if it comes before the first watch; none
 * for later timers, unless the first one found no descriptor.
 */
RLC_API int rlc_loop_add_timer(rlc_loop *loop, rlc_timer_fn timer_fn, void *context, rlc_timer **ret_timer);

/**
 * Arms a timer, or arms it again with another date. A loop that has an armed timer is not finished.
 *
 * The loop never calls a timer before its date, and delays it by at most the tolerance [RLC-DATE-1, RLC-DATE-3]. If the
 * date has passed already, the next pass calls it [RLC-DATE-6]. If the timer is due and not called yet, that call is
 * cancelled [RLC-DATE-5]. The loop arms a repeating timer again after its callout: it skips missed dates and keeps the
 * phase [RLC-DATE-2]. If the callout has armed the timer itself, that date counts instead [RLC-DATE-10].
 *
 * @param timer        From rlc_loop_add_timer; armed or not.
 * @param deadline_ns  A date, not a duration: nanoseconds on the monotonic clock. In one second is
 *                     rlc_time_add(rlc_now(RLC_CLOCK_MONOTONIC), 1000000000). RLC_TIME_FOREVER disarms the timer.
 * @param interval_ns  Nanoseconds between its dates; 0: the timer fires once.
 * @param tolerance_ns Nanoseconds by which it may be late, so that it can share a wake; 0: none. The first tolerance in
 *                     the life of the loop allocates memory; if there is no memory, it counts as 0. The loop reads the
 *                     slack of its thread's timers (prctl(2), PR_SET_TIMERSLACK) once, before it first sleeps for such
 *                     a timer.
 * @return 0; -ENOENT (its own callout has removed it). Never -ENOMEM.
 *
 * Thread: [loop].  Cost: O(log n), no system call. The loop sets the timerfd before it sleeps, if the date is earlier
 * than the timerfd's.
 */
RLC_API int rlc_timer_arm(rlc_timer *timer, uint64_t deadline_ns, uint64_t interval_ns, uint64_t tolerance_ns);

/**
 * Removes a timer, armed or not. Its callout is not called afterwards [RLC-DATE-4]. For the pointer see
 * rlc_watch_remove. If there were more than 131,072 timers at a time, the loop frees their memory when most of them are
 * gone, and when it is destroyed [RLC-LOOP-21].
 *
 * If a timer for which the timerfd is set is removed or armed for later, the loop sets the timerfd again before it
 * sleeps. So it does not wake for nothing [RLC-DATE-11]. That costs a system call. If a program again and again
 * cancels a timeout and sets the next one before the date of the cancelled one, this call does not pay. Then the loop
 * leaves the timerfd as it is, and wakes for nothing once in the length of a timeout. It makes the system call only in
 * one of 65 such lengths. After such a series some 60 cancelled timeouts may still wake the loop [RLC-DATE-12].
 *
 * @param timer The timer; NULL is allowed.
 *
 * Thread: [loop].  Cost: O(log n), no system call; a call that frees memory is O(timers that there were).
 */
RLC_API void rlc_timer_remove(rlc_timer *timer);

/**
 * Counts how often a timer was put into a heap of deadlines or moved within it: a measure of work. Postponing a date
 * moves nothing.
 *
 * @param loop The loop.
 * @return The number since the loop was created.
 *
 * Thread: [loop].
 */
RLC_API uint64_t rlc_loop_timer_moves(const rlc_loop *loop);

/**
 * Makes the loop do a pass, even if it has nothing to call [RLC-LOOP-5]: rlc_loop_run_once then returns.
 *
 * @param loop The loop, which the caller keeps from being destroyed.
 * @return 0; -ESHUTDOWN (rlc_loop_destroy has begun), -ECHILD; -EBADF or another -errno of write(2): other code has
 *         closed the loop's eventfd, no new one could be made, and the loop still sleeps.
 *
 * Thread: [any, signal-safe].  Cost: as rlc_loop_post.
 */
RLC_API int rlc_loop_wake(rlc_loop *loop);

/**
 * Makes the innermost run return after its present pass; has no effect if the loop does not run [RLC-LOOP-3,
 * RLC-LOOP-4]. What callouts have posted or deferred in that pass waits for the next run. rlc_loop_dispatch is no run.
 * In its callouts rlc_loop_stop stops only a run that a callout has begun. To stop itself, a host needs its own flag.
 *
 * @param loop The loop, which the caller keeps from being destroyed [RLC-LOOP-12].
 * @return As rlc_loop_wake.
 *
 * Thread: [any, signal-safe].  Cost: as rlc_loop_post.
 */
RLC_API int rlc_loop_stop(rlc_loop *loop);

/**
 * Lets the loop spin for some microseconds before it sleeps, while this pays [RLC-SPIN-1]. Off at first.
 *
 * If another thread posts while the loop spins, that thread makes no write(2), and the loop does not sleep. A round
 * trip between two threads on two processors then takes about 3 us instead of 25 us. The price is processor time. A
 * descriptor that becomes ready during the spin is served when the spin ends. Let a loop spin if it waits for quick
 * answers of another thread and has a processor of its own.
 *
 * @param loop     The loop.
 * @param limit_ns Nanoseconds by which a sleep is delayed at most, e.g. RLC_SPIN_USUAL_NS; 0: off. A spin ends at the
 *                 next timer's date and at the run's deadline [RLC-SPIN-4].
 *
 * Thread: [loop].
 */
RLC_API void rlc_loop_set_spin(rlc_loop *loop, uint64_t limit_ns);

/**
 * Runs passes until the loop is finished or stopped, or the deadline has passed. It makes at least one pass, unless the
 * loop is finished at once [RLC-LOOP-1].
 *
 * @param loop        The loop.
 * @param deadline_ns A date, not a duration, as for rlc_timer_arm. 0, or another date that has passed: one pass that
 *                    does not wait. RLC_TIME_FOREVER: no limit.
 * @return RLC_RUN_FINISHED, RLC_RUN_STOPPED or RLC_RUN_TIMED_OUT; -ESHUTDOWN (rlc_loop_destroy has begun) [RLC-LOOP-8];
 *         -ECHILD; an -errno of the wait, such as -EBADF if other code has closed the loop's descriptor and no new one
 *         could be made: the loop does not repeat that wait [RLC-LOOP-16]; -ENOMEM: a nested run allocates some 40
 *         bytes [RLC-LEFT-7]. A signal does not end the run [RLC-LOOP-10].
 *
 * If other code closes the timerfd, or puts another file at its number, the loop makes a new one when it next sets the
 * timerfd, and when a run without a limit begins. In a run with a limit, the timeout ends each wait at the first
 * timer's date at the latest. So timers fire in time [RLC-LOOP-19], with two exceptions. If the timerfd is closed while
 * it is set for the first date, in a run without a limit or while a host sleeps, the timer fires only with the next
 * event. If the number belongs to another timerfd, the loop notices it only at the beginning of a run without a limit.
 *
 * Thread: [loop].  Blocks.  Re-entry: a callout may call it: see nesting, above.
 */
RLC_API int rlc_loop_run(rlc_loop *loop, uint64_t deadline_ns);

/**
 * Runs passes, and returns after the first pass that has called something.
 *
 * @param loop        The loop.
 * @param deadline_ns As for rlc_loop_run.
 * @return RLC_RUN_HANDLED, or as rlc_loop_run.
 *
 * Thread: [loop].  Blocks.  Re-entry: a callout may call it.
 */
RLC_API int rlc_loop_run_once(rlc_loop *loop, uint64_t deadline_ns);

/**
 * Returns the descriptor by which a host with an event loop of its own waits for this loop. The host polls it for
 * reading, level-triggered. The loop owns it. The number changes only if other code closes it: see own descriptors,
 * above.
 *
 * The host calls rlc_loop_prepare before each of its sleeps, and rlc_loop_dispatch when the descriptor was readable or
 * prepare returned 1. Between the two the loop counts as asleep: a wake or post makes the descriptor readable, by one
 * write for each sleep [RLC-HOST-3, RLC-HOST-5]. The descriptor is readable whenever there is work [RLC-HOST-2]. If the
 * host has the descriptor in an epoll set of its own, see rlc_loop_rebuilds.
 *
 * @param loop The loop.
 * @return The descriptor. Cannot fail.
 *
 * Thread: [loop].
 */
RLC_API int rlc_loop_fd(const rlc_loop *loop);

/**
 * Counts how often the loop has put a new epoll instance behind its descriptor's number. That happens only if a watched
 * descriptor was closed before its watch was removed, or other code has closed the loop's descriptor. A host's epoll
 * set has then lost the loop's descriptor: if the count has changed after a dispatch, the host adds the descriptor
 * again [RLC-HOST-6].
 *
 * @param loop The loop.
 * @return The number since the loop was created.
 *
 * Thread: [loop].
 */
RLC_API uint64_t rlc_loop_rebuilds(const rlc_loop *loop);

/**
 * Prepares the loop for a sleep of its host: registers watches, sets the timerfd, and marks the loop as asleep. It may
 * be called again without a dispatch in between [RLC-HOST-1]. The host may itself run inside a callout of the loop. A
 * stop of the run around that callout ends one sleep of the host, not all of them [RLC-HOST-8], even if a callout of
 * rlc_loop_prepare or rlc_loop_dispatch makes the stop [RLC-HOST-9].
 *
 * @param loop The loop.
 * @return 1: there is work, or a wake came before the call [RLC-HOST-7]: dispatch at once; 0: the host may sleep;
 *         -errno: as rlc_loop_add_watch for the first watch, or the error of making the timerfd, without which nothing
 *         would end the sleep in time.
 *
 * Thread: [loop].  Cost: a system call for each new watch, and one if the timerfd has to be set.
 */
RLC_API int rlc_loop_prepare(rlc_loop *loop);

/**
 * Makes one pass that does not wait; if there is no work it does nothing. Its callouts may run the loop [RLC-HOST-4].
 * The result does not say whether the loop still has something to wait for: the host itself decides when to end.
 *
 * @param loop The loop.
 * @return 1: more work is pending, dispatch again; 0: none is; -errno: as rlc_loop_run.
 *
 * Thread: [loop].  Cost: one system call to poll the kernel.
 */
RLC_API int rlc_loop_dispatch(rlc_loop *loop);

RLC_END_DECLS
#endif

/**
 * <runloopkit/base.h>: the conventions, clocks and callouts that all headers of RunLoopKit for C share.
 *
 * Conventions. Each holds unless a declaration says otherwise.
 *   - Errors: a function returns a value >= 0, or a negated errno number such as -ENOMEM. A function whose result is
 *     void, bool or unsigned cannot fail. Output parameters come last, have names that begin with ret_, and are not
 *     written if the function fails. A call that fails has changed nothing, and calls no release function [RLK-C-1].
 *       -EINVAL     NULL for an object, a function or an output that the call needs; an item of another kind; a mode or
 *                   another text that is no UTF-8; a `size` smaller than that of version 0.1 [RLK-C-2].
 *       -EPERM      Only the loop's own thread may make the call, and another thread has made it. From rlk_loop_add:
 *                   epoll refuses the file. From functions on names of ports: the folder of the names is open to
 *                   others.
 *       -ESHUTDOWN  The loop's thread has ended.
 *       -ECHILD     A child of fork(2) has used an object that it inherited. In the child, functions that do not list
 *                   -ECHILD have no effect.
 *       -ENOENT     The item has been invalidated.
 *       -EMFILE     The process has no descriptor left. A function that lists -EMFILE makes descriptors, and may also
 *                   return -ENFILE (the system has none left), -ENOMEM (the kernel has no memory for one), and -ENOSPC
 *                   (the user has no epoll watch left: fs.epoll.max_user_watches) [RLK-C-15].
 *       others      -EBUSY, -EDEADLK, -ETIMEDOUT, -EAGAIN, -EPIPE and more: the declarations say what they mean.
 *     If there is no memory for an object of the library itself, the process ends, as everywhere in Swift.
 *   - Handles: `rlk_loop *` and the other handles are opaque and counted. The caller owns a handle that a function
 *     writes to a ret_ parameter, and gives it back with the release function of its type. A handle that is a
 *     parameter, or the result of a function, is borrowed. A release function accepts NULL.
 *   - NULL for a loop means the calling thread's loop. In a child of fork(2) that is a new loop. NULL for a mode means
 *     the default mode.
 *   - Times are in nanoseconds, on the clock that the declaration names. A date is absolute; RLK_TIME_FOREVER never
 *     comes.
 *   - Callouts: the library stores a function of the program and a `context`, and calls the function with the context.
 *     It calls `release`, unless that is NULL, with the context exactly once, when no callout with the context runs or
 *     will run [RLK-C-3]. The library holds no lock when it calls the function or `release`, and both may call every
 *     function of this interface. A callout must not be left by cancelling or ending its thread. If a callout of
 *     rlk_loop_perform_and_wait ends its thread, the process ends.
 *   - A C++ exception, another unwinding or longjmp(3) may leave a callout, and the runs up to the code that catches
 *     it. The callout and these runs have then ended, as if the callout had returned. The next run makes the callouts
 *     that they had not made yet [RLK-LEFT-1, RLK-LEFT-4, RLK-LEFT-6]. The loop notices this when its next run or the
 *     next call of its host begins. What the skipped frames have retained is leaked: a block, with its context.
 *   - Structures begin with their `size`, which the caller sets to sizeof. Later versions append members. If a new
 *     member is 0, the library behaves as the versions without that member. A library ignores members that it does not
 *     know [RLK-C-4]. A member `reserved` must be 0, or the call fails with -EINVAL.
 *   - Thread: each declaration names who may call it.
 *       [loop]             only the thread that owns the loop; others get -EPERM. For a callout: it is called there.
 *       [any]              any thread.
 *       [any, signal-safe] any thread, and signal handlers.
 *   - Blocking: a function does not block.
 *   - Since: a declaration exists since version 0.1.
 *
 * [RLK-...] is the number of a promise. The test that proves the promise has the number in its name, or prints it.
 */
#ifndef RUNLOOPKIT_BASE_H
#define RUNLOOPKIT_BASE_H

#ifndef __linux__
#ifdef __clang__
/* As a fatal error this line is the only one: clang does not go on to each header and name that is missing here. */
#pragma clang diagnostic ignored "-Wpedantic"
#pragma clang diagnostic fatal "-W#warnings"
#warning "RunLoopKit needs Linux: epoll, timerfd and eventfd"
#endif
#error "RunLoopKit needs Linux: epoll, timerfd and eventfd"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
/** Stands before the declarations of a header, which have the linkage of C. */
#define RLK_BEGIN_DECLS extern "C" {
/** Stands after the declarations of a header. */
#define RLK_END_DECLS }
#else
/** Stands before the declarations of a header, which have the linkage of C. */
#define RLK_BEGIN_DECLS
/** Stands after the declarations of a header. */
#define RLK_END_DECLS
#endif

/** Marks the symbols that the shared library exports. It hides all others [RLK-C-11]. */
#define RLK_API __attribute__((visibility("default")))

RLK_BEGIN_DECLS

/** The date that never comes. It is larger than every other date. */
#define RLK_TIME_FOREVER UINT64_MAX

/** The clocks of timers. */
typedef enum rlk_clock {
    RLK_CLOCK_MONOTONIC, /**< CLOCK_MONOTONIC: stops while the machine is suspended. */
    RLK_CLOCK_BOOTTIME,  /**< CLOCK_BOOTTIME: continues while the machine is suspended. */
    RLK_CLOCK_REALTIME,  /**< CLOCK_REALTIME: the wall clock, which administrators and NTP set. */
} rlk_clock;

/**
 * A function that does some work of the program.
 *
 * @param context The context that was given with the function.
 *
 * Thread: [loop]; for rlk_scope_defer and rlk_scope_with [any]: the thread that has called them.
 */
typedef void (*rlk_perform_fn)(void *context);

/**
 * Called when no callout with the context runs or will run. The function now owns the context, and usually frees it.
 *
 * @param context The context.
 *
 * Thread: [any]: the thread that has ended the last use of the context.
 */
typedef void (*rlk_release_fn)(void *context);

/**
 * Reads a clock.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 *
 * int main(void) {
 *     uint64_t deadline_ns = rlk_now(RLK_CLOCK_MONOTONIC) + 10000000; // ten milliseconds from now
 *     return rlk_loop_run_in_mode(NULL, NULL, deadline_ns, false) == RLK_RUN_TIMED_OUT ? 0 : 1;
 * }
 * @endcode
 *
 * @param clock The clock.
 * @return Its time in nanoseconds; 0 if there is no such clock.
 *
 * Thread: [any].
 */
RLK_API uint64_t rlk_now(rlk_clock clock);

RLK_END_DECLS
#endif

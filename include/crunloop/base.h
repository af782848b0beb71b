/**
 * <crunloop/base.h>: the conventions, times and readiness bits that all headers of the C core share.
 *
 * Conventions. Each holds unless a declaration says otherwise.
 *   - Errors: a function returns a value >= 0, or a negated errno number such as -ENOMEM. A function whose result is
 *     void, bool or unsigned cannot fail. Output parameters come last, have names that begin with ret_, and are not
 *     written if the function fails.
 *   - Times are absolute, in nanoseconds. Only intervals, tolerances and limits are lengths; the date after a length is
 *     rlc_time_add(rlc_now(RLC_CLOCK_MONOTONIC), length). Sums saturate at RLC_TIME_FOREVER, which means never.
 *   - Thread: each declaration names who may call it. The core does not check the calling thread.
 *       [loop]             only the thread that owns the object. A callout with this tag is called on that thread.
 *       [any]              any thread, without a lock.
 *       [any, signal-safe] any thread, without a lock, and signal handlers.
 *   - NULL for an object, a post node or an output is the caller's mistake, and the call crashes, unless a declaration
 *     allows NULL. A function that needs a callout returns -EINVAL for NULL.
 *   - Debug build: compiled with DEBUG, the functions of rlc_loop report such a NULL, and a node that was posted twice
 *     (<crunloop/loop_post.h>), by assert(3). In RunLoopKit's sources, this command installs such a library:
 *     make install PREFIX=FOLDER CFLAGS="-O0 -g -DDEBUG"
 *   - Ownership: a function uses pointer arguments during the call and keeps none. Only a `context` pointer is stored,
 *     and handed to the callouts; the core never reads what it points to. The caller owns what a create function
 *     returns.
 *   - Re-entry: callouts may call the function. A callout is a function of the embedder that the core calls. The
 *     embedder is the program that uses the core.
 *   - Blocking: a function does not block.
 *   - Cost: a function makes no system call and takes O(1).
 *   - Since: a declaration exists since version 0.1.
 *
 * The core takes no lock and logs nothing. It allocates memory only when something is created, inserted or added, and
 * when a timer of a loop first gets a tolerance. The memory comes from the C library, or from the allocator of an
 * rlc_kernel. All descriptors that the core opens are close-on-exec, and none is below 3: see <crunloop/descriptor.h>.
 *
 * In a child of fork(2) a loop touches no descriptor that it shares with the parent. A function that would have to
 * touch one returns -ECHILD, and rlc_loop_destroy only frees memory [RLC-FORK-2].
 *
 * [RLC-...] is the number of a promise. The test that proves the promise has the number in its name.
 */
#ifndef CRUNLOOP_BASE_H
#define CRUNLOOP_BASE_H

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
#define RLC_BEGIN_DECLS extern "C" {
/** Stands after the declarations of a header. */
#define RLC_END_DECLS }
#else
/** Stands before the declarations of a header, which have the linkage of C. */
#define RLC_BEGIN_DECLS
/** Stands after the declarations of a header. */
#define RLC_END_DECLS
#endif

/** Marks the symbols that the shared library exports. It hides all others. */
#define RLC_API __attribute__((visibility("default")))

RLC_BEGIN_DECLS

/** The time that never comes. It is larger than every deadline. */
#define RLC_TIME_FOREVER UINT64_MAX

/** A time limit for rlc_loop_set_spin that suits most programs, in nanoseconds: about what a sleep costs. */
#define RLC_SPIN_USUAL_NS 20000
/** The largest time limit for rlc_loop_set_spin, in nanoseconds. A larger limit is reduced to this one. */
#define RLC_SPIN_MAX_NS 50000

/** Bits of a watch's interest and of its readiness. RLC_HANGUP and RLC_ERROR are reported whatever the interest is. */
enum {
    RLC_READABLE = 1, /**< A read does not block: there are bytes, or the end of the file. */
    RLC_WRITABLE = 2, /**< A write does not block. */
    RLC_HANGUP = 4,   /**< The peer has closed, or has at least shut down writing. Unread bytes may be left. */
    RLC_ERROR = 8,    /**< The descriptor has an error. */
};

/**
 * Another bit of interest and readiness: urgent data (TCP, or MSG_OOB of unix(7)), or a trigger of /proc/pressure.
 *
 * The loop reports this bit as epoll returned it and does not verify it with poll(2), because poll(2) on such a trigger
 * consumes the event [RLC-PRIORITY-1].
 */
enum { RLC_PRIORITY = 128 };

RLC_END_DECLS
#endif

/**
 * <crunloop/base.h>: what all headers of the C core share: conventions, times, tokens, readiness bits.
 *
 * Conventions. Each holds unless a declaration says otherwise.
 *   - Errors: a function returns a value >= 0, or a negated errno number such as -ENOMEM. One whose result is void,
 *     bool or unsigned cannot fail. Output parameters come last, have names that begin with ret_, and are not written
 *     if the function fails.
 *   - Times are absolute, in nanoseconds. Sums saturate at RLC_TIME_FOREVER, which means never.
 *   - Thread: each declaration names who may call it. The core does not check the calling thread.
 *       [loop]             only the thread that owns the object. For a callout: it is called there.
 *       [locked]           any thread that holds the lock with which the embedder protects the object. An embedder that
 *                          uses the object on one thread needs no lock.
 *       [any]              any thread, without a lock.
 *       [any, signal-safe] any thread, without a lock, and signal handlers.
 *   - NULL for an object, a node or an output is the caller's mistake, unless a declaration allows it, and ends in a
 *     crash; in a build for debugging (DEBUG) the functions of rlc_loop say so first, by assert(3). NULL for a callout
 *     that a function needs is -EINVAL.
 *   - Ownership: a function uses pointer arguments during the call and keeps none. A `context` pointer is stored and
 *     handed back; the core never reads what it points to. What a create function returns belongs to the caller.
 *   - Re-entry: a callout, which is a function of the embedder that the core calls, may call it.
 *   - Blocking: a function does not block.
 *   - Cost: a function makes no system call and takes O(1).
 *   - Since: a declaration exists since version 0.1.
 *
 * The core takes no lock and logs nothing. It allocates memory only where something is created, inserted or added, and
 * at the first tolerance in a deadline heap; by the C library, or by the allocator of an rlc_kernel. All descriptors
 * that it opens are close-on-exec, and none is below 3: see <crunloop/descriptor.h>.
 *
 * In a child of fork(2) a loop, port set, timer port or wakeup port touches no descriptor that it shares with the
 * parent: a function that would have to returns -ECHILD, and the destroy functions only free memory [RLC-FORK-2].
 *
 * [RLC-...] numbers a promise. The test that proves it has the number in its name.
 */
#ifndef CRUNLOOP_BASE_H
#define CRUNLOOP_BASE_H

#ifndef __linux__
#error "RunLoopKit needs Linux: epoll, timerfd and eventfd"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
/** Stands before the declarations of a header, which have the linkage of C. */
#define RLC_BEGIN_DECLS extern "C" {
/** Stands behind them. */
#define RLC_END_DECLS }
#else
/** Stands before the declarations of a header, which have the linkage of C. */
#define RLC_BEGIN_DECLS
/** Stands behind them. */
#define RLC_END_DECLS
#endif

/** Exported by the shared library, which hides all other symbols. */
#define RLC_API __attribute__((visibility("default")))

RLC_BEGIN_DECLS

/** The time that never comes. It is larger than every deadline. */
#define RLC_TIME_FOREVER UINT64_MAX

/**
 * Identifies a member of a port set or of a deadline heap. Its bits are generation << 32 | slot; 0 is no valid token.
 *
 * A token is a plain value, which may be copied and compared. After its member was removed it is stale: functions that
 * are given a stale token return -ENOENT, even if another member uses the slot by then [RLC-TOKEN-1].
 */
typedef struct rlc_token {
    uint64_t bits;
} rlc_token;

/** The interest of a port, and its readiness. RLC_HANGUP and RLC_ERROR are reported whatever the interest is. */
enum {
    RLC_READABLE = 1, /**< A read does not block: there are bytes, or the end of the file. */
    RLC_WRITABLE = 2, /**< A write does not block. */
    RLC_HANGUP = 4,   /**< The peer has closed, or has at least shut down writing. Unread bytes may be left. */
    RLC_ERROR = 8,    /**< The descriptor has an error. */
};

/** How a readiness port of a port set reports. These bits belong to its interest. rlc_loop ignores them. */
enum {
    /** Edge-triggered: the set reports a change once, and does not report again what the embedder leaves unread. */
    RLC_EDGE = 16,
    /** The set reports one event, then suspends the port until rlc_port_set_set_interest. */
    RLC_ONE_SHOT = 32,
    /**
     * The members that watch the same descriptor share it: each receives the events of its own interest, in the order
     * in which the members were inserted.
     */
    RLC_SHARED = 64,
};

/**
 * Urgent data (TCP, or MSG_OOB of unix(7)), or a pressure trigger, at a readiness port of a port set or a watch of
 * rlc_loop. Both an interest and a readiness.
 *
 * The set reports this bit as epoll returned it and does not verify it with poll(2), because poll(2) on a pressure
 * trigger consumes the event [RLC-PRIORITY-1].
 */
enum { RLC_PRIORITY = 128 };

RLC_END_DECLS
#endif

/**
 * <crunloop/base.h>: what every part of the C core shares: errors, times, tokens, readiness bits.
 *
 * Conventions of the whole core
 *   - Functions return >= 0, or -errno. Outputs come last, are named ret_..., and are untouched on failure.
 *   - Times are absolute nanoseconds, saturating; RLC_TIME_FOREVER means never.
 *   - Thread: who may call. [loop] the owner's thread only. [locked] any thread that holds the lock which the embedder
 *     uses for this object (an owner-only embedder needs none). [any] any thread. [signal] any thread, and signal
 *     handlers.
 *   - Unless a declaration says otherwise, a function may be called from a callout (re-entry), does not block, keeps
 *     no pointer beyond the call, and exists since 0.1.
 *   - Cost: without a word, no system call and O(1).
 *   - No locks inside, no logging, no allocation after registration (but for the first tolerance of a deadline heap).
 *     Every descriptor is CLOEXEC and NONBLOCK.
 *   - In a child of fork(2) nothing touches a descriptor that belongs to the parent: what would answers -ECHILD, and
 *     the destroy functions free memory only [RLC-FORK-2].
 *   - [RLC-...] numbers a promise; the test that proves it carries the number in its name.
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
#define RLC_BEGIN_DECLS extern "C" {
#define RLC_END_DECLS }
#else
#define RLC_BEGIN_DECLS
#define RLC_END_DECLS
#endif

/** Visible from the shared library, which hides everything else. */
#define RLC_API __attribute__((visibility("default")))

RLC_BEGIN_DECLS

/** Never. Larger than every deadline. */
#define RLC_TIME_FOREVER UINT64_MAX

/**
 * Identity of a member of a port set or a deadline heap: generation << 32 | slot.
 *
 * 0 is never valid. A stale token answers -ENOENT, also when its slot has a new owner [RLC-TOKEN-1].
 */
typedef struct rlc_token {
    uint64_t bits;
} rlc_token;

/** What a port is interested in, or is ready for. HANGUP and ERROR are always reported. */
enum {
    RLC_READABLE = 1,
    RLC_WRITABLE = 2,
    RLC_HANGUP = 4, /**< The other side has ended, or at least its writing has. There may still be something to read. */
    RLC_ERROR = 8,
};

/** How a readiness port of a port set reports, with its interest. rlc_loop ignores them. */
enum {
    /** Once for each change; what is left is not reported again. */
    RLC_EDGE = 16,
    /** Once, then it rests until its interest is set. */
    RLC_ONE_SHOT = 32,
    /** Several such members with one descriptor are all told, each of its own interest, in the order of adding. */
    RLC_SHARED = 64,
};

/**
 * Of readiness ports of a port set: urgent data (TCP, unix(7) MSG_OOB), a pressure trigger. The one bit of both kinds
 * above 64. It is told as it was fetched and never looked at again: a trigger's poll takes its event [RLC-PRIORITY-1].
 */
enum { RLC_PRIORITY = 128 };

RLC_END_DECLS
#endif

/**
 * <crunloop/port_set.h>: descriptors to wait for; one epoll descriptor.
 *
 * insert, set_interest, mute and remove reach the kernel before they return, also while the owner sleeps in wait. Interest
 * is registered by token, never by descriptor or pointer. A wait fetches up to 64 events into the set; take hands them out
 * one by one, in the order in which they became ready, also to a later run, and drops what has become stale meanwhile.
 */
#ifndef CRUNLOOP_PORT_SET_H
#define CRUNLOOP_PORT_SET_H

#include <crunloop/kernel.h>

RLC_BEGIN_DECLS

typedef struct rlc_port_set rlc_port_set;

typedef enum rlc_port_kind {
    /** Level-triggered. After a hang-up or end of file with nothing left to read: reported once, then it rests. */
    RLC_PORT_READINESS,
    /**
     * A counter (eventfd, timerfd, pipe of 8-byte messages): edge-triggered, take reads eight bytes before it reports, and
     * asks again when more may be there. A short message is taken whole; end of file is reported once (HANGUP), then it rests.
     */
    RLC_PORT_COUNTER,
    /** Edge-triggered, never read: a marker in the order of readiness whose truth is elsewhere (wakeup, timer, main queue). */
    RLC_PORT_HINT,
} rlc_port_kind;

typedef struct rlc_port_event {
    rlc_token token;
    void *context;
    rlc_port_kind kind;
    uint32_t ready; /**< RLC_READABLE... */
} rlc_port_event;

/** Makes the epoll descriptor. kernel NULL = default. -EMFILE, -ENFILE, -ENOMEM. [any] */
RLC_API int rlc_port_set_create(const rlc_kernel *kernel, rlc_port_set **ret_set);
/** Closes the epoll descriptor only (not in a child of fork(2)). NULL is allowed. [loop] */
RLC_API void rlc_port_set_destroy(rlc_port_set *set);
/** The epoll descriptor, which a host may poll for reading; events already fetched do not show on it. [any] */
RLC_API int rlc_port_set_fd(const rlc_port_set *set);
/**
 * Starts to watch fd, which stays the caller's. Two members with one descriptor: the later one takes the port, and when it
 * goes the earlier one is live again. A number that was closed and reused is a new port.
 * -EBADF, -EPERM (a regular file), -ENOSPC, -ENOMEM: nothing is half added. [locked]
 */
RLC_API int rlc_port_set_insert(rlc_port_set *set, int fd, rlc_port_kind kind, uint32_t interest, void *context, rlc_token *ret_token);
/** Changes a readiness port's interest and wakes a resting port of any kind. -ENOENT. [locked] */
RLC_API int rlc_port_set_set_interest(rlc_port_set *set, rlc_token token, uint32_t interest);
/** Takes a port out of the wait while its own callout runs, and back in. Calls do not nest. -ENOENT. [locked] */
RLC_API int rlc_port_set_set_muted(rlc_port_set *set, rlc_token token, bool muted);
/** Stops to watch. The descriptor may have been closed before; a reused number is left alone. -ENOENT. [locked] */
RLC_API int rlc_port_set_remove(rlc_port_set *set, rlc_token token);
/** Members, hints not counted. [locked] */
RLC_API size_t rlc_port_set_count(const rlc_port_set *set);
/**
 * Fetches events, waiting until deadline_ns on the monotonic clock (0: only looks; RLC_TIME_FOREVER: no limit). The count
 * fetched, 0 at the deadline, -EINTR. At most one system call. Only when the batch is empty. Not under the lock. [loop]
 */
RLC_API int rlc_port_set_wait(rlc_port_set *set, uint64_t deadline_ns);
/** True while fetched events have not been taken; some may turn out stale. [loop] */
RLC_API bool rlc_port_set_has_batch(const rlc_port_set *set);
/** The oldest fetched event that is still true; false when there is none. Counters are read here. [locked] */
RLC_API bool rlc_port_set_take(rlc_port_set *set, rlc_port_event *ret_event);
/** How often a foreign registration forced a new epoll descriptor (same number, by dup3(2)). [any] */
RLC_API uint64_t rlc_port_set_rebuilds(const rlc_port_set *set);

RLC_END_DECLS
#endif

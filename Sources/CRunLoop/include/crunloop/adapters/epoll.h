/**
 * <crunloop/adapters/epoll.h>: an rlc_loop inside a program that waits by epoll(7).
 *
 * The program calls rlc_epoll_wait in place of epoll_wait(2). The call returns the program's own events, and makes the
 * loop's callouts. The adapter registers the loop's descriptor one-shot, and arms it again before the next sleep. So a
 * program that calls epoll_wait(2) itself for a while gets one event of the loop, and does not spin. Such a program
 * must pass the result of epoll_wait(2) to rlc_epoll_take, or the loop's descriptor stays disarmed.
 */
#ifndef CRUNLOOP_ADAPTERS_EPOLL_H
#define CRUNLOOP_ADAPTERS_EPOLL_H

#include <crunloop/adapters/hosted.h>
#include <sys/epoll.h>

RLC_BEGIN_DECLS

/** A loop in an epoll set. The program owns it, and ends it by rlc_epoll_detach. */
typedef struct rlc_epoll_host {
    rlc_hosted hosted;
    int epoll_fd;
    bool is_armed; /**< epoll has not reported the descriptor since rlc_epoll_arm. */
} rlc_epoll_host;

/**
 * Arms the descriptor.
 *
 * @param operation EPOLL_CTL_ADD or EPOLL_CTL_MOD. With EPOLL_CTL_MOD the call adds a descriptor that the set has lost.
 * @return 0; -errno of epoll_ctl(2).
 *
 * Thread: [loop].  Cost: one system call.
 */
static inline int rlc_epoll_arm(rlc_epoll_host *host, int operation) {
    struct epoll_event event;
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.ptr = host;
    int fd = rlc_loop_fd(host->hosted.loop);
    int status = epoll_ctl(host->epoll_fd, operation, fd, &event);
    if (status < 0 && operation == EPOLL_CTL_MOD && errno == ENOENT)
        status = epoll_ctl(host->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    host->is_armed = status == 0;
    return status < 0 ? -errno : 0;
}

/**
 * Adds a loop to an epoll set.
 *
 * @param loop     The loop; the caller destroys it after rlc_epoll_detach.
 * @param epoll_fd The set, which the caller owns. The loop's event has the host as `data.ptr`; no event of the caller
 *                 may have that value.
 * @param ret_host The host; the caller ends it by rlc_epoll_detach.
 * @return 0; -ENOMEM; -errno of epoll_ctl(2), such as -EBADF, -EINVAL (no epoll set), -EEXIST (the loop is in the set)
 *         or -ENOSPC.
 *
 * Thread: [loop].  Cost: one allocation, one system call.
 */
static inline int rlc_epoll_attach(rlc_loop *loop, int epoll_fd, rlc_epoll_host **ret_host) {
    rlc_epoll_host *host = (rlc_epoll_host *)calloc(1, sizeof *host);
    if (host == NULL)
        return -ENOMEM;
    host->hosted = rlc_hosted_make(loop);
    host->epoll_fd = epoll_fd;
    int status = rlc_epoll_arm(host, EPOLL_CTL_ADD);
    if (status < 0) {
        free(host);
        return status;
    }
    *ret_host = host;
    return 0;
}

/**
 * Takes the loop's event out of a batch.
 *
 * @param host   The host.
 * @param events The batch. The events after the loop's event each move one place forward.
 * @param count  The number of events.
 * @return The number of events that are left. Cannot fail.
 *
 * Thread: [loop].
 */
static inline int rlc_epoll_take(rlc_epoll_host *host, struct epoll_event *events, int count) {
    int left = 0;
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == (void *)host)
            host->is_armed = false;
        else
            events[left++] = events[i];
    }
    return left;
}

/**
 * Waits for events of the set, as epoll_wait(2) does, and makes at most one pass of the loop. It returns when the
 * program has an event, when the loop has made a pass, or at the timeout.
 *
 * @param host       The host. A callout may detach it, or call rlc_epoll_wait with it.
 * @param events     Receives the events of the program, without the loop's event. The program owns the array.
 * @param capacity   The number of events for which there is room, at least 1.
 * @param timeout_ms Milliseconds; with 0 the call does not wait, with -1 it waits without a limit.
 * @return The number of events of the program. It is 0 at the timeout, and may be 0 if the loop has made a pass or a
 *         hook has detached the host. -EINTR or another -errno of epoll_wait(2), or of rlc_loop_prepare or
 *         rlc_loop_dispatch. If a pass fails while the program has events, the call returns the number of these, and
 *         the next call returns the error.
 *
 * Thread: [loop].  Blocks.  Cost: the pass, and after each event of the loop one system call more than epoll_wait(2).
 */
static inline int rlc_epoll_wait(rlc_epoll_host *host, struct epoll_event *events, int capacity, int timeout_ms) {
    bool has_work = rlc_hosted_prepare(&host->hosted);
    if (host->hosted.is_detached) {
        if (rlc_hosted_is_over(&host->hosted))
            free(host);
        return 0;
    }
    if (host->hosted.status < 0)
        return host->hosted.status;
    int epoll_fd = host->epoll_fd;
    if (rlc_hosted_was_rebuilt(&host->hosted) || !host->is_armed) {
        int status = rlc_epoll_arm(host, EPOLL_CTL_MOD);
        if (status < 0)
            return status;
    }
    int count = epoll_wait(epoll_fd, events, capacity, has_work ? 0 : timeout_ms);
    if (count < 0)
        return -errno;
    count = rlc_epoll_take(host, events, count);
    if (!has_work && host->is_armed)
        return count;
    if (rlc_hosted_dispatch(&host->hosted)) {
        free(host);
        return count;
    }
    return count == 0 ? host->hosted.status : count;
}

/**
 * Takes the loop out of the set; in a child of fork(2), which shares the set with the parent, leaves the set unchanged.
 * The loop continues to exist, and can be attached again.
 *
 * @param host The host; NULL is allowed. The pointer is invalid afterwards. A callout of the loop may make the call.
 *
 * Thread: [loop].  Cost: one system call.
 */
static inline void rlc_epoll_detach(rlc_epoll_host *host) {
    if (host == NULL)
        return;
    if (!rlc_hosted_is_forked(&host->hosted))
        (void)epoll_ctl(host->epoll_fd, EPOLL_CTL_DEL, rlc_loop_fd(host->hosted.loop), NULL);
    if (rlc_hosted_detach(&host->hosted))
        free(host);
}

RLC_END_DECLS
#endif

/**
 * <crunloop/adapters/ev.h>: an rlc_loop inside a struct ev_loop of libev. Needs libev 4, with EV_MULTIPLICITY, as
 * distributions build it.
 *
 * Callouts of the loop may call ev_run. While the adapter is attached, its watchers keep ev_run from returning.
 */
#ifndef CRUNLOOP_ADAPTERS_EV_H
#define CRUNLOOP_ADAPTERS_EV_H

#include <crunloop/adapters/hosted.h>
#include <ev.h>

RLC_BEGIN_DECLS

/** A loop in a struct ev_loop. The caller that attaches it ends it by rlc_ev_detach. */
typedef struct rlc_ev_host {
    rlc_hosted hosted;
    struct ev_loop *ev;
    ev_io io;
    ev_prepare prepare;
    ev_check check;
    ev_idle idle; /**< While it is active, libev does not sleep. */
} rlc_ev_host;

/** Makes one pass. Thread: [loop]. */
static inline void rlc_ev_dispatch(rlc_ev_host *host) {
    if (rlc_hosted_dispatch(&host->hosted))
        free(host);
}

/**
 * The callback of `io`. Makes one pass, unless the preparation has found work: then the callback of `check` makes the
 * pass of this iteration.
 * Thread: [loop].
 */
static inline void rlc_ev_readable(struct ev_loop *ev, ev_io *io, int events) {
    (void)ev, (void)events;
    rlc_ev_host *host = (rlc_ev_host *)io->data;
    if (!host->hosted.has_work)
        rlc_ev_dispatch(host);
}

/** The callback of `check`. Makes the pass of this iteration if the preparation has found work. Thread: [loop]. */
static inline void rlc_ev_check(struct ev_loop *ev, ev_check *check, int events) {
    (void)ev, (void)events;
    rlc_ev_host *host = (rlc_ev_host *)check->data;
    if (!host->hosted.has_work)
        return;
    ev_clear_pending(host->ev, &host->io); /* only one pass in an iteration: epoll reports the descriptor again */
    rlc_ev_dispatch(host);
}

/** The callback of `idle`. Does nothing: the active watcher itself keeps libev awake. Thread: [loop]. */
static inline void rlc_ev_idle(struct ev_loop *ev, ev_idle *idle, int events) {
    (void)ev, (void)idle, (void)events;
}

/** The callback of `prepare`. Prepares the loop for libev's sleep. Thread: [loop]. */
static inline void rlc_ev_prepare(struct ev_loop *ev, ev_prepare *prepare, int events) {
    (void)events;
    rlc_ev_host *host = (rlc_ev_host *)prepare->data;
    bool has_work = rlc_hosted_prepare(&host->hosted);
    if (host->hosted.is_detached) {
        if (rlc_hosted_is_over(&host->hosted))
            free(host);
        return;
    }
    if (has_work)
        ev_idle_start(ev, &host->idle);
    else
        ev_idle_stop(ev, &host->idle);
    bool was_rebuilt = rlc_hosted_was_rebuilt(&host->hosted);
    if (was_rebuilt || host->hosted.status < 0)
        ev_io_stop(ev, &host->io);
    if (was_rebuilt && host->hosted.status == 0) {
        ev_io_set(&host->io, rlc_loop_fd(host->hosted.loop), EV_READ); /* makes libev register it again */
        ev_io_start(ev, &host->io);
    }
}

/**
 * Adds a loop to a struct ev_loop.
 *
 * @param loop     The loop; the caller destroys it after rlc_ev_detach.
 * @param ev       The loop of libev, which the caller owns.
 * @param ret_host The host; the caller ends it by rlc_ev_detach.
 * @return 0; -ENOMEM.
 *
 * Thread: [loop].
 */
static inline int rlc_ev_attach(rlc_loop *loop, struct ev_loop *ev, rlc_ev_host **ret_host) {
    rlc_ev_host *host = (rlc_ev_host *)calloc(1, sizeof *host);
    if (host == NULL)
        return -ENOMEM;
    host->hosted = rlc_hosted_make(loop);
    host->ev = ev;
    ev_io_init(&host->io, rlc_ev_readable, rlc_loop_fd(loop), EV_READ);
    ev_prepare_init(&host->prepare, rlc_ev_prepare);
    ev_check_init(&host->check, rlc_ev_check);
    ev_idle_init(&host->idle, rlc_ev_idle);
    host->io.data = host->prepare.data = host->check.data = host->idle.data = host;
    ev_io_start(ev, &host->io);
    ev_prepare_start(ev, &host->prepare);
    ev_check_start(ev, &host->check);
    /*
     * If a callback attaches the loop, the present iteration may be past its preparations. The active idle watcher
     * keeps that iteration from sleeping, and the next one prepares the loop.
     */
    ev_idle_start(ev, &host->idle);
    *ret_host = host;
    return 0;
}

/**
 * Tells whether the loop has failed. The host no longer serves a loop that has failed.
 *
 * @param host From rlc_ev_attach.
 * @return 0, or the -errno of rlc_loop_prepare or rlc_loop_dispatch, such as -ECHILD.
 *
 * Thread: [loop].
 */
static inline int rlc_ev_status(const rlc_ev_host *host) {
    return host->hosted.status;
}

/**
 * Removes a loop from its struct ev_loop. The loop continues to exist, and can be attached again.
 *
 * @param host From rlc_ev_attach; NULL is allowed. The pointer is invalid afterwards. A callout of the loop may make
 *             the call.
 *
 * Thread: [loop].
 */
static inline void rlc_ev_detach(rlc_ev_host *host) {
    if (host == NULL)
        return;
    ev_io_stop(host->ev, &host->io);
    ev_prepare_stop(host->ev, &host->prepare);
    ev_check_stop(host->ev, &host->check);
    ev_idle_stop(host->ev, &host->idle);
    if (rlc_hosted_detach(&host->hosted))
        free(host);
}

RLC_END_DECLS
#endif

/**
 * <crunloop/adapters/uv.h>: an rlc_loop inside a uv_loop_t of libuv. Needs libuv 1.
 *
 * While the adapter is attached, its handles keep uv_run from returning. Callbacks of libuv cannot call uv_run, because
 * it is not reentrant; they can run an rlc_loop. A child of fork(2) must call uv_loop_fork before it detaches the
 * adapter, as before any other use of libuv.
 */
#ifndef CRUNLOOP_ADAPTERS_UV_H
#define CRUNLOOP_ADAPTERS_UV_H

#include <crunloop/adapters/hosted.h>
#include <uv.h>

RLC_BEGIN_DECLS

/** A loop in a uv_loop_t. The caller that attaches it ends it by rlc_uv_detach. */
typedef struct rlc_uv_host {
    rlc_hosted hosted;
    uv_poll_t poll;
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle; /**< While it is active, libuv does not sleep. */
    bool is_readable;
    unsigned open; /**< Handles that libuv has not closed yet. */
} rlc_uv_host;

/** Called when libuv has closed a handle. The last call frees the host. Thread: [loop]. */
static inline void rlc_uv_closed(uv_handle_t *handle) {
    rlc_uv_host *host = (rlc_uv_host *)handle->data;
    if (--host->open == 0)
        free(host);
}

/** Closes the handles. Thread: [loop]. */
static inline void rlc_uv_close(rlc_uv_host *host) {
    uv_close((uv_handle_t *)&host->poll, rlc_uv_closed);
    uv_close((uv_handle_t *)&host->prepare, rlc_uv_closed);
    uv_close((uv_handle_t *)&host->check, rlc_uv_closed);
    uv_close((uv_handle_t *)&host->idle, rlc_uv_closed);
}

/** The callback of `poll`. Thread: [loop]. */
static inline void rlc_uv_readable(uv_poll_t *poll, int status, int events) {
    (void)status, (void)events;
    ((rlc_uv_host *)poll->data)->is_readable = true;
}

/** The callback of `idle`. Does nothing: the active handle itself keeps libuv awake. Thread: [loop]. */
static inline void rlc_uv_idle(uv_idle_t *idle) {
    (void)idle;
}

/** The callback of `prepare`. Prepares the loop for libuv's sleep. Thread: [loop]. */
static inline void rlc_uv_prepare(uv_prepare_t *prepare) {
    rlc_uv_host *host = (rlc_uv_host *)prepare->data;
    bool has_work = rlc_hosted_prepare(&host->hosted);
    if (host->hosted.is_detached)
        return; /* the handles are closing, and live until libuv has closed them */
    if (has_work)
        (void)uv_idle_start(&host->idle, rlc_uv_idle);
    else
        (void)uv_idle_stop(&host->idle);
    if (host->hosted.status < 0) {
        if (uv_is_active((uv_handle_t *)&host->poll)) /* once: the number may belong to another file later */
            (void)uv_poll_stop(&host->poll);
    } else if (rlc_hosted_was_rebuilt(&host->hosted)) {
        (void)uv_poll_stop(&host->poll);
        host->hosted.status = uv_poll_start(&host->poll, UV_READABLE, rlc_uv_readable);
    }
}

/** The callback of `check`. Makes a pass if `poll` was readable or the preparation found work. Thread: [loop]. */
static inline void rlc_uv_check(uv_check_t *check) {
    rlc_uv_host *host = (rlc_uv_host *)check->data;
    bool is_due = host->is_readable || host->hosted.has_work;
    host->is_readable = false;
    if (is_due)
        (void)rlc_hosted_dispatch(&host->hosted); /* the handles, and so the host, live until libuv has closed them */
}

/**
 * Adds a loop to a uv_loop_t.
 *
 * @param loop     The loop; the caller destroys it after rlc_uv_detach.
 * @param uv       The loop of libuv, which the caller owns.
 * @param ret_host The host; the caller ends it by rlc_uv_detach.
 * @return 0; -ENOMEM; -errno of uv_poll_init.
 *
 * Thread: [loop].
 */
static inline int rlc_uv_attach(rlc_loop *loop, uv_loop_t *uv, rlc_uv_host **ret_host) {
    rlc_uv_host *host = (rlc_uv_host *)calloc(1, sizeof *host);
    if (host == NULL)
        return -ENOMEM;
    host->hosted = rlc_hosted_make(loop);
    int status = uv_poll_init(uv, &host->poll, rlc_loop_fd(loop));
    if (status < 0) {
        free(host);
        return status;
    }
    (void)uv_prepare_init(uv, &host->prepare); /* these cannot fail */
    (void)uv_check_init(uv, &host->check);
    (void)uv_idle_init(uv, &host->idle);
    host->poll.data = host->prepare.data = host->check.data = host->idle.data = host;
    host->open = 4;
    (void)uv_poll_start(&host->poll, UV_READABLE, rlc_uv_readable); /* libuv registers it before its next sleep */
    (void)uv_prepare_start(&host->prepare, rlc_uv_prepare);
    (void)uv_check_start(&host->check, rlc_uv_check);
    *ret_host = host;
    return 0;
}

/**
 * Tells whether the loop has failed. The host no longer serves a loop that has failed.
 *
 * @param host From rlc_uv_attach.
 * @return 0, or the -errno of rlc_loop_prepare or rlc_loop_dispatch, such as -ECHILD.
 *
 * Thread: [loop].
 */
static inline int rlc_uv_status(const rlc_uv_host *host) {
    return host->hosted.status;
}

/**
 * Removes a loop from its uv_loop_t. The loop continues to exist, and can be attached again. The memory is freed when
 * libuv has closed the handles, which it does in its next iteration.
 *
 * @param host From rlc_uv_attach; NULL is allowed. The pointer is invalid afterwards. A callout of the loop may make
 *             the call.
 *
 * Thread: [loop].
 */
static inline void rlc_uv_detach(rlc_uv_host *host) {
    if (host == NULL)
        return;
    (void)rlc_hosted_detach(&host->hosted);
    rlc_uv_close(host);
}

RLC_END_DECLS
#endif

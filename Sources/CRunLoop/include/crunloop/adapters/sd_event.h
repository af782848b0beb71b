/**
 * <crunloop/adapters/sd_event.h>: an rlc_loop inside an sd_event of libsystemd.
 *
 * sd-event refuses to run inside its own callbacks (-EBUSY). An rlc_loop can run there.
 *
 * If the loop has work, a timer that is due keeps sd-event from sleeping. A deferred source would starve the host:
 * sd-event dispatches the source that is pending longest, and a deferred source counts as pending since it was added.
 */
#ifndef CRUNLOOP_ADAPTERS_SD_EVENT_H
#define CRUNLOOP_ADAPTERS_SD_EVENT_H

#include <crunloop/adapters/hosted.h>
#include <systemd/sd-event.h>
#include <time.h>

RLC_BEGIN_DECLS

/** A loop in an sd_event. The caller that attaches it ends it by rlc_sd_event_detach. */
typedef struct rlc_sd_event_host {
    rlc_hosted hosted;
    sd_event_source *io;
    sd_event_source *due; /**< A timer that is always due, enabled when there is work: then sd-event does not sleep. */
} rlc_sd_event_host;

/** Frees the sources and the host. Thread: [loop]. */
static inline void rlc_sd_event_free(rlc_sd_event_host *host) {
    (void)sd_event_source_unref(host->io);
    (void)sd_event_source_unref(host->due);
    free(host);
}

/** Switches the sources off. Thread: [loop]. */
static inline void rlc_sd_event_silence(rlc_sd_event_host *host) {
    (void)sd_event_source_set_enabled(host->io, SD_EVENT_OFF);
    (void)sd_event_source_set_enabled(host->due, SD_EVENT_OFF);
}

/**
 * Makes one pass.
 *
 * @return 0. Never an error: sd-event would switch the source off without a report.
 *
 * Thread: [loop].
 */
static inline int rlc_sd_event_dispatch(rlc_sd_event_host *host) {
    if (rlc_hosted_dispatch(&host->hosted))
        rlc_sd_event_free(host);
    return 0;
}

/** The handler of the descriptor. Thread: [loop]. */
static inline int rlc_sd_event_readable(sd_event_source *source, int fd, uint32_t events, void *context) {
    (void)source, (void)fd, (void)events;
    return rlc_sd_event_dispatch((rlc_sd_event_host *)context);
}

/** The handler of `due`. Thread: [loop]. */
static inline int rlc_sd_event_work(sd_event_source *source, uint64_t date_us, void *context) {
    (void)source, (void)date_us;
    return rlc_sd_event_dispatch((rlc_sd_event_host *)context);
}

/** Prepares the loop. sd-event calls this function before each sleep. Thread: [loop]. */
static inline int rlc_sd_event_prepare(sd_event_source *source, void *context) {
    rlc_sd_event_host *host = (rlc_sd_event_host *)context;
    bool has_work = rlc_hosted_prepare(&host->hosted);
    if (host->hosted.is_detached) {
        if (rlc_hosted_is_over(&host->hosted))
            rlc_sd_event_free(host);
        return 0;
    }
    if (has_work)
        (void)sd_event_source_set_enabled(host->due, SD_EVENT_ONESHOT);
    if (rlc_hosted_was_rebuilt(&host->hosted)) {
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
        int status = sd_event_source_set_enabled(source, SD_EVENT_ON); /* makes sd-event register it again */
        if (status < 0)
            host->hosted.status = status;
    }
    if (host->hosted.status < 0)
        rlc_sd_event_silence(host);
    return 0;
}

/**
 * Adds a loop to an sd_event.
 *
 * @param loop     The loop; the caller destroys it after rlc_sd_event_detach.
 * @param event    The sd_event, which the sources retain.
 * @param ret_host The host; the caller ends it by rlc_sd_event_detach.
 * @return 0; -ENOMEM; -errno of sd_event_add_io and sd_event_add_time.
 *
 * Thread: [loop].
 */
static inline int rlc_sd_event_attach(rlc_loop *loop, sd_event *event, rlc_sd_event_host **ret_host) {
    rlc_sd_event_host *host = (rlc_sd_event_host *)calloc(1, sizeof *host);
    if (host == NULL)
        return -ENOMEM;
    host->hosted = rlc_hosted_make(loop);
    int status = sd_event_add_io(event, &host->io, rlc_loop_fd(loop), EPOLLIN, rlc_sd_event_readable, host);
    if (status >= 0)
        status = sd_event_add_time(event, &host->due, CLOCK_MONOTONIC, 0, 1, rlc_sd_event_work, host);
    if (status >= 0)
        status = sd_event_source_set_enabled(host->due, SD_EVENT_OFF);
    if (status >= 0)
        status = sd_event_source_set_prepare(host->io, rlc_sd_event_prepare);
    if (status < 0) {
        rlc_sd_event_free(host);
        return status;
    }
    *ret_host = host;
    return 0;
}

/**
 * Tells whether the loop has failed. The host no longer serves a loop that has failed.
 *
 * @param host From rlc_sd_event_attach.
 * @return 0, or the -errno of rlc_loop_prepare or rlc_loop_dispatch, such as -ECHILD.
 *
 * Thread: [loop].
 */
static inline int rlc_sd_event_status(const rlc_sd_event_host *host) {
    return host->hosted.status;
}

/**
 * Removes a loop from its sd_event. The loop continues to exist, and can be attached again.
 *
 * @param host From rlc_sd_event_attach; NULL is allowed. The pointer is invalid afterwards. A callout of the loop may
 *             make the call.
 *
 * Thread: [loop].
 */
static inline void rlc_sd_event_detach(rlc_sd_event_host *host) {
    if (host == NULL)
        return;
    rlc_sd_event_silence(host);
    if (rlc_hosted_detach(&host->hosted))
        rlc_sd_event_free(host);
}

RLC_END_DECLS
#endif

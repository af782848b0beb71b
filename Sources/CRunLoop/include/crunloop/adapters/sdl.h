/**
 * <crunloop/adapters/sdl.h>: an rlc_loop inside a program that waits for the events of SDL 2 (2.0.16 or later).
 *
 * The program calls rlc_sdl_wait in place of SDL_WaitEvent and SDL_PollEvent. SDL cannot wait for a descriptor. So a
 * thread of the adapter waits for it while the program sleeps, and pushes one event of the adapter's own type, which
 * rlc_sdl_wait removes. If other code, such as a dialogue that has a loop of its own, takes or flushes the event, the
 * next rlc_sdl_wait notices that. Only an event filter that drops the adapter's events keeps rlc_sdl_wait asleep.
 */
#ifndef CRUNLOOP_ADAPTERS_SDL_H
#define CRUNLOOP_ADAPTERS_SDL_H

#include <crunloop/adapters/hosted.h>
#include <crunloop/descriptor.h>
#include <poll.h>
#include <SDL.h>
#include <sys/eventfd.h>
#include <unistd.h>

RLC_BEGIN_DECLS

/** A loop beside SDL's events. The caller that attaches it ends it by rlc_sdl_detach. */
typedef struct rlc_sdl_host {
    rlc_hosted hosted;
    SDL_Thread *thread;
    SDL_atomic_t is_ending;
    SDL_atomic_t armed;  /**< How often the thread was armed. */
    SDL_atomic_t pushed; /**< The value of `armed` when the thread last pushed its event. */
    int control_fd;      /**< An eventfd: each write wakes the thread. */
    Uint32 event_type;
    bool is_armed; /**< The thread waits for the descriptor, or its event is in SDL's queue. */
} rlc_sdl_host;

/** Wakes the thread. Thread: [loop].  Cost: one system call. */
static inline void rlc_sdl_control(rlc_sdl_host *host) {
    const uint64_t one = 1;
    ssize_t written = write(host->control_fd, &one, sizeof one);
    (void)written; /* cannot fail: it is the adapter's own eventfd */
}

/**
 * The function of the thread: each time that it is armed, waits for the descriptor once and pushes the event.
 * Thread: [any]: the adapter's own.
 */
static inline int rlc_sdl_watch(void *context) {
    rlc_sdl_host *host = (rlc_sdl_host *)context;
    int armed = 0;
    struct pollfd fds[2] = {{host->control_fd, POLLIN, 0}, {rlc_loop_fd(host->hosted.loop), POLLIN, 0}};
    nfds_t count = 1;
    while (SDL_AtomicGet(&host->is_ending) == 0) {
        if (poll(fds, count, -1) < 0)
            continue;
        if (fds[0].revents != 0) {
            uint64_t controls;
            ssize_t size = read(host->control_fd, &controls, sizeof controls);
            count = size > 0 ? 2 : count;
            armed = SDL_AtomicGet(&host->armed);
        } else if (fds[1].revents != 0) {
            SDL_Event event;
            SDL_zero(event);
            event.type = host->event_type;
            SDL_AtomicSet(&host->pushed, armed); /* before the push: see rlc_sdl_was_robbed */
            while (SDL_PushEvent(&event) < 0 && SDL_AtomicGet(&host->is_ending) == 0)
                SDL_Delay(1); /* SDL's queue is full */
            count = 1;
        }
    }
    return 0;
}

/** Lets the thread wait for the descriptor. Thread: [loop].  Cost: one system call. */
static inline void rlc_sdl_arm(rlc_sdl_host *host) {
    host->is_armed = true;
    (void)SDL_AtomicAdd(&host->armed, 1);
    rlc_sdl_control(host);
}

/**
 * Tells whether the thread has pushed its event and other code has taken it.
 *
 * @return True: the loop may have work.
 *
 * Thread: [loop].
 */
static inline bool rlc_sdl_was_robbed(rlc_sdl_host *host) {
    return host->is_armed && SDL_AtomicGet(&host->pushed) == SDL_AtomicGet(&host->armed) &&
           SDL_HasEvent(host->event_type) == SDL_FALSE;
}

/**
 * Returns the type of the adapter's events. All hosts share it, because SDL cannot free a type.
 *
 * @return The type; (Uint32)-1: SDL has none left.
 *
 * Thread: [loop].
 */
static inline Uint32 rlc_sdl_event_type(void) {
    static Uint32 type = (Uint32)-1;
    if (type == (Uint32)-1)
        type = SDL_RegisterEvents(1);
    return type;
}

/**
 * Puts a loop beside SDL's events, and starts the thread.
 *
 * @param loop     The loop; the caller destroys it after rlc_sdl_detach.
 * @param ret_host The host; the caller ends it by rlc_sdl_detach.
 * @return 0; -ENOMEM; -EMFILE or another -errno of eventfd(2); -ENOSPC (SDL has no type of events left); -EAGAIN (SDL
 *         could not make a thread).
 *
 * Thread: [loop].
 */
static inline int rlc_sdl_attach(rlc_loop *loop, rlc_sdl_host **ret_host) {
    rlc_sdl_host *host = (rlc_sdl_host *)calloc(1, sizeof *host);
    if (host == NULL)
        return -ENOMEM;
    int status = 0;
    host->hosted = rlc_hosted_make(loop);
    host->control_fd = rlc_descriptor_adopt(eventfd(0, EFD_CLOEXEC));
    if (host->control_fd < 0) {
        status = host->control_fd;
    } else if ((host->event_type = rlc_sdl_event_type()) == (Uint32)-1) {
        status = -ENOSPC;
    } else if ((host->thread = SDL_CreateThread(rlc_sdl_watch, "rlc_loop", host)) == NULL) {
        status = -EAGAIN;
    } else {
        *ret_host = host;
        return 0;
    }
    if (host->control_fd >= 0)
        (void)close(host->control_fd);
    free(host);
    return status;
}

/**
 * Waits for an event of SDL, and makes at most one pass of the loop. It returns when there is an event, when the loop
 * has made a pass, or at the timeout.
 *
 * @param host       The host. A callout may detach it, or call rlc_sdl_wait.
 * @param event      Receives the event, which the caller owns.
 * @param timeout_ms Milliseconds; with 0 the call does not wait, with -1 it waits without a limit.
 * @return 1: there is an event; 0: none; -errno of rlc_loop_prepare or rlc_loop_dispatch, such as -ECHILD. If a pass
 *         fails while there is an event, the call returns 1, and the next call returns the error.
 *
 * Thread: [loop], which has initialised SDL.  Blocks.  Cost: the pass and SDL's own cost; if work of the loop
 * has ended a sleep, two thread switches more.
 */
static inline int rlc_sdl_wait(rlc_sdl_host *host, SDL_Event *event, int timeout_ms) {
    bool has_work = rlc_hosted_prepare(&host->hosted);
    if (host->hosted.is_detached) {
        if (rlc_hosted_is_over(&host->hosted))
            free(host);
        return 0;
    }
    if (host->hosted.status < 0)
        return host->hosted.status;
    if (rlc_sdl_was_robbed(host)) {
        host->is_armed = false;
        has_work = true;
    }
    if (!has_work && (rlc_hosted_was_rebuilt(&host->hosted) || !host->is_armed))
        rlc_sdl_arm(host);
    int found = has_work || timeout_ms == 0 ? SDL_PollEvent(event) : SDL_WaitEventTimeout(event, timeout_ms);
    if (found != 0 && event->type == host->event_type) {
        host->is_armed = false;
        found = 0;
        has_work = true;
    }
    if (!has_work)
        return found;
    if (rlc_hosted_dispatch(&host->hosted)) {
        free(host);
        return found;
    }
    return found == 0 ? host->hosted.status : found;
}

/**
 * Ends the thread, and detaches the loop, which continues to exist and can be attached again. A child of fork(2) does
 * not have the thread, and does not wait for it.
 *
 * @param host The host; NULL is allowed. The pointer is invalid afterwards. A callout of the loop may make the call.
 *
 * Thread: [loop].  Blocks until the thread has ended.
 */
static inline void rlc_sdl_detach(rlc_sdl_host *host) {
    if (host == NULL)
        return;
    if (!rlc_hosted_is_forked(&host->hosted)) {
        (void)SDL_AtomicSet(&host->is_ending, 1);
        rlc_sdl_control(host);
        SDL_WaitThread(host->thread, NULL);
    }
    (void)close(host->control_fd);
    SDL_FlushEvent(host->event_type);
    if (rlc_hosted_detach(&host->hosted))
        free(host);
}

RLC_END_DECLS
#endif

/**
 * <crunloop/adapters/dispatch_guest.h>: the main dispatch queue of libdispatch inside an rlc_loop. With it the loop
 * serves Swift's main actor, even if another adapter has put the loop into another library's loop.
 *
 * Only one loop of a process can have the guest. A loop of the Swift module on the main thread needs no guest, since it
 * serves the queue itself.
 *
 * A function of the queue may run the rlc_loop, or its host. Functions that are queued during that run wait until the
 * first function has returned, and do not end a sleep of that run. This header needs no header of libdispatch.
 */
#ifndef CRUNLOOP_ADAPTERS_DISPATCH_GUEST_H
#define CRUNLOOP_ADAPTERS_DISPATCH_GUEST_H

#include <crunloop/loop.h>
#include <crunloop/main_queue.h>
#include <errno.h>
#include <fcntl.h>

RLC_BEGIN_DECLS

/**
 * The callout of the watch. It runs the functions that are queued at the time of the call. epoll may refuse the handle
 * when the loop first registers it, and when the loop registers it again after a run inside this callout. Then the next
 * pass tries again, unless the handle was closed.
 *
 * @param ready   RLC_READABLE, or RLC_ERROR if epoll refuses to watch the handle.
 *
 * Thread: [loop], which is the main thread.
 */
static inline void rlc_dispatch_guest_serve(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)loop, (void)context;
    if ((ready & RLC_ERROR) != 0 && fcntl(rlc_main_queue_fd(), F_GETFD) >= 0)
        (void)rlc_watch_set_interest(watch, RLC_READABLE); /* the next pass tries again */
    if (rlc_main_queue_take(NULL))
        rlc_main_queue_drain();
}

/**
 * Lets a loop serve the main dispatch queue. The loop is not finished while the guest is attached. While epoll refuses
 * the handle (ENOSPC, ENOMEM), the loop does not sleep, and registers the handle again in each pass.
 *
 * @param loop      The loop.
 * @param ret_guest The watch of the queue's handle. It ends with the loop, unless the caller removes it before, by
 *                  rlc_watch_remove. A function of the queue may make that call too.
 * @return 0; -ENOSYS (the process has no libdispatch), -EPERM (this is not the main thread), or an error of
 *         rlc_main_queue_fd or rlc_loop_add_watch. If it fails, nothing was attached.
 *
 * Thread: [loop], which is the main thread.  Cost: as rlc_loop_add_watch and rlc_main_queue_fd; two system calls more.
 */
static inline int rlc_dispatch_guest_attach(rlc_loop *loop, rlc_watch **ret_guest) {
    int fd = rlc_main_queue_fd();
    if (fd < 0)
        return fd;
    if (!rlc_is_main_thread())
        return -EPERM;
    return rlc_loop_add_watch(loop, fd, RLC_READABLE, rlc_dispatch_guest_serve, NULL, ret_guest);
}

RLC_END_DECLS
#endif

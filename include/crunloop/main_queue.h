/**
 * <crunloop/main_queue.h>: the main dispatch queue of the process, if the process contains libdispatch.
 *
 * libdispatch signals an eventfd, the queue's handle, when the queue has work, and never reads it. The core refers to
 * libdispatch by weak symbols and does not link to it.
 */
#ifndef CRUNLOOP_MAIN_QUEUE_H
#define CRUNLOOP_MAIN_QUEUE_H

#include <crunloop/kernel.h>

RLC_BEGIN_DECLS

/**
 * Tells whether the calling thread is the main thread.
 *
 * @return True on the process's first thread; in a child of fork(2) on the thread that called fork(2).
 *
 * Thread: [any].  Cost: two system calls.  See: gettid(2).
 */
RLC_API bool rlc_is_main_thread(void);

/**
 * Returns the queue's handle. Poll it for reading, and read it only by rlc_main_queue_take. The first call makes
 * libdispatch create the handle.
 *
 * @return The descriptor, which libdispatch owns: do not close it. -ENOSYS without libdispatch [RLC-MAIN-2], and after
 *         libdispatch has closed the handle, as it does when the main thread ends [RLC-MAIN-4]. -EMFILE, -ENFILE or
 *         -ENOMEM: there is no descriptor left for the handle. The function has not called libdispatch, which would
 *         have ended the process [RLC-MAIN-3].
 *
 * Thread: [any].  Cost: two system calls, and none after the first success.
 */
RLC_API int rlc_main_queue_fd(void);

/**
 * Reads the queue's handle, which resets it.
 *
 * If another epoll set has fetched an event of the handle before this call, that event is stale afterwards.
 *
 * @param kernel The kernel table; NULL for rlc_kernel_default().
 * @return True if libdispatch has signalled the handle since the last call [RLC-MAIN-1]; false without libdispatch.
 *
 * Thread: [loop], which is the main thread; not from a function that the queue runs.  Cost: one read(2).
 */
RLC_API bool rlc_main_queue_take(const rlc_kernel *kernel);

/**
 * Runs the functions that are in the main queue at the time of the call. A function that is queued during the call
 * makes libdispatch signal the handle again. Without libdispatch the call does nothing.
 *
 * Thread: [loop], which is the main thread; on another thread libdispatch traps. Re-entry: the call runs functions of
 * the program; if one of these calls rlc_main_queue_drain, the inner call does nothing.
 * See: _dispatch_main_queue_callback_4CF, which CoreFoundation calls as well.
 */
RLC_API void rlc_main_queue_drain(void);

RLC_END_DECLS
#endif

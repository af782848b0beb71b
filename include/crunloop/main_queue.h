/**
 * <crunloop/main_queue.h>: the process's main dispatch queue, if libdispatch is in the process (weak symbols).
 *
 * Its handle is an eventfd that becomes readable when the queue has work. libdispatch never reads it.
 */
#ifndef CRUNLOOP_MAIN_QUEUE_H
#define CRUNLOOP_MAIN_QUEUE_H

#include <crunloop/kernel.h>

RLC_BEGIN_DECLS

/**
 * True on the process's first thread; in a child of fork(2) on the thread that called it.
 *
 * Thread: [any].  Cost: two system calls.  See: gettid(2).
 */
RLC_API bool rlc_is_main_thread(void);

/**
 * The handle, for rlc_port_set_insert as a hint. It belongs to libdispatch.
 *
 * @return The descriptor; -ENOSYS without libdispatch [RLC-MAIN-2].
 *
 * Thread: [any].
 */
RLC_API int rlc_main_queue_fd(void);

/**
 * True if the queue was signalled since the last take [RLC-MAIN-1].
 *
 * @param kernel NULL = rlc_kernel_default().
 *
 * Thread: the main one, outside the queue's own functions.  Cost: one read(2) of the handle, which also makes edges in
 * other sets stale.
 */
RLC_API bool rlc_main_queue_take(const rlc_kernel *kernel);

/**
 * Runs what was queued at entry; what is queued meanwhile signals the handle again. Nothing without libdispatch.
 *
 * Thread: the main one; on another libdispatch traps.  Re-entry: inside one of the queue's functions it does nothing.
 * Calls user code.  Source: _dispatch_main_queue_callback_4CF, which CoreFoundation calls.
 */
RLC_API void rlc_main_queue_drain(void);

RLC_END_DECLS
#endif

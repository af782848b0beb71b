/**
 * <crunloop/main_queue.h>: the process's main dispatch queue, if libdispatch is in the process (weak symbols).
 *
 * Its handle is an eventfd that becomes readable when the queue has work. libdispatch never reads it.
 */
#ifndef CRUNLOOP_MAIN_QUEUE_H
#define CRUNLOOP_MAIN_QUEUE_H

#include <crunloop/kernel.h>

RLC_BEGIN_DECLS

/** True on the process's first thread; in a child of fork(2) on the thread that called it. One system call. [any] */
RLC_API bool rlc_is_main_thread(void);
/** The handle, for rlc_port_set_insert as a hint; -ENOSYS without libdispatch. It belongs to libdispatch. [any] */
RLC_API int rlc_main_queue_fd(void);
/**
 * True if the queue was signalled since the last take: one read(2) of the handle, which also makes edges in other sets
 * stale. Main thread only, outside the queue's own functions.
 */
RLC_API bool rlc_main_queue_take(const rlc_kernel *kernel);
/** Runs what was queued at entry. Main thread only; inside one of its functions it does nothing. Calls user code. */
RLC_API void rlc_main_queue_drain(void);

RLC_END_DECLS
#endif

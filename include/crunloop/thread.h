/** <crunloop/thread.h>: what an embedder needs of threads and C programs rarely do. */
#ifndef CRUNLOOP_THREAD_H
#define CRUNLOOP_THREAD_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * Names the calling thread, for debuggers and /proc.
 *
 * @param name At most 15 bytes.
 * @return 0; -ERANGE if it is longer.
 *
 * Thread: any; its own name.  Cost: one system call.  See: pthread_setname_np(3).  Since: 0.1.
 */
RLC_API int rlc_thread_set_name(const char *name);

/**
 * Makes every running thread of the process pass a full memory barrier.
 *
 * The rare side of a handshake whose frequent side does without one: that one stores A, then loads B; this one stores B,
 * calls this, then loads A. One of the two sees the other's store [RLC-THREAD-2].
 *
 * Without membarrier(2) (before Linux 4.14, a filter that refuses it) it sleeps a millisecond: no processor holds a store
 * back for so long.
 *
 * Thread: any.  Blocks: for microseconds; the first call of a process for some milliseconds.  Errno is kept.
 * See: membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED.  Since: 0.1.
 */
RLC_API void rlc_thread_barrier(void);

RLC_END_DECLS
#endif

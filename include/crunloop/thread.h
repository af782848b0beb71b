/** <crunloop/thread.h>: what an embedder needs of threads and C programs rarely do. */
#ifndef CRUNLOOP_THREAD_H
#define CRUNLOOP_THREAD_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * Names the calling thread, for debuggers and /proc.
 *
 * @param name At most 15 bytes.
 * @return 0; -ERANGE if it is longer [RLC-THREAD-1].
 *
 * Thread: any; its own name.  Cost: one system call.  See: pthread_setname_np(3).  Since: 0.1.
 */
RLC_API int rlc_thread_set_name(const char *name);

/**
 * The frequent side of rlc_thread_barrier: a store before it stays before a load after it, in the program. No
 * instruction.
 */
static inline void rlc_thread_light_barrier(void) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/**
 * Makes every running thread of the process pass a full memory barrier.
 *
 * The rare side of a handshake whose frequent side does without one: that one stores A, passes
 * rlc_thread_light_barrier, then loads B; this one stores B, calls this, then loads A. One of the two sees the other's
 * store [RLC-THREAD-2].
 *
 * @return 0; -ENOSYS, -EPERM or what else membarrier(2) answers where it is not to be had (before Linux 4.3, a filter):
 *         no thread but this one has passed a barrier then, and the frequent side needs one of its own [RLC-THREAD-3].
 *
 * Thread: any.  Blocks: for microseconds; the first call of a process for some milliseconds, before Linux 4.14 each.
 * Errno is kept.  See: membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED.  Since: 0.1.
 */
RLC_API int rlc_thread_barrier(void);

/** True if rlc_thread_barrier can be had.  Thread: any.  Cost: one system call.  Errno is kept.  Since: 0.1. */
RLC_API bool rlc_thread_has_barrier(void);

/** Behind rlc_thread_kernel. Initial-exec: a load, no call. */
RLC_API extern __thread void *rlc_thread_word __attribute__((tls_model("initial-exec")));

/**
 * The word of the calling thread in which an embedder keeps the kernel that it gives to what the thread makes; NULL at
 * first.
 *
 * The core does not look at it: its functions take their table as an argument.
 *
 * Thread: any; its own word.  Cost: a load.  Since: 0.1.
 */
static inline void *rlc_thread_kernel(void) {
    return rlc_thread_word;
}

/** Sets the calling thread's word. What it points to is the caller's.  Thread: any; its own word.  Since: 0.1. */
static inline void rlc_thread_set_kernel(void *kernel) {
    rlc_thread_word = kernel;
}

RLC_END_DECLS
#endif

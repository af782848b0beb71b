/** <crunloop_kit/thread.h>: functions for threads that an embedder such as RunLoopKit needs, and a C program rarely. */
#ifndef CRUNLOOP_KIT_THREAD_H
#define CRUNLOOP_KIT_THREAD_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * Names the calling thread. Debuggers and /proc show the name.
 *
 * @param name At most 15 bytes and a 0.
 * @return 0; -ERANGE (the name is longer) [RLC-THREAD-1].
 *
 * Thread: [any].  Cost: one system call.  See: pthread_setname_np(3).
 */
int rlc_thread_set_name(const char *name);

/**
 * For the frequent side of rlc_thread_barrier. Keeps the compiler from reordering a store before this call and a load
 * after it. It emits no instruction.
 *
 * Thread: [any, signal-safe].  Cost: nothing.
 */
static inline void rlc_thread_light_barrier(void) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/**
 * Makes all running threads of the process execute a full memory barrier.
 *
 * This is the rare side of a handshake whose frequent side executes no barrier. The frequent side stores A, calls
 * rlc_thread_light_barrier, and loads B. The rare side stores B, calls rlc_thread_barrier, and loads A. At least one of
 * the two sides then sees the other side's store [RLC-THREAD-2].
 *
 * @return 0; -ENOSYS, -EPERM or another -errno of membarrier(2) where the kernel lacks it (before Linux 4.3) or a
 *         filter forbids it. Then no thread has executed a barrier, and the frequent side must execute one itself
 *         [RLC-THREAD-3].
 *
 * Thread: [any].  Blocks for microseconds. The first call of a process, and before Linux 4.14 each call, blocks for
 * some milliseconds.  Keeps errno.  See: membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED.
 */
int rlc_thread_barrier(void);

/** Tells whether the kernel offers rlc_thread_barrier. Thread: [any].  Cost: one system call.  Keeps errno. */
bool rlc_thread_has_barrier(void);

/**
 * The pointer that rlc_thread_kernel returns. With the TLS model initial-exec, reading it takes one load and no call.
 * The embedder owns what the pointer points to.
 *
 * Thread: [any]; each has its own pointer.
 */
extern __thread void *rlc_thread_word __attribute__((tls_model("initial-exec")));

/**
 * Returns a pointer that the embedder keeps for each thread. RunLoopKit stores the kernel table there with which the
 * thread creates objects. The core itself does not use the pointer, because its functions have a parameter for the
 * table.
 *
 * @return What the calling thread has last passed to rlc_thread_set_kernel; NULL before.
 *
 * Thread: [any]; each has its own pointer.  Cost: one load.
 */
static inline void *rlc_thread_kernel(void) {
    return rlc_thread_word;
}

/**
 * Sets the pointer that rlc_thread_kernel returns on the calling thread.
 *
 * @param kernel Any pointer, also NULL. The caller keeps what it points to.
 *
 * Thread: [any]; each has its own pointer.
 */
static inline void rlc_thread_set_kernel(void *kernel) {
    rlc_thread_word = kernel;
}

RLC_END_DECLS
#endif

/** <crunloop/signal_fd.h>: signals that are read instead of delivered. */
#ifndef CRUNLOOP_SIGNAL_FD_H
#define CRUNLOOP_SIGNAL_FD_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/** A set of signals: bit n - 1 is signal n. */
typedef uint64_t rlc_signals;

typedef struct rlc_signal_info {
    int32_t signal, code;
    int32_t process_id; /**< The sender's, or the child's of SIGCHLD; 0 from the kernel. */
    uint32_t user_id;
    int32_t status;   /**< Of SIGCHLD: the exit code or the signal. */
    int32_t value;    /**< Of sigqueue(3) and POSIX timers. */
    uint64_t pointer; /**< The same as a pointer's bits. */
} rlc_signal_info;

/**
 * A descriptor that is readable while one of the signals is pending for the process or for the thread that looks.
 *
 * Only what is blocked stays pending: rlc_signals_block. It tells the signals of the process that made it; a child of
 * fork(2) makes its own.
 *
 * @return The caller's descriptor; -EINVAL for SIGKILL, SIGSTOP and what is no signal; -EMFILE, -ENFILE, -ENOMEM.
 *
 * Thread: [any].  Cost: one system call.  See: signalfd(2).
 */
RLC_API int rlc_signal_fd_create(rlc_signals signals);

/**
 * Takes one pending signal: ordinary ones in the order of their numbers, each once; real-time ones all, in order.
 *
 * @return 1; 0 if none is pending; -errno.
 *
 * Thread: [any]; takes what is pending for the process or the calling thread.  Cost: one system call.
 */
RLC_API int rlc_signal_fd_take(int fd, rlc_signal_info *ret_info);

/**
 * Blocks the signals in the calling thread.
 *
 * @param signals     Those to block.
 * @param ret_changed Those that were not blocked before. May be NULL.
 * @return 0; -EINVAL as rlc_signal_fd_create: nothing is blocked then.
 *
 * Thread: [any]; counts for the calling thread and those it will make.  See: pthread_sigmask(3).
 */
RLC_API int rlc_signals_block(rlc_signals signals, rlc_signals *ret_changed);

/**
 * Unblocks the signals in the calling thread. Those pending for it or the process are taken and dropped before, so that
 * none of them meets its default action, which may be the end of the process.
 *
 * Thread: [any]; counts for the calling thread only.
 */
RLC_API void rlc_signals_unblock(rlc_signals signals);

/** The smallest and the largest real-time signal that a program may use.  Thread: [any]. */
RLC_API int rlc_signal_realtime_min(void);
RLC_API int rlc_signal_realtime_max(void);

/** A thread, and what it does not block. */
typedef struct rlc_thread_mask {
    int32_t thread_id;
    rlc_signals unblocked;
    char name[16]; /**< Ends in 0. */
} rlc_thread_mask;

/**
 * Looks for a thread of this process that does not block one of the signals: it, and not a signalfd(2), may get it.
 *
 * @param signals    Those to look for.
 * @param ret_thread The first one that is found; untouched if there is none.
 * @return False also where proc(5) cannot be read. A moment's picture.
 *
 * Thread: [any].  Cost: three system calls a thread, and memory for a moment.
 */
RLC_API bool rlc_signals_find_unblocked(rlc_signals signals, rlc_thread_mask *ret_thread);

RLC_END_DECLS
#endif

/** <crunloop/signal_fd.h>: signals that a program reads from a descriptor, instead of having a handler called. */
#ifndef CRUNLOOP_SIGNAL_FD_H
#define CRUNLOOP_SIGNAL_FD_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/** A set of signals, made by RLC_SIGNAL: bit n - 1 stands for signal n. The signals are 1 to 64 [RLC-SIGNAL-2]. */
typedef uint64_t rlc_signals;

/**
 * The set that contains one signal, such as RLC_SIGNAL(SIGTERM). Sets are joined by |. The functions below take sets.
 * They cannot notice a number in place of a set: the bits of SIGTERM itself are a set of four other signals.
 */
#define RLC_SIGNAL(number) (UINT64_C(1) << ((number)-1))

/** A signal that was read, with the data that its sender or the kernel has added [RLC-SIGNAL-1]. */
typedef struct rlc_signal_info {
    int32_t signal, code; /**< The signal, and why it was sent: si_code of sigaction(2). */
    int32_t process_id;   /**< The sender, or the child of SIGCHLD; 0 if the kernel has sent the signal. */
    uint32_t user_id;     /**< The real user of that process. */
    int32_t status;       /**< For SIGCHLD: the child's exit code, or the signal that has ended it. */
    int32_t value;        /**< From sigqueue(3) and POSIX timers: the value, as an integer. */
    uint64_t pointer;     /**< The same value, as the bits of a pointer. */
} rlc_signal_info;

/**
 * Creates a descriptor that is readable while one of the signals is pending for the process, or for the thread that
 * polls it.
 *
 * A signal stays pending only while it is blocked in all threads: see rlc_signals_block. A child of fork(2) has to
 * create a descriptor of its own.
 *
 * @param signals At least one signal, such as RLC_SIGNAL(SIGTERM) | RLC_SIGNAL(SIGINT).
 * @return A non-blocking descriptor that the caller owns; -EINVAL (the set is empty, or contains SIGKILL, SIGSTOP or a
 *         signal that the C library keeps for itself), -EMFILE, -ENFILE, -ENOMEM.
 *
 * Thread: [any].  Cost: one system call.  See: signalfd(2).
 */
RLC_API int rlc_signal_fd_create(rlc_signals signals);

/**
 * Reads one pending signal. Standard signals come in the order of their numbers, and coalesce: several that were sent
 * before the read come once. Real-time signals come as often as they were sent, in the order of sending.
 *
 * @code{.c}
 * #include <crunloop/signal_fd.h>
 * #include <signal.h>
 * #include <unistd.h>
 *
 * int main(void) {
 *     rlc_signals hangup = RLC_SIGNAL(SIGHUP);
 *     rlc_signal_info info = {0};
 *     int fd = rlc_signals_block(hangup, NULL) < 0 ? -1 : rlc_signal_fd_create(hangup);
 *     if (fd < 0 || raise(SIGHUP) != 0 || rlc_signal_fd_take(fd, &info) != 1)
 *         return 1;
 *     close(fd);
 *     return info.signal == SIGHUP ? 0 : 1;
 * }
 * @endcode
 *
 * @param fd       From rlc_signal_fd_create.
 * @param ret_info The signal.
 * @return 1 if the call has read a signal; 0 if none is pending for the process or the calling thread; -EBADF (fd is
 *         not open), -EINVAL (fd is no signalfd).
 *
 * Thread: [any].  Cost: one system call.
 */
RLC_API int rlc_signal_fd_take(int fd, rlc_signal_info *ret_info);

/**
 * Blocks signals in the calling thread, and in the threads that it creates afterwards.
 *
 * @param signals     The signals to block, as a set: RLC_SIGNAL(SIGTERM), not SIGTERM.
 * @param ret_changed Those of `signals` that were not blocked before; may be NULL.
 * @return 0; -EINVAL for a set that rlc_signal_fd_create refuses: then nothing has changed.
 *
 * Thread: [any].  Cost: one system call.  See: pthread_sigmask(3).
 */
RLC_API int rlc_signals_block(rlc_signals signals, rlc_signals *ret_changed);

/**
 * Unblocks signals in the calling thread. It first discards those that are pending for the thread or the process,
 * because the default action of one of them might end the process.
 *
 * @param signals The signals to unblock. A set that rlc_signals_block refuses has no effect.
 *
 * Thread: [any]; other threads' masks do not change.  Cost: two system calls, and one for each pending signal.
 */
RLC_API void rlc_signals_unblock(rlc_signals signals);

/**
 * Finds the smallest real-time signal that the C library leaves to programs.
 *
 * @return The number of the signal. Cannot fail.
 *
 * Thread: [any].
 */
RLC_API int rlc_signal_realtime_min(void);

/**
 * Finds the largest real-time signal that the C library leaves to programs.
 *
 * @return The number of the signal. Cannot fail.
 *
 * Thread: [any].
 */
RLC_API int rlc_signal_realtime_max(void);

/** A thread that rlc_signals_find_unblocked has found. */
typedef struct rlc_thread_mask {
    int32_t thread_id;
    rlc_signals unblocked; /**< Those of the signals that the thread does not block. */
    char name[16];         /**< The thread's name, which ends with a 0. */
} rlc_thread_mask;

/**
 * Searches for a thread of this process that does not block one of the signals: the kernel may deliver the signal to
 * that thread instead of the descriptor. Other threads may change their masks at any time.
 *
 * @param signals    The signals to search for.
 * @param ret_thread The first such thread. Not written if the call returns false.
 * @return True if there is such a thread; false if there is none, or /proc cannot be read.
 *
 * Thread: [any].  Cost: three system calls for each thread, and a temporary allocation.
 */
RLC_API bool rlc_signals_find_unblocked(rlc_signals signals, rlc_thread_mask *ret_thread);

RLC_END_DECLS
#endif

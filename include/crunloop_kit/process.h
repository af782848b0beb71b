/**
 * <crunloop_kit/process.h>: child processes: start one, identify it by a descriptor, send it signals, and get its exit
 * status.
 */
#ifndef CRUNLOOP_KIT_PROCESS_H
#define CRUNLOOP_KIT_PROCESS_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/** How a process has ended. */
typedef enum rlc_process_end {
    RLC_PROCESS_EXITED,    /**< It exited; `number` is the exit code. */
    RLC_PROCESS_SIGNALLED, /**< A signal killed it; `number` is the signal. */
    RLC_PROCESS_DUMPED,    /**< A signal killed it and the kernel wrote a core dump; `number` is the signal. */
} rlc_process_end;

/** The exit status of a process. */
typedef struct rlc_process_exit {
    rlc_process_end end;
    int32_t number;
} rlc_process_exit;

/**
 * Opens a descriptor that refers to a process, a child or any other, and becomes readable when the process has ended.
 * It never refers to a later process with the same number.
 *
 * @param process_id The number of the process, at least 1.
 * @return A descriptor that the caller owns; -ESRCH (there is no such process), -EINVAL (process_id is no process's
 *         number; newer kernels return -ENOENT if it is the number of a thread that is not its process's first),
 *         -ENOSYS (Linux before 5.3, or a filter), -EPERM (a filter), -EMFILE, -ENFILE, -ENOMEM, -ENODEV.
 *
 * Thread: [any].  Cost: one system call.  See: pidfd_open(2).
 */
int rlc_process_open(int32_t process_id);

/**
 * Sends a signal to the process of a descriptor.
 *
 * @param process_fd From rlc_process_open.
 * @param signal     The signal; 0 sends none and only checks.
 * @return 0; -ESRCH (the process has ended, and its exit status was taken), -EPERM (the caller may not signal it),
 *         -EINVAL (there is no such signal), -EBADF (process_fd refers to no process), -ENOSYS (Linux before 5.1, or a
 *         filter).
 *
 * Thread: [any].  Cost: one system call.  See: pidfd_send_signal(2).
 */
int rlc_process_send(int process_fd, int signal);

/**
 * Reads when a process was started. Together with its number this identifies a process for which there is no
 * descriptor.
 *
 * @param process_id The number of the process, at least 1.
 * @param ret_start  Clock ticks since the machine's start: field 22 of /proc/PID/stat, see proc(5).
 * @return 0; -ENOENT or -ESRCH (there is no such process, or no /proc), -EACCES, -EMFILE, -ENFILE, -ENOMEM, -EPROTO
 *         (the text of /proc is not as expected).
 *
 * Thread: [any].  Cost: three system calls.
 */
int rlc_process_start(int32_t process_id, uint64_t *ret_start);

/**
 * Takes the exit status of one child, if the child has ended. The kernel may then reuse the child's number. The call
 * does not wait and leaves other children alone.
 *
 * @param process_fd From rlc_process_open; -1 if process_id identifies the child.
 * @param process_id The child's number, whose exit status was not taken yet. Ignored unless process_fd is -1.
 * @param ret_exit   The exit status; may be NULL. Not written unless the call returns 1.
 * @return 1 if the child has ended; 0 if it still runs; -ECHILD (it is no child of this process, or its exit status was
 *         taken already), -EBADF, -EINVAL.
 *
 * Thread: [any].  Cost: one system call.  See: waitid(2).
 */
int rlc_process_take_exit(int process_fd, int32_t process_id, rlc_process_exit *ret_exit);

/** The kinds of rlc_spawn_action. */
enum {
    RLC_SPAWN_DUPLICATE,        /**< The child's `fd` refers to this process's `source`. */
    RLC_SPAWN_CLOSE,            /**< The child closes `fd`. */
    RLC_SPAWN_OPEN,             /**< The child opens `path` as `fd`. */
    RLC_SPAWN_CHANGE_DIRECTORY, /**< `path` becomes the child's working directory. */
};

/** A step that the child takes before it starts the program. */
typedef struct rlc_spawn_action {
    int kind;   /**< RLC_SPAWN_DUPLICATE... */
    int fd;     /**< The number in the child. */
    int source; /**< RLC_SPAWN_DUPLICATE: the number in this process. If it equals `fd`, the descriptor stays open. */
    const char *path; /**< RLC_SPAWN_OPEN, RLC_SPAWN_CHANGE_DIRECTORY. Borrowed during rlc_process_spawn. */
    int flags;        /**< RLC_SPAWN_OPEN: the flags of open(2). */
    uint32_t mode;    /**< RLC_SPAWN_OPEN: the mode of a file that it creates. */
} rlc_spawn_action;

/**
 * Starts a program in a child process. No signal is blocked or ignored in the child, whatever the calling thread blocks
 * or ignores. The child stays in the process group and the session of this process.
 *
 * @param path           The program. If it contains no slash, the call searches PATH for it.
 * @param arguments      The arguments, the first of which is the program's name; ends with NULL.
 * @param environment    Strings NAME=value; ends with NULL. May be NULL for this process's environment.
 * @param actions        What the child does before it starts the program, in this order.
 * @param count          The number of actions.
 * @param ret_process_id The child's number. The caller takes the exit status when the child has ended: see
 *                       rlc_process_take_exit.
 * @return 0; -ENOENT, -EACCES, -ENOEXEC or -E2BIG (the program cannot be started), -EAGAIN (the user's limit of
 *         processes), -ENOMEM, -EBADF or -EINVAL (an action is wrong), or the error of an action. If the call fails,
 *         there is no child.
 *
 * Thread: [any].  Blocks until the child has started the program.  See: posix_spawnp(3).
 */
int rlc_process_spawn(const char *path, char *const arguments[], char *const environment[],
    const rlc_spawn_action *actions, size_t count, int32_t *ret_process_id);

RLC_END_DECLS
#endif

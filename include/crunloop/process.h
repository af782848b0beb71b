/**
 * <crunloop/process.h>: child processes: made, told from all others by a descriptor, and taken when they have ended.
 */
#ifndef CRUNLOOP_PROCESS_H
#define CRUNLOOP_PROCESS_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

typedef enum rlc_process_end {
    RLC_PROCESS_EXITED,    /**< `number` is its exit code. */
    RLC_PROCESS_SIGNALLED, /**< `number` is the signal that has ended it. */
    RLC_PROCESS_DUMPED,    /**< The same, and its memory was dumped. */
} rlc_process_end;

typedef struct rlc_process_exit {
    rlc_process_end end;
    int32_t number;
} rlc_process_exit;

/**
 * A descriptor that stands for the process and is readable when it has ended. Any process, not only a child.
 *
 * @return The caller's descriptor; -ESRCH if there is no such process, -EINVAL for a number that is none, -ENOSYS
 *         (before Linux 5.3, or refused by a filter), -EPERM (a filter), -EMFILE, -ENFILE, -ENOMEM, -ENODEV.
 *
 * Thread: [any].  Cost: one system call.  See: pidfd_open(2).
 */
RLC_API int rlc_process_open(int32_t process_id);

/** Sends a signal to the process of the descriptor, and never to another one. 0 or -errno.  Thread: [any]. */
RLC_API int rlc_process_send(int process_fd, int signal);

/**
 * Since when a process runs: tells it from an earlier or later one of its number where there is no descriptor for it.
 *
 * @param process_id The number of the process, at least 1.
 * @param ret_start  Ticks since the machine's start: field 22 of proc(5)'s stat.
 * @return 0; -ENOENT, -ESRCH if there is no such process, or no /proc; -EACCES, -EMFILE...
 *
 * Thread: [any].  Cost: three system calls.
 */
RLC_API int rlc_process_start(int32_t process_id, uint64_t *ret_start);

/**
 * Takes the exit of one child, so that its number is free. Never waits, never takes another child's.
 *
 * @param process_fd -1: process_id counts, which must not have been taken since it was made.
 * @param process_id The child's number; counts if process_fd is -1.
 * @param ret_exit   Untouched unless 1 is returned. May be NULL.
 * @return 1; 0 if it still runs; -ECHILD if it is no child of this process, or was taken by somebody else; -errno.
 *
 * Thread: [any].  Cost: one system call.  See: waitid(2).
 */
RLC_API int rlc_process_take_exit(int process_fd, int32_t process_id, rlc_process_exit *ret_exit);

enum {
    RLC_SPAWN_DUPLICATE,
    RLC_SPAWN_CLOSE,
    RLC_SPAWN_OPEN,
    RLC_SPAWN_CHANGE_DIRECTORY,
};

/** What is done in the child before the program starts. */
typedef struct rlc_spawn_action {
    int kind;         /**< RLC_SPAWN_DUPLICATE... */
    int fd;           /**< The child's number. */
    int source;       /**< RLC_SPAWN_DUPLICATE: this process's number; equal to fd: it just stays open. */
    const char *path; /**< RLC_SPAWN_OPEN, RLC_SPAWN_CHANGE_DIRECTORY. */
    int flags;
    uint32_t mode;
} rlc_spawn_action;

/**
 * Starts a program with no signal blocked or ignored, whatever the calling thread blocks.
 *
 * @param path           Looked for in PATH if it has no slash.
 * @param arguments      The first is the program's name; NULL ends them.
 * @param environment    NAME=value, NULL ends them; NULL: this process's.
 * @param actions        Done in order.
 * @param count          How many actions there are.
 * @param ret_process_id The number of the child.
 * @return 0; -ENOENT, -EACCES, -E2BIG, -EAGAIN, -ENOMEM...: no process was made, or it has been taken already.
 *
 * Thread: [any].  Blocks: until the program has started.  See: posix_spawnp(3).
 */
RLC_API int rlc_process_spawn(const char *path, char *const arguments[], char *const environment[],
    const rlc_spawn_action *actions, size_t count, int32_t *ret_process_id);

RLC_END_DECLS
#endif

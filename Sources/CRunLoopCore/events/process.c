#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failure.h"
#include "optional_call.h"

#include <crunloop_kit/calls.h>
#include <crunloop_kit/process.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* on all architectures but Alpha */
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

/* The value of P_PIDFD: <sys/wait.h> of older C libraries lacks this name. */
enum { WAIT_BY_DESCRIPTOR = 3 };

static int status_of(long result) {
    return result < 0 ? -errno : (int)result;
}

int rlc_process_open(int32_t process_id) {
    return rlc_made("pidfd_open", (int)syscall(SYS_pidfd_open, process_id, 0)); /* it is always close-on-exec */
}

/* ---- /proc ---- */

static int read_text(const char *path, char *text, size_t capacity) {
    int fd = rlc_made("open", open(path, O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return fd;
    ssize_t size;
    do
        size = read(fd, text, capacity - 1);
    while (size < 0 && errno == EINTR);
    int status = size < 0 ? rlc_failed("read") : 0;
    (void)close(fd);
    text[size < 0 ? 0 : size] = 0;
    return status;
}

int rlc_process_start(int32_t process_id, uint64_t *ret_start) {
    enum { NAME = 2, START = 22 };
    char path[32], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", process_id);
    int status = read_text(path, text, sizeof text);
    if (status < 0)
        return status;
    const char *place = strrchr(text, ')'); /* the end of the name, which may contain spaces and parentheses */
    for (int field = NAME; field < START && place != NULL; field++)
        place = strchr(place + 1, ' ');
    if (place == NULL)
        return rlc_refused(-EPROTO);
    *ret_start = strtoull(place + 1, NULL, 10);
    return 0;
}

/** Returns the number (PID) of a descriptor's process; -ESRCH if its exit status was taken, or another -errno. */
static int number_of(int process_fd) {
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", process_fd);
    int status = read_text(path, text, sizeof text);
    if (status < 0)
        return status;
    const char *place = strstr(text, "\nPid:");
    if (place == NULL)
        return -EBADF;
    int number = atoi(place + strlen("\nPid:"));
    return number > 0 ? number : -ESRCH;
}

/* ---- waiting ---- */

static int wait_as(idtype_t kind, int id, siginfo_t *ret_info, int options) {
    int status;
    do
        status = status_of(waitid(kind, (id_t)id, ret_info, options));
    while (status == -EINTR);
    return status;
}

/**
 * Waits for a child, by its descriptor. If process_fd is -1, or the kernel refuses to wait by a descriptor, waits by
 * the child's number. No other process gets this number before the exit status is taken.
 */
static int wait_for(int process_fd, int32_t process_id, siginfo_t *ret_info, int options) {
    if (process_fd < 0)
        return wait_as(P_PID, process_id, ret_info, options);
    int status = -ENOSYS;
    if (rlc_call_is_present(RLC_CALL_WAITID_PIDFD)) {
        status = wait_as((idtype_t)WAIT_BY_DESCRIPTOR, process_fd, ret_info, options);
        if (!rlc_call_is_refused(RLC_CALL_WAITID_PIDFD, status))
            return status;
    }
    int number = number_of(process_fd);
    if (number < 0)
        return number == -ESRCH ? -ECHILD : status;
    return rlc_call_fell_back(RLC_CALL_WAITID_PIDFD, wait_as(P_PID, number, ret_info, options));
}

int rlc_kit_wait_for_process(int process_fd, int32_t process_id) {
    siginfo_t unused;
    return wait_for(process_fd, process_id, &unused, WEXITED | WNOWAIT);
}

/* ---- signals ---- */

/**
 * Sends a signal to a child by its number, which no other process gets before this process takes the exit status. Fails
 * for a process that is no child: its number may belong to another process by now.
 */
static int send_to_child(int process_fd, int signal) {
    siginfo_t unused;
    int number = number_of(process_fd);
    int status = number < 0 ? number : wait_as(P_PID, number, &unused, WEXITED | WNOHANG | WNOWAIT);
    return status < 0 ? status : status_of(kill(number, signal));
}

int rlc_process_send(int process_fd, int signal) {
    int status = -ENOSYS;
    if (rlc_call_is_present(RLC_CALL_PIDFD_SEND_SIGNAL)) {
        status = status_of(syscall(SYS_pidfd_send_signal, process_fd, signal, NULL, 0));
        if (!rlc_call_is_refused(RLC_CALL_PIDFD_SEND_SIGNAL, status))
            return status;
    }
    int by_number = rlc_call_fell_back(RLC_CALL_PIDFD_SEND_SIGNAL, send_to_child(process_fd, signal));
    /* If the fallback cannot send, because the process is no child or there is no /proc, returns the first status. */
    return by_number >= 0 || by_number == -ESRCH || by_number == -EPERM ? by_number : status;
}

/* ---- the exit ---- */

int rlc_process_take_exit(int process_fd, int32_t process_id, rlc_process_exit *ret_exit) {
    siginfo_t info = {.si_pid = 0};
    int status = wait_for(process_fd, process_id, &info, WEXITED | WNOHANG);
    if (status < 0)
        return status;
    if (info.si_pid == 0)
        return 0;
    if (ret_exit != NULL) {
        ret_exit->end = info.si_code == CLD_EXITED   ? RLC_PROCESS_EXITED
                        : info.si_code == CLD_DUMPED ? RLC_PROCESS_DUMPED
                                                     : RLC_PROCESS_SIGNALLED;
        ret_exit->number = info.si_status;
    }
    return 1;
}

/* Notes `call` if it has failed: `error` is its result, an errno number or 0. Returns 0 or -errno. */
static int noted(const char *call, int error) {
    return error == 0 ? 0 : rlc_failed_with(call, -error);
}

static int add_action(posix_spawn_file_actions_t *list, const rlc_spawn_action *action) {
    switch (action->kind) {
    case RLC_SPAWN_DUPLICATE:
        return noted(
            "posix_spawn_file_actions_adddup2", posix_spawn_file_actions_adddup2(list, action->source, action->fd));
    case RLC_SPAWN_CLOSE:
        return noted("posix_spawn_file_actions_addclose", posix_spawn_file_actions_addclose(list, action->fd));
    case RLC_SPAWN_OPEN:
        return noted("posix_spawn_file_actions_addopen",
            posix_spawn_file_actions_addopen(list, action->fd, action->path, action->flags, (mode_t)action->mode));
    case RLC_SPAWN_CHANGE_DIRECTORY:
        return noted("posix_spawn_file_actions_addchdir_np", posix_spawn_file_actions_addchdir_np(list, action->path));
    }
    return rlc_refused(-EINVAL);
}

static int set_signals(posix_spawnattr_t *attributes) {
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int status = noted("posix_spawnattr_setsigmask", posix_spawnattr_setsigmask(attributes, &none));
    if (status == 0)
        status = noted("posix_spawnattr_setsigdefault", posix_spawnattr_setsigdefault(attributes, &all));
    if (status == 0)
        status = noted("posix_spawnattr_setflags",
            posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    return status;
}

int rlc_process_spawn(const char *path, char *const arguments[], char *const environment[],
    const rlc_spawn_action *actions, size_t count, int32_t *ret_process_id) {
    posix_spawn_file_actions_t list;
    posix_spawnattr_t attributes;
    int status = noted("posix_spawn_file_actions_init", posix_spawn_file_actions_init(&list));
    if (status < 0)
        return status;
    status = noted("posix_spawnattr_init", posix_spawnattr_init(&attributes));
    if (status == 0) {
        for (size_t i = 0; i < count && status == 0; i++)
            status = add_action(&list, &actions[i]);
        if (status == 0)
            status = set_signals(&attributes);
        pid_t process_id = 0;
        if (status == 0)
            status = noted("posix_spawnp", posix_spawnp(&process_id, path, &list, &attributes, arguments,
                                               environment != NULL ? environment : environ));
        if (status == 0)
            *ret_process_id = process_id;
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&list);
    return status;
}

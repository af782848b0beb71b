#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failure.h"

#include <crunloop/signal_fd.h>

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { LAST_SIGNAL = 64 };

static bool contains(rlc_signals signals, int number) {
    return (signals >> (number - 1) & 1) != 0;
}

/** Converts to a sigset_t. sigaddset(3) refuses the signals that the C library keeps for itself. */
static int set_of(rlc_signals signals, sigset_t *ret_set) {
    sigset_t set;
    (void)sigemptyset(&set);
    if (signals == 0 || contains(signals, SIGKILL) || contains(signals, SIGSTOP))
        return -EINVAL;
    for (int number = 1; number <= LAST_SIGNAL; number++) {
        if (contains(signals, number) && sigaddset(&set, number) < 0)
            return -errno;
    }
    *ret_set = set;
    return 0;
}

int rlc_signal_fd_create(rlc_signals signals) {
    sigset_t set;
    int status = set_of(signals, &set);
    if (status < 0)
        return rlc_refused(status);
    return rlc_made("signalfd", signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int rlc_signal_fd_take(int fd, rlc_signal_info *ret_info) {
    struct signalfd_siginfo info;
    ssize_t size;
    do
        size = read(fd, &info, sizeof info);
    while (size < 0 && errno == EINTR);
    if (size < 0)
        return errno == EAGAIN ? 0 : -errno;
    *ret_info = (rlc_signal_info){.signal = (int32_t)info.ssi_signo,
        .code = info.ssi_code,
        .process_id = (int32_t)info.ssi_pid,
        .user_id = info.ssi_uid,
        .status = info.ssi_status,
        .value = info.ssi_int,
        .pointer = info.ssi_ptr};
    return 1;
}

int rlc_signals_block(rlc_signals signals, rlc_signals *ret_changed) {
    sigset_t set, before;
    int status = set_of(signals, &set);
    if (status < 0)
        return status;
    status = pthread_sigmask(SIG_BLOCK, &set, &before);
    if (status != 0)
        return -status;
    rlc_signals changed = 0;
    for (int number = 1; number <= LAST_SIGNAL; number++) {
        if (contains(signals, number) && sigismember(&before, number) == 0)
            changed |= RLC_SIGNAL(number);
    }
    if (ret_changed != NULL)
        *ret_changed = changed;
    return 0;
}

void rlc_signals_unblock(rlc_signals signals) {
    sigset_t set;
    if (set_of(signals, &set) < 0)
        return;
    static const struct timespec no_time;
    int taken;
    do
        taken = sigtimedwait(&set, NULL, &no_time);
    while (taken > 0 || (taken < 0 && errno == EINTR));
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Reads a thread's name and signal mask. Returns false if the thread has ended, or its status cannot be read. */
static bool read_mask(int task, const char *thread, rlc_signals *ret_blocked, char name[16]) {
    char path[32], line[256], state = 'X';
    bool is_found = false;
    (void)snprintf(path, sizeof path, "%.16s/status", thread);
    int fd = rlc_descriptor_adopt(openat(task, path, O_RDONLY | O_CLOEXEC));
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (file == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    while (!is_found && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "Name: %15[^\n]", name);
        (void)sscanf(line, "State: %c", &state);
        is_found = sscanf(line, "SigBlk: %" SCNx64, ret_blocked) == 1;
    }
    (void)fclose(file);
    return is_found && state != 'X' && state != 'Z';
}

static DIR *open_folder(const char *path) {
    int fd = rlc_descriptor_adopt(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL && fd >= 0)
        (void)close(fd);
    return folder;
}

bool rlc_signals_find_unblocked(rlc_signals signals, rlc_thread_mask *ret_thread) {
    DIR *task = open_folder("/proc/self/task");
    if (task == NULL)
        return false;
    bool is_found = false;
    struct dirent *entry;
    while (!is_found && (entry = readdir(task)) != NULL) {
        rlc_thread_mask thread = {.thread_id = atoi(entry->d_name)};
        rlc_signals blocked;
        if (thread.thread_id <= 0 || !read_mask(dirfd(task), entry->d_name, &blocked, thread.name))
            continue;
        thread.unblocked = signals & ~blocked;
        is_found = thread.unblocked != 0;
        if (is_found)
            *ret_thread = thread;
    }
    (void)closedir(task);
    return is_found;
}

int rlc_signal_realtime_min(void) {
    return SIGRTMIN;
}

int rlc_signal_realtime_max(void) {
    return SIGRTMAX;
}

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <crunloop/signal_fd.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { LAST_SIGNAL = 64 };

static bool contains(rlc_signals signals, int number) {
    return (signals >> (number - 1) & 1) != 0;
}

/** sigaddset(3) refuses the two signals that the C library keeps for itself. */
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
        return status;
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
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
            changed |= UINT64_C(1) << (number - 1);
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

int rlc_signal_realtime_min(void) {
    return SIGRTMIN;
}

int rlc_signal_realtime_max(void) {
    return SIGRTMAX;
}

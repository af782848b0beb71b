/* Gives the library's descriptors numbers above 2, and writes to descriptors without SIGPIPE and SIGXFSZ. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <crunloop/descriptor.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_NUMBER = STDERR_FILENO + 1 };

int rlc_descriptor_adopt(int made) {
    if (made < 0)
        return -errno;
    if (made >= FIRST_NUMBER)
        return made;
    int moved = fcntl(made, F_DUPFD_CLOEXEC, FIRST_NUMBER);
    (void)close(made);
    return moved < 0 ? -EMFILE : moved; /* EINVAL, too: RLIMIT_NOFILE allows no number from FIRST_NUMBER on */
}

/* ---- writing ---- */

static int write_whole(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -ENOSPC;
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

/** Returns the signal that a failed write has sent to its thread, or 0. */
static int signal_of(int status) {
    return status == -EPIPE ? SIGPIPE : status == -EFBIG ? SIGXFSZ : 0;
}

static void take(int number) {
    static const struct timespec no_time;
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    while (sigtimedwait(&set, NULL, &no_time) < 0 && errno == EINTR)
        ;
}

int rlc_descriptor_write(int fd, const void *bytes, size_t size) {
    int saved_errno = errno;
    sigset_t fatal, mask, pending;
    (void)sigemptyset(&fatal);
    (void)sigaddset(&fatal, SIGPIPE);
    (void)sigaddset(&fatal, SIGXFSZ);
    (void)pthread_sigmask(SIG_BLOCK, &fatal, &mask);
    (void)sigpending(&pending);
    int status = write_whole(fd, bytes, size), sent = signal_of(status);
    if (sent != 0 && sigismember(&pending, sent) == 0)
        take(sent);
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = saved_errno;
    return status;
}

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "file_limit.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>

static sigset_t exceeded(void) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGXFSZ);
    return set;
}

static bool is_exceeded_by(uint64_t size) {
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) < 0 || size > most.rlim_cur;
}

void rlc_file_limit_begin(rlc_file_limit *limit, uint64_t size) {
    limit->is_near = is_exceeded_by(size);
    if (!limit->is_near)
        return;
    sigset_t set = exceeded(), pending;
    (void)pthread_sigmask(SIG_BLOCK, &set, &limit->mask);
    limit->was_pending =
        sigismember(&limit->mask, SIGXFSZ) == 1 && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

void rlc_file_limit_end(const rlc_file_limit *limit, int status) {
    if (!limit->is_near)
        return;
    if (status == -EFBIG && !limit->was_pending) {
        static const struct timespec at_once = {0, 0};
        sigset_t set = exceeded();
        while (sigtimedwait(&set, NULL, &at_once) < 0 && errno == EINTR)
            ; /* EAGAIN: no signal came, because the limit is the file system's own */
    }
    (void)pthread_sigmask(SIG_SETMASK, &limit->mask, NULL);
}

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "kernel_numbers.h"

#include <crunloop_kit/futex.h>
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void rlc_futex_wait(const void *word, uint32_t expected) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
    errno = saved;
}

void rlc_futex_wait_until(const void *word, uint32_t expected, uint64_t deadline_ns) {
    if (deadline_ns == RLC_TIME_FOREVER) {
        rlc_futex_wait(word, expected);
        return;
    }
    struct timespec deadline = {
        .tv_sec = (time_t)(deadline_ns / 1000000000), .tv_nsec = (long)(deadline_ns % 1000000000)};
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
    errno = saved;
}

void rlc_futex_wake(const void *word, int count) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    errno = saved;
}

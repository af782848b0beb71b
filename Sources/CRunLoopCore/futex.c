#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <crunloop/futex.h>
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void rlc_futex_wait(const void *word, uint32_t expected) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
    errno = saved;
}

void rlc_futex_wake(const void *word, int count) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    errno = saved;
}

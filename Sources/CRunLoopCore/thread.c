#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <crunloop/thread.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int rlc_thread_set_name(const char *name) {
    return -pthread_setname_np(pthread_self(), name);
}

static long membarrier(int command) {
    return syscall(SYS_membarrier, command, 0, 0);
}

void rlc_thread_barrier(void) {
    int saved = errno;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    /* A process that has not registered, a child of fork(2) too, is told so by EPERM. */
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
        (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0 ||
            membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)) {
        struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
    errno = saved;
}

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "kernel_numbers.h"

#include <crunloop_kit/thread.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread void *rlc_thread_word;

int rlc_thread_set_name(const char *name) {
    return -pthread_setname_np(pthread_self(), name);
}

static long membarrier(int command) {
    return syscall(SYS_membarrier, command, 0, 0);
}

bool rlc_thread_has_barrier(void) {
    int saved = errno;
    long commands = membarrier(MEMBARRIER_CMD_QUERY);
    errno = saved;
    return commands > 0 && (commands & (MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_SHARED)) != 0;
}

/**
 * Makes all threads of the process pass a memory barrier. The expedited command fails with EPERM until the process has
 * registered for it. Before Linux 4.14 there is only the slow MEMBARRIER_CMD_SHARED.
 */
static bool pass_barrier(void) {
    return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0 ||
           (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
               membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) ||
           membarrier(MEMBARRIER_CMD_SHARED) == 0;
}

/* Needs no fence: membarrier(2) also orders the caller's own accesses. (ThreadSanitizer does not support fences.) */
int rlc_thread_barrier(void) {
    int saved = errno;
    int status = pass_barrier() ? 0 : -errno;
    errno = saved;
    return status;
}

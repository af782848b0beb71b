/** When another thread of the process sleeps, in a system call. */
#ifndef RLC_TEST_ASLEEP_H
#define RLC_TEST_ASLEEP_H

#include "harness.h"

#include <sched.h>
#include <sys/syscall.h>

static inline pid_t own_thread(void) {
    return (pid_t)syscall(SYS_gettid);
}

static inline bool is_asleep(pid_t thread) {
    char path[64], text[512], *end;
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = 0;
    end = strrchr(text, ')');
    return end != NULL && end[2] == 'S';
}

static inline void await_sleep(pid_t thread) {
    while (!is_asleep(thread))
        (void)sched_yield();
}

#endif

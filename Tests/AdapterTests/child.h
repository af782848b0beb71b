/** Children of a test, by fork(2). Their exit status is what they tell. */
#ifndef CHILD_H
#define CHILD_H

#include "harness.h"

#include <sys/wait.h>

enum { CHILD_SECONDS = 20, FIRST_NUMBER = 3 };

/** As fork(2); the child ends at its limit if it hangs. */
static inline pid_t fork_with_limit(void) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        alarm(CHILD_SECONDS);
    return child;
}

/** Its exit status is `status`, unless it hangs or dies. */
static inline int status_of(pid_t child) {
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/** As in a process that was started without them. */
static inline void close_standard_descriptors(void) {
    for (int fd = 0; fd < FIRST_NUMBER; fd++)
        (void)close(fd);
}

/** Whether the next files that the program opens get these numbers. */
static inline bool standard_descriptors_are_free(void) {
    for (int fd = 0; fd < FIRST_NUMBER; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            return false;
    }
    return true;
}

#endif

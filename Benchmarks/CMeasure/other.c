/** A second process to be measured together with this one, and what is sent to it. */
#define _GNU_SOURCE 1
#include "CMeasure.h"
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int bench_fork(void) {
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        abort();
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    return 0;
}

int bench_start(char *const *arguments) {
    pid_t child;
    if (posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ) != 0)
        abort();
    return child;
}

void bench_serve(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == 1)
        _exit(1);
}

void bench_end_other(int process) {
    kill(process, SIGKILL);
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {
    }
}

void bench_fill(void *bytes, size_t size, uint64_t seed) {
    uint64_t *words = bytes;
    for (size_t i = 0; i < size / sizeof *words; i++)
        words[i] = seed + i;
}

uint64_t bench_sum(const void *bytes, size_t size) {
    const uint64_t *words = bytes;
    uint64_t sum = 0;
    for (size_t i = 0; i < size / sizeof *words; i++)
        sum += words[i];
    return sum;
}

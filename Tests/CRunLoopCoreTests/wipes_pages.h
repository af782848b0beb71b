/** Whether the kernel wipes pages in a child of fork(2): how a child finds itself where no handler runs. */
#ifndef WIPES_PAGES_H
#define WIPES_PAGES_H

#include "harness.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/** False in emulators that leave madvise(2) out. */
static inline bool wipes_pages_on_fork(void) {
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    page[0] = 1;
    int status = madvise(page, 4096, 18 /* MADV_WIPEONFORK */);
    pid_t child = (pid_t)syscall(SYS_clone, 17 /* SIGCHLD */, NULL, NULL, NULL, NULL);
    if (child == 0)
        _exit(page[0]);
    int answer;
    CHECK_EQUAL(waitpid(child, &answer, 0), child);
    CHECK_EQUAL(munmap(page, 4096), 0);
    return status == 0 && answer == 0;
}

#endif

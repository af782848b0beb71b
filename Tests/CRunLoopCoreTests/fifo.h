/** A FIFO whose reader stays, and whose writers come and go. */
#ifndef RLC_TEST_FIFO_H
#define RLC_TEST_FIFO_H

#include "harness.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Of the test's FIFO; the test removes it. */
static char path[64];

static inline int open_fifo(int flags) {
    int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static inline int make_fifo(void) {
    (void)snprintf(path, sizeof path, "/tmp/crunloop-fifo.%d", (int)getpid());
    CHECK_EQUAL(mkfifo(path, 0600), 0);
    return open_fifo(O_RDONLY);
}

/** A writer comes, writes, and leaves. */
static inline void visit(const char *text) {
    int fd = open_fifo(O_WRONLY);
    write_all(fd, text, strlen(text));
    close(fd);
}

#endif

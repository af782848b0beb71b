/**
 * Changing a file's size without SIGXFSZ, which ends a process that exceeds RLIMIT_FSIZE. The kernel sends the signal
 * to the thread, so blocking it there suffices. Its disposition, which belongs to the whole process, stays as it is.
 * Usually there is no limit, and one system call says so; one that another thread sets between that call and the change
 * is not noticed.
 */
#ifndef RLC_FILE_LIMIT_H
#define RLC_FILE_LIMIT_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct rlc_file_limit {
    bool is_near;     /* the size exceeds it: the rest is set */
    sigset_t mask;    /* the thread's own */
    bool was_pending; /* the program's, which blocks it itself: stays pending */
} rlc_file_limit;

/** From now on a call that exceeds the limit with that size answers EFBIG, and no more, until rlc_file_limit_end. */
void rlc_file_limit_begin(rlc_file_limit *limit, uint64_t size);

/** @p status is what the calls between have come to: after -EFBIG their signal is taken. errno stays as it is. */
void rlc_file_limit_end(const rlc_file_limit *limit, int status);

#endif

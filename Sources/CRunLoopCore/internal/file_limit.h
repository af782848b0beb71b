/**
 * Changes a file's size without SIGXFSZ, which ends a process that exceeds RLIMIT_FSIZE. The kernel sends the signal to
 * the thread, so it suffices to block it there; its disposition, which belongs to the whole process, stays as it is.
 * Usually there is no limit, and one system call shows that. These functions do not see a limit that another
 * thread sets between that call and the change.
 */
#ifndef RLC_FILE_LIMIT_H
#define RLC_FILE_LIMIT_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct rlc_file_limit {
    bool is_near;     /* the size exceeds the limit: the other members are set */
    sigset_t mask;    /* the thread's mask before */
    bool was_pending; /* the signal was blocked and pending before: it stays so */
} rlc_file_limit;

/** Until rlc_file_limit_end, a call that exceeds the limit with this size only fails with EFBIG. */
void rlc_file_limit_begin(rlc_file_limit *limit, uint64_t size);

/** @p status is the result of the calls in between: after -EFBIG the function consumes their signal. Keeps errno. */
void rlc_file_limit_end(const rlc_file_limit *limit, int status);

#endif

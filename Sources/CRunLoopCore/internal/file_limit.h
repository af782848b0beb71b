/**
 * Two functions that enclose calls that enlarge a file. Without them, a file that exceeds RLIMIT_FSIZE ends the process
 * by SIGXFSZ. The kernel sends this signal to the calling thread. So the functions block it in that thread, and leave
 * its disposition alone, which the whole process shares. Usually there is no limit, and the functions only call
 * getrlimit(2). They do not notice a limit that another thread sets after that call.
 */
#ifndef RLC_FILE_LIMIT_H
#define RLC_FILE_LIMIT_H

#include <crunloop/base.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct rlc_file_limit {
    bool is_near;     /* the size exceeds the limit; only then are the other members set */
    sigset_t mask;    /* the thread's signal mask before rlc_file_limit_begin */
    bool was_pending; /* the signal was blocked and pending before, and stays pending */
} rlc_file_limit;

/**
 * Until rlc_file_limit_end, a call that exceeds the limit fails with EFBIG, and its signal stays pending. `size` is the
 * size that the file is to get.
 */
void rlc_file_limit_begin(rlc_file_limit *limit, uint64_t size);

/** `status` is the result of the enclosed calls. If it is -EFBIG, discards the signal that they have caused. */
void rlc_file_limit_end(const rlc_file_limit *limit, int status);

#endif

/** Notes which call made a function of the core fail, for rlc_failed_call. */
#ifndef RLC_FAILURE_H
#define RLC_FAILURE_H

#include <crunloop/descriptor.h>
#include <crunloop/kernel.h>
#include <errno.h>

/** The name to note for each function of malloc(3), and for a kernel table's own allocator. */
#define RLC_MALLOC "malloc"

/**
 * Notes the call that failed.
 *
 * @param call   A constant, spelled as in its manual page; NULL if the function fails without a failed call.
 * @param status The result of the function that fails.
 * @return `status`.
 */
int rlc_failed_with(const char *call, int status);

/** As rlc_failed_with, for a call that has set errno; returns -errno. */
int rlc_failed(const char *call);

/** As rlc_failed_with, for a function that refuses without a failed call. */
static inline int rlc_refused(int status) {
    return rlc_failed_with(NULL, status);
}

/** Adopts by rlc_descriptor_adopt what `call` has just returned, a descriptor or -1. If either fails, notes it. */
int rlc_made(const char *call, int made);

#endif

/** The name of the call by which a function of the core has failed: rlc_failed_call. */
#ifndef RLC_FAILURE_H
#define RLC_FAILURE_H

#include <crunloop/descriptor.h>
#include <crunloop/kernel.h>
#include <errno.h>

/** The name of all functions of malloc(3), and of a table's own allocator. */
#define RLC_MALLOC "malloc"

/**
 * Notes the call that failed.
 *
 * @param call   A constant, spelled as its manual page does; NULL: no call was made, or the status is none of a call.
 * @param status What the function returns.
 * @return `status`.
 */
int rlc_failed_with(const char *call, int status);

/** The same for a call that has set errno: -errno. */
int rlc_failed(const char *call);

/** The same for a function that refuses by itself. */
static inline int rlc_refused(int status) {
    return rlc_failed_with(NULL, status);
}

/** A descriptor that a call has just made, above the standard ones: rlc_descriptor_adopt. */
int rlc_made(const char *call, int made);

#endif

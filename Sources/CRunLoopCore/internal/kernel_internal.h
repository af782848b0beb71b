/** For kernel tables that embedders have made, perhaps with headers of another version. */
#ifndef RLC_KERNEL_INTERNAL_H
#define RLC_KERNEL_INTERNAL_H

#include <crunloop/kernel.h>

/**
 * The size of a table in version 0.1. Every table has at least these members. Before the core uses a later member, it
 * checks that the table has it.
 */
#define RLC_KERNEL_FIRST_SIZE (offsetof(rlc_kernel, replace) + sizeof(((rlc_kernel *)0)->replace))

/** Returns the table for a new object. Returns NULL if it is too short; the caller then fails with -EINVAL. */
static inline const rlc_kernel *rlc_kernel_or_default(const rlc_kernel *kernel) {
    if (kernel == NULL)
        return rlc_kernel_default();
    return kernel->size >= RLC_KERNEL_FIRST_SIZE ? kernel : NULL;
}

/**
 * Returns by how many nanoseconds the kernel may end a wait of this thread late; RLC_TIME_FOREVER if that is unknown,
 * or if the kernel's waits count in milliseconds. Makes at most two system calls. For a table other than
 * rlc_kernel_default() makes none, and returns the value that is usual on Linux.
 */
uint64_t rlc_kernel_wait_slack(const rlc_kernel *kernel);

#endif

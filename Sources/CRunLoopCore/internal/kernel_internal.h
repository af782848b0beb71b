/** Tables of system calls that embedders made, with headers of another version perhaps. */
#ifndef RLC_KERNEL_INTERNAL_H
#define RLC_KERNEL_INTERNAL_H

#include <crunloop/kernel.h>

/** The size of version 0.1: every table has what lies before, and of a member behind it the core asks first. */
#define RLC_KERNEL_FIRST_SIZE (offsetof(rlc_kernel, replace) + sizeof(((rlc_kernel *)0)->replace))

/** What an object is created with. NULL: the table is too short, which is -EINVAL. */
static inline const rlc_kernel *rlc_kernel_or_default(const rlc_kernel *kernel) {
    if (kernel == NULL)
        return rlc_kernel_default();
    return kernel->size >= RLC_KERNEL_FIRST_SIZE ? kernel : NULL;
}

/**
 * By how much the kernel may end a wait of this thread later than it was told, in nanoseconds. RLC_TIME_FOREVER: that
 * is not known, or the kernel counts in milliseconds. Two system calls; a table that is not rlc_kernel_default() is
 * asked for nothing, and taken to be as the kernel usually is.
 */
uint64_t rlc_kernel_wait_slack(const rlc_kernel *kernel);

#endif

/** A kernel for one loop under the scheduler: an eventfd that wakes its sleeper. It orders no memory, as no test may need it. */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <crunloop/kernel.h>

enum { FAKE_EPOLL = 100, FAKE_EVENT = 200 };

typedef struct fake_kernel {
    rlc_kernel table; /* first */
    struct epoll_event registered;
    bool is_written; /* its edge has not been fetched */
    unsigned writes, closes;
    uint64_t time_ns;
} fake_kernel;

void fake_kernel_init(fake_kernel *kernel);

#endif

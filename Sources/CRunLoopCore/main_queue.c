#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failure.h"

#include <crunloop/main_queue.h>

#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* libdispatch exports these for CoreFoundation. Weak: a process without libdispatch finds NULL. */
extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

bool rlc_is_main_thread(void) {
    return getpid() == (pid_t)syscall(SYS_gettid);
}

static _Atomic bool has_handle;

/* libdispatch makes the handle with the first call, and ends the process if it gets no descriptor. */
static int check_room(void) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return rlc_failed("eventfd");
    (void)close(fd);
    return 0;
}

int rlc_main_queue_fd(void) {
    if (_dispatch_get_main_queue_handle_4CF == NULL || _dispatch_main_queue_callback_4CF == NULL)
        return rlc_refused(-ENOSYS);
    int status = atomic_load_explicit(&has_handle, memory_order_relaxed) ? 0 : check_room();
    if (status < 0)
        return status;
    int fd = _dispatch_get_main_queue_handle_4CF();
    atomic_store_explicit(&has_handle, true, memory_order_relaxed);
    return fd;
}

bool rlc_main_queue_take(const rlc_kernel *kernel) {
    int fd = rlc_main_queue_fd();
    if (fd < 0)
        return false;
    if (kernel == NULL)
        kernel = rlc_kernel_default();
    uint64_t count = 0;
    int64_t size;
    do
        size = kernel->read(kernel->context, fd, &count, sizeof count);
    while (size == -EINTR);
    return size > 0;
}

void rlc_main_queue_drain(void) {
    if (_dispatch_main_queue_callback_4CF != NULL)
        _dispatch_main_queue_callback_4CF(NULL);
}

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failure.h"

#include <crunloop/main_queue.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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
    int fd = rlc_made("eventfd", eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (fd < 0)
        return fd;
    (void)close(fd);
    return 0;
}

/* rlc_descriptor_adopt cannot move what libdispatch makes, which keeps the number of its first call. So what is free of
 * 0, 1 and 2 is taken during that call. */
static void make_above_standard_ones(void) {
    int taken[STDERR_FILENO + 1], count = 0, fd;
    while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
        taken[count++] = fd;
    if (fd > STDERR_FILENO)
        (void)close(fd);
    (void)_dispatch_get_main_queue_handle_4CF();
    while (count > 0)
        (void)close(taken[--count]);
    atomic_store_explicit(&has_handle, true, memory_order_release);
}

int rlc_main_queue_fd(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (_dispatch_get_main_queue_handle_4CF == NULL || _dispatch_main_queue_callback_4CF == NULL)
        return rlc_refused(-ENOSYS);
    int status = atomic_load_explicit(&has_handle, memory_order_acquire) ? 0 : check_room();
    if (status < 0)
        return status;
    (void)pthread_once(&once, make_above_standard_ones);
    return _dispatch_get_main_queue_handle_4CF();
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

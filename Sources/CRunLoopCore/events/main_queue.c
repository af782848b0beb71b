#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failure.h"

#include <crunloop/main_queue.h>
#include <crunloop_kit/main_thread.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* libdispatch exports these for CoreFoundation. They are weak, so that a process without libdispatch finds NULL. */
extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

bool rlc_is_main_thread(void) {
    return getpid() == (pid_t)syscall(SYS_gettid);
}

#ifdef RLC_WITH_KIT /* libcrunloop lacks this: it need not know when the main thread ends */
static void main_thread_ends(void *key) {
    (void)key;
    if (rlk_kit_main_thread_ends != NULL && rlc_is_main_thread())
        rlk_kit_main_thread_ends();
}

/*
 * Runs on the thread that loads the library, which usually is the main thread. main_thread_ends checks that. A check
 * here would cost two system calls at each start of a process.
 */
__attribute__((constructor)) static void watch_main_thread(void) {
    static pthread_key_t key;
    if (pthread_key_create(&key, main_thread_ends) == 0)
        (void)pthread_setspecific(key, &key);
}
#endif

static _Atomic bool has_handle;

/*
 * The first call of _dispatch_get_main_queue_handle_4CF makes libdispatch create the handle, an eventfd, and keep its
 * number. If no number is free, libdispatch ends the process. So this function first checks that one is free. During
 * the call it occupies those of the numbers 0, 1 and 2 that are free, so that the handle gets none of them.
 */
static int make_handle(void) {
    int taken[STDERR_FILENO + 1], count = 0, fd;
    while ((fd = eventfd(0, EFD_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
        taken[count++] = fd;
    int status = fd < 0 ? rlc_failed("eventfd") : 0;
    if (status == 0) {
        (void)close(fd);
        status = _dispatch_get_main_queue_handle_4CF();
        atomic_store_explicit(&has_handle, true, memory_order_release);
    }
    while (count > 0)
        (void)close(taken[--count]);
    return status;
}

int rlc_main_queue_fd(void) {
    if (_dispatch_get_main_queue_handle_4CF == NULL || _dispatch_main_queue_callback_4CF == NULL)
        return rlc_refused(-ENOSYS);
    bool is_made = atomic_load_explicit(&has_handle, memory_order_acquire);
    int fd = is_made ? _dispatch_get_main_queue_handle_4CF() : make_handle();
    /* When the main thread ends, libdispatch closes the handle, and returns -1 from then on. */
    return fd == -1 ? rlc_refused(-ENOSYS) : fd;
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

#include "fake_kernel.h"

#include "scheduler.h"

#include <errno.h>
#include <string.h>

static uint64_t fake_now(void *context, rlc_clock clock) {
    (void)clock;
    fake_kernel *kernel = context;
    return kernel->time_ns += 10;
}

static int fake_epoll_create(void *context) {
    (void)context;
    return FAKE_EPOLL;
}

static int fake_control(void *context, int epoll_fd, int operation, int fd, struct epoll_event *event) {
    (void)epoll_fd, (void)operation;
    fake_kernel *kernel = context;
    if (fd == FAKE_EVENT)
        kernel->registered = *event;
    return 0;
}

static int fake_wait(void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    (void)epoll_fd, (void)capacity;
    fake_kernel *kernel = context;
    sched_step();
    if (!kernel->is_written && deadline_ns == 0)
        return 0;
    sched_sleep(&kernel->is_written);
    events[0] = kernel->registered;
    events[0].events = EPOLLIN;
    return 1;
}

static int fake_eventfd(void *context) {
    (void)context;
    return FAKE_EVENT;
}

static int64_t fake_write(void *context, int fd, const void *buffer, size_t size) {
    (void)fd, (void)buffer;
    fake_kernel *kernel = context;
    ASSERT(kernel->closes == 0);
    kernel->writes++;
    sched_wake(&kernel->is_written);
    return (int64_t)size;
}

static int fake_close(void *context, int fd) {
    fake_kernel *kernel = context;
    sched_step();
    kernel->closes += fd == FAKE_EVENT;
    return 0;
}

void fake_kernel_init(fake_kernel *kernel) {
    memset(kernel, 0, sizeof *kernel);
    kernel->table = (rlc_kernel){
        .size = sizeof kernel->table,
        .context = kernel,
        .now = fake_now,
        .epoll_create = fake_epoll_create,
        .epoll_control = fake_control,
        .epoll_wait = fake_wait,
        .eventfd_create = fake_eventfd,
        .write = fake_write,
        .close = fake_close,
    };
}

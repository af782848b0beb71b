/* The other half of kernel.c: a kernel without epoll_pwait2(2), as under valgrind and qemu; and clocks that are set. */
#include "harness.h"

#include <pthread.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

static int refusals, refusal = EPERM; /* as a filter of system calls says it */

static int sleeps, cancellable_sleeps;

static long refuse(long number, ...) {
#ifdef SYS_epoll_wait
    sleeps += number == SYS_epoll_wait;
#endif
    sleeps += number == SYS_epoll_pwait;
    if (number == SYS_epoll_pwait2) {
        refusals++;
        errno = refusal;
        return -1;
    }
    long values[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        values[i] = va_arg(list, long);
    va_end(list);
    return syscall(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

static int settime_error;

static int settime(int fd, int flags, const struct itimerspec *setting, struct itimerspec *old) {
    int status = (int)syscall(SYS_timerfd_settime, fd, flags, setting, old);
    if (status == 0 && settime_error != 0) {
        errno = settime_error;
        return -1;
    }
    return status;
}

static int set_type(int type, int *ret_former) {
    cancellable_sleeps += type == PTHREAD_CANCEL_ASYNCHRONOUS;
    return pthread_setcanceltype(type, ret_former);
}

#define timerfd_settime settime
#define pthread_setcanceltype set_type
#define syscall refuse
#define rlc_kernel_default old_kernel
#define rlc_kernel_wait_slack old_wait_slack
const rlc_kernel *old_kernel(void);
#include "../../Sources/CRunLoopCore/kernel/kernel.c"

static void test_RLC_TIME_4_wait_in_milliseconds_is_never_early(void) {
    const rlc_kernel *kernel = old_kernel();
    int epoll_fd = kernel->epoll_create(NULL), fd = kernel->eventfd_create(NULL);
    struct epoll_event event = {.events = EPOLLIN};
    for (uint64_t ns = 1; ns < 3000000; ns = ns * 5 + 7) {
        uint64_t deadline = rlc_now(RLC_CLOCK_MONOTONIC) + ns;
        CHECK_EQUAL(kernel->epoll_wait(NULL, epoll_fd, &event, 1, deadline), 0);
        CHECK(rlc_now(RLC_CLOCK_MONOTONIC) >= deadline);
    }
    CHECK_EQUAL(refusals, 2); /* asked once for each way to refuse, remembered */
    CHECK_EQUAL(kernel->epoll_control(NULL, epoll_fd, EPOLL_CTL_ADD, fd, &event), 0);
    bump(fd);
    CHECK_EQUAL(kernel->epoll_wait(NULL, epoll_fd, &event, 1, RLC_TIME_FOREVER), 1);
    CHECK_EQUAL(kernel->epoll_wait(NULL, epoll_fd, &event, 1, rlc_now(RLC_CLOCK_MONOTONIC) + 1), 1);
    CHECK_EQUAL(kernel->close(NULL, epoll_fd), 0);
    CHECK_EQUAL(kernel->close(NULL, fd), 0);
}

static void test_what_counts_in_milliseconds_has_no_slack_to_rely_on(void) {
    CHECK_EQUAL(rlc_kernel_wait_slack(old_kernel()), RLC_TIME_FOREVER);
    CHECK_EQUAL(rlc_kernel_wait_slack(NULL), 50000); /* a table of somebody's own */
    CHECK_EQUAL(refusals, 1);
    refusal = ENOSYS;
}

/* timerfd_settime(2): the wall clock was set since the last call; the timer is armed all the same. */
static void test_a_clock_that_was_set_does_not_keep_a_timer_from_being_armed(void) {
    const rlc_kernel *kernel = old_kernel();
    int epoll_fd = kernel->epoll_create(NULL), fd = kernel->timerfd_create(NULL, RLC_CLOCK_REALTIME);
    struct epoll_event event = {.events = EPOLLIN};
    CHECK_EQUAL(kernel->epoll_control(NULL, epoll_fd, EPOLL_CTL_ADD, fd, &event), 0);
    settime_error = ECANCELED;
    CHECK_EQUAL(kernel->timerfd_set(NULL, fd, rlc_now(RLC_CLOCK_REALTIME) + 1000000), 0);
    CHECK_EQUAL(kernel->epoll_wait(NULL, epoll_fd, &event, 1, rlc_now(RLC_CLOCK_MONOTONIC) + 30000000000), 1);
    uint64_t expiries = 0;
    CHECK_EQUAL(kernel->read(NULL, fd, &expiries, sizeof expiries), sizeof expiries);
    CHECK_EQUAL(kernel->read(NULL, fd, &expiries, sizeof expiries), -EAGAIN); /* nothing is there twice */
    settime_error = EINVAL;
    CHECK_EQUAL(kernel->timerfd_set(NULL, fd, 1), -EINVAL);
    settime_error = 0;
    CHECK_EQUAL(kernel->close(NULL, epoll_fd), 0);
    CHECK_EQUAL(kernel->close(NULL, fd), 0);
}

/* A loop that is idle sleeps by one system call each time, and can be cancelled; one that is not pays nothing for that. */
static void test_RLC_CANCEL_3_what_sleeps_cost(void) {
    const rlc_kernel *kernel = old_kernel();
    const uint64_t long_ns = BRISK_NS + 2000000;
    int epoll_fd = kernel->epoll_create(NULL), fd = kernel->eventfd_create(NULL);
    struct epoll_event event = {.events = EPOLLIN};
    round_steps = idle_sleeps = 0;
    sleeps = cancellable_sleeps = 0;
    for (int i = 1; i <= 3; i++) {
        CHECK_EQUAL(kernel->epoll_wait(NULL, epoll_fd, &event, 1, rlc_now(RLC_CLOCK_MONOTONIC) + long_ns), 0);
        CHECK_EQUAL(sleeps, 1 + i);
        CHECK_EQUAL(cancellable_sleeps, i);
    }
    CHECK_EQUAL(kernel->epoll_control(NULL, epoll_fd, EPOLL_CTL_ADD, fd, &event), 0);
    bump(fd);
    sleeps = cancellable_sleeps = 0;
    for (int i = 0; i < IDLE_SLEEPS + 10 * SLEEPS_A_ROUND; i++)
        CHECK_EQUAL(kernel->epoll_wait(NULL, epoll_fd, &event, 1, i % 2 == 0 ? RLC_TIME_FOREVER : UINT64_MAX / 2), 1);
    CHECK_EQUAL(sleeps, IDLE_SLEEPS + 10 * SLEEPS_A_ROUND);
    CHECK(cancellable_sleeps >= IDLE_SLEEPS - 2 + 10 && cancellable_sleeps <= IDLE_SLEEPS + 10);
    cancellable_sleeps = 0;
    CHECK_EQUAL(kernel->epoll_wait(NULL, epoll_fd, &event, 1, 0), 1);
    CHECK_EQUAL(cancellable_sleeps, 0);
    CHECK_EQUAL(kernel->close(NULL, epoll_fd), 0);
    CHECK_EQUAL(kernel->close(NULL, fd), 0);
}

int main(void) {
    RUN(test_what_counts_in_milliseconds_has_no_slack_to_rely_on);
    RUN(test_RLC_TIME_4_wait_in_milliseconds_is_never_early);
    RUN(test_a_clock_that_was_set_does_not_keep_a_timer_from_being_armed);
    RUN(test_RLC_CANCEL_3_what_sleeps_cost);
    return 0;
}

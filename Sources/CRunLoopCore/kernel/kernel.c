#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "kernel_internal.h"
#include "optional_call.h"

#include <crunloop/descriptor.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND UINT64_C(1000000000)

static int status_of(long result) {
    return __builtin_expect(result < 0, false) ? -errno : (int)result;
}

static struct timespec timespec_of(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SECOND), .tv_nsec = (long)(ns % NS_PER_SECOND)};
}

static uint64_t system_now(void *context, rlc_clock clock) {
    (void)context;
    return rlc_now(clock);
}

/** As rlc_descriptor_adopt, inline for numbers above the standard ones. */
static inline int adopt_made(int made) {
    return made > STDERR_FILENO ? made : rlc_descriptor_adopt(made);
}

static int system_epoll_create(void *context) {
    (void)context;
    return adopt_made(epoll_create1(EPOLL_CLOEXEC));
}

static int system_epoll_control(void *context, int epoll_fd, int operation, int fd, struct epoll_event *event) {
    (void)context;
    return status_of(epoll_ctl(epoll_fd, operation, fd, event));
}

/*
 * A pass makes its system calls by number, because the C library's functions are cancellation points. A thread that is
 * cancelled in one would leave its loop in the middle of a step, with the embedder's lock held, or without having woken
 * a sleeper. Calls by number also save two atomic operations each. Only sleeps can be cancellation points: see below.
 */

/** The epoll instance of a wait, and the buffer for its events. */
typedef struct place {
    int epoll_fd, capacity;
    struct epoll_event *events;
} place;

static inline long wait_in_ms(int epoll_fd, struct epoll_event *events, int capacity, int timeout_ms) {
#ifdef SYS_epoll_wait
    return syscall(SYS_epoll_wait, epoll_fd, events, capacity, timeout_ms);
#else
    return syscall(SYS_epoll_pwait, epoll_fd, events, capacity, timeout_ms, NULL, (size_t)0);
#endif
}

static inline long wait_in_ns(const place *at, const struct timespec *timeout) {
#if defined(SYS_epoll_pwait2) && __SIZEOF_LONG__ == 8
    return syscall(SYS_epoll_pwait2, at->epoll_fd, at->events, at->capacity, timeout, NULL, (size_t)0);
#else
    (void)at, (void)timeout;
    errno = ENOSYS;
    return -1;
#endif
}

/** If `timeout` is NULL, timeout_ms is the limit. */
__attribute__((noinline)) /* Profilers recognise idle time by the beginning of its name. */
static int
rlc_kernel_blocking_wait_at(const place *at, int timeout_ms, const struct timespec *timeout) {
    long count =
        timeout == NULL ? wait_in_ms(at->epoll_fd, at->events, at->capacity, timeout_ms) : wait_in_ns(at, timeout);
    __asm__ volatile(""); /* prevents a tail call, so that profilers see this frame */
    return status_of(count);
}

/** @param timeout_ns RLC_TIME_FOREVER: no limit. */
__attribute__((noinline)) static int wait_for(const place *at, uint64_t timeout_ns) {
    if (timeout_ns == RLC_TIME_FOREVER)
        return rlc_kernel_blocking_wait_at(at, -1, NULL);
    if (rlc_call_is_present(RLC_CALL_EPOLL_PWAIT2)) {
        struct timespec timeout = timespec_of(timeout_ns);
        int count = rlc_kernel_blocking_wait_at(at, 0, &timeout);
        if (count >= 0 || !rlc_call_is_refused(RLC_CALL_EPOLL_PWAIT2, count))
            return count;
    }
    return rlc_call_fell_back(RLC_CALL_EPOLL_PWAIT2, rlc_kernel_blocking_wait_at(at, rlc_timeout_ms(timeout_ns), NULL));
}

/*
 * A thread that sleeps in its loop can be cancelled [RLC-CANCEL-1]. A cancellable sleep makes two more calls of the C
 * library, which costs much in a loop that is woken often. So most sleeps are brisk: they cannot be cancelled for
 * BRISK_MS, and then continue as cancellable sleeps. One sleep in SLEEPS_A_ROUND is cancellable from its start. After a
 * sleep longer than BRISK_MS the next IDLE_SLEEPS are cancellable from their start, too: they will probably be long,
 * and a brisk sleep that becomes long makes two system calls.
 */
enum { BRISK_MS = 20, BRISK_NS = BRISK_MS * 1000 * 1000, SLEEPS_A_ROUND = 64, IDLE_SLEEPS = 16 };

/* Each sleep adds STEP to its thread's round_steps, which is 0 again after SLEEPS_A_ROUND sleeps. */
enum { STEP = 256 / SLEEPS_A_ROUND };
static __thread uint8_t round_steps __attribute__((tls_model("initial-exec"))); /* read without a call */
/** How many more sleeps of this thread are cancellable from their start. */
static __thread uint8_t idle_sleeps __attribute__((tls_model("initial-exec")));

/** @param timeout_ns RLC_TIME_FOREVER: no limit. */
__attribute__((noinline)) static int sleep_cancellable(const place *at, uint64_t timeout_ns) {
    int type;
    (void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type); /* the wait holds no lock and no memory */
    int count = wait_for(at, timeout_ns);
    (void)pthread_setcanceltype(type, NULL);
    if (idle_sleeps > 0) {
        idle_sleeps--;
        round_steps = 256 - STEP;
    }
    return count;
}

/** Called after a brisk sleep has returned `count`. Returns events and errors; if it is 0, sleeps on, cancellably. */
__attribute__((noinline)) static int sleep_on(const place *at, long count, uint64_t deadline_ns) {
    if (count != 0)
        return status_of(count);
    idle_sleeps = IDLE_SLEEPS + 1; /* sleep_cancellable subtracts 1 */
    return sleep_cancellable(at, rlc_time_until(deadline_ns, rlc_now(RLC_CLOCK_MONOTONIC)));
}

static inline bool is_brisk_sleep(void) {
    round_steps += STEP;
    return __builtin_expect(round_steps != 0, true);
}

/* Not inlined, so that a wait without a limit saves no registers. */
__attribute__((noinline)) static int limited_wait(
    int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    const place at = {epoll_fd, capacity, events};
    uint64_t timeout_ns = rlc_time_until(deadline_ns, rlc_now(RLC_CLOCK_MONOTONIC));
    if (!is_brisk_sleep())
        return sleep_cancellable(&at, timeout_ns);
    if (timeout_ns <= BRISK_NS)
        return wait_for(&at, timeout_ns);
    return sleep_on(&at, wait_in_ms(epoll_fd, events, capacity, BRISK_MS), deadline_ns);
}

__attribute__((noinline)) static int rlc_kernel_blocking_wait(int epoll_fd, struct epoll_event *events, int capacity) {
    const place at = {epoll_fd, capacity, events};
    if (!is_brisk_sleep())
        return sleep_cancellable(&at, RLC_TIME_FOREVER);
    long count = wait_in_ms(epoll_fd, events, capacity, BRISK_MS);
    if (__builtin_expect(count > 0, true))
        return (int)count;
    return sleep_on(&at, count, RLC_TIME_FOREVER);
}

__attribute__((noinline)) static int poll_at_once(int epoll_fd, struct epoll_event *events, int capacity) {
    return status_of(wait_in_ms(epoll_fd, events, capacity, 0));
}

static int system_epoll_wait(
    void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    (void)context;
    if (__builtin_expect(deadline_ns == RLC_TIME_FOREVER, true))
        return rlc_kernel_blocking_wait(epoll_fd, events, capacity);
    if (deadline_ns != 0)
        return limited_wait(epoll_fd, events, capacity, deadline_ns);
    return poll_at_once(epoll_fd, events, capacity);
}

static int system_eventfd_create(void *context) {
    (void)context;
    return adopt_made(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

static int system_timerfd_create(void *context, rlc_clock clock) {
    (void)context;
    clockid_t id = CLOCK_MONOTONIC;
    if (clock == RLC_CLOCK_BOOTTIME)
        id = CLOCK_BOOTTIME;
    if (clock == RLC_CLOCK_REALTIME)
        id = CLOCK_REALTIME;
    return adopt_made(timerfd_create(id, TFD_CLOEXEC | TFD_NONBLOCK));
}

static int system_timerfd_set(void *context, int fd, uint64_t deadline_ns) {
    (void)context;
    struct itimerspec setting = {.it_value = {0, 0}}; /* all zero disarms */
    if (deadline_ns != RLC_TIME_FOREVER)
        setting.it_value = timespec_of(deadline_ns == 0 ? 1 : deadline_ns);
    /* The kernel ignores CANCEL_ON_SET for all clocks but the wall clock. */
    int status = status_of(timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &setting, NULL));
    return status == -ECANCELED ? 0 : status; /* the clock was set meanwhile; the timer is armed nevertheless */
}

static int64_t system_read(void *context, int fd, void *buffer, size_t size) {
    (void)context;
    long count = syscall(SYS_read, fd, buffer, size);
    return count < 0 ? -errno : count;
}

static int64_t system_write(void *context, int fd, const void *buffer, size_t size) {
    (void)context;
    long count = syscall(SYS_write, fd, buffer, size);
    return count < 0 ? -errno : count;
}

static int system_close(void *context, int fd) {
    (void)context;
    return status_of(syscall(SYS_close, fd));
}

static int system_poll(void *context, int fd, int events) {
    (void)context;
    struct pollfd entry = {.fd = fd, .events = (short)events};
#ifdef SYS_poll
    int count = status_of(syscall(SYS_poll, &entry, (nfds_t)1, 0));
#else
    struct timespec at_once = {.tv_sec = 0}; /* ppoll(2) writes to it */
    int count = status_of(syscall(SYS_ppoll, &entry, (nfds_t)1, &at_once, NULL, (size_t)0));
#endif
    return count <= 0 ? count : entry.revents;
}

static int system_readable_bytes(void *context, int fd) {
    (void)context;
    int count = 0;
    char byte;
    int status = status_of(ioctl(fd, FIONREAD, &count));
    if (status >= 0)
        return count;
    long size = syscall(SYS_recvfrom, fd, &byte, (size_t)1, MSG_PEEK | MSG_DONTWAIT, NULL,
        NULL); /* for socket families without FIONREAD */
    return size >= 0 ? (int)size : status;
}

static int system_counter_empties(void *context, int fd) {
    (void)context;
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    int info = rlc_descriptor_adopt((int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
    if (info < 0)
        return 0;
    long size = syscall(SYS_read, info, text, sizeof text - 1);
    (void)system_close(NULL, info);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    if (strstr(text, "\nclockid:") != NULL)
        return 1;
    /* Kernels before 6.7 do not report whether an eventfd is a semaphore. 0 only costs one epoll_ctl(2) an event. */
    return strstr(text, "\neventfd-count:") != NULL && strstr(text, "\neventfd-semaphore: 0") != NULL;
}

static int system_status_flags(void *context, int fd) {
    (void)context;
    return status_of(fcntl(fd, F_GETFL));
}

static int system_replace(void *context, int fd, int number) {
    (void)context;
    int status;
    do
        status = status_of(dup3(fd, number, O_CLOEXEC));
    while (status == -EBUSY || status == -EINTR); /* Linux returns EBUSY while another thread opens a file there */
    return status < 0 ? status : 0;
}

/** Tells whether the kernel has epoll_pwait2(2). If it has, a wait on descriptor -1 fails with EBADF. */
static bool counts_in_ns(void) {
    static const struct timespec no_time;
    static const place nowhere = {.epoll_fd = -1};
    return rlc_call_is_present(RLC_CALL_EPOLL_PWAIT2) &&
           !rlc_call_is_refused(RLC_CALL_EPOLL_PWAIT2, rlc_kernel_blocking_wait_at(&nowhere, 0, &no_time));
}

uint64_t rlc_kernel_wait_slack(const rlc_kernel *kernel) {
    enum { USUAL_SLACK_NS = 50 * 1000 };
    if (kernel != rlc_kernel_default())
        return USUAL_SLACK_NS;
    if (!counts_in_ns())
        return RLC_TIME_FOREVER;
    int slack_ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    return slack_ns < 0 ? RLC_TIME_FOREVER : (uint64_t)slack_ns;
}

const rlc_kernel *rlc_kernel_default(void) {
    static const rlc_kernel table = {
        .size = sizeof table,
        .now = system_now,
        .epoll_create = system_epoll_create,
        .epoll_control = system_epoll_control,
        .epoll_wait = system_epoll_wait,
        .eventfd_create = system_eventfd_create,
        .timerfd_create = system_timerfd_create,
        .timerfd_set = system_timerfd_set,
        .read = system_read,
        .write = system_write,
        .poll = system_poll,
        .readable_bytes = system_readable_bytes,
        .counter_empties = system_counter_empties,
        .status_flags = system_status_flags,
        .close = system_close,
        .replace = system_replace,
    };
    return &table;
}

/**
 * sd-event: an eventfd as an I/O source to wake, a list behind a mutex and such an eventfd to post, a defer source that
 * is enabled again to run again, time sources with an accuracy of 1 us, I/O sources, a prepare function as observer.
 */
#include "subject.h"
#include <sys/epoll.h>
#include <time.h>

typedef int (*io_fn)(void *, int, uint32_t, void *);
typedef int (*time_fn)(void *, uint64_t, void *);
typedef int (*source_fn)(void *, void *);

#define SYMBOLS(X)                                                                                                     \
    X(int, sd_event_new, (void **))                                                                                    \
    X(void *, sd_event_unref, (void *))                                                                                \
    X(int, sd_event_loop, (void *))                                                                                    \
    X(int, sd_event_run, (void *, uint64_t))                                                                           \
    X(int, sd_event_exit, (void *, int))                                                                               \
    X(int, sd_event_add_io, (void *, void **, int, uint32_t, io_fn, void *))                                           \
    X(int, sd_event_add_time, (void *, void **, clockid_t, uint64_t, uint64_t, time_fn, void *))                       \
    X(int, sd_event_add_defer, (void *, void **, source_fn, void *))                                                   \
    X(int, sd_event_source_set_time, (void *, uint64_t))                                                               \
    X(int, sd_event_source_set_enabled, (void *, int))                                                                 \
    X(int, sd_event_source_set_prepare, (void *, source_fn))                                                           \
    X(void *, sd_event_source_disable_unref, (void *))
SYMBOLS(DECLARE)

enum { OFF = 0, ON = 1, ONESHOT = -1, ACCURACY_US = 1 }; /* an accuracy of 0 would mean 250 ms */

typedef struct loop {
    void *event;
    uint64_t now_us;
} loop;

typedef struct timer {
    void *source;
    uint64_t period_us;
} timer;

typedef struct watch {
    void *source;
} watch;

typedef struct waker {
    void *source;
    int fd;
    void (*fn)(struct waker *);
} waker;

typedef struct deferred {
    void *source;
    void (*fn)(struct deferred *);
} deferred;

static void (*timer_hook)(timer *called);
static void (*watch_hook)(watch *called);

#include "sd_bus.h"

static const char *load(void) {
    void *library = open_library((const char *const[]){"libsystemd.so.0", NULL});
    if (library == NULL)
        return "not installed (libsystemd0)";
    SYMBOLS(FIND)
    return load_bus(library);
}

static void loop_refresh(loop *self, uint64_t now_ns) {
    self->now_us = now_ns / 1000;
}

static void loop_open(loop *self) {
    require(sd_event_new(&self->event) >= 0, "sd_event_new");
    loop_refresh(self, bench_now());
}

static void loop_close(loop *self) {
    sd_event_unref(self->event);
}
static void loop_run(loop *self) {
    sd_event_loop(self->event);
}
static void loop_stop(loop *self) {
    sd_event_exit(self->event, 0);
}
static void loop_pass(loop *self) {
    sd_event_run(self->event, 0);
}
static void loop_settle(loop *self) {
    sd_event_run(self->event, 0);
}
static void loop_hold(loop *self) {
    (void)self;
}

static int waker_called(void *source, int fd, uint32_t events, void *context) {
    waker *self = context;
    uint64_t count;
    (void)source, (void)events;
    if (bench_read(fd, &count, sizeof count) == sizeof count)
        self->fn(self);
    return 0;
}

static void waker_open(loop *of, waker *opened, void (*fn)(waker *)) {
    opened->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    opened->fn = fn;
    sd_event_add_io(of->event, &opened->source, opened->fd, EPOLLIN, waker_called, opened);
}

static void waker_close(waker *closed) {
    sd_event_source_disable_unref(closed->source);
    close(closed->fd);
}

static void waker_wake(waker *to) {
    static const uint64_t one = 1;
    require(bench_write(to->fd, &one, sizeof one) == sizeof one, "write");
}

static int defer_called(void *source, void *context) {
    deferred *self = context;
    (void)source;
    self->fn(self);
    return 0;
}

static void defer_open(loop *of, deferred *opened, void (*fn)(deferred *)) {
    opened->fn = fn;
    sd_event_add_defer(of->event, &opened->source, defer_called, opened);
    sd_event_source_set_enabled(opened->source, OFF);
}

static void defer_close(deferred *closed) {
    sd_event_source_disable_unref(closed->source);
}
static void defer_again(deferred *again) {
    sd_event_source_set_enabled(again->source, ONESHOT);
}

static int timer_called(void *source, uint64_t time_us, void *context) {
    timer *self = context;
    if (self->period_us != 0) {
        sd_event_source_set_time(source, time_us + self->period_us);
        sd_event_source_set_enabled(source, ONESHOT);
    }
    timer_hook(self);
    return 0;
}

static void timer_open(loop *of, timer *opened) {
    opened->period_us = 0;
    uint64_t accuracy_us = timer_tolerance_ns == 0 ? ACCURACY_US : timer_tolerance_ns / 1000;
    sd_event_add_time(of->event, &opened->source, CLOCK_MONOTONIC, UINT64_MAX, accuracy_us, timer_called, opened);
}

static void timer_close(loop *of, timer *closed) {
    (void)of;
    sd_event_source_disable_unref(closed->source);
}

static void timer_start(loop *of, timer *started, uint64_t delay_ns) {
    sd_event_source_set_time(started->source, of->now_us + (delay_ns + 999) / 1000);
    sd_event_source_set_enabled(started->source, ONESHOT);
}

static void timer_stop(loop *of, timer *stopped) {
    (void)of;
    sd_event_source_set_enabled(stopped->source, OFF);
}

static void timer_repeat(loop *of, timer *started, uint64_t period_ns) {
    started->period_us = period_ns / 1000;
    timer_start(of, started, period_ns);
}

static int watch_called(void *source, int fd, uint32_t events, void *context) {
    (void)source, (void)fd, (void)events;
    watch_hook(context);
    return 0;
}

static void watch_add(loop *of, watch *added, int fd) {
    sd_event_add_io(of->event, &added->source, fd, EPOLLIN, watch_called, added);
}

static void watch_remove(loop *of, watch *removed) {
    (void)of;
    sd_event_source_disable_unref(removed->source);
}

static int64_t observed;
static int observe(void *source, void *context) {
    (void)source, (void)context, observed++;
    return 0;
}

static int never(void *source, uint64_t time_us, void *context) {
    (void)source, (void)time_us, (void)context;
    return 0;
}

static void observers_open(loop *of, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        void *source = NULL;
        sd_event_add_time(of->event, &source, CLOCK_MONOTONIC, UINT64_MAX - 1, ACCURACY_US, never, NULL);
        sd_event_source_set_prepare(source, observe);
    }
}

static void observers_close(loop *of) {
    (void)of;
}

#define HAS_WAKE 1
#define POSTS_BY_WAKER 1
#define HAS_DEFER 1
#define HAS_TIMERS 1
#define HAS_REPEATING_TIMERS 1
#define TIMERS_ARE_REUSED 1
#define HAS_WATCHES 1
#define HAS_PIPES 1
#define HAS_PASS 1
#define HAS_CHANNEL 1
#include "workloads.h"

const bench_subject bench_sd_event = {load, workloads};

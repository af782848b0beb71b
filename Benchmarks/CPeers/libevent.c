/**
 * libevent: an eventfd with EV_PERSIST to wake (its own event_active between threads needs a second library), a list
 * behind a mutex and such an eventfd to post, event_active to run again, timeouts, EV_READ | EV_PERSIST on descriptors.
 * It has no observers. With PRECISE_TIMER, as all others have, since its own clock ticks every 4 ms.
 */
#include "subject.h"
#include <sys/time.h>

#define SYMBOLS(X)                                                                                                     \
    X(void *, event_config_new, (void))                                                                                \
    X(int, event_config_set_flag, (void *, int))                                                                       \
    X(void, event_config_free, (void *))                                                                               \
    X(void *, event_base_new_with_config, (void *))                                                                    \
    X(void, event_base_free, (void *))                                                                                 \
    X(int, event_base_loop, (void *, int))                                                                             \
    X(int, event_base_loopbreak, (void *))                                                                             \
    X(void *, event_new, (void *, int, short, void (*)(int, short, void *), void *))                                   \
    X(void, event_free, (void *))                                                                                      \
    X(int, event_add, (void *, const struct timeval *))                                                                \
    X(int, event_del, (void *))                                                                                        \
    X(void, event_active, (void *, int, short))
SYMBOLS(DECLARE)

enum { EVENT_TIMEOUT = 1, EVENT_READ = 2, EVENT_PERSIST = 16, LOOP_NONBLOCK = 2 };

typedef struct loop {
    void *base;
} loop;

typedef struct timer {
    void *event;
} timer;

typedef struct watch {
    void *event;
} watch;

typedef struct waker {
    int fd;
    void *event;
    void (*fn)(struct waker *);
} waker;

typedef struct deferred {
    void *event;
    void (*fn)(struct deferred *);
} deferred;

static void (*timer_hook)(timer *called);
static void (*watch_hook)(watch *called);

static const char *load(void) {
    void *library = open_library((const char *const[]){"libevent_core-2.1.so.7", "libevent-2.1.so.7", NULL});
    if (library == NULL)
        return "not installed (libevent-2.1-7)";
    SYMBOLS(FIND)
    return NULL;
}

static void loop_open(loop *self) {
    enum { PRECISE_TIMER = 0x20 };
    void *config = event_config_new();
    event_config_set_flag(config, PRECISE_TIMER);
    self->base = event_base_new_with_config(config);
    event_config_free(config);
}

static void loop_close(loop *self) {
    event_base_free(self->base);
}
static void loop_run(loop *self) {
    event_base_loop(self->base, 0);
}
static void loop_pass(loop *self) {
    event_base_loop(self->base, LOOP_NONBLOCK);
}
static void loop_settle(loop *self) {
    event_base_loop(self->base, LOOP_NONBLOCK);
}
static void loop_stop(loop *self) {
    event_base_loopbreak(self->base);
}
static void loop_refresh(loop *self, uint64_t now_ns) {
    (void)self, (void)now_ns;
}

static void hold_called(int fd, short events, void *context) {
    (void)fd, (void)events, (void)context;
}
static void loop_hold(loop *self) {
    struct timeval day = {86400, 0};
    event_add(event_new(self->base, -1, EVENT_PERSIST, hold_called, NULL), &day);
}

static void waker_called(int fd, short events, void *context) {
    waker *self = context;
    uint64_t count;
    (void)events;
    if (bench_read(fd, &count, sizeof count) == sizeof count)
        self->fn(self);
}

static void waker_open(loop *of, waker *opened, void (*fn)(waker *)) {
    opened->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    opened->fn = fn;
    opened->event = event_new(of->base, opened->fd, EVENT_READ | EVENT_PERSIST, waker_called, opened);
    event_add(opened->event, NULL);
}

static void waker_close(waker *closed) {
    event_free(closed->event);
    close(closed->fd);
}

static void waker_wake(waker *to) {
    static const uint64_t one = 1;
    require(bench_write(to->fd, &one, sizeof one) == sizeof one, "write");
}

static void defer_called(int fd, short events, void *context) {
    deferred *self = context;
    (void)fd, (void)events;
    self->fn(self);
}

static void defer_open(loop *of, deferred *opened, void (*fn)(deferred *)) {
    opened->fn = fn;
    opened->event = event_new(of->base, -1, 0, defer_called, opened);
}

static void defer_close(deferred *closed) {
    event_free(closed->event);
}
static void defer_again(deferred *again) {
    event_active(again->event, EVENT_TIMEOUT, 0);
}

static struct timeval interval(uint64_t ns) {
    return (struct timeval){(time_t)(ns / SECOND_NS), (suseconds_t)((ns % SECOND_NS + 999) / 1000)};
}

static void timer_called(int fd, short events, void *context) {
    (void)fd, (void)events;
    timer_hook(context);
}

static void timer_open(loop *of, timer *opened) {
    opened->event = event_new(of->base, -1, 0, timer_called, opened);
}

static void timer_close(loop *of, timer *closed) {
    (void)of;
    event_free(closed->event);
}

static void timer_start(loop *of, timer *started, uint64_t delay_ns) {
    (void)of;
    struct timeval delay = interval(delay_ns);
    event_add(started->event, &delay);
}

static void timer_stop(loop *of, timer *stopped) {
    (void)of;
    event_del(stopped->event);
}

static void timer_repeat(loop *of, timer *started, uint64_t period_ns) {
    struct timeval period = interval(period_ns);
    event_free(started->event);
    started->event = event_new(of->base, -1, EVENT_PERSIST, timer_called, started);
    event_add(started->event, &period);
}

static void watch_called(int fd, short events, void *context) {
    (void)fd, (void)events;
    watch_hook(context);
}

static void watch_add(loop *of, watch *added, int fd) {
    added->event = event_new(of->base, fd, EVENT_READ | EVENT_PERSIST, watch_called, added);
    event_add(added->event, NULL);
}

static void watch_remove(loop *of, watch *removed) {
    (void)of;
    event_free(removed->event);
}

static void observers_open(loop *of, int64_t count) {
    (void)of, (void)count;
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
#include "workloads.h"

const bench_subject bench_libevent = {load, workloads};

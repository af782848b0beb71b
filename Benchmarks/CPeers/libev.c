/**
 * libev, the epoll backend: ev_async to wake, a list behind a mutex and an ev_async to post, ev_feed_event to run again
 * (drained without a look at the kernel), ev_timer, ev_io, ev_prepare as observer. Its structures are part of its
 * interface: compiled only where <ev.h> is installed; the library itself is not linked.
 */
#include "subject.h"

#if __has_include(<ev.h>)
#define EV_COMPAT3 0
#include <ev.h>

#define FUNCTIONS(X)                                                                                                   \
    X(loop_new)                                                                                                        \
    X(loop_destroy)                                                                                                    \
    X(run)                                                                                                             \
    X(break)                                                                                                           \
    X(now_update)                                                                                                      \
    X(feed_event)                                                                                                      \
    X(async_start)                                                                                                     \
    X(async_stop)                                                                                                      \
    X(async_send)                                                                                                      \
    X(timer_start)                                                                                                     \
    X(timer_stop)                                                                                                      \
    X(timer_again)                                                                                                     \
    X(io_start)                                                                                                        \
    X(io_stop)                                                                                                         \
    X(prepare_start)
#define DECLARE_LIKE(name) static __typeof__(&ev_##name) lib_##name;
#define FIND_LIKE(name)                                                                                                \
    if ((lib_##name = (__typeof__(lib_##name))dlsym(library, "ev_" #name)) == NULL)                                    \
        return "this version has no ev_" #name;
FUNCTIONS(DECLARE_LIKE)

typedef struct loop {
    struct ev_loop *loop;
} loop;

typedef ev_timer timer;
typedef ev_io watch;

typedef struct waker {
    ev_async async;
    loop *loop;
    void (*fn)(struct waker *);
} waker;

typedef struct deferred {
    ev_prepare prepare;
    loop *loop;
    void (*fn)(struct deferred *);
} deferred;

static void (*timer_hook)(timer *called);
static void (*watch_hook)(watch *called);

static const char *load(void) {
    void *library = open_library((const char *const[]){"libev.so.4", NULL});
    if (library == NULL)
        return "not installed (libev4)";
    FUNCTIONS(FIND_LIKE)
    return NULL;
}

static void loop_open(loop *self) {
    self->loop = lib_loop_new(EVBACKEND_EPOLL);
}
static void loop_close(loop *self) {
    lib_loop_destroy(self->loop);
}
static void loop_run(loop *self) {
    lib_run(self->loop, 0);
}
static void loop_pass(loop *self) {
    lib_run(self->loop, EVRUN_NOWAIT);
}
static void loop_settle(loop *self) {
    lib_run(self->loop, EVRUN_NOWAIT);
}
static void loop_stop(loop *self) {
    lib_break(self->loop, EVBREAK_ALL);
}
static void loop_refresh(loop *self, uint64_t now_ns) {
    (void)now_ns;
    lib_now_update(self->loop);
}

static void waker_called(struct ev_loop *of, ev_async *called, int events) {
    (void)of, (void)events;
    waker *self = (waker *)called;
    if (self->fn != NULL)
        self->fn(self);
}

static void waker_open(loop *of, waker *opened, void (*fn)(waker *)) {
    opened->loop = of;
    opened->fn = fn;
    ev_async_init(&opened->async, waker_called);
    lib_async_start(of->loop, &opened->async);
}

static void waker_close(waker *closed) {
    lib_async_stop(closed->loop->loop, &closed->async);
}
static void waker_wake(waker *to) {
    lib_async_send(to->loop->loop, &to->async);
}
static void loop_hold(loop *self) {
    waker_open(self, require_memory(1, sizeof(waker)), NULL);
}

static void defer_called(struct ev_loop *of, ev_prepare *called, int events) {
    (void)of, (void)events;
    deferred *self = (deferred *)called;
    self->fn(self);
}

static void defer_open(loop *of, deferred *opened, void (*fn)(deferred *)) {
    opened->loop = of;
    opened->fn = fn;
    ev_prepare_init(&opened->prepare, defer_called);
}

static void defer_close(deferred *closed) {
    (void)closed;
}
static void defer_again(deferred *again) {
    lib_feed_event(again->loop->loop, &again->prepare, EV_CUSTOM);
}

static void timer_called(struct ev_loop *of, ev_timer *called, int events) {
    (void)of, (void)events;
    timer_hook(called);
}

static void timer_open(loop *of, timer *opened) {
    (void)of;
    ev_init(opened, timer_called);
}
static void timer_stop(loop *of, timer *stopped) {
    lib_timer_stop(of->loop, stopped);
}
static void timer_close(loop *of, timer *closed) {
    lib_timer_stop(of->loop, closed);
}

/** ev_timer_again moves a timer that is active, and is made for timeouts that are pushed out. */
static void timer_start(loop *of, timer *started, uint64_t delay_ns) {
    double delay = (double)delay_ns / SECOND_NS;
    if (ev_is_active(started)) {
        started->repeat = delay;
        lib_timer_again(of->loop, started);
    } else {
        ev_timer_set(started, delay, 0);
        lib_timer_start(of->loop, started);
    }
}

static void timer_repeat(loop *of, timer *started, uint64_t period_ns) {
    double period = (double)period_ns / SECOND_NS;
    ev_timer_set(started, period, period);
    lib_timer_start(of->loop, started);
}

static void watch_called(struct ev_loop *of, ev_io *called, int events) {
    (void)of, (void)events;
    watch_hook(called);
}

static void watch_add(loop *of, watch *added, int fd) {
    ev_io_init(added, watch_called, fd, EV_READ);
    lib_io_start(of->loop, added);
}

static void watch_remove(loop *of, watch *removed) {
    lib_io_stop(of->loop, removed);
}

static int64_t observed;
static void observe(struct ev_loop *of, ev_prepare *called, int events) {
    (void)of, (void)called, (void)events, observed++;
}

static void observers_open(loop *of, int64_t count) {
    ev_prepare *all = require_memory((size_t)count + 1, sizeof *all);
    for (int64_t i = 0; i < count; i++) {
        ev_prepare_init(&all[i], observe);
        lib_prepare_start(of->loop, &all[i]);
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
#include "workloads.h"

#else
static const char *load(void) {
    return "built without <ev.h> (libev-dev)";
}
static const bench_workload workloads[] = {{0}};
#endif

const bench_subject bench_libev = {load, workloads};

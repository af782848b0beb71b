/**
 * libuv: uv_async_send to wake, a list behind a mutex and a uv_async_t to post (what Node.js does), uv_idle_t to run
 * again, uv_timer_t in whole milliseconds, uv_poll_t on descriptors, stopped and started,
 * uv_prepare_t as observer.
 */
#include "subject.h"

#define SYMBOLS(X)                                                                                                     \
    X(int, uv_loop_init, (void *))                                                                                     \
    X(int, uv_loop_close, (void *))                                                                                    \
    X(size_t, uv_loop_size, (void))                                                                                    \
    X(size_t, uv_handle_size, (int))                                                                                   \
    X(int, uv_run, (void *, int))                                                                                      \
    X(void, uv_stop, (void *))                                                                                         \
    X(void, uv_update_time, (void *))                                                                                  \
    X(void, uv_close, (void *, void (*)(void *)))                                                                      \
    X(int, uv_async_init, (void *, void *, void (*)(void *)))                                                          \
    X(int, uv_async_send, (void *))                                                                                    \
    X(int, uv_idle_init, (void *, void *))                                                                             \
    X(int, uv_idle_start, (void *, void (*)(void *)))                                                                  \
    X(int, uv_idle_stop, (void *))                                                                                     \
    X(int, uv_prepare_init, (void *, void *))                                                                          \
    X(int, uv_prepare_start, (void *, void (*)(void *)))                                                               \
    X(int, uv_timer_init, (void *, void *))                                                                            \
    X(int, uv_timer_start, (void *, void (*)(void *), uint64_t, uint64_t))                                             \
    X(int, uv_timer_stop, (void *))                                                                                    \
    X(int, uv_poll_init, (void *, void *, int))                                                                        \
    X(int, uv_poll_start, (void *, int, void (*)(void *, int, int)))                                                   \
    X(int, uv_poll_stop, (void *))
SYMBOLS(DECLARE)

enum { UV_ASYNC = 1, UV_IDLE = 6, UV_POLL = 8, UV_PREPARE = 9, UV_TIMER = 13 };
enum { UV_RUN_DEFAULT, UV_RUN_ONCE, UV_RUN_NOWAIT, UV_READABLE = 1 };

/* The sizes of the handles in 1.x, which the library is asked to confirm. */
typedef struct loop {
    _Alignas(16) char bytes[848];
    void *observers;
} loop;

typedef struct timer {
    _Alignas(8) char bytes[152];
} timer;

typedef struct watch {
    void **handle; /* its first field is the user's */
} watch;

typedef struct waker {
    _Alignas(8) char bytes[128];
    void (*fn)(struct waker *);
} waker;

typedef struct deferred {
    _Alignas(8) char bytes[120];
    void (*fn)(struct deferred *);
    bool is_queued;
} deferred;

static size_t poll_size;

static void (*timer_hook)(timer *called);
static void (*watch_hook)(watch *called);

static const char *load(void) {
    void *library = open_library((const char *const[]){"libuv.so.1", NULL});
    if (library == NULL)
        return "not installed (libuv1)";
    SYMBOLS(FIND)
    if (uv_loop_size() > sizeof((loop *)0)->bytes || uv_handle_size(UV_TIMER) > sizeof(timer) ||
        uv_handle_size(UV_ASYNC) > sizeof((waker *)0)->bytes || uv_handle_size(UV_IDLE) > sizeof((deferred *)0)->bytes)
        return "another layout than 1.44's";
    poll_size = uv_handle_size(UV_POLL);
    return NULL;
}

static void loop_open(loop *self) {
    require(uv_loop_init(self) == 0, "uv_loop_init");
}
static void loop_stop(loop *self) {
    uv_stop(self);
}
static void loop_run(loop *self) {
    uv_run(self, UV_RUN_DEFAULT);
}
static void loop_pass(loop *self) {
    uv_run(self, UV_RUN_NOWAIT);
}
static void loop_settle(loop *self) {
    uv_run(self, UV_RUN_NOWAIT);
}
static void loop_refresh(loop *self, uint64_t now_ns) {
    (void)now_ns;
    uv_update_time(self);
}

static void loop_close(loop *self) {
    uv_run(self, UV_RUN_NOWAIT); /* finishes what is closing */
    uv_loop_close(self);
}

static void hold_called(void *handle) {
    (void)handle;
}

static void loop_hold(loop *self) {
    waker *hold = require_memory(1, sizeof *hold);
    uv_async_init(self, hold, hold_called);
}

static void waker_called(void *handle) {
    waker *self = handle;
    self->fn(self);
}

static void waker_open(loop *of, waker *opened, void (*fn)(waker *)) {
    uv_async_init(of, opened, waker_called);
    opened->fn = fn;
}

static void waker_close(waker *closed) {
    uv_close(closed, NULL);
}
static void waker_wake(waker *to) {
    uv_async_send(to);
}

/** An idle handle is called in each pass until it is stopped. */
static void defer_called(void *handle) {
    deferred *self = handle;
    self->is_queued = false;
    self->fn(self);
    if (!self->is_queued)
        uv_idle_stop(self);
}

static void defer_open(loop *of, deferred *opened, void (*fn)(deferred *)) {
    uv_idle_init(of, opened);
    opened->fn = fn;
}

static void defer_close(deferred *closed) {
    uv_close(closed, NULL);
}
static void defer_again(deferred *again) {
    again->is_queued = true;
    uv_idle_start(again, defer_called);
}

static void timer_called(void *handle) {
    timer_hook(handle);
}
static uint64_t milliseconds(uint64_t ns) {
    return (ns + MILLISECOND_NS - 1) / MILLISECOND_NS;
}

static void timer_open(loop *of, timer *opened) {
    uv_timer_init(of, opened);
}
static void timer_close(loop *of, timer *closed) {
    (void)of;
    uv_close(closed, NULL);
}
static void timer_start(loop *of, timer *started, uint64_t delay_ns) {
    (void)of;
    uv_timer_start(started, timer_called, milliseconds(delay_ns), 0);
}
static void timer_stop(loop *of, timer *stopped) {
    (void)of;
    uv_timer_stop(stopped);
}
static void timer_repeat(loop *of, timer *started, uint64_t period_ns) {
    (void)of;
    uv_timer_start(started, timer_called, milliseconds(period_ns), milliseconds(period_ns));
}

static void watch_called(void *handle, int status, int events) {
    (void)status, (void)events;
    watch_hook(*(void **)handle);
}

/** The handle stays with its descriptor: to stop and start it costs less than half of a new one. */
static void watch_add(loop *of, watch *added, int fd) {
    if (added->handle == NULL) {
        added->handle = malloc(poll_size);
        uv_poll_init(of, added->handle, fd);
        *added->handle = added;
    }
    uv_poll_start(added->handle, UV_READABLE, watch_called);
}

static void watch_remove(loop *of, watch *removed) {
    (void)of;
    uv_poll_stop(removed->handle);
}

static int64_t observed;
static void observe(void *handle) {
    (void)handle, observed++;
}

static void observers_open(loop *of, int64_t count) {
    deferred *all = require_memory((size_t)count + 1, sizeof *all);
    of->observers = all;
    for (int64_t i = 0; i < count; i++) {
        uv_prepare_init(of, &all[i]);
        uv_prepare_start(&all[i], observe);
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

const bench_subject bench_libuv = {load, workloads};

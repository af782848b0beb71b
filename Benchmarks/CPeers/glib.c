/**
 * GLib: a GSource of our own whose ready time is set to wake, an idle source attached to post and to run again (what
 * g_idle_add does), g_source_set_ready_time before g_source_attach as timer and g_timeout_source_new as repeating one,
 * g_unix_fd_source_new on descriptors, a source that only prepares as observer. It polls all descriptors in each pass.
 */
#include "subject.h"

typedef int (*source_fn)(void *);

typedef struct source_functions {
    int (*prepare)(void *source, int *timeout);
    int (*check)(void *source);
    int (*dispatch)(void *source, source_fn fn, void *data);
    void (*finalize)(void *source);
    void *unused[2];
} source_functions;

#define SYMBOLS(X)                                                                                                     \
    X(void *, g_main_context_new, (void))                                                                              \
    X(void, g_main_context_unref, (void *))                                                                            \
    X(int, g_main_context_iteration, (void *, int))                                                                    \
    X(void *, g_main_loop_new, (void *, int))                                                                          \
    X(void, g_main_loop_run, (void *))                                                                                 \
    X(void, g_main_loop_quit, (void *))                                                                                \
    X(void, g_main_loop_unref, (void *))                                                                               \
    X(void *, g_source_new, (source_functions *, unsigned))                                                            \
    X(void, g_source_set_callback, (void *, source_fn, void *, void (*)(void *)))                                      \
    X(unsigned, g_source_attach, (void *, void *))                                                                     \
    X(void, g_source_destroy, (void *))                                                                                \
    X(void, g_source_unref, (void *))                                                                                  \
    X(void, g_source_set_ready_time, (void *, int64_t))                                                                \
    X(void *, g_idle_source_new, (void))                                                                               \
    X(void *, g_timeout_source_new, (unsigned))                                                                        \
    X(void *, g_unix_fd_source_new, (int, int))
SYMBOLS(DECLARE)

enum { SOURCE_SIZE = 96 }; /* sizeof(GSource), public and fixed on 64 bits */

typedef struct loop {
    void *context, *loop;
    int64_t now_us;
} loop;

typedef struct timer {
    void *source;
    bool is_attached; /* with its first date: a date that is set later may write to the context's eventfd */
} timer;

typedef struct watch {
    void *source;
} watch;

typedef struct waker {
    void *source;
    void (*fn)(struct waker *);
} waker;

typedef struct deferred {
    loop *loop;
    void (*fn)(struct deferred *);
} deferred;

typedef struct message {
    char unused;
} message;

static void (*timer_hook)(timer *called);
static void (*watch_hook)(watch *called);
static void message_arrived(message *arrived);

#include "gsocket.h"

static const char *load(void) {
    void *library = open_library((const char *const[]){"libglib-2.0.so.0", NULL});
    if (library == NULL)
        return "not installed (libglib2.0-0)";
    SYMBOLS(FIND)
    return load_sockets();
}

static void loop_refresh(loop *self, uint64_t now_ns) {
    self->now_us = (int64_t)(now_ns / 1000);
}

static void loop_open(loop *self) {
    self->context = g_main_context_new();
    self->loop = g_main_loop_new(self->context, 0);
    loop_refresh(self, bench_now());
}

static void loop_close(loop *self) {
    g_main_loop_unref(self->loop);
    g_main_context_unref(self->context);
}

static void loop_run(loop *self) {
    g_main_loop_run(self->loop);
}
static void loop_stop(loop *self) {
    g_main_loop_quit(self->loop);
}
static void loop_pass(loop *self) {
    g_main_context_iteration(self->context, 0);
}
static void loop_settle(loop *self) {
    g_main_context_iteration(self->context, 0);
}
static void loop_hold(loop *self) {
    (void)self;
}

static int dispatch_ready(void *source, source_fn fn, void *data) {
    g_source_set_ready_time(source, -1);
    return fn(data);
}

static source_functions ready_functions = {.dispatch = dispatch_ready};

static int waker_called(void *context) {
    waker *self = context;
    self->fn(self);
    return 1;
}

static void waker_open(loop *of, waker *opened, void (*fn)(waker *)) {
    opened->fn = fn;
    opened->source = g_source_new(&ready_functions, SOURCE_SIZE);
    g_source_set_callback(opened->source, waker_called, opened, NULL);
    g_source_attach(opened->source, of->context);
}

static void waker_close(waker *closed) {
    g_source_destroy(closed->source);
    g_source_unref(closed->source);
}

static void waker_wake(waker *to) {
    g_source_set_ready_time(to->source, 0);
}

static void add_idle(loop *to, source_fn fn, void *data) {
    void *source = g_idle_source_new();
    g_source_set_callback(source, fn, data, NULL);
    g_source_attach(source, to->context);
    g_source_unref(source);
}

static int defer_called(void *context) {
    deferred *self = context;
    self->fn(self);
    return 0;
}

static void defer_open(loop *of, deferred *opened, void (*fn)(deferred *)) {
    *opened = (deferred){of, fn};
}
static void defer_close(deferred *closed) {
    (void)closed;
}
static void defer_again(deferred *again) {
    add_idle(again->loop, defer_called, again);
}

static int message_called(void *context) {
    message_arrived(context);
    return 0;
}

static void post(loop *to, message *posted) {
    add_idle(to, message_called, posted);
}

static int timer_called(void *context) {
    timer_hook(context);
    return 1;
}

static void timer_open(loop *of, timer *opened) {
    opened->source = g_source_new(&ready_functions, SOURCE_SIZE);
    g_source_set_callback(opened->source, timer_called, opened, NULL);
    opened->is_attached = false;
    (void)of;
}

static void timer_close(loop *of, timer *closed) {
    (void)of;
    g_source_destroy(closed->source);
    g_source_unref(closed->source);
}

static void timer_start(loop *of, timer *started, uint64_t delay_ns) {
    g_source_set_ready_time(started->source, of->now_us + (int64_t)((delay_ns + 999) / 1000));
    if (!started->is_attached)
        g_source_attach(started->source, of->context);
    started->is_attached = true;
}

static void timer_repeat(loop *of, timer *started, uint64_t period_ns) {
    timer_close(of, started);
    started->source = g_timeout_source_new((unsigned)(period_ns / MILLISECOND_NS));
    g_source_set_callback(started->source, timer_called, started, NULL);
    g_source_attach(started->source, of->context);
    started->is_attached = true;
}

static int watch_called(int fd, int condition, void *context) {
    (void)fd, (void)condition;
    watch_hook(context);
    return 1;
}

static void watch_add(loop *of, watch *added, int fd) {
    enum { READABLE = 1 };
    added->source = g_unix_fd_source_new(fd, READABLE);
    g_source_set_callback(added->source, (source_fn)(void *)watch_called, added, NULL);
    g_source_attach(added->source, of->context);
}

static void watch_remove(loop *of, watch *removed) {
    (void)of;
    g_source_destroy(removed->source);
    g_source_unref(removed->source);
}

static int64_t observed;
static int observe(void *source, int *timeout) {
    (void)source, *timeout = -1, observed++;
    return 0;
}

static int never(void *source) {
    return (void)source, 0;
}
static int called_never(void *source, source_fn fn, void *data) {
    return (void)source, (void)fn, (void)data, 1;
}

static void observers_open(loop *of, int64_t count) {
    static source_functions functions = {.prepare = observe, .check = never, .dispatch = called_never};
    for (int64_t i = 0; i < count; i++)
        g_source_attach(g_source_new(&functions, SOURCE_SIZE), of->context);
}

static void observers_close(loop *of) {
    (void)of;
}

#define HAS_WAKE 1
#define HAS_POST 1
#define HAS_DEFER 1
#define HAS_TIMERS 1
#define HAS_REPEATING_TIMERS 1
#define HAS_WATCHES 1
#define HAS_PIPES 1
#define HAS_PASS 1
#define HAS_CHANNEL 1
#include "workloads.h"

const bench_subject bench_glib = {load, workloads};

/**
 * libdispatch: a serial queue is the loop, whoever drains it the thread. dispatch_async_f with a function and a context
 * to wake, post and run again; a dispatch source per timer and per descriptor. Its workers cannot be pinned one by one,
 * and one may drain both queues, so that rows of two threads count only where both share a processor. A queue is no loop with a thread or descriptors of its own:
 * startup and mem_loop are left out, and so is fd_addrm, whose calls return before epoll knows of them.
 */
#include "subject.h"
#include <sys/epoll.h>

#define SYMBOLS(X)                                                                                                     \
    X(void *, dispatch_queue_create, (const char *, void *))                                                           \
    X(void, dispatch_async_f, (void *, void *, void (*)(void *)))                                                      \
    X(void, dispatch_sync_f, (void *, void *, void (*)(void *)))                                                       \
    X(void, dispatch_release, (void *))                                                                                \
    X(void *, dispatch_semaphore_create, (intptr_t))                                                                   \
    X(intptr_t, dispatch_semaphore_wait, (void *, uint64_t))                                                           \
    X(intptr_t, dispatch_semaphore_signal, (void *))                                                                   \
    X(void *, dispatch_source_create, (const void *, uintptr_t, uintptr_t, void *))                                    \
    X(void, dispatch_source_set_timer, (void *, uint64_t, uint64_t, uint64_t))                                         \
    X(void, dispatch_source_set_event_handler_f, (void *, void (*)(void *)))                                           \
    X(void, dispatch_source_cancel, (void *))                                                                          \
    X(void, dispatch_set_context, (void *, void *))                                                                    \
    X(void, dispatch_suspend, (void *))                                                                                \
    X(void, dispatch_resume, (void *))                                                                                 \
    X(uint64_t, dispatch_time, (uint64_t, int64_t))                                                                    \
    X(void *, dispatch_get_global_queue, (intptr_t, uintptr_t))
SYMBOLS(DECLARE)

static const void *timer_type, *read_type;

typedef struct loop {
    void *queue, *stopped;
    bool is_paused;
} loop;

typedef struct timer {
    void *source;
} timer;

typedef struct watch {
    void *source;
} watch;

typedef struct waker {
    loop *loop;
    void (*fn)(struct waker *);
} waker;

typedef waker deferred;

typedef struct message {
    char unused;
} message;

static void (*timer_hook)(timer *called);
static void (*watch_hook)(watch *called);
static void message_arrived(message *arrived);

static const char *load(void) {
    void *library = open_library((const char *const[]){"libdispatch.so", NULL});
    if (library == NULL)
        return "not installed (part of the Swift toolchain)";
    SYMBOLS(FIND)
    timer_type = dlsym(library, "_dispatch_source_type_timer");
    read_type = dlsym(library, "_dispatch_source_type_read");
    return timer_type == NULL || read_type == NULL ? "this version has no source types" : NULL;
}

static void nothing(void *context) {
    (void)context;
}

static void loop_open(loop *self) {
    self->is_paused = false;
    self->queue = dispatch_queue_create("bench", NULL);
    self->stopped = dispatch_semaphore_create(0);
}

static void loop_close(loop *self) {
    dispatch_sync_f(self->queue, NULL, nothing);
    dispatch_release(self->queue);
    dispatch_release(self->stopped);
}

static void loop_hold(loop *self) {
    (void)self;
}
static void loop_refresh(loop *self, uint64_t now_ns) {
    (void)self, (void)now_ns;
}
static void loop_stop(loop *self) {
    dispatch_semaphore_signal(self->stopped);
}
static void loop_run(loop *self) {
    if (self->is_paused)
        dispatch_resume(self->queue);
    dispatch_semaphore_wait(self->stopped, UINT64_MAX);
}
/** A queue serves its timers as soon as they are due, run or not. */
static void loop_pause(loop *self) {
    self->is_paused = true;
    dispatch_suspend(self->queue);
}
static void loop_settle(loop *self) {
    dispatch_sync_f(self->queue, NULL, nothing);
}

static void waker_called(void *context) {
    waker *self = context;
    self->fn(self);
}

static void waker_open(loop *of, waker *opened, void (*fn)(waker *)) {
    *opened = (waker){of, fn};
}
static void waker_close(waker *closed) {
    (void)closed;
}
static void waker_wake(waker *to) {
    dispatch_async_f(to->loop->queue, to, waker_called);
}

static void defer_open(loop *of, deferred *opened, void (*fn)(deferred *)) {
    waker_open(of, opened, fn);
}
static void defer_close(deferred *closed) {
    (void)closed;
}
static void defer_again(deferred *again) {
    waker_wake(again);
}

static void message_called(void *context) {
    message_arrived(context);
}
static void post(loop *to, message *posted) {
    dispatch_async_f(to->queue, posted, message_called);
}

static void timer_called(void *context) {
    timer_hook(context);
}

static void timer_open(loop *of, timer *opened) {
    opened->source = dispatch_source_create(timer_type, 0, 0, of->queue);
    dispatch_set_context(opened->source, opened);
    dispatch_source_set_event_handler_f(opened->source, timer_called);
    dispatch_source_set_timer(opened->source, UINT64_MAX, UINT64_MAX, 0);
    dispatch_resume(opened->source);
}

static void timer_start(loop *of, timer *started, uint64_t delay_ns) {
    (void)of;
    dispatch_source_set_timer(started->source, dispatch_time(0, (int64_t)delay_ns), UINT64_MAX, timer_tolerance_ns);
}

static void timer_repeat(loop *of, timer *started, uint64_t period_ns) {
    (void)of;
    dispatch_source_set_timer(started->source, dispatch_time(0, (int64_t)period_ns), period_ns, 0);
}

static void timer_close(loop *of, timer *closed) {
    (void)of;
    dispatch_source_cancel(closed->source);
    dispatch_release(closed->source);
}

static void watch_called(void *context) {
    watch_hook(context);
}

static void watch_add(loop *of, watch *added, int fd) {
    added->source = dispatch_source_create(read_type, (uintptr_t)fd, 0, of->queue);
    dispatch_set_context(added->source, added);
    dispatch_source_set_event_handler_f(added->source, watch_called);
    dispatch_resume(added->source);
}

/** Without its cancel handler, since nobody reuses the number here. */
static void watch_remove(loop *of, watch *removed) {
    (void)of;
    dispatch_source_cancel(removed->source);
    dispatch_release(removed->source);
}

/**
 * actor_hop: what a loop cannot do without, and nothing else. The global queue is the default executor's; from there to
 * a thread that sleeps in epoll_wait(2) is one write, and back one dispatch_async_f.
 */
static struct {
    void *queue, *done;
    int counter, epoll;
    uint64_t sent_at;
    uint32_t *samples;
    size_t sampled, wanted;
    int64_t placement;
    atomic_bool is_over;
} hop;

static void hop_there(void) {
    hop.sent_at = bench_now();
    bench_write(hop.counter, &(uint64_t){1}, sizeof(uint64_t));
}

static void hop_begun(void *unused) {
    (void)unused;
    hop_there();
}

static void hop_came_back(void *unused) {
    (void)unused;
    hop.samples[hop.sampled++] = (uint32_t)(bench_now() - hop.sent_at);
    if (hop.sampled == hop.wanted)
        dispatch_semaphore_signal(hop.done);
    else
        hop_there();
}

static void *hop_far_thread(void *unused) {
    (void)unused;
    struct epoll_event event;
    bench_pin(hop.placement, 0);
    while (epoll_wait(hop.epoll, &event, 1, -1) == 1 && !hop.is_over)
        dispatch_async_f(hop.queue, NULL, hop_came_back);
    return NULL;
}

static void run_actor_hop(const bench_args *args, bench_result *result) {
    pthread_t thread;
    struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
    hop.wanted = (size_t)args->count;
    hop.samples = require_memory(hop.wanted, sizeof *hop.samples);
    hop.placement = args->placement;
    bench_pin(args->placement, 0);
    hop.queue = dispatch_get_global_queue(0, 0);
    hop.done = dispatch_semaphore_create(0);
    hop.counter = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    hop.epoll = epoll_create1(EPOLL_CLOEXEC);
    require(hop.counter >= 0 && hop.epoll >= 0, "eventfd, epoll_create1");
    require(epoll_ctl(hop.epoll, EPOLL_CTL_ADD, hop.counter, &edge) == 0, "epoll_ctl");
    require(pthread_create(&thread, NULL, hop_far_thread, NULL) == 0, "pthread_create");

    bench_begin(result);
    dispatch_async_f(hop.queue, NULL, hop_begun);
    dispatch_semaphore_wait(hop.done, UINT64_MAX);
    bench_end(result);

    hop.is_over = true;
    hop_there();
    pthread_join(thread, NULL);
    result->operations = hop.wanted;
    result->samples = hop.samples;
    result->sample_count = hop.sampled;
}

#define HAS_WAKE 1
#define HAS_PAUSE 1
#define HAS_POST 1
#define HAS_DEFER 1
#define HAS_TIMERS 1
#define HAS_REPEATING_TIMERS 1
#define HAS_WATCHES 1
#define OWN_WORKLOADS WORKLOAD(actor_hop)
#include "workloads.h"

const bench_subject bench_dispatch = {load, workloads};

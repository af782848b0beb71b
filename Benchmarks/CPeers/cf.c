/**
 * CFRunLoop, from the toolchain's libFoundation: a version-0 source, signalled, and CFRunLoopWakeUp to wake;
 * CFRunLoopPerformBlock and CFRunLoopWakeUp to post and to run again; CFRunLoopTimer; version-1 sources on counters;
 * CFSocket on pipes and sockets, since a version-1 source reads eight bytes itself; an observer before timers.
 * A loop belongs to its thread. Pending timers are added in the order of their dates, which is its cheap case.
 */
#include "subject.h"

typedef const void *cf;

#define SYMBOLS(X)                                                                                                     \
    X(cf, CFRunLoopGetCurrent, (void))                                                                                 \
    X(void, CFRunLoopStop, (cf))                                                                                       \
    X(int32_t, CFRunLoopRunInMode, (cf, double, unsigned char))                                                        \
    X(void, CFRunLoopWakeUp, (cf))                                                                                     \
    X(void, CFRunLoopPerformBlock, (cf, cf, void *))                                                                   \
    X(cf, CFRunLoopSourceCreate, (cf, long, void *))                                                                   \
    X(void, CFRunLoopAddSource, (cf, cf, cf))                                                                          \
    X(void, CFRunLoopRemoveSource, (cf, cf, cf))                                                                       \
    X(void, CFRunLoopSourceSignal, (cf))                                                                               \
    X(cf, CFRunLoopTimerCreate, (cf, double, double, unsigned long, long, void (*)(cf, void *), void *))               \
    X(void, CFRunLoopAddTimer, (cf, cf, cf))                                                                           \
    X(void, CFRunLoopTimerInvalidate, (cf))                                                                            \
    X(void, CFRunLoopTimerSetNextFireDate, (cf, double))                                                               \
    X(void, CFRunLoopTimerSetTolerance, (cf, double))                                                                  \
    X(double, CFAbsoluteTimeGetCurrent, (void))                                                                        \
    X(cf, CFRunLoopObserverCreate,                                                                                     \
        (cf, unsigned long, unsigned char, long, void (*)(cf, unsigned long, void *), void *))                         \
    X(void, CFRunLoopAddObserver, (cf, cf, cf))                                                                        \
    X(cf, CFSocketCreateWithNative,                                                                                    \
        (cf, int, unsigned long, void (*)(cf, unsigned long, cf, const void *, void *), void *))                       \
    X(void, CFSocketSetSocketFlags, (cf, unsigned long))                                                               \
    X(cf, CFSocketCreateRunLoopSource, (cf, cf, long))                                                                 \
    X(void, CFSocketInvalidate, (cf))                                                                                  \
    X(cf, CFStringCreateWithCString, (cf, const char *, uint32_t))                                                     \
    X(void, CFRelease, (cf))
SYMBOLS(DECLARE)

static cf default_mode;
static void *stack_block;

/** CFRunLoopTimerContext and its kin begin so. */
typedef struct context {
    long version;
    void *info;
    const void *(*retain)(const void *);
    void (*release)(const void *);
    cf (*describe)(const void *);
} context;

typedef struct source_context {
    context base;
    unsigned char (*equal)(const void *, const void *);
    unsigned long (*hash)(const void *);
    void (*schedule)(void *, cf, cf);
    void (*cancel)(void *, cf, cf);
    void (*perform)(void *);
} source_context;

/** Of a version-1 source. */
typedef struct port_context {
    context base;
    unsigned char (*equal)(const void *, const void *);
    unsigned long (*hash)(const void *);
    int (*port)(void *);
    void (*perform)(void *);
} port_context;

/** A block as the compiler would lay it out: a function and one captured pointer. */
typedef struct block {
    void *isa;
    int flags, reserved;
    void (*invoke)(struct block *);
    const struct block_descriptor { unsigned long reserved, size; } * descriptor;
    void *captured;
} block;

static const struct block_descriptor block_descriptor = {0, sizeof(block)};

typedef struct loop {
    cf loop;
    bool is_stopped;
    double now;
} loop;

typedef struct timer {
    cf timer;
} timer;

typedef struct watch {
    cf socket; /* NULL: a version-1 source */
    cf source;
} watch;

typedef struct waker {
    loop *loop;
    cf source;
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

static const char *load(void) {
    void *library = open_library((const char *const[]){"libFoundation.so", NULL});
    if (library == NULL)
        return "not found (libFoundation.so, part of the Swift toolchain)";
    SYMBOLS(FIND)
    cf *name = dlsym(library, "kCFRunLoopDefaultMode");
    stack_block = dlsym(library, "_NSConcreteStackBlock");
    if (name == NULL || stack_block == NULL)
        return "this version has no kCFRunLoopDefaultMode or no blocks";
    default_mode = *name;
    return NULL;
}

static void loop_refresh(loop *self, uint64_t now_ns) {
    (void)now_ns; /* its clock is another */
    self->now = CFAbsoluteTimeGetCurrent();
}
static void loop_open(loop *self) {
    *self = (loop){.loop = CFRunLoopGetCurrent()};
    loop_refresh(self, 0);
}
static void loop_close(loop *self) {
    (void)self;
}
static void loop_pass(loop *self) {
    (void)self, CFRunLoopRunInMode(default_mode, 0, 0);
}
static void loop_settle(loop *self) {
    loop_pass(self);
}

static void loop_run(loop *self) {
    for (self->is_stopped = false; !self->is_stopped;)
        CFRunLoopRunInMode(default_mode, 1e10, 0);
}

static void loop_stop(loop *self) {
    self->is_stopped = true;
    CFRunLoopStop(self->loop);
}

static void timer_called(cf called, void *info) {
    (void)called;
    timer_hook(info);
}

static void add_timer(loop *to, timer *added, double delay, double interval, void (*callout)(cf, void *)) {
    context context = {.info = added};
    added->timer = CFRunLoopTimerCreate(NULL, to->now + delay, interval, 0, 0, callout, &context);
    if (timer_tolerance_ns != 0)
        CFRunLoopTimerSetTolerance(added->timer, (double)timer_tolerance_ns / SECOND_NS);
    CFRunLoopAddTimer(to->loop, added->timer, default_mode);
}

static void hold_called(cf called, void *info) {
    (void)called, (void)info;
}
static void loop_hold(loop *self) {
    static timer hold;
    add_timer(self, &hold, 86400, 0, hold_called);
}

static void timer_open(loop *of, timer *opened) {
    (void)of, opened->timer = NULL;
}

/** A timer that fired is invalid: one that is given dates again and again repeats, rarely. */
static void timer_start(loop *of, timer *started, uint64_t delay_ns) {
    if (started->timer == NULL)
        add_timer(of, started, (double)delay_ns / SECOND_NS, 86400, timer_called);
    else
        CFRunLoopTimerSetNextFireDate(started->timer, of->now + (double)delay_ns / SECOND_NS);
}

static void timer_repeat(loop *of, timer *started, uint64_t period_ns) {
    double period = (double)period_ns / SECOND_NS;
    add_timer(of, started, period, period, timer_called);
}

static void timer_close(loop *of, timer *closed) {
    (void)of;
    CFRunLoopTimerInvalidate(closed->timer);
    CFRelease(closed->timer);
    closed->timer = NULL;
}

static void waker_called(void *info) {
    waker *self = info;
    self->fn(self);
}

static void waker_open(loop *of, waker *opened, void (*fn)(waker *)) {
    source_context context = {.base = {.info = opened}, .perform = waker_called};
    *opened = (waker){of, CFRunLoopSourceCreate(NULL, 0, &context), fn};
    CFRunLoopAddSource(of->loop, opened->source, default_mode);
}

static void waker_close(waker *closed) {
    CFRunLoopRemoveSource(closed->loop->loop, closed->source, default_mode);
}

static void waker_wake(waker *to) {
    CFRunLoopSourceSignal(to->source);
    CFRunLoopWakeUp(to->loop->loop);
}

static void perform(loop *on, void (*invoke)(block *), void *captured) {
    block made = {stack_block, 0, 0, invoke, &block_descriptor, captured};
    CFRunLoopPerformBlock(on->loop, default_mode, &made);
    CFRunLoopWakeUp(on->loop);
}

static void defer_called(block *called) {
    deferred *self = called->captured;
    self->fn(self);
}

static void defer_open(loop *of, deferred *opened, void (*fn)(deferred *)) {
    *opened = (deferred){of, fn};
}
static void defer_close(deferred *closed) {
    (void)closed;
}
static void defer_again(deferred *again) {
    perform(again->loop, defer_called, again);
}

static void message_called(block *called) {
    message_arrived(called->captured);
}
static void post(loop *to, message *posted) {
    perform(to, message_called, posted);
}

static void watch_called(cf socket, unsigned long type, cf address, const void *data, void *info) {
    (void)socket, (void)type, (void)address, (void)data;
    watch_hook(info);
}

static void watch_add(loop *of, watch *added, int fd) {
    enum { READ_CALLBACK = 1, REENABLE_READ = 1 };
    context context = {.info = added};
    added->socket = CFSocketCreateWithNative(NULL, fd, READ_CALLBACK, watch_called, &context);
    CFSocketSetSocketFlags(added->socket, REENABLE_READ); /* does not close the descriptor */
    added->source = CFSocketCreateRunLoopSource(NULL, added->socket, 0);
    CFRunLoopAddSource(of->loop, added->source, default_mode);
}

static void watch_remove(loop *of, watch *removed) {
    CFRunLoopRemoveSource(of->loop, removed->source, default_mode);
    CFRelease(removed->source);
    if (removed->socket != NULL) {
        CFSocketInvalidate(removed->socket);
        CFRelease(removed->socket);
    }
}

static int64_t observed;
static void observe(cf observer, unsigned long activity, void *info) {
    (void)observer, (void)activity, (void)info, observed++;
}

static void observers_open(loop *of, int64_t count) {
    enum { BEFORE_TIMERS = 2 };
    for (int64_t i = 0; i < count; i++)
        CFRunLoopAddObserver(of->loop, CFRunLoopObserverCreate(NULL, BEFORE_TIMERS, 1, 0, observe, NULL), default_mode);
}

static void observers_close(loop *of) {
    (void)of;
}

typedef struct counter {
    cf source;
} counter;

static cf modes[MOST_MODES];

static void modes_open(loop *of, int count) {
    (void)of;
    modes[0] = default_mode;
    for (int mode = 1; mode < count; mode++) {
        char name[32];
        snprintf(name, sizeof name, "benchmarks.%d", mode);
        modes[mode] = CFStringCreateWithCString(NULL, name, 0x08000100);
    }
}

static int port_of(void *info) {
    return (int)(intptr_t)info;
}
static void port_called(void *info) {
    (void)info;
}

static void counter_add(loop *of, counter *added, int fd, int mode_count) {
    port_context context = {
        .base = {.version = 1, .info = (void *)(intptr_t)fd}, .port = port_of, .perform = port_called};
    added->source = CFRunLoopSourceCreate(NULL, 0, &context);
    for (int mode = 0; mode < mode_count; mode++)
        CFRunLoopAddSource(of->loop, added->source, modes[mode]);
}

static void counter_remove(loop *of, counter *removed, int mode_count) {
    for (int mode = 0; mode < mode_count; mode++)
        CFRunLoopRemoveSource(of->loop, removed->source, modes[mode]);
    CFRelease(removed->source);
}

/** Its events are nobody's: the source itself reads the counter. */
static void watch_add_counter(loop *of, watch *added, int fd) {
    counter counted;
    modes[0] = default_mode;
    counter_add(of, &counted, fd, 1);
    *added = (watch){.source = counted.source};
}

static void modes_run_once(loop *of, int mode) {
    (void)of;
    CFRunLoopRunInMode(modes[mode], 1e10, 1);
}

/** A function of the main dispatch queue sends the next one: libdispatch comes with libFoundation. */
static struct {
    loop loop;
    void (*send)(void *queue, void *context, void (*function)(void *));
    void *queue;
    int64_t count, wanted;
} main_queue;

static void main_queue_called(void *unused) {
    if (++main_queue.count == main_queue.wanted)
        loop_stop(&main_queue.loop);
    else
        main_queue.send(main_queue.queue, unused, main_queue_called);
}

static void run_main_queue(const bench_args *args, bench_result *result) {
    void *library = open_library((const char *const[]){"libdispatch.so", NULL});
    require(library != NULL, "libdispatch.so");
    *(void **)&main_queue.send = dlsym(library, "dispatch_async_f");
    main_queue.queue = dlsym(library, "_dispatch_main_q");
    require(main_queue.send != NULL && main_queue.queue != NULL, "dispatch_async_f");
    main_queue.wanted = args->count;
    loop_open(&main_queue.loop);
    loop_hold(&main_queue.loop);

    bench_begin(result);
    main_queue.send(main_queue.queue, NULL, main_queue_called);
    loop_run(&main_queue.loop);
    bench_end(result);

    loop_close(&main_queue.loop);
    result->operations = (uint64_t)args->count;
}

#define LOOP_PER_THREAD 1
#define ADDS_TIMERS_IN_ORDER 1
#define WATCHES_COUNTERS 1
#define HAS_WAKE 1
#define HAS_POST 1
#define HAS_DEFER 1
#define HAS_TIMERS 1
#define HAS_REPEATING_TIMERS 1
#define HAS_WATCHES 1
#define HAS_PASS 1
#define HAS_MODES 1
#define OWN_WORKLOADS WORKLOAD(main_queue)
#include "workloads.h"

const bench_subject bench_cf = {load, workloads};

/**
 * RunLoopKit's C API: rlc_loop. A wake and a message are posts of the caller's own node; a timer is armed and disarmed,
 * not made anew; dates are counted from a time the caller has read, as libuv and libev do; descriptors are watches.
 */
#include "subject.h"
#include <crunloop/crunloop.h>
#include <crunloop_kit/crunloop_kit.h>

typedef struct loop {
    rlc_loop *loop;
    uint64_t now_ns;
} loop;

typedef struct timer {
    rlc_timer *timer;
} timer;

typedef struct watch {
    rlc_watch *watch;
} watch;

typedef struct message {
    rlc_post_node node;
} message;

typedef struct waker {
    rlc_post_node node;
    loop *loop;
    void (*fn)(struct waker *);
} waker;

typedef waker deferred;

static void (*timer_hook)(timer *called);
static void (*watch_hook)(watch *called);
static void message_arrived(message *arrived);

static const char *load(void) {
    return NULL;
}

static void loop_open(loop *self) {
    *self = (loop){.now_ns = rlc_now(RLC_CLOCK_MONOTONIC)};
    require(rlc_loop_create(NULL, &self->loop) == 0, "rlc_loop_create");
}

static void loop_close(loop *self) {
    rlc_loop_destroy(self->loop);
}
static void loop_stop(loop *self) {
    rlc_loop_stop(self->loop);
}
static void loop_run(loop *self) {
    rlc_loop_run(self->loop, RLC_TIME_FOREVER);
}
static void loop_pass(loop *self) {
    rlc_loop_run(self->loop, 0);
}
static void loop_settle(loop *self) {
    rlc_loop_run(self->loop, 0);
}
static void loop_refresh(loop *self, uint64_t now_ns) {
    self->now_ns = now_ns;
}

static void loop_spin(loop *self, uint64_t limit_ns) {
    rlc_loop_set_spin(self->loop, limit_ns);
}

static void hold_called(rlc_loop *of, rlc_watch *called, uint32_t ready, void *context) {
    (void)of, (void)called, (void)ready, (void)context;
}

/** A loop runs while it has something to wait for: here a descriptor on which nothing happens. */
static void loop_hold(loop *self) {
    rlc_watch *hold;
    rlc_loop_add_watch(self->loop, eventfd(0, EFD_CLOEXEC), RLC_READABLE, hold_called, NULL, &hold);
}

static void waker_posted(rlc_post_node *node, bool ran) {
    waker *self = (waker *)node;
    if (ran)
        self->fn(self);
}

static void waker_open(loop *of, waker *opened, void (*fn)(waker *)) {
    *opened = (waker){.node.post_fn = waker_posted, .loop = of, .fn = fn};
}

static void waker_close(waker *closed) {
    (void)closed;
}
static void waker_wake(waker *to) {
    rlc_loop_post(to->loop->loop, &to->node);
}

static void defer_open(loop *of, deferred *opened, void (*fn)(deferred *)) {
    waker_open(of, opened, fn);
}
static void defer_close(deferred *closed) {
    (void)closed;
}
static void defer_again(deferred *again) {
    rlc_loop_defer(again->loop->loop, &again->node);
}

static void message_posted(rlc_post_node *node, bool ran) {
    if (ran)
        message_arrived((message *)node);
}

static void post(loop *to, message *posted) {
    posted->node.post_fn = message_posted;
    rlc_loop_post(to->loop, &posted->node);
}

static void timer_called(rlc_loop *of, rlc_timer *called, uint64_t deadline_ns, void *context) {
    (void)of, (void)called, (void)deadline_ns;
    timer_hook(context);
}

static void timer_open(loop *of, timer *opened) {
    rlc_loop_add_timer(of->loop, timer_called, opened, &opened->timer);
}

static void timer_close(loop *of, timer *closed) {
    (void)of;
    rlc_timer_remove(closed->timer);
}

static void timer_start(loop *of, timer *started, uint64_t delay_ns) {
    rlc_timer_arm(started->timer, of->now_ns + delay_ns, 0, timer_tolerance_ns);
}

static void timer_stop(loop *of, timer *stopped) {
    (void)of;
    rlc_timer_arm(stopped->timer, RLC_TIME_FOREVER, 0, 0);
}

static void timer_repeat(loop *of, timer *started, uint64_t period_ns) {
    rlc_timer_arm(started->timer, of->now_ns + period_ns, period_ns, 0);
}

static void watch_called(rlc_loop *of, rlc_watch *called, uint32_t ready, void *context) {
    (void)of, (void)called, (void)ready;
    watch_hook(context);
}

static void watch_add(loop *of, watch *added, int fd) {
    rlc_loop_add_watch(of->loop, fd, RLC_READABLE, watch_called, added, &added->watch);
}

static void watch_remove(loop *of, watch *removed) {
    (void)of;
    rlc_watch_remove(removed->watch);
}

/* rlc_loop has no observers. */
static void observers_open(loop *of, int64_t count) {
    (void)of, (void)count;
}
static void observers_close(loop *of) {
    (void)of;
}

/**
 * The heap alone, on a simulated clock: `size` connections with an idle timeout of a minute, whose resets come one after
 * the other, in random order; the loop looks at its timers each millisecond.
 */
static void run_timer_idle(const bench_args *args, bench_result *result) {
    enum { RESETS_PER_MS = 100 };
    const uint64_t timeout_ns = 60ull * SECOND_NS;
    rlc_timer_heap *heap;
    rlc_token *tokens = require_memory((size_t)args->size, sizeof *tokens), expired;
    void *context;
    require(rlc_timer_heap_create(&heap) == 0, "rlc_timer_heap_create");
    for (int64_t i = 0; i < args->size; i++) {
        require(rlc_timer_heap_insert(heap, NULL, &tokens[i]) == 0, "rlc_timer_heap_insert");
        rlc_timer_heap_arm(heap, tokens[i], random_below(1000) * timeout_ns / 1000 + timeout_ns, 0);
    }
    uint64_t now_ns = timeout_ns, moves = rlc_timer_heap_moves(heap);

    bench_begin(result);
    for (int64_t i = 0; i < args->count; i++) {
        rlc_timer_heap_arm(heap, tokens[random_below((uint64_t)args->size)], now_ns + timeout_ns, 0);
        if (i % RESETS_PER_MS != 0)
            continue;
        now_ns += MILLISECOND_NS;
        while (rlc_timer_heap_take_due(heap, now_ns, &context, &expired)) {
        }
    }
    bench_end(result);

    result->moves_per_op = (double)(rlc_timer_heap_moves(heap) - moves) / (double)args->count;
    rlc_timer_heap_destroy(heap);
    result->operations = (uint64_t)args->count;
}

#define HAS_WAKE 1
#define HAS_SPIN 1
#define HAS_POST 1
#define HAS_DEFER 1
#define HAS_TIMERS 1
#define HAS_REPEATING_TIMERS 1
#define TIMERS_ARE_REUSED 1
#define HAS_WATCHES 1
#define HAS_PASS 1
#define HAS_CHANNEL 1
#include "core_process.h"
#define OWN_WORKLOADS WORKLOAD(timer_idle)
#include "workloads.h"

const bench_subject bench_core = {load, workloads};

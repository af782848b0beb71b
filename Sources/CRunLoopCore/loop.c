#include "loop_internal.h"

#include <errno.h>
#include <stdlib.h>

/* Work that this thread queues for itself may keep it from looking at the kernel, but not for long. */
enum { LOOKS_SKIPPED_MAX = 64, SKIPPING_NS_MAX = 50 * 1000, EVENTS_PER_PASS = 64 };

/** What came of a pass. */
typedef struct outcome {
    bool called; /**< At least one callout. */
    bool woken;  /**< rlc_loop_wake asked for it. */
} outcome;

static uint64_t now_ns(const rlc_loop *loop) {
    return loop->kernel->now(loop->kernel->context, RLC_CLOCK_MONOTONIC);
}

/* ---- life ---- */

static int set_up(rlc_loop *loop) {
    int status = rlc_wakeup_port_create(loop->kernel, &loop->wakeup);
    if (status < 0)
        return status;
    status = rlc_port_set_create(loop->kernel, &loop->set);
    if (status < 0)
        return status;
    rlc_token token;
    return rlc_port_set_insert(loop->set, rlc_wakeup_port_fd(loop->wakeup), RLC_PORT_HINT, RLC_READABLE, NULL, &token);
}

static void tear_down(rlc_loop *loop) {
    rlc_port_set_destroy(loop->set); /* before its members: closing it drops them without a call each */
    rlc_timer_port_destroy(loop->timer_port);
    rlc_timer_heap_destroy(loop->heap);
    rlc_wakeup_port_release(loop->wakeup);
    free(loop);
}

int rlc_loop_create(const rlc_kernel *kernel, rlc_loop **ret_loop) {
    rlc_loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL)
        return -ENOMEM;
    loop->kernel = kernel == NULL ? rlc_kernel_default() : kernel;
    loop->fork_generation = rlc_fork_generation();
    TAILQ_INIT(&loop->watches);
    TAILQ_INIT(&loop->pending);
    TAILQ_INIT(&loop->failed);
    TAILQ_INIT(&loop->dead_watches);
    loop->first_due = loop->last_due = loop->first_dead_timer = RLC_NO_TIMER;
    int status = set_up(loop);
    if (status < 0) {
        tear_down(loop);
        return status;
    }
    *ret_loop = loop;
    return 0;
}

static void refuse_posts(rlc_loop *loop) {
    rlc_wakeup_port_close(loop->wakeup);
    rlc_post_node *node = rlc_post_queue_close(&loop->posts), *next;
    if (rlc_loop_is_forked(loop))
        return;    /* they are the parent's to answer */
    loop->depth++; /* a post_fn may still remove watches and timers */
    for (; node != NULL; node = next) {
        next = node->next;
        node->post_fn(node, false);
    }
    loop->depth--;
}

static void bury(rlc_loop *loop) {
    rlc_loop_free_watches(loop, &loop->dead_watches);
    rlc_loop_bury_timers(loop);
}

int rlc_loop_destroy(rlc_loop *loop) {
    if (loop == NULL)
        return 0;
    if (loop->depth > 0)
        return -EBUSY;
    refuse_posts(loop);
    bury(loop);
    rlc_loop_free_watches(loop, &loop->watches);
    rlc_loop_free_watches(loop, &loop->pending);
    rlc_loop_free_watches(loop, &loop->failed);
    tear_down(loop);
    return 0;
}

void rlc_loop_set_spin(rlc_loop *loop, uint64_t limit_ns) {
    rlc_spin_set(&loop->spin, limit_ns);
}

/* ---- from other threads ---- */

int rlc_loop_post(rlc_loop *loop, rlc_post_node *node) {
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    int was_empty = rlc_post_queue_push(&loop->posts, node);
    if (was_empty < 0)
        return was_empty;
    /* Whoever found it empty wakes. While the loop sleeps, that thread was preempted before it came to it: help. */
    if (was_empty == 0 && !rlc_wakeup_port_is_asleep(loop->wakeup))
        return 0;
    (void)rlc_wakeup_port_signal(loop->wakeup);
    return 0;
}

int rlc_loop_wake(rlc_loop *loop) {
    int status = rlc_wakeup_port_signal(loop->wakeup);
    return status < 0 ? status : 0;
}

int rlc_loop_stop(rlc_loop *loop) {
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    uint64_t word = atomic_load(&loop->stop);
    do {
        if (word == 0 || (word & 1) != 0)
            return 0;
    } while (!atomic_compare_exchange_weak(&loop->stop, &word, word | 1));
    int status = rlc_wakeup_port_kick(loop->wakeup);
    return status < 0 ? status : 0;
}

static bool is_stopped(const rlc_loop *loop) {
    return (atomic_load(&loop->stop) & 1) != 0;
}

/* ---- a pass ---- */

/** True if something can be called without asking the kernel or the clock. */
static bool has_work(const rlc_loop *loop) {
    return loop->taken != NULL || loop->first_due != RLC_NO_TIMER || !TAILQ_EMPTY(&loop->failed) ||
           rlc_post_queue_has_posts(&loop->posts) || rlc_port_set_has_batch(loop->set);
}

static bool may_skip_look(rlc_loop *loop, uint64_t now) {
    if (loop->skipped_looks < LOOKS_SKIPPED_MAX && now - loop->looked_ns < SKIPPING_NS_MAX) {
        loop->skipped_looks++;
        return true;
    }
    loop->skipped_looks = 0;
    loop->looked_ns = now;
    return false;
}

/** Announces sleep and arms the timer. 1: it may sleep, 0: there is work, or -errno. */
static int get_ready_to_sleep(rlc_loop *loop) {
    if (!rlc_wakeup_port_begin_wait(loop->wakeup))
        return 0;
    /* From here on every waker writes. What was published before is seen now. */
    if (is_stopped(loop) || rlc_post_queue_has_posts(&loop->posts))
        return 0;
    if (rlc_loop_first_deadline(loop) == RLC_TIME_FOREVER)
        return 1;
    int status = rlc_timer_port_want(loop->timer_port, rlc_timer_heap_wake_at(loop->heap));
    return status < 0 ? status : 1;
}

/** Spins, if the loop's host has asked for it. True if there is something to do now. */
static bool spin(rlc_loop *loop, uint64_t deadline_ns) {
    if (rlc_loop_first_deadline(loop) != RLC_TIME_FOREVER && rlc_timer_heap_wake_at(loop->heap) < deadline_ns)
        deadline_ns = rlc_timer_heap_wake_at(loop->heap);
    return rlc_spin_until_posted(&loop->spin, loop->wakeup, &loop->posts, deadline_ns);
}

/** Fetches events, waiting until deadline_ns if there is nothing else to do. Looks at most once. */
static int look(rlc_loop *loop, uint64_t deadline_ns, outcome *outcome) {
    bool is_busy = has_work(loop);
    uint64_t first = rlc_loop_first_deadline(loop);
    if (is_busy || first != RLC_TIME_FOREVER) {
        uint64_t now = now_ns(loop);
        if (rlc_port_set_has_batch(loop->set) || (is_busy && may_skip_look(loop, now)))
            return 0;
        is_busy = is_busy || first <= now;
    }
    int status = 1;
    if (is_busy)
        deadline_ns = 0;
    if (deadline_ns != 0 && spin(loop, deadline_ns))
        deadline_ns = 0;
    if (deadline_ns != 0)
        status = get_ready_to_sleep(loop);
    if (status == 0)
        deadline_ns = 0;
    if (status >= 0)
        status = rlc_port_set_wait(loop->set, deadline_ns);
    if (rlc_wakeup_port_take(loop->wakeup) == RLC_WAKE_POSTED)
        outcome->woken = true;
    return status == -EINTR ? 0 : status;
}

static bool call_events(rlc_loop *loop) {
    bool called = false;
    rlc_port_event event;
    /* A nested run may leave a fresh batch behind: bounded, the rest is the next pass's. */
    for (int i = 0; i < EVENTS_PER_PASS && rlc_port_set_take(loop->set, &event); i++) {
        if (event.kind == RLC_PORT_HINT) {
            if (event.context != NULL)
                rlc_timer_port_harvested(event.context);
            continue;
        }
        rlc_loop_call_watch(loop, event.context, event.ready);
        called = true;
    }
    return called;
}

__attribute__((noinline)) /* Stack traces and profiles tell the kinds of callouts apart by these names. */
static void
rlc_calling_out_to_a_post(rlc_post_node *node) {
    node->post_fn(node, true);
    __asm__ volatile(""); /* no tail call: the frame stays */
}

static bool call_posts(rlc_loop *loop) {
    bool called = false;
    rlc_post_node *node;
    while ((node = loop->taken) != NULL) {
        loop->taken = node->next;
        rlc_calling_out_to_a_post(node);
        called = true;
    }
    return called;
}

/** What is to be called is settled before the first callout: work queued by work waits for the next pass. */
static int pass(rlc_loop *loop, uint64_t deadline_ns, outcome *outcome) {
    rlc_loop_flush_watches(loop);
    int status = look(loop, deadline_ns, outcome);
    if (status < 0)
        return status;
    if (rlc_loop_first_deadline(loop) != RLC_TIME_FOREVER)
        rlc_loop_collect_due_timers(loop, now_ns(loop));
    if (loop->taken == NULL)
        loop->taken = rlc_post_queue_take_all(&loop->posts);
    outcome->called |= rlc_loop_call_failed_watches(loop);
    outcome->called |= rlc_loop_call_due_timers(loop);
    outcome->called |= call_events(loop);
    outcome->called |= call_posts(loop);
    return 0;
}

static void enter(rlc_loop *loop) {
    rlc_loop_mute_innermost(loop);
    loop->depth++;
}

static void leave(rlc_loop *loop) {
    if (--loop->depth == 0)
        bury(loop);
}

/* ---- runs ---- */

static bool is_finished(const rlc_loop *loop) {
    return loop->watch_count == 0 && !rlc_loop_has_timers(loop) && !has_work(loop);
}

/** One pass and what follows from it: a result, 0 to go on, or -errno. */
static int step(rlc_loop *loop, uint64_t deadline_ns, bool is_once) {
    if (is_finished(loop))
        return RLC_RUN_FINISHED;
    outcome outcome = {false, false};
    int status = pass(loop, deadline_ns, &outcome);
    if (status < 0)
        return status;
    if (is_once && (outcome.called || outcome.woken))
        return RLC_RUN_HANDLED;
    if (deadline_ns == 0)
        return RLC_RUN_TIMED_OUT;
    if (deadline_ns != RLC_TIME_FOREVER && now_ns(loop) >= deadline_ns)
        return RLC_RUN_TIMED_OUT;
    return is_stopped(loop) ? RLC_RUN_STOPPED : 0;
}

static int run(rlc_loop *loop, uint64_t deadline_ns, bool is_once) {
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    enter(loop);
    uint64_t enclosing = atomic_exchange(&loop->stop, ++loop->last_serial << 1);
    int result;
    do
        result = step(loop, deadline_ns, is_once);
    while (result == 0);
    atomic_store(&loop->stop, enclosing);
    leave(loop);
    return result;
}

int rlc_loop_run(rlc_loop *loop, uint64_t deadline_ns) {
    return run(loop, deadline_ns, false);
}

int rlc_loop_run_once(rlc_loop *loop, uint64_t deadline_ns) {
    return run(loop, deadline_ns, true);
}

/* ---- inside a host's loop ---- */

int rlc_loop_fd(const rlc_loop *loop) {
    return rlc_port_set_fd(loop->set);
}

static bool has_due_timer(rlc_loop *loop) {
    uint64_t first = rlc_loop_first_deadline(loop);
    return first != RLC_TIME_FOREVER && first <= now_ns(loop);
}

int rlc_loop_prepare(rlc_loop *loop) {
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    rlc_loop_flush_watches(loop);
    if (has_work(loop) || has_due_timer(loop))
        return 1;
    int status = get_ready_to_sleep(loop);
    return status < 0 ? status : status == 0;
}

int rlc_loop_dispatch(rlc_loop *loop) {
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    outcome outcome = {false, false};
    loop->skipped_looks = LOOKS_SKIPPED_MAX; /* look: until then the host finds the descriptor readable */
    enter(loop);
    int status = pass(loop, 0, &outcome);
    leave(loop);
    return status < 0 ? status : has_work(loop) || has_due_timer(loop);
}

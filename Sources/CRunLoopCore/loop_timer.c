#include "loop_internal.h"

#include <errno.h>
#include <stdlib.h>

static void move_timer(rlc_timer *timer, struct rlc_timer_list *from, struct rlc_timer_list *to) {
    TAILQ_REMOVE(from, timer, link);
    TAILQ_INSERT_TAIL(to, timer, link);
}

/** What the first timer needs. Half of it may stay after a failure: the next timer finishes the rest. */
static int set_up_timers(rlc_loop *loop) {
    int status = 0;
    if (loop->heap == NULL)
        status = rlc_timer_heap_create(&loop->heap);
    if (status < 0 || loop->timer_port != NULL)
        return status;
    rlc_timer_port *port;
    rlc_token token;
    status = rlc_timer_port_create(loop->kernel, RLC_CLOCK_MONOTONIC, &port);
    if (status < 0)
        return status;
    status = rlc_port_set_insert(loop->set, rlc_timer_port_fd(port), RLC_PORT_HINT, RLC_READABLE, port, &token);
    if (status < 0) {
        rlc_timer_port_destroy(port);
        return status;
    }
    loop->timer_port = port;
    return 0;
}

int rlc_loop_add_timer(rlc_loop *loop, rlc_timer_fn timer_fn, void *context, rlc_timer **ret_timer) {
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    int status = set_up_timers(loop);
    if (status < 0)
        return status;
    rlc_timer *timer = malloc(sizeof *timer);
    if (timer == NULL)
        return -ENOMEM;
    *timer = (rlc_timer){.loop = loop, .timer_fn = timer_fn, .context = context};
    status = rlc_timer_heap_insert(loop->heap, timer, &timer->token);
    if (status < 0) {
        free(timer);
        return status;
    }
    TAILQ_INSERT_TAIL(&loop->timers, timer, link);
    *ret_timer = timer;
    return 0;
}

static void leave_due(rlc_timer *timer) {
    if (!timer->is_due)
        return;
    move_timer(timer, &timer->loop->due, &timer->loop->timers);
    timer->is_due = false;
    timer->loop->due_count--;
}

static void set_armed(rlc_timer *timer, bool is_armed) {
    if (timer->is_armed != is_armed)
        timer->loop->armed_count += is_armed ? (size_t)1 : (size_t)-1;
    timer->is_armed = is_armed;
}

int rlc_timer_arm(rlc_timer *timer, uint64_t deadline_ns, uint64_t interval_ns, uint64_t tolerance_ns) {
    rlc_loop *loop = timer->loop;
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    if (timer->is_removed)
        return -ENOENT;
    int status = rlc_timer_heap_arm(loop->heap, timer->token, deadline_ns, tolerance_ns);
    if (status < 0)
        return status;
    leave_due(timer);
    timer->deadline_ns = deadline_ns;
    timer->interval_ns = interval_ns;
    timer->tolerance_ns = tolerance_ns;
    timer->arms++;
    set_armed(timer, deadline_ns != RLC_TIME_FOREVER);
    return 0;
}

void rlc_timer_remove(rlc_timer *timer) {
    if (timer == NULL || timer->is_removed)
        return;
    rlc_loop *loop = timer->loop;
    (void)rlc_timer_heap_remove(loop->heap, timer->token);
    leave_due(timer);
    set_armed(timer, false);
    timer->is_removed = true;
    TAILQ_REMOVE(&loop->timers, timer, link);
    if (loop->depth == 0)
        free(timer);
    else
        TAILQ_INSERT_TAIL(&loop->dead_timers, timer, link);
}

uint64_t rlc_loop_first_deadline(rlc_loop *loop) {
    return loop->armed_count == loop->due_count ? RLC_TIME_FOREVER : rlc_timer_heap_first(loop->heap);
}

void rlc_loop_collect_due_timers(rlc_loop *loop, uint64_t now_ns) {
    void *context;
    rlc_token token;
    while (rlc_timer_heap_take_due(loop->heap, now_ns, &context, &token)) {
        rlc_timer *timer = context;
        move_timer(timer, &loop->timers, &loop->due);
        timer->is_due = true;
        loop->due_count++;
    }
}

__attribute__((noinline)) /* Stack traces and profiles tell the kinds of callouts apart by these names. */
static void
rlc_calling_out_to_a_timer(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns) {
    timer->timer_fn(loop, timer, deadline_ns, timer->context);
    __asm__ volatile(""); /* no tail call: the frame stays */
}

static void call_timer(rlc_loop *loop, rlc_timer *timer) {
    uint64_t deadline_ns = timer->deadline_ns;
    uint32_t arms = timer->arms;
    set_armed(timer, false);
    rlc_calling_out_to_a_timer(loop, timer, deadline_ns);
    /* Armed anew after the callout only, so that a run inside it does not call it again. */
    if (timer->is_removed || timer->arms != arms || timer->interval_ns == 0)
        return;
    uint64_t now_ns = loop->kernel->now(loop->kernel->context, RLC_CLOCK_MONOTONIC);
    uint64_t next_ns = rlc_time_next_in_phase(deadline_ns, timer->interval_ns, now_ns);
    (void)rlc_timer_arm(timer, next_ns, timer->interval_ns, timer->tolerance_ns);
}

bool rlc_loop_call_due_timers(rlc_loop *loop) {
    bool called = false;
    rlc_timer *timer;
    while ((timer = TAILQ_FIRST(&loop->due)) != NULL) {
        leave_due(timer);
        call_timer(loop, timer);
        called = true;
    }
    return called;
}

void rlc_loop_free_timers(rlc_loop *loop, struct rlc_timer_list *list) {
    (void)loop;
    for (rlc_timer *timer; (timer = TAILQ_FIRST(list)) != NULL;) {
        TAILQ_REMOVE(list, timer, link);
        free(timer);
    }
}

#include "loop_internal.h"
#include "memory.h"
#include "timer_port_internal.h"

#include <crunloop_kit/pass_checks.h>
#include <errno.h>

static rlc_timer *timer_at(const rlc_loop *loop, uint32_t slot) {
    return (rlc_timer *)rlc_timer_heap_at(loop->heap, slot);
}

static bool is_removed(const rlc_timer *timer) {
    return timer->timer_fn == NULL;
}

static bool is_due(const rlc_timer *timer) {
    return timer->member.marks[RLC_TIMER_DUE];
}

/* ---- the timerfd; without one, the timeout of a wait carries the date of the first timer ---- */

static int make_timer_port(rlc_loop *loop) {
    rlc_timer_port *port;
    rlc_token token;
    int status = rlc_timer_port_create(loop->kernel, RLC_CLOCK_MONOTONIC, &port);
    if (status < 0)
        return status;
    status = rlc_port_set_insert(loop->set, rlc_timer_port_fd(port), RLC_PORT_HINT, RLC_READABLE, port, &token);
    if (status < 0) {
        rlc_timer_port_destroy(port);
        return status;
    }
    loop->timer_port = port;
    loop->timer_token = token;
    return 0;
}

void rlc_loop_lose_timer_port(rlc_loop *loop) {
    rlc_kit_forget_timer_fd(loop->timer_port);
    (void)rlc_port_set_remove(loop->set, loop->timer_token); /* cannot fail: it is a member */
    rlc_timer_port_destroy(loop->timer_port);
    loop->timer_port = NULL;
    loop->armed_at_ns = RLC_TIME_FOREVER;
}

/** Drops a timerfd that could not be set: other code has closed it, or the kernel refuses the call. */
static void drop_timer_port(rlc_loop *loop, int status) {
    int fd = rlc_timer_port_fd(loop->timer_port);
    bool is_own = status != -EINVAL && rlc_kit_is_watched(loop->set, loop->timer_token);
    rlc_loop_lose_timer_port(loop);
    if (is_own)
        loop->kernel->close(loop->kernel->context, fd);
}

void rlc_loop_verify_timer_port(rlc_loop *loop) {
    if (!rlc_kit_is_watched(loop->set, loop->timer_token))
        rlc_loop_lose_timer_port(loop);
}

int rlc_loop_arm_timer_port(rlc_loop *loop, uint64_t wake_at_ns) {
    int status = 0;
    for (int attempt = 0; attempt < 2; attempt++) {
        status = loop->timer_port == NULL ? make_timer_port(loop) : 0;
        if (status < 0)
            break;
        status = rlc_timer_port_want(loop->timer_port, wake_at_ns);
        if (status >= 0 || status == -ECHILD)
            break;
        drop_timer_port(loop, status);
    }
    loop->armed_at_ns = loop->timer_port == NULL ? RLC_TIME_FOREVER : rlc_timer_port_armed(loop->timer_port);
    return status;
}

/* ---- adding ---- */

/** Makes what the first timer needs. If it fails, a part may exist; the next timer makes what is missing. */
static int set_up_timers(rlc_loop *loop) {
    int status = rlc_loop_ensure_wakeup(loop);
    if (status == 0 && loop->heap == NULL)
        status = rlc_timer_heap_create_for(rlc_memory_of(loop->kernel), sizeof(rlc_timer), &loop->heap);
    if (status == 0 && loop->timer_port == NULL)
        (void)make_timer_port(loop); /* if it fails, the first arming tries again */
    return status;
}

int rlc_loop_add_timer(rlc_loop *loop, rlc_timer_fn timer_fn, void *context, rlc_timer **ret_timer) {
    RLC_REQUIRE(loop);
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    if (timer_fn == NULL)
        return -EINVAL;
    int status = set_up_timers(loop);
    if (status < 0)
        return status;
    rlc_heap_timer *member;
    status = rlc_timer_heap_add(loop->heap, context, &member);
    if (status < 0)
        return status;
    rlc_timer *timer = (rlc_timer *)member;
    *timer = (rlc_timer){.member = *member, .loop = loop, .timer_fn = timer_fn};
    *ret_timer = timer;
    return 0;
}

/* ---- due timers: taken from the heap, not called yet ---- */

static void join_due(void *context, rlc_heap_timer *member) {
    rlc_loop *loop = context;
    member->marks[RLC_TIMER_DUE] = true;
    rlc_slot_list_append(&loop->due, &loop->heap->timers, &member->slot, offsetof(rlc_timer, due_link));
}

static void leave_due(rlc_loop *loop, rlc_timer *timer) {
    timer->member.marks[RLC_TIMER_DUE] = false;
    rlc_slot_list_remove(&loop->due, &loop->heap->timers, &timer->member.slot, offsetof(rlc_timer, due_link));
}

/* ---- arming ---- */

__attribute__((always_inline)) static inline void set(
    rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, uint64_t tolerance_ns) {
    if (deadline_ns < loop->timers_at_ns)
        loop->timers_at_ns = deadline_ns;
    rlc_timer_heap *heap = loop->heap;
    if (deadline_ns == RLC_TIME_FOREVER) {
        loop->has_moved_timers = true;
        rlc_timer_heap_disarm(heap, &timer->member);
    } else if (rlc_timer_heap_arms_anew(heap, tolerance_ns)) {
        loop->has_moved_timers = true;
        rlc_timer_heap_arm_anew(heap, &timer->member, deadline_ns, tolerance_ns);
    } else { /* has_moved_timers need not be set: the heap's first key has not become later */
        rlc_timer_heap_arm_exact(heap, &timer->member, deadline_ns);
        rlc_timer_heap_check(heap);
    }
}

/* Not inlined, so that arming a timer that is not due saves no registers. */
__attribute__((noinline)) static int arm_due(
    rlc_timer *timer, uint64_t deadline_ns, uint64_t interval_ns, uint64_t tolerance_ns) {
    leave_due(timer->loop, timer);
    return rlc_timer_arm(timer, deadline_ns, interval_ns, tolerance_ns);
}

int rlc_timer_arm(rlc_timer *timer, uint64_t deadline_ns, uint64_t interval_ns, uint64_t tolerance_ns) {
    RLC_REQUIRE(timer);
    rlc_loop *loop = timer->loop;
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    if (is_removed(timer))
        return -ENOENT;
    timer->interval_ns = interval_ns;
    timer->member.marks[RLC_TIMER_ARMED] = true;
    if (is_due(timer))
        return arm_due(timer, deadline_ns, interval_ns, tolerance_ns);
    set(loop, timer, deadline_ns, tolerance_ns);
    return 0;
}

void rlc_timer_remove(rlc_timer *timer) {
    if (timer == NULL || is_removed(timer))
        return;
    rlc_loop *loop = timer->loop;
    if (is_due(timer))
        leave_due(loop, timer);
    timer->timer_fn = NULL;
    loop->has_moved_timers = true;
    if (loop->at == 0) {
        rlc_timer_heap_release(loop->heap, &timer->member);
        return;
    }
    rlc_timer_heap_disarm(loop->heap, &timer->member);
    loop->has_removed = true;
    SLIST_INSERT_HEAD(&loop->removed_timers, (rlc_unused_slot *)(void *)timer, link);
}

void rlc_loop_free_removed_timers(rlc_loop *loop) {
    rlc_unused_slot *dead;
    while ((dead = SLIST_FIRST(&loop->removed_timers)) != NULL) {
        SLIST_REMOVE_HEAD(&loop->removed_timers, link);
        rlc_timer_heap_release(loop->heap, (rlc_heap_timer *)(void *)dead);
    }
}

/* ---- dates that no timer has any more ---- */

/* At most so many further such dates in a row stay in the timerfd. The value is also used as a bit mask. */
enum { LEFT_IN_A_ROW_MAX = 63 };

/**
 * Decides whether to remove such a date from the timerfd. That costs a system call, and saves a useless wake. The last
 * removal did not pay if another such date comes before the removed one has passed: one useless wake would have served
 * both. That happens if a program sets and cancels timeouts in turn. Then the timerfd keeps this date and the next one;
 * when a removal again does not pay, this date and the next 3, then 7, up to 63.
 */
static bool is_worth_a_call(rlc_timer_port *port, uint64_t now_ns) {
    if (now_ns < port->spared_ns) {
        port->spared_ns = 0;
        port->left_dates = port->left_in_a_row = (uint8_t)(port->left_in_a_row * 2 + 1) & LEFT_IN_A_ROW_MAX;
    } else if (port->left_dates > 0) {
        port->left_dates--;
    } else {
        if (port->spared_ns != 0)
            port->left_in_a_row = 0; /* the last call has paid */
        return true;
    }
    return false;
}

/** True if the timerfd is set for a date that no timer has any more, and the loop has not decided to keep it. */
static bool is_set_too_early(const rlc_loop *loop) {
    return loop->armed_at_ns != RLC_TIME_FOREVER && loop->armed_at_ns != loop->timer_port->left_ns &&
           loop->armed_at_ns < rlc_timer_heap_earliest_key(loop->heap);
}

int rlc_loop_spare_wake(rlc_loop *loop) {
    loop->has_moved_timers = false;
    if (!is_set_too_early(loop))
        return 1;
    rlc_timer_port *port = loop->timer_port;
    uint64_t now_ns = rlc_loop_now(loop);
    port->left_ns = loop->armed_at_ns;
    if (now_ns >= loop->armed_at_ns || !is_worth_a_call(port, now_ns))
        return 1;
    port->spared_ns = loop->armed_at_ns;
    rlc_loop_note_timers(loop);
    if (rlc_loop_has_timers(loop)) {
        rlc_timer_port_note_expiry(port); /* so that the port accepts a later date */
        int status = rlc_loop_arm_timer_port(loop, rlc_timer_heap_wake_at(loop->heap));
        return status < 0 ? status : 1;
    }
    int status = rlc_timer_port_disarm(port);
    if (status == -ECHILD)
        return status;
    if (status < 0)
        drop_timer_port(loop, status);
    loop->armed_at_ns = RLC_TIME_FOREVER;
    return 1;
}

/* ---- firing ---- */

void rlc_loop_collect_due_timers(rlc_loop *loop, uint64_t now_ns) {
    if (loop->armed_at_ns <= now_ns && loop->set->fetched == 0) { /* no event came: the timerfd may be closed */
        rlc_timer_port_note_expiry(loop->timer_port);
        loop->armed_at_ns = RLC_TIME_FOREVER;
    }
    loop->has_moved_timers = true;
    rlc_timer_heap_collect(loop->heap, now_ns, join_due, loop);
    rlc_loop_note_timers(loop);
}

__attribute__((noinline)) /* Stack traces and profiles tell the kinds of callouts apart by these names. */
static void
rlc_calling_out_to_a_timer(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns) {
    timer->timer_fn(loop, timer, deadline_ns, timer->member.context);
    __asm__ volatile(""); /* no tail call, so that stack traces show this frame */
}

/** Arms a repeating timer again. Called after the callout, so that a run inside the callout does not call it again. */
__attribute__((noinline)) static void repeat(rlc_loop *loop, rlc_timer *timer) {
    uint64_t now_ns = loop->kernel->now(loop->kernel->context, RLC_CLOCK_MONOTONIC);
    uint64_t next_ns = rlc_time_next_in_phase(timer->member.deadline_ns, timer->interval_ns, now_ns);
    set(loop, timer, next_ns, rlc_timer_heap_tolerance(loop->heap, &timer->member));
}

__attribute__((noinline)) void rlc_loop_end_timer(rlc_loop *loop, rlc_timer *timer) {
    bool was_armed = timer->member.marks[RLC_TIMER_ARMED];
    timer->member.marks[RLC_TIMER_ARMED] = true; /* an outer callout of the timer, if any, has armed it */
    if (!is_removed(timer) && !was_armed && timer->interval_ns != 0)
        repeat(loop, timer);
}

static void call_timer(rlc_loop *loop, rlc_timer *timer) {
    timer->member.marks[RLC_TIMER_ARMED] = false;
    loop->callee = (uintptr_t)timer | RLC_CALLEE_IS_TIMER;
    rlc_calling_out_to_a_timer(loop, timer, timer->member.deadline_ns);
    loop->callee = 0;
    rlc_loop_end_timer(loop, timer);
}

bool rlc_loop_call_due_timers(rlc_loop *loop) {
    bool called = false;
    while (!rlc_slot_list_is_empty(&loop->due) && !rlc_loop_is_forked(loop)) {
        rlc_timer *timer = timer_at(loop, loop->due.first);
        leave_due(loop, timer);
        call_timer(loop, timer);
        called = true;
    }
    return called;
}

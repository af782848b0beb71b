/* A run makes passes until there is a result. A pass polls the kernel, unless it may skip that, and makes callouts. */
#include "kernel_internal.h"
#include "loop_internal.h"
#include "wakeup_port_internal.h"

#include <assert.h>
#include <errno.h>

/*
 * While work is queued, the loop may leave out polls of the kernel, but not for long. Until the next poll it ignores
 * timers that were further away than FAR_NS at the last poll. So if posts suddenly take longer, such a timer may be
 * late by BLIND_SKIPS_MAX - 1 posts.
 */
enum { BLIND_SKIPS_MAX = 16, SKIPPING_NS_MAX = 50 * 1000, FAR_NS = 100 * 1000 * 1000 };

/* If each post takes less than this, BLIND_SKIPS_MAX posts together take less than SKIPPING_NS_MAX. */
enum { BRISK_NS = SKIPPING_NS_MAX / BLIND_SKIPS_MAX };

/* For a timer that tolerates less than this, the loop sets the timerfd, which the kernel does not delay. */
enum { TOLERANT_NS = 100 * 1000 };

/* The loop searches at most so many events for the timerfd's; if there are more, it reads the clock instead. */
enum { FEW_EVENTS = RLC_BATCH_MIN - 1 };

/* ---- polls of the kernel ---- */

/** True if no timer becomes due while polls are left out: FAR_NS is much longer than SKIPPING_NS_MAX. */
static inline bool is_far_from_timers(const rlc_loop *loop) {
    return loop->timers_at_ns > loop->polled_at_ns + FAR_NS;
}

/** As is_far_from_timers, but reads the heap if need be: a date may have been cancelled. */
__attribute__((noinline)) static bool is_really_far_from_timers(rlc_loop *loop) {
    if (!is_far_from_timers(loop))
        rlc_loop_note_timers(loop);
    return is_far_from_timers(loop);
}

/**
 * Returns how many polls may be left out before the clock is read again. They are few at first, so that the loop
 * notices long callouts; they are BLIND_SKIPS_MAX from the beginning if the posts before the last poll were short.
 */
static uint32_t next_skips(rlc_loop *loop) {
    if (!is_really_far_from_timers(loop) || (loop->skipped_polls == 0 && !loop->is_brisk))
        return 1;
    return loop->is_brisk || loop->skipped_polls > BLIND_SKIPS_MAX ? BLIND_SKIPS_MAX : loop->skipped_polls;
}

/* Not inlined, so that the compiler inlines may_skip_poll into the usual pass. */
__attribute__((noinline)) static bool may_skip_poll_by_clock(rlc_loop *loop) {
    uint64_t now = rlc_loop_now(loop);
    bool is_over = now - loop->polled_at_ns >= SKIPPING_NS_MAX;
    if (is_over || loop->skipped_polls >= RLC_POLLS_SKIPPED_MAX) {
        if (loop->skipped_polls != RLC_POLL_IS_DUE)
            loop->is_brisk = now - loop->polled_at_ns < loop->skipped_polls * BRISK_NS;
        loop->skipped_polls = RLC_POLL_IS_DUE;
        loop->polled_at_ns = now;
        return false;
    }
    uint32_t skips = next_skips(loop), left = RLC_POLLS_SKIPPED_MAX - loop->skipped_polls;
    if (skips > left)
        skips = left;
    loop->skipped_polls += skips;
    loop->blind_skips = skips - 1;
    return true;
}

static inline bool may_skip_poll(rlc_loop *loop) {
    if (loop->blind_skips == 0)
        return may_skip_poll_by_clock(loop);
    loop->blind_skips--;
    return true;
}

/** Returns how late the kernel may end a wait. The timeout must precede a timer's latest moment by that much. */
static uint64_t margin(rlc_loop *loop) {
    if (loop->slack_ns == 0)
        loop->slack_ns = rlc_time_add(rlc_kernel_wait_slack(loop->kernel), 1);
    return loop->slack_ns;
}

/**
 * Lets the timeout of the wait wake the loop for the next timer, if that tolerates TOLERANT_NS and twice the slack of a
 * wait. That saves the call that sets the timerfd, but each further wait would need the timeout too. So the loop does
 * it only once for a date: if other events end that wait first, the loop sets the timerfd.
 */
static bool limits_wait(rlc_loop *loop, uint64_t wake_at_ns, uint64_t *deadline_ns) {
    if (wake_at_ns == loop->limited_by_ns || wake_at_ns >= loop->armed_at_ns)
        return false;
    uint64_t tolerance_ns = rlc_timer_heap_wake_tolerance(loop->heap);
    if (tolerance_ns < TOLERANT_NS || tolerance_ns / 2 < margin(loop))
        return false;
    loop->limited_by_ns = wake_at_ns;
    if (wake_at_ns - margin(loop) < *deadline_ns)
        *deadline_ns = wake_at_ns - margin(loop);
    return true;
}

/** Makes the kernel end the sleep for the first timer. Returns 1 or -errno. Not inlined, to spare registers. */
__attribute__((noinline)) static int arm_for_first_timer(rlc_loop *loop, uint64_t *deadline_ns) {
    uint64_t wake_at_ns = rlc_timer_heap_wake_at(loop->heap); /* moves the first timer to the front */
    rlc_loop_note_timers(loop);
    loop->has_moved_timers = true;
    if (loop->heap->knows_tolerance && deadline_ns != NULL && limits_wait(loop, wake_at_ns, deadline_ns))
        return 1;
    int status = rlc_loop_arm_timer_port(loop, wake_at_ns);
    if (status < 0 && (status == -ECHILD || deadline_ns == NULL))
        return status;
    if (status < 0 && wake_at_ns < *deadline_ns) /* there is no timerfd: the timeout ends the wait */
        *deadline_ns = wake_at_ns == 0 ? 1 : wake_at_ns;
    return 1;
}

/**
 * Called when the loop cannot sleep, because something was posted or the set does not watch a new eventfd yet. Makes
 * the set watch such an eventfd. Returns 0 or -errno.
 */
__attribute__((noinline)) static int renew_wakeup(rlc_loop *loop) {
    if (!rlc_kit_take_renewal(loop->wakeup))
        return 0;
    int status = rlc_kit_renew_wakeup(loop->set, loop->wakeup);
    if (status < 0 || !rlc_wakeup_port_is_watched_by(loop->wakeup, rlc_port_set_fd(loop->set)))
        rlc_kit_demand_renewal(loop->wakeup); /* the next sleep renews it */
    return status;
}

static inline int get_ready_to_sleep(rlc_loop *loop, uint64_t *deadline_ns) {
    if (!rlc_wakeup_word_sleeps(loop->wakeup) || rlc_wakeup_port_needs_renewal(loop->wakeup))
        return renew_wakeup(loop);
    /* From here on every waker writes to the eventfd. What others published before is visible now. */
    if (rlc_has_posts(&loop->posts))
        return 0;
    if (deadline_ns != NULL && rlc_loop_is_stopped(loop))
        return 0; /* not for a host (NULL): the stop of an outer run does not keep it from sleeping */
    if (rlc_loop_has_unarmed_timer(loop))
        return arm_for_first_timer(loop, deadline_ns);
    return loop->has_moved_timers ? rlc_loop_spare_wake(loop) : 1;
}

int rlc_loop_get_ready_to_sleep(rlc_loop *loop, uint64_t *deadline_ns) {
    return get_ready_to_sleep(loop, deadline_ns);
}

/** Also ends the wait at the timerfd's date, since other code may have closed the timerfd. Not inlined: rare. */
__attribute__((noinline)) static int get_ready_to_sleep_until(rlc_loop *loop, uint64_t *deadline_ns) {
    int status = rlc_loop_get_ready_to_sleep(loop, deadline_ns);
    if (loop->armed_at_ns < *deadline_ns)
        *deadline_ns = loop->armed_at_ns;
    return status;
}

/** Spins, if rlc_loop_set_spin has allowed it. Returns true if there is something to do now. */
static bool spin(rlc_loop *loop, uint64_t deadline_ns) {
    if (loop->spin.limit_ns == 0)
        return false;
    loop->has_moved_timers = true; /* reading the first date may move timers in the heap */
    if (rlc_loop_has_timers(loop) && rlc_timer_heap_wake_at(loop->heap) < deadline_ns)
        deadline_ns = rlc_timer_heap_wake_at(loop->heap);
    return rlc_spin_until_posted(&loop->spin, loop->wakeup, &loop->posts.head, deadline_ns);
}

/** Fetches events; waits until deadline_ns if there is nothing else to do. */
static int poll_kernel(rlc_loop *loop, uint64_t deadline_ns, rlc_outcome *outcome) {
    int status = 1;
    if (deadline_ns != 0) {
        if ((rlc_loop_has_unarmed_timer(loop) && rlc_loop_has_due_timer(loop)) || spin(loop, deadline_ns))
            status = 0;
        else if (deadline_ns == RLC_TIME_FOREVER)
            status = get_ready_to_sleep(loop, &deadline_ns);
        else
            status = get_ready_to_sleep_until(loop, &deadline_ns);
        if (status == 0)
            deadline_ns = 0;
        else
            loop->skipped_polls = RLC_POLL_SLEEPS; /* for rlc_loop_destroy, if the thread is cancelled in the wait */
    }
    if (status >= 0) {
        status = rlc_port_set_wait(loop->set, deadline_ns);
        if (status < 0)
            status = rlc_loop_wait_again(loop, deadline_ns, status);
    }
    loop->skipped_polls = 0;
    loop->blind_skips = 0;
    if (rlc_wakeup_word_take(loop->wakeup) == RLC_WAKE_POSTED)
        outcome->woken = rlc_loop_note_wake(loop);
    return status;
}

/**
 * True if the poll shows that no timer is due: it has fetched events without the timerfd's, and the timerfd is set for
 * the first timer. The loop searches the events only if they are so few that the batch had room for the timerfd's.
 */
static inline bool shows_no_timer_due(const rlc_loop *loop, bool holds_batch) {
    const rlc_port_set *set = loop->set;
    if (loop->timers_at_ns == RLC_TIME_FOREVER)
        return true;
    if (holds_batch || rlc_loop_has_unarmed_timer(loop) || set->fetched == 0 || set->fetched > FEW_EVENTS)
        return false;
    for (uint32_t i = 0; i < set->fetched; i++) {
        if (set->batch->events[i].data.u64 == loop->timer_token.bits)
            return false;
    }
    return true;
}

/* ---- callouts ---- */

static rlc_port *take_event(rlc_loop *loop, uint32_t *ret_ready) {
    rlc_port *port = loop->trusts_batch ? rlc_port_set_take_plain(loop->set, true, ret_ready) : NULL;
    return port != NULL ? port : rlc_port_set_take_port(loop->set, loop->trusts_batch, ret_ready);
}

/** Calls the watches of fetched events. It trusts the events of this pass, and verifies those of an earlier one. */
static bool call_events(rlc_loop *loop) {
    bool called = false;
    uint32_t ready;
    /* A nested run may fetch a new batch. The bound leaves the rest of that batch to the next pass. */
    for (int i = 0; i < RLC_BATCH_MAX && rlc_port_set_has_events(loop->set); i++) {
        rlc_port *port = take_event(loop, &ready);
        if (port == NULL)
            break;
        if ((ready & RLC_UNWATCHED) != 0) {
            rlc_loop_lose(loop, port);
        } else if (!rlc_port_is(port, RLC_PORT_HINT)) {
            rlc_loop_call_watch(loop, (rlc_watch *)port, ready);
            called = true;
        } else if (!rlc_port_is(port, RLC_PORT_WAKEUP)) {
            rlc_timer_port_note_expiry(port->context);
            loop->armed_at_ns = RLC_TIME_FOREVER;
        }
    }
    loop->trusts_batch = false;
    return called;
}

__attribute__((noinline)) /* Stack traces and profiles tell the kinds of callouts apart by these names. */
static void
rlc_calling_out_to_a_post(rlc_post_node *node) {
    node->post_fn(node, true);
    __asm__ volatile(""); /* no tail call, so that stack traces show this frame */
}

/** Calls the taken posts from `node` on. Returns 0, or -ECHILD if one has forked: the parent calls the others. */
static inline int call_posts(rlc_loop *loop, rlc_post_node *node) {
    do {
        loop->taken = node->next;
        rlc_calling_out_to_a_post(node);
        if (rlc_loop_is_forked(loop))
            return -ECHILD;
    } while ((node = loop->taken) != NULL);
    return 0;
}

/* ---- a pass ---- */

/** In builds with internal checks: checks that the noted dates agree with the heap and the timerfd. */
static inline void check_dates(const rlc_loop *loop) {
#ifdef RLC_INTERNAL_CHECKS
    assert(loop->heap == NULL || loop->timers_at_ns <= rlc_timer_heap_earliest_key(loop->heap));
    assert(loop->timer_port == NULL || loop->armed_at_ns == rlc_timer_port_armed(loop->timer_port));
#endif
    (void)loop;
}

int rlc_loop_pass(rlc_loop *loop, uint64_t deadline_ns, rlc_outcome *outcome) {
    check_dates(loop);
    if (loop->has_prelude) {
        if (loop->hook_count > 0 && !loop->is_prepared)
            return rlc_loop_pass_with_hooks(loop, deadline_ns, outcome);
        loop->is_prepared = false;
        rlc_loop_flush_watches(loop);
    }
    bool is_busy = rlc_loop_has_work(loop), holds_batch = is_busy && rlc_port_set_holds_batch(loop->set);
    bool skips_poll = is_busy && !holds_batch && may_skip_poll(loop);
    if (!holds_batch && !skips_poll) {
        int status = poll_kernel(loop, is_busy ? 0 : deadline_ns, outcome);
        if (status < 0)
            return status;
        if (loop->set->has_strays)
            rlc_port_set_drop_strays(loop->set);
        loop->set->is_fresh = false;
        loop->trusts_batch = true;
    }
    bool needs_no_clock = skips_poll ? is_far_from_timers(loop) : shows_no_timer_due(loop, holds_batch);
    uint64_t now_ns = needs_no_clock ? 0 : rlc_loop_now(loop);
    if (!needs_no_clock && loop->timers_at_ns <= now_ns)
        rlc_loop_collect_due_timers(loop, now_ns);
    if (loop->taken == NULL)
        loop->taken = rlc_loop_take_queued(loop);
    if (!rlc_slot_list_is_empty(&loop->failed))
        outcome->called |= rlc_loop_call_failed_watches(loop);
    if (!rlc_slot_list_is_empty(&loop->due))
        outcome->called |= rlc_loop_call_due_timers(loop);
    if (rlc_port_set_has_events(loop->set))
        outcome->called |= call_events(loop);
    if (outcome->called && rlc_loop_is_forked(loop))
        return -ECHILD;
    if (loop->taken == NULL)
        return 0;
    outcome->called = true;
    return call_posts(loop, loop->taken);
}

static inline bool has_queued(const rlc_loop *loop) {
    return loop->deferred != NULL || rlc_has_posts(&loop->posts);
}

/** True if the next pass calls only posts, as long as it does not poll the kernel. */
static bool has_only_posts(rlc_loop *loop) {
    return has_queued(loop) && !loop->has_prelude && !rlc_port_set_has_events(loop->set) &&
           rlc_slot_list_is_empty(&loop->failed) && rlc_slot_list_is_empty(&loop->due) &&
           is_really_far_from_timers(loop);
}

/**
 * Makes passes that only call posts. The outer loop checks has_only_posts. The inner loop need not: every change that
 * could make it false sets blind_skips to 0. Returns RLC_RUN_STOPPED, 0 to continue the run, or -ECHILD.
 */
static int serve_posts(rlc_loop *loop) {
    while (has_only_posts(loop) && may_skip_poll(loop)) {
        while (true) {
            if (call_posts(loop, rlc_loop_take_queued(loop)) < 0)
                return -ECHILD;
            if (rlc_loop_is_stopped(loop))
                return RLC_RUN_STOPPED;
            if (loop->blind_skips == 0 || !has_queued(loop) || !is_far_from_timers(loop))
                break;
            loop->blind_skips--;
        }
    }
    return 0;
}

/* ---- runs ---- */

/** Makes one pass. Returns the run's result, 0 to continue, or -errno. */
static int step(rlc_loop *loop, uint64_t deadline_ns, bool is_once) {
    if (rlc_loop_is_finished(loop))
        return RLC_RUN_FINISHED;
    rlc_outcome outcome = {false, false};
    int status = rlc_loop_pass(loop, deadline_ns, &outcome);
    if (status < 0)
        return status;
    if (is_once && (outcome.called || outcome.woken))
        return RLC_RUN_HANDLED;
    if (deadline_ns == 0)
        return RLC_RUN_TIMED_OUT;
    if (deadline_ns != RLC_TIME_FOREVER && rlc_loop_now(loop) >= deadline_ns)
        return RLC_RUN_TIMED_OUT;
    return rlc_loop_is_stopped(loop) ? RLC_RUN_STOPPED : 0;
}

RLC_ON_STACK static int run(rlc_loop *loop, uint64_t deadline_ns, bool is_once) {
    RLC_REQUIRE(loop);
    volatile uintptr_t mark;
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    if (loop->deferred_end == NULL)
        return -ESHUTDOWN; /* the wakeup word is closed, so no wait could sleep */
    if (loop->at == 0)
        atomic_store(&loop->stop, ++loop->last_serial << 1);
    else if (rlc_loop_nest(loop, (uintptr_t)&mark, true) < 0)
        return -ENOMEM;
    rlc_loop_enter(loop, &mark);
    const rlc_outer_run *outer = loop->outer;
    bool is_endless = !is_once && deadline_ns == RLC_TIME_FOREVER;
    if (is_endless && loop->armed_at_ns != RLC_TIME_FOREVER)
        rlc_loop_verify_timer_port(loop); /* no wait has a timeout: only the timerfd ends it for timers */
    while (true) {
        int result = step(loop, deadline_ns, is_once);
        if (result == 0 && is_endless)
            result = serve_posts(loop);
        if (loop->outer != outer)
            rlc_loop_end_inner(loop, outer);
        if (result != 0) {
            rlc_loop_leave(loop, true);
            rlc_loop_acquire(loop); /* for what others did before a stop */
            return result;
        }
        if (loop->outer == NULL)
            rlc_loop_free_removed(loop);
    }
}

int rlc_loop_run(rlc_loop *loop, uint64_t deadline_ns) {
    return run(loop, deadline_ns, false);
}

int rlc_loop_run_once(rlc_loop *loop, uint64_t deadline_ns) {
    return run(loop, deadline_ns, true);
}

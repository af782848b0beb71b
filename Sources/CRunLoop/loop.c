/* Creates and destroys a loop, and reads its counters. */
#include "kernel_internal.h"
#include "loop_internal.h"
#include "memory.h"
#include "wakeup_port_internal.h"

#include <errno.h>

static int set_up(rlc_loop *loop) {
    int status = rlc_wakeup_port_create_closed(loop->kernel, &loop->wakeup);
    return status < 0 ? status : rlc_port_set_create_for(loop->kernel, sizeof(rlc_watch), &loop->set);
}

/** If a step fails, the earlier ones stay done; the next call does the others. */
int rlc_loop_open_wakeup(rlc_loop *loop) {
    int status = rlc_wakeup_port_open(loop->wakeup);
    if (status < 0)
        return status;
    status = rlc_kit_watch_wakeup(loop->set, loop->wakeup);
    loop->can_sleep = status == 0;
    (void)rlc_wakeup_port_is_watched_by(loop->wakeup, rlc_port_set_fd(loop->set)); /* if not, a sleep will renew it */
    return status;
}

static void tear_down(rlc_loop *loop) {
    rlc_loop_free_hooks(loop);
    rlc_port_set_destroy(loop->set); /* first: closing the set drops its members without a call for each */
    rlc_timer_port_destroy(loop->timer_port);
    rlc_timer_heap_destroy(loop->heap);
    rlc_wakeup_port_release(loop->wakeup);
    rlc_memory_free(rlc_memory_of(loop->kernel), loop);
}

int rlc_loop_create(const rlc_kernel *kernel, rlc_loop **ret_loop) {
    kernel = rlc_kernel_or_default(kernel);
    if (kernel == NULL)
        return -EINVAL;
    rlc_loop *loop = rlc_memory_zeroed(rlc_memory_of(kernel), sizeof *loop);
    if (loop == NULL)
        return -ENOMEM;
    loop->kernel = kernel;
    loop->fork_generation = rlc_fork_generation();
    loop->fork_word = __atomic_load_n(&rlc_fork_word, __ATOMIC_ACQUIRE);
    loop->is_watched_for_races = rlc_race_detector_is_here();
    atomic_init(&loop->plain_generation, loop->is_watched_for_races ? UINT32_MAX : loop->fork_generation);
    loop->deferred_end = &loop->deferred;
    loop->timers_at_ns = loop->armed_at_ns = RLC_TIME_FOREVER;
    loop->pending = loop->failed = rlc_slot_list_empty();
    loop->due = rlc_slot_list_empty();
    TAILQ_INIT(&loop->hooks);
    int status = set_up(loop);
    if (status < 0) {
        tear_down(loop);
        return status;
    }
    *ret_loop = loop;
    return 0;
}

RLC_ON_STACK static void refuse_posts(rlc_loop *loop) {
    volatile uintptr_t mark;
    rlc_wakeup_port_close(loop->wakeup);
    rlc_loop_acquire(loop);
    rlc_post_node *node = rlc_loop_take_deferred(loop, rlc_post_queue_close(&loop->posts)), *next;
    loop->deferred_end = NULL;
    atomic_store_explicit(&loop->plain_generation, UINT32_MAX, memory_order_relaxed);
    rlc_loop_enter(loop, &mark); /* keeps in memory what a post_fn removes, and keeps it from destroying the loop */
    for (; node != NULL && !rlc_loop_is_forked(loop); node = next) { /* only the parent of a fork calls them */
        next = node->next;
        node->post_fn(node, false);
    }
    loop->at = 0;
}

int rlc_loop_destroy(rlc_loop *loop) {
    if (loop == NULL)
        return 0;
    if (loop->at != 0) {
        /* If the run sleeps, its thread was cancelled: the caller is a cleanup handler, or has joined the thread. */
        bool is_sleeping = loop->skipped_polls == RLC_POLL_SLEEPS;
        if (!is_sleeping && rlc_loop_is_running(loop, (uintptr_t)__builtin_frame_address(0)))
            return -EBUSY;
        rlc_loop_end_inner(loop, NULL);
    }
    loop->skipped_polls = 0; /* nothing sleeps any more: a post_fn gets -EBUSY */
    refuse_posts(loop);
    tear_down(loop);
    return 0;
}

void rlc_loop_set_spin(rlc_loop *loop, uint64_t limit_ns) {
    RLC_REQUIRE(loop);
    rlc_spin_set(&loop->spin, limit_ns);
}

/* ---- figures ---- */

uint64_t rlc_loop_rebuilds(const rlc_loop *loop) {
    RLC_REQUIRE(loop);
    return rlc_port_set_rebuilds(loop->set);
}

uint64_t rlc_loop_timer_moves(const rlc_loop *loop) {
    RLC_REQUIRE(loop);
    return loop->heap == NULL ? 0 : rlc_timer_heap_moves(loop->heap);
}

/* The calls for any thread: post, wake, stop. Also defer, for the loop's own thread. */
#include "loop_internal.h"
#include "wakeup_port_internal.h"

#include <errno.h>

/**
 * True in the usual case: this is no child of fork(2), destroy has not begun, and the process has no race detector. One
 * comparison checks all three.
 */
static inline bool is_plain(const rlc_loop *loop) {
    uint32_t generation = atomic_load_explicit(&loop->plain_generation, memory_order_relaxed);
    return __atomic_load_n(loop->fork_word, __ATOMIC_ACQUIRE) == generation;
}

/**
 * Returns -ECHILD in a child of fork(2). Otherwise announces the hand-over to the race detector, if there is one, and
 * returns 0. Post and defer skip this call if is_plain is true. The caller checks whether destroy has begun.
 */
__attribute__((noinline)) static int announce(rlc_loop *loop) {
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    if (loop->is_watched_for_races)
        rlc_race_release(loop);
    return 0;
}

static inline int defer(rlc_loop *loop, rlc_post_node *node) {
    if (node->post_fn == NULL)
        return -EINVAL;
    RLC_REQUIRE_POSTED_ONCE(loop->deferred_end != &node->next);
    node->next = NULL;
    *loop->deferred_end = node;
    loop->deferred_end = &node->next;
    return 0;
}

/* This and post_else are not inlined, so that their callers save no registers if is_plain is true. */
__attribute__((noinline)) static int defer_else(rlc_loop *loop, rlc_post_node *node) {
    int status = announce(loop);
    if (status < 0)
        return status;
    return loop->deferred_end == NULL ? -ESHUTDOWN : defer(loop, node);
}

int rlc_loop_defer(rlc_loop *loop, rlc_post_node *node) {
    RLC_REQUIRE(loop);
    return is_plain(loop) ? defer(loop, node) : defer_else(loop, node);
}

/**
 * Wakes the loop for a post that it owns already. Returns 0 or a positive errno; 0 also if the loop was destroyed
 * since, because rlc_loop_destroy has called the post.
 */
__attribute__((noinline)) static int wake_sleeper(rlc_loop *loop) {
    int status = rlc_wakeup_port_signal(loop->wakeup);
    return status < 0 && status != -ESHUTDOWN && status != -ECHILD ? -status : 0;
}

/**
 * A poster that finds the loop asleep wakes it, also for posters that were preempted before their own check. A
 * loop that is awake needs no wake: it reads the queue after it has announced its sleep.
 */
static inline int wake_if_asleep(rlc_loop *loop) {
    return rlc_wakeup_word(loop->wakeup) == RLC_WORD_ASLEEP ? wake_sleeper(loop) : 0;
}

__attribute__((noinline)) static int post_else(rlc_loop *loop, rlc_post_node *node) {
    int status = announce(loop);
    if (status == 0)
        status = node->post_fn == NULL ? -EINVAL : rlc_post_queue_push(&loop->posts, node);
    return status < 0 ? status : wake_if_asleep(loop);
}

int rlc_loop_post(rlc_loop *loop, rlc_post_node *node) {
    RLC_REQUIRE(loop);
    if (!is_plain(loop))
        return post_else(loop, node);
    if (node->post_fn == NULL)
        return -EINVAL;
    int status = rlc_push_post(&loop->posts, node);
    return status < 0 ? status : wake_if_asleep(loop);
}

int rlc_loop_wake(rlc_loop *loop) {
    RLC_REQUIRE(loop);
    int status = announce(loop);
    if (status == 0)
        status = rlc_wakeup_port_signal(loop->wakeup);
    return status < 0 ? status : 0;
}

int rlc_loop_stop(rlc_loop *loop) {
    RLC_REQUIRE(loop);
    int status = announce(loop);
    if (status < 0)
        return status;
    uint64_t word = atomic_load(&loop->stop);
    do {
        if (word == 0 || (word & 1) != 0)
            return rlc_wakeup_word(loop->wakeup) == RLC_WORD_CLOSED ? -ESHUTDOWN : 0;
    } while (!atomic_compare_exchange_weak(&loop->stop, &word, word | 1));
    status = rlc_wakeup_port_interrupt(loop->wakeup);
    return status < 0 ? status : 0;
}

/* The calls from any thread: post, wake, stop. And defer, for the loop's own thread. */
#include "loop_internal.h"
#include "wakeup_port_internal.h"

#include <errno.h>

int rlc_loop_defer(rlc_loop *loop, rlc_post_node *node) {
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    rlc_post_node **end = loop->deferred_end;
    if (end == NULL)
        return -ESHUTDOWN;
    node->next = NULL;
    *end = node;
    loop->deferred_end = &node->next;
    return 0;
}

/** For a post, which the loop owns by now: an errno; 0 also if the loop was destroyed since, and has called it. */
static int wake_sleeper(rlc_loop *loop) {
    int status = rlc_wakeup_port_signal(loop->wakeup);
    return status < 0 && status != -ESHUTDOWN && status != -ECHILD ? -status : 0;
}

int rlc_loop_post(rlc_loop *loop, rlc_post_node *node) {
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    int status = rlc_push_post(&loop->posts, node);
    if (status < 0)
        return status;
    /* A poster that finds the loop asleep wakes it, also for a poster that was preempted before it checked. A loop that
     * is awake needs no wake: it reads the queue after it has announced its sleep. */
    return rlc_wakeup_word(loop->wakeup) == RLC_WORD_ASLEEP ? wake_sleeper(loop) : 0;
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
            return rlc_wakeup_word(loop->wakeup) == RLC_WORD_CLOSED ? -ESHUTDOWN : 0;
    } while (!atomic_compare_exchange_weak(&loop->stop, &word, word | 1));
    int status = rlc_wakeup_port_kick(loop->wakeup);
    return status < 0 ? status : 0;
}

/** The steps of a post queue, inline for rlc_loop_post and for a pass. post_queue.c has them as functions. */
#ifndef RLC_POST_QUEUE_INTERNAL_H
#define RLC_POST_QUEUE_INTERNAL_H

#include "post_queue.h"

#include <assert.h>
#include <errno.h>

/** Posting a node that the loop still owns is the caller's mistake. In a debug build this macro reports it. */
#if defined(DEBUG) || defined(RLC_INTERNAL_CHECKS)
#define RLC_REQUIRE_POSTED_ONCE(condition)                                                                             \
    assert((condition) && "a node was posted again before its post_fn was called")
#else
#define RLC_REQUIRE_POSTED_ONCE(condition) ((void)0)
#endif

/*
 * The queue is a stack; the consumer takes all of it and reverses it. Since only whole stacks are taken, a node that
 * returns at the same address (ABA) is harmless. `head` has no atomic type, because C++ code may include post_queue.h;
 * so the functions use the compiler's builtins.
 */

#define RLC_QUEUE_CLOSED ((uintptr_t)1)

static inline int rlc_push_post(rlc_post_queue *queue, rlc_post_node *node) {
    uintptr_t head = __atomic_load_n(&queue->head, __ATOMIC_SEQ_CST);
    do {
        if (head == RLC_QUEUE_CLOSED)
            return -ESHUTDOWN;
        node->next = (rlc_post_node *)head;
    } while (
        !__atomic_compare_exchange_n(&queue->head, &head, (uintptr_t)node, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return head == 0;
}

static inline bool rlc_has_posts(const rlc_post_queue *queue) {
    return __atomic_load_n(&queue->head, __ATOMIC_SEQ_CST) > RLC_QUEUE_CLOSED;
}

/**
 * Reverses the list that begins with `newest`, which is not NULL. Returns its new first node. If a node was pushed
 * twice, the list leads into a circle. Reversing it then ends at `newest` again, which gets a next node.
 */
static inline rlc_post_node *rlc_oldest_post_first(rlc_post_node *newest) {
    rlc_post_node *node = newest, *reversed = NULL, *next;
    do {
        next = node->next;
        node->next = reversed;
        reversed = node;
        node = next;
    } while (node != NULL);
    RLC_REQUIRE_POSTED_ONCE(newest->next == NULL);
    return reversed;
}

/** Takes all posts. Call it only if there are some: the exchange would open a queue that is closed, and so empty. */
static inline rlc_post_node *rlc_take_posts(rlc_post_queue *queue) {
    return rlc_oldest_post_first((rlc_post_node *)__atomic_exchange_n(&queue->head, 0, __ATOMIC_SEQ_CST));
}

#endif

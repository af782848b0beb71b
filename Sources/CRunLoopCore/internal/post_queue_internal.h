/** The post queue's steps, for rlc_loop_post and a pass to have in line. post_queue.c is these behind their names. */
#ifndef RLC_POST_QUEUE_INTERNAL_H
#define RLC_POST_QUEUE_INTERNAL_H

#include <crunloop_kit/post_queue.h>
#include <errno.h>

/* A stack that is turned round when taken. Only whole stacks are ever taken, so a node that comes back at the same
 * address (ABA) does no harm. The word is plain in the header (C++), so the atomics are the compiler's. */

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

/** Reverses the list that begins with `node`, which is not NULL. Returns its new first node. */
static inline rlc_post_node *rlc_oldest_post_first(rlc_post_node *node) {
    rlc_post_node *reversed = NULL, *next;
    do {
        next = node->next;
        node->next = reversed;
        reversed = node;
        node = next;
    } while (node != NULL);
    return reversed;
}

/** Only of a queue that has posts: the exchange would open a closed one. Only the taker closes it. */
static inline rlc_post_node *rlc_take_posts(rlc_post_queue *queue) {
    return rlc_oldest_post_first((rlc_post_node *)__atomic_exchange_n(&queue->head, 0, __ATOMIC_SEQ_CST));
}

#endif

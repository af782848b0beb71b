#include <crunloop/post_queue.h>

#include <errno.h>

/* A stack that is turned round when taken. Only whole stacks are ever taken, so a node that comes back at the same
 * address (ABA) does no harm. The word is plain in the header (C++), so the atomics are the compiler's. */

#define CLOSED ((uintptr_t)1)

static rlc_post_node *oldest_first(uintptr_t head) {
    rlc_post_node *node = (rlc_post_node *)head, *reversed = NULL;
    while (node != NULL) {
        rlc_post_node *next = node->next;
        node->next = reversed;
        reversed = node;
        node = next;
    }
    return reversed;
}

int rlc_post_queue_push(rlc_post_queue *queue, rlc_post_node *node) {
    uintptr_t head = __atomic_load_n(&queue->head, __ATOMIC_SEQ_CST);
    do {
        if (head == CLOSED)
            return -ESHUTDOWN;
        node->next = (rlc_post_node *)head;
    } while (
        !__atomic_compare_exchange_n(&queue->head, &head, (uintptr_t)node, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return head == 0;
}

bool rlc_post_queue_has_posts(const rlc_post_queue *queue) {
    uintptr_t head = __atomic_load_n(&queue->head, __ATOMIC_SEQ_CST);
    return head != 0 && head != CLOSED;
}

rlc_post_node *rlc_post_queue_take_all(rlc_post_queue *queue) {
    if (!rlc_post_queue_has_posts(queue))
        return NULL; /* only this thread closes, so the exchange cannot reopen */
    return oldest_first(__atomic_exchange_n(&queue->head, 0, __ATOMIC_SEQ_CST));
}

rlc_post_node *rlc_post_queue_close(rlc_post_queue *queue) {
    uintptr_t head = __atomic_exchange_n(&queue->head, CLOSED, __ATOMIC_SEQ_CST);
    return head == CLOSED ? NULL : oldest_first(head);
}

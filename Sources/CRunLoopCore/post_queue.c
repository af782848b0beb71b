#include "post_queue_internal.h"

int rlc_post_queue_push(rlc_post_queue *queue, rlc_post_node *node) {
    return rlc_push_post(queue, node);
}

bool rlc_post_queue_has_posts(const rlc_post_queue *queue) {
    return rlc_has_posts(queue);
}

rlc_post_node *rlc_post_queue_take_all(rlc_post_queue *queue) {
    return rlc_take_posts(queue);
}

rlc_post_node *rlc_post_queue_close(rlc_post_queue *queue) {
    uintptr_t head = __atomic_exchange_n(&queue->head, RLC_QUEUE_CLOSED, __ATOMIC_SEQ_CST);
    return head == RLC_QUEUE_CLOSED ? NULL : rlc_oldest_post_first(head);
}

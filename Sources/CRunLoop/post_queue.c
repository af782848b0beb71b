#include "post_queue_internal.h"
#include "race_detector.h"

int rlc_post_queue_push(rlc_post_queue *queue, rlc_post_node *node) {
    if (rlc_race_detector_is_here())
        rlc_race_release(queue);
    return rlc_push_post(queue, node);
}

bool rlc_post_queue_has_posts(const rlc_post_queue *queue) {
    return rlc_has_posts(queue);
}

static void take_over(const rlc_post_queue *queue) {
    if (rlc_race_detector_is_here())
        rlc_race_acquire(queue);
}

rlc_post_node *rlc_post_queue_take_all(rlc_post_queue *queue) {
    if (!rlc_has_posts(queue))
        return NULL; /* only this thread closes the queue, so the exchange cannot reopen it */
    rlc_post_node *oldest = rlc_take_posts(queue);
    take_over(queue);
    return oldest;
}

rlc_post_node *rlc_post_queue_close(rlc_post_queue *queue) {
    uintptr_t head = __atomic_exchange_n(&queue->head, RLC_QUEUE_CLOSED, __ATOMIC_SEQ_CST);
    if (head <= RLC_QUEUE_CLOSED)
        return NULL;
    take_over(queue);
    return rlc_oldest_post_first((rlc_post_node *)head);
}

/**
 * A queue with many producers and one consumer. It keeps the order of each producer's nodes.
 *
 * The queue owns a node from a successful push until the consumer takes it. The consumer calls post_fn.
 */
#ifndef RLC_POST_QUEUE_H
#define RLC_POST_QUEUE_H

#include <crunloop/loop_post.h>

RLC_BEGIN_DECLS

/** A queue. With all bytes 0 it is empty and open. Use the functions only. */
typedef struct rlc_post_queue {
    uintptr_t head;
} rlc_post_queue;

/**
 * Appends a node.
 *
 * @param node The node, which is in no queue. If the push fails, the caller keeps it.
 * @return 1: the queue was empty, so the caller has to wake the consumer; 0: the producer that found the queue empty
 *         wakes the consumer; -ESHUTDOWN: the queue is closed [RLC-POST-2].
 *
 * Thread: [any, signal-safe]; lock-free.
 */
int rlc_post_queue_push(rlc_post_queue *queue, rlc_post_node *node);

/** True if the queue contains a node. Another thread may push or take nodes before the call returns. Thread: [any]. */
bool rlc_post_queue_has_posts(const rlc_post_queue *queue);

/**
 * Takes all nodes that were pushed so far. Nodes that are pushed later are left for the next call [RLC-POST-1].
 *
 * @return The oldest node, which is linked to the newer ones by `next`; NULL if the queue is empty. The caller owns
 *         the nodes, and calls each post_fn. No node is returned twice, and none is lost [RLC-POST-3].
 *
 * Thread: [loop]: one consumer.  Cost: one atomic exchange, O(nodes).
 */
rlc_post_node *rlc_post_queue_take_all(rlc_post_queue *queue);

/**
 * Closes the queue: each later push returns -ESHUTDOWN [RLC-POST-2]. Nothing opens it again.
 *
 * @return The nodes that were left, as rlc_post_queue_take_all; NULL if there were none.
 *
 * Thread: [loop].  Cost: one atomic exchange, O(nodes).
 */
rlc_post_node *rlc_post_queue_close(rlc_post_queue *queue);

RLC_END_DECLS
#endif

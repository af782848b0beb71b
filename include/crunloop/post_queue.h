/** <crunloop/post_queue.h>: many producers, one consumer, FIFO per producer, closable; the caller brings the nodes. */
#ifndef CRUNLOOP_POST_QUEUE_H
#define CRUNLOOP_POST_QUEUE_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/** Part of the caller's object. Owned by the queue from a successful push until post_fn is called. */
typedef struct rlc_post_node {
    struct rlc_post_node *next;
    /**
     * Called once: ran true on the loop's thread, false if the loop ended first. The node is the caller's again at
     * entry: it may be freed, or pushed again.
     */
    void (*post_fn)(struct rlc_post_node *node, bool ran);
} rlc_post_node;

/** Zero-initialised = empty and open. Use the functions. */
typedef struct rlc_post_queue {
    uintptr_t head;
} rlc_post_queue;

/**
 * Appends a node.
 *
 * @param queue The queue.
 * @param node  The queue's until it is taken, unless the push fails.
 * @return 1: it was empty, wake the owner; 0: whoever found it empty wakes; -ESHUTDOWN: closed, the node stays the
 *         caller's, untouched [RLC-POST-2].
 *
 * Thread: [signal]; lock-free.
 */
RLC_API int rlc_post_queue_push(rlc_post_queue *queue, rlc_post_node *node);

/** True if a take would return something.  Thread: [any]; may be old at return. */
RLC_API bool rlc_post_queue_has_posts(const rlc_post_queue *queue);

/**
 * Everything pushed so far, oldest first; later pushes wait for the next take [RLC-POST-1].
 *
 * @return A chain by `next`, the caller's; NULL if empty. Each node exactly once [RLC-POST-3].
 *
 * Thread: [loop].  Cost: one atomic step, O(nodes).
 */
RLC_API rlc_post_node *rlc_post_queue_take_all(rlc_post_queue *queue);

/**
 * The rest, oldest first; every later push answers -ESHUTDOWN [RLC-POST-2].
 *
 * @return As rlc_post_queue_take_all.
 *
 * Thread: [loop].
 */
RLC_API rlc_post_node *rlc_post_queue_close(rlc_post_queue *queue);

RLC_END_DECLS
#endif

/**
 * <crunloop/post_queue.h>: a queue with many producers and one consumer, which keeps the order of each producer.
 *
 * The queue allocates nothing: the caller embeds an rlc_post_node in a structure of its own. A node carries no context,
 * because post_fn gets the node and computes the structure's address from it.
 *
 * With rlc_loop_post, which has such a queue:
 *
 * @code{.c}
 * #include <crunloop/crunloop.h>
 * #include <stdlib.h>
 *
 * typedef struct job {
 *     int *total; // the job's own data, in any order with the node
 *     int number;
 *     rlc_post_node node;
 * } job;
 *
 * static void add_number(rlc_post_node *node, bool ran) {
 *     job *job = (struct job *)((char *)node - offsetof(struct job, node));
 *     if (ran) // false: the loop was destroyed first, and the job only has to be freed
 *         *job->total += job->number;
 *     free(job);
 * }
 *
 * // Any thread may call this.
 * static int post_number(rlc_loop *loop, int *total, int number) {
 *     job *job = malloc(sizeof *job);
 *     if (job == NULL)
 *         return -1;
 *     *job = (struct job){.total = total, .number = number, .node.post_fn = add_number};
 *     int status = rlc_loop_post(loop, &job->node);
 *     if (status < 0)
 *         free(job); // refused: the node still is the caller's
 *     return status;
 * }
 *
 * int main(void) {
 *     rlc_loop *loop;
 *     int total = 0;
 *     if (rlc_loop_create(NULL, &loop) < 0 || post_number(loop, &total, 40) != 0 || post_number(loop, &total, 2) != 0)
 *         return 1;
 *     rlc_loop_run(loop, RLC_TIME_FOREVER); // returns when the posts have run: there is nothing else to wait for
 *     rlc_loop_destroy(loop);
 *     return total == 42 ? 0 : 1;
 * }
 * @endcode
 */
#ifndef CRUNLOOP_POST_QUEUE_H
#define CRUNLOOP_POST_QUEUE_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * A part of the caller's structure: see the example. A queue owns it from a successful push until the take.
 *
 * Thread: [loop] for post_fn.
 */
typedef struct rlc_post_node {
    struct rlc_post_node *next; /**< The queue's while it owns the node; then see rlc_post_queue_take_all. */
    /**
     * Set it before the push. rlc_loop calls it once, on its own thread, with `ran` true; or, from rlc_loop_destroy,
     * with `ran` false. The function owns the node: it may free it, or post it again. A bare queue does not call it:
     * its consumer does.
     */
    void (*post_fn)(struct rlc_post_node *node, bool ran);
} rlc_post_node;

/** A queue. With all bytes 0 it is empty and open. Use the functions only. */
typedef struct rlc_post_queue {
    uintptr_t head;
} rlc_post_queue;

/**
 * Appends a node.
 *
 * @param queue The queue.
 * @param node  The node, which is in no queue. The queue owns it until it is taken; if the push fails, the caller does.
 * @return 1: the queue was empty, so the caller has to wake the consumer; 0: the caller that found it empty does so;
 *         -ESHUTDOWN: the queue is closed, and does not keep the node [RLC-POST-2].
 *
 * Thread: [any, signal-safe]; lock-free.
 */
RLC_API int rlc_post_queue_push(rlc_post_queue *queue, rlc_post_node *node);

/**
 * Tells whether the queue contains a node. Another thread may change that before the call returns.
 *
 * @param queue The queue.
 * @return True if it does; false if it is empty or closed.
 *
 * Thread: [any].
 */
RLC_API bool rlc_post_queue_has_posts(const rlc_post_queue *queue);

/**
 * Takes all nodes that were pushed so far. Nodes that are pushed later are left for the next call [RLC-POST-1].
 *
 * @param queue The queue.
 * @return The oldest node, which is linked to the newer ones by `next`; NULL if the queue is empty. The caller owns
 *         them, and calls each post_fn. No node is returned twice, and none is lost [RLC-POST-3].
 *
 * Thread: [loop]: one consumer.  Cost: one atomic exchange, O(nodes).
 */
RLC_API rlc_post_node *rlc_post_queue_take_all(rlc_post_queue *queue);

/**
 * Closes the queue: each later push returns -ESHUTDOWN [RLC-POST-2]. Nothing opens it again.
 *
 * @param queue The queue.
 * @return The nodes that were left, as rlc_post_queue_take_all: the caller owns them; NULL if there were none.
 *
 * Thread: [loop].  Cost: one atomic exchange, O(nodes).
 */
RLC_API rlc_post_node *rlc_post_queue_close(rlc_post_queue *queue);

RLC_END_DECLS
#endif

/**
 * <crunloop/loop_post.h>: posts: work that any thread hands to an rlc_loop.
 *
 * A post allocates nothing: the caller embeds an rlc_post_node in a structure of its own. A node carries no context:
 * post_fn gets the node, and computes the structure's address from it.
 *
 * @code{.c}
 * #include <crunloop/crunloop.h>
 * #include <stdlib.h>
 *
 * typedef struct job {
 *     int *total; // the job's own data; the node may stand at any place
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
 *         free(job); // refused: the caller still owns the node
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
#ifndef CRUNLOOP_LOOP_POST_H
#define CRUNLOOP_LOOP_POST_H

#include <crunloop/loop.h>

RLC_BEGIN_DECLS

/**
 * A part of the caller's structure: see the example.
 *
 * The loop owns a node from a post until it calls the node's post_fn. Until then, do not post or defer the node again,
 * to this loop or another one. Such a call returns 0 all the same, but it breaks the list that contains the node: the
 * loop then calls some posts without end, and never calls others. To post the same work again, set a flag and post the
 * node from its post_fn, or use a second node.
 *
 * A debug build (<crunloop/base.h>) reports two of these mistakes by assert(3) [RLC-LOOP-22]. If a node was posted
 * twice, the pass that takes the posts reports it. If a node is deferred twice in a row, the second call reports it.
 * Nothing reports a node that is posted again after a pass has taken it, or that is both posted and deferred.
 *
 * Thread: [loop] for post_fn.
 */
typedef struct rlc_post_node {
    struct rlc_post_node *next; /**< The loop uses it while it owns the node. */
    /**
     * Set it before the post. The loop calls it once, on its own thread, with `ran` true; or, from rlc_loop_destroy,
     * with `ran` false. The function owns the node: it may free it, or post it again.
     */
    void (*post_fn)(struct rlc_post_node *node, bool ran);
} rlc_post_node;

/**
 * Posts a node: the loop calls its post_fn once on its own thread, and wakes up for it if it sleeps. Nodes that one
 * thread posts run in the order of posting.
 *
 * @param loop The loop, which the caller keeps from being destroyed.
 * @param node The node. The loop owns it until it calls post_fn, and it must not be posted again before that: see
 *             rlc_post_node. If the result is negative, the caller keeps it.
 * @return 0; -ESHUTDOWN (rlc_loop_destroy has begun) [RLC-LOOP-8], -ECHILD, -EINVAL (no post_fn) [RLC-LOOP-20]. A
 *         positive errno number: the loop owns the node, but sleeps, and the call could not wake it. The write(2) has
 *         failed because other code has closed the loop's eventfd, and no new one could be made. The node runs when
 *         something else wakes the loop [RLC-LOOP-17].
 *
 * Thread: [any, signal-safe].  Cost: at most one write(2); none while the loop is awake. No post is lost, and none
 * waits for another poster that was preempted [RLC-LOOP-11, RLC-LOOP-13], with one exception: one poster makes the
 * write that ends a sleep. If that thread is preempted before its write, the loop sleeps until the thread runs again.
 */
RLC_API int rlc_loop_post(rlc_loop *loop, rlc_post_node *node);

/**
 * Posts a node from the loop's own thread, in a callout or between runs, without an atomic operation and without a wake
 * [RLC-LOOP-14]. Deferred nodes run in the order of deferring, before the posts of the same pass.
 *
 * @code{.c}
 * #include <crunloop/crunloop.h>
 * #include <stdio.h>
 *
 * static void tell(rlc_post_node *node, bool ran) {
 *     (void)node;
 *     puts(ran ? "in the next pass" : "the loop is gone");
 * }
 *
 * int main(void) {
 *     rlc_loop *loop;
 *     rlc_post_node node = {.post_fn = tell};
 *     if (rlc_loop_create(NULL, &loop) < 0 || rlc_loop_defer(loop, &node) < 0)
 *         return 1;
 *     rlc_loop_run(loop, RLC_TIME_FOREVER); // returns: there is nothing else to wait for
 *     return rlc_loop_destroy(loop);
 * }
 * @endcode
 *
 * @param loop The loop.
 * @param node The node. The loop owns it until it calls post_fn, and it must not be deferred or posted again before
 *             that: see rlc_post_node. If the call fails, the caller keeps it.
 * @return 0; -ESHUTDOWN (rlc_loop_destroy has begun), -EINVAL (no post_fn).
 *
 * Thread: [loop].
 */
RLC_API int rlc_loop_defer(rlc_loop *loop, rlc_post_node *node);

RLC_END_DECLS
#endif

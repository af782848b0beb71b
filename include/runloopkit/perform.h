/** <runloopkit/perform.h>: work for a loop: now or later, in one mode or several, with an answer or without. */
#ifndef RUNLOOPKIT_PERFORM_H
#define RUNLOOPKIT_PERFORM_H

#include <runloopkit/loop.h>

RLK_BEGIN_DECLS

/** Work for a loop. Later versions append members: see `size`. */
typedef struct rlk_work {
    size_t size;              /**< sizeof(rlk_work). */
    rlk_perform_fn perform;   /**< The work. */
    void *context;            /**< Handed to the functions. */
    rlk_release_fn release;   /**< Or NULL. After the work, or when it will never run [RLK-C-8]. */
    const char *const *modes; /**< The work runs once, in the first of them that runs. NULL: the default mode. */
    size_t mode_count;        /**< How many; 0: the default mode. */
} rlk_work;

/**
 * Runs a function once on the loop's thread, in the next pass of a mode, and wakes the loop (a block of the model).
 *
 * @param loop    The loop.
 * @param mode    The mode; RLK_MODE_COMMON for all common ones.
 * @param perform The function. Work of one thread runs in the order in which it was given.
 * @param context Handed to it.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].  Cost: O(1); one write(2) if the loop sleeps.
 */
RLK_API int rlk_loop_perform(rlk_loop *loop, const char *mode, rlk_perform_fn perform, void *context);

/**
 * As rlk_loop_perform, with a release function and a list of modes.
 *
 * @param loop The loop.
 * @param work Read during the call.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_perform_work(rlk_loop *loop, const rlk_work *work);

/**
 * As rlk_loop_perform_work, without waking the loop (`CFRunLoopPerformBlock`).
 *
 * @param loop The loop.
 * @param work Read during the call.
 * @return 0; -EINVAL, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_enqueue_work(rlk_loop *loop, const rlk_work *work);

RLK_END_DECLS
#endif

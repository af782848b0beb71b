/** <runloopkit/thread.h>: threads that run their loop until another thread stops them. */
#ifndef RUNLOOPKIT_THREAD_H
#define RUNLOOPKIT_THREAD_H

#include <runloopkit/perform.h>

RLK_BEGIN_DECLS

/**
 * A thread with a loop. The caller that created it owns a reference, and releases it by rlk_thread_release, which stops
 * the thread after due work. A thread can be started only once.
 */
typedef struct rlk_thread rlk_thread;

/**
 * Prepares a new thread, for example by adding items to its loop. Called once on that thread, before rlk_thread_start
 * returns.
 *
 * @param loop    The thread's loop.
 * @param context The context that was given with the function.
 * @return 0; or a negated errno number, such as -ENOMEM: the thread ends, and rlk_thread_start returns the number.
 *
 * Thread: [loop].
 */
typedef int (*rlk_set_up_fn)(rlk_loop *loop, void *context);

/** The options of a thread. Later versions append members: see `size`. */
typedef struct rlk_thread_options {
    size_t size;            /**< sizeof(rlk_thread_options). */
    const char *name;       /**< For debuggers; copied. Or NULL. */
    size_t stack_size;      /**< In bytes; 0 for the system's default. */
    rlk_set_up_fn set_up;   /**< Or NULL. */
    void *context;          /**< Handed to the functions. */
    rlk_release_fn release; /**< Or NULL. Called after the set-up, or when the set-up will never run. */
} rlk_thread_options;

/** How a thread stops. */
typedef enum rlk_ending {
    RLK_ENDING_AFTER_DUE_WORK, /**< After the work that is due in the default mode at the moment of the stop. */
    /** After the running callout and the work that its pass has already taken from the queue. The rest is released. */
    RLK_ENDING_NOW,
} rlk_ending;

/**
 * Creates a thread that is not started yet.
 *
 * @param options    Read during the call.
 * @param ret_thread The thread. The caller owns a reference: rlk_thread_release.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_thread_create(const rlk_thread_options *options, rlk_thread **ret_thread);

/**
 * Gives the handle back: the thread stops after due work, and the call does not wait for that. To use the loop's handle
 * afterwards, retain it before (rlk_loop_retain).
 *
 * @param thread The thread, or NULL.
 *
 * Thread: [any].
 */
RLK_API void rlk_thread_release(rlk_thread *thread);

/**
 * Starts a thread, and returns when its loop accepts work.
 *
 * @param thread The thread.
 * @return 0; the negative number that the set-up returned; -EINVAL (also: the stack is smaller than 64 KiB, or too
 *         large), -EALREADY (it was started before), -EAGAIN (the user's limit of threads, or too little memory: try
 *         again later), -EMFILE, -ESHUTDOWN (the set-up has ended the thread), -ECHILD. After -EMFILE, -ESHUTDOWN or an
 *         error of the set-up the thread has ended.
 *
 * Thread: [any].  Blocks: until the set-up returns.
 */
RLK_API int rlk_thread_start(rlk_thread *thread);

/**
 * Stops a thread, and does not wait for its end. A second call may pass RLK_ENDING_NOW after RLK_ENDING_AFTER_DUE_WORK.
 * Does nothing before the start, and after the end.
 *
 * @param thread The thread.
 * @param ending How the thread stops.
 * @return 0; -EINVAL, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_thread_stop(rlk_thread *thread, rlk_ending ending);

/**
 * Waits for a thread's end; does not stop it. Returns at once if the thread was not started.
 *
 * @param thread     The thread.
 * @param timeout_ns The longest wait; RLK_TIME_FOREVER for no limit.
 * @return 0; -EINVAL, -ETIMEDOUT, -EDEADLK (on the thread itself), -ECHILD.
 *
 * Thread: [any].  Blocks: until the thread ends.
 */
RLK_API int rlk_thread_join(rlk_thread *thread, uint64_t timeout_ns);

/**
 * Returns a thread's loop.
 *
 * @param thread The thread.
 * @return The loop, which the thread owns; valid while the thread or the loop is retained. NULL before the start.
 *
 * Thread: [any].
 */
RLK_API rlk_loop *rlk_thread_loop(rlk_thread *thread);

/**
 * Tells whether a thread accepts work.
 *
 * @param thread The thread.
 * @return True from its start until its loop has ended; false for NULL.
 *
 * Thread: [any].
 */
RLK_API bool rlk_thread_is_running(rlk_thread *thread);

/**
 * As rlk_loop_perform_as_source on the thread's loop. A thread that stops after due work first runs the work for the
 * default mode that it has accepted before the stop.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 * #include <stdio.h>
 *
 * static void work(void *context) {
 *     (void)context;
 *     puts("on the worker's thread");
 * }
 *
 * int main(void) {
 *     rlk_thread *worker;
 *     rlk_thread_options options = {.size = sizeof options, .name = "worker"};
 *     rlk_work job = {.size = sizeof job, .perform = work};
 *     if (rlk_thread_create(&options, &worker) < 0 || rlk_thread_start(worker) < 0)
 *         return 1;
 *     rlk_thread_perform(worker, &job);
 *     rlk_thread_stop(worker, RLK_ENDING_AFTER_DUE_WORK);
 *     int status = rlk_thread_join(worker, RLK_TIME_FOREVER);
 *     rlk_thread_release(worker);
 *     return status;
 * }
 * @endcode
 *
 * @param thread The thread.
 * @param work   Read during the call; it names at most one mode.
 * @return 0; -EINVAL (also: several modes), -ESRCH (the thread was not started), -ESHUTDOWN (it was stopped), -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_thread_perform(rlk_thread *thread, const rlk_work *work);

RLK_END_DECLS
#endif

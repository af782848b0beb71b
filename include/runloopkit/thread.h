/** <runloopkit/thread.h>: threads that run their loop until they are told to stop. */
#ifndef RUNLOOPKIT_THREAD_H
#define RUNLOOPKIT_THREAD_H

#include <runloopkit/perform.h>

RLK_BEGIN_DECLS

/**
 * A thread with a loop. Who created it owns the reference: rlk_thread_release, which stops it after due work. It starts
 * once.
 */
typedef struct rlk_thread rlk_thread;

/**
 * Called once on a new thread, before rlk_thread_start returns: to add items.
 *
 * @param loop    The thread's loop.
 * @param context The context that was given with the function.
 * @return 0; a negated errno number, such as -ENOMEM, which rlk_thread_start returns: the thread ends.
 *
 * Thread: [loop].
 */
typedef int (*rlk_set_up_fn)(rlk_loop *loop, void *context);

/** What a thread is made of. Later versions append members: see `size`. */
typedef struct rlk_thread_options {
    size_t size;            /**< sizeof(rlk_thread_options). */
    const char *name;       /**< For debuggers; copied. Or NULL. */
    size_t stack_size;      /**< In bytes; 0: the system's default. */
    rlk_set_up_fn set_up;   /**< Or NULL. */
    void *context;          /**< Handed to the functions. */
    rlk_release_fn release; /**< Or NULL. Called after the set-up, or when the thread was never started. */
} rlk_thread_options;

/** How a thread stops. */
typedef enum rlk_ending {
    RLK_ENDING_AFTER_DUE_WORK, /**< After what is due in the default mode at the moment of the stop. */
    /** After the callout that runs, and what its pass has taken up before. What waits is released. */
    RLK_ENDING_NOW,
} rlk_ending;

/**
 * Creates a thread that is not started yet.
 *
 * @param options    Read during the call.
 * @param ret_thread The thread, which the caller owns a reference of: rlk_thread_release.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_thread_create(const rlk_thread_options *options, rlk_thread **ret_thread);

/**
 * Gives the handle back: the thread stops after due work, and the call does not wait for that. The loop's handle must
 * be retained to outlive it (rlk_loop_retain).
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
 * @return 0; what the set-up returned; -EINVAL (also: the stack is smaller than 64 KiB, or too large),
 *         -EALREADY, -EAGAIN (the user's limit of threads, or too little memory: it may be started again later),
 *         -EMFILE, -ESHUTDOWN (the set-up has ended the thread), -ECHILD. After -EMFILE, -ESHUTDOWN or an error of the
 *         set-up the thread has ended.
 *
 * Thread: [any].  Blocks: until the set-up returns.
 */
RLK_API int rlk_thread_start(rlk_thread *thread);

/**
 * Tells a thread to stop, and does not wait for it. RLK_ENDING_NOW may follow the other one. Does nothing before the
 * start, and after the end.
 *
 * @param thread The thread.
 * @param ending How.
 * @return 0; -EINVAL, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_thread_stop(rlk_thread *thread, rlk_ending ending);

/**
 * Waits for a thread's end; does not stop it. At once if it was not started.
 *
 * @param thread     The thread.
 * @param timeout_ns The longest wait; RLK_TIME_FOREVER for any.
 * @return 0; -EINVAL, -ETIMEDOUT, -EDEADLK (on the thread itself), -ECHILD.
 *
 * Thread: [any].  Blocks: until the thread ends.
 */
RLK_API int rlk_thread_join(rlk_thread *thread, uint64_t timeout_ns);

/**
 * A thread's loop.
 *
 * @param thread The thread.
 * @return The loop, for as long as somebody holds the thread or the loop; NULL before the start. The thread owns it.
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
 * As rlk_loop_perform_as_source of its loop. Work for the default mode that is accepted runs before a stop after due
 * work.
 *
 * @param thread The thread.
 * @param work   Read during the call; in one mode.
 * @return 0; -EINVAL (also: several modes), -ESRCH (it was not started), -ESHUTDOWN (it was told to stop), -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_thread_perform(rlk_thread *thread, const rlk_work *work);

RLK_END_DECLS
#endif

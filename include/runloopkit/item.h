/** <runloopkit/item.h>: the members of modes: observers, signalled sources, timers. */
#ifndef RUNLOOPKIT_ITEM_H
#define RUNLOOPKIT_ITEM_H

#include <runloopkit/loop.h>

RLK_BEGIN_DECLS

/**
 * A member of modes: an observer, a source of any kind or a timer. A function for one kind of item returns -EINVAL for
 * another kind. rlk_item_retain and rlk_item_release count references; a loop holds a reference to each of its members.
 */
typedef struct rlk_item rlk_item;

/**
 * Takes a reference to a context for an item. Called once, while the item is created [RLK-C-23].
 *
 * @param context The context that was given with the function.
 * @return The context that the item hands to its other functions, `release` included. NULL is allowed.
 *
 * Thread: [any]: the thread that creates the item.
 */
typedef void *(*rlk_retain_fn)(void *context);

/**
 * Describes a context, for rlk_item_describe and the description of a loop. Works as snprintf(3) [RLK-C-24].
 *
 * @param context The context that was given with the function.
 * @param buffer  Receives the text, in UTF-8, and a 0; a longer text is cut off.
 * @param size    The bytes of the buffer.
 * @return The length of the whole text, without the 0. If it is not less than size, the library calls the function
 *         again with more room. The function cannot fail; a negative number means that there is no text.
 *
 * Thread: [any]: the thread that asks for a description. The library does not call the function after `release`.
 */
typedef int (*rlk_describe_fn)(const void *context, char *buffer, size_t size);

/* ---- each item ---- */

/**
 * Counts one more reference.
 *
 * @param item The item.
 * @return The same item; the caller now owns a reference. NULL for NULL.
 *
 * Thread: [any].
 */
RLK_API rlk_item *rlk_item_retain(rlk_item *item);

/**
 * Gives a reference back. Does not take the item out of its modes.
 *
 * @param item The item, or NULL.
 *
 * Thread: [any].
 */
RLK_API void rlk_item_release(rlk_item *item);

/**
 * Makes an item a member of a mode [RLK-C-6].
 *
 * @param loop The loop.
 * @param item The item. A timer or an observer belongs to one loop at a time.
 * @param mode The mode; RLK_MODE_COMMON for all common ones.
 * @return 1 (it is now a member); 0 (the item is invalid, a member already, or one of another loop); -EINVAL,
 *         -ESHUTDOWN, -ECHILD, -EMFILE; for a descriptor also -EPERM (a regular file without `always_ready`), -EBADF
 *         (it is closed, or is one of the loop's own), -EINVAL or -ELOOP (it is the mode's epoll instance, or an epoll
 *         instance that watches that one or is nested too deep).
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_add(rlk_loop *loop, rlk_item *item, const char *mode);

/**
 * Takes an item out of a mode.
 *
 * @param loop The loop.
 * @param item The item.
 * @param mode The mode.
 * @return 1; 0 (it was no member); -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_remove(rlk_loop *loop, rlk_item *item, const char *mode);

/**
 * Tells whether an item is a member of a mode.
 *
 * @param loop The loop.
 * @param item The item.
 * @param mode The mode.
 * @return 1 or 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_loop_contains(rlk_loop *loop, rlk_item *item, const char *mode);

/**
 * Takes the item out of all modes of all loops, for ever. A second call does nothing.
 *
 * The context is released before the call returns. If a callout of the item is running, the loop's thread releases the
 * context after that callout [RLK-C-7].
 *
 * @param item The item.
 * @return 0; -EINVAL, -ECHILD.
 *
 * Thread: [any].  Re-entry: allowed, also from the item's own callout.
 */
RLK_API int rlk_item_invalidate(rlk_item *item);

/**
 * As rlk_item_invalidate, and waits until a callout of the item that another thread runs has ended. Two callouts that
 * invalidate each other's items in this way wait for each other until their timeouts end.
 *
 * @param item       The item.
 * @param timeout_ns The longest wait; RLK_TIME_FOREVER for no limit.
 * @return 0; -EINVAL, -ETIMEDOUT (the item is invalid, and its callout still runs), -EDEADLK (inside the item's own
 *         callout: nothing was done), -ECHILD.
 *
 * Thread: [any].  Blocks: until the callout ends.
 */
RLK_API int rlk_item_invalidate_and_wait(rlk_item *item, uint64_t timeout_ns);

/**
 * Tells whether an item is valid, so that loops may call it.
 *
 * @param item The item.
 * @return True until it is invalidated; false for NULL.
 *
 * Thread: [any].
 */
RLK_API bool rlk_item_is_valid(rlk_item *item);

/**
 * Names an item in descriptions.
 *
 * @param item  The item.
 * @param label The name, which is copied; NULL for none.
 * @return 0; -EINVAL, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_item_set_label(rlk_item *item, const char *label);

/**
 * Sets whether an item keeps a mode running. A mode is finished if no member keeps it running.
 *
 * @param item          The item. No effect on an observer, which never keeps a mode running.
 * @param keeps_running Whether the item keeps its modes running; at first true.
 * @return 0; -EINVAL, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_item_set_keeps_running(rlk_item *item, bool keeps_running);

/**
 * Describes an item. The text is for people, and each version may word it differently.
 *
 * @param item   The item.
 * @param buffer Receives the text and a 0; a longer text is cut off. NULL is allowed if size is 0.
 * @param size   The bytes of the buffer.
 * @return The length of the whole text, as snprintf(3); -EINVAL, -EOVERFLOW (more than INT_MAX).
 *
 * Thread: [any].
 */
RLK_API int rlk_item_describe(rlk_item *item, char *buffer, size_t size);

/* ---- observers ---- */

/** The moments of a run at which an observer may be called. */
enum {
    RLK_ENTRY = 1,           /**< The run begins. */
    RLK_BEFORE_TIMERS = 2,   /**< A pass begins. */
    RLK_BEFORE_SOURCES = 4,  /**< Blocks and sources are next. */
    RLK_BEFORE_WAITING = 32, /**< The loop is about to wait. */
    RLK_AFTER_WAITING = 64,  /**< The loop has waited. */
    RLK_EXIT = 128,          /**< The run ends. */
    RLK_ALL_ACTIVITIES = 0x0fffffff,
};

/**
 * Called at a moment of a run.
 *
 * @param observer The observer.
 * @param activity The moment: one bit.
 * @param context  The context that was given with the function.
 *
 * Thread: [loop].
 */
typedef void (*rlk_observer_fn)(rlk_item *observer, uint32_t activity, void *context);

/** The options of an observer. Later versions append members: see `size`. */
typedef struct rlk_observer_options {
    size_t size;              /**< sizeof(rlk_observer_options). */
    rlk_observer_fn observe;  /**< Called at the moments. */
    void *context;            /**< Handed to the functions. */
    rlk_release_fn release;   /**< Or NULL. */
    uint32_t activities;      /**< RLK_ENTRY..., joined by |. */
    bool once;                /**< The observer is called once, and is then invalid. */
    int64_t order;            /**< Observers with lower numbers are called first. */
    rlk_retain_fn retain;     /**< With NULL the item takes over `context` itself. */
    rlk_describe_fn describe; /**< Or NULL. */
} rlk_observer_options;

/**
 * Creates an observer. It is no member of any mode yet.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 * #include <stdio.h>
 *
 * static void watch(rlk_item *observer, uint32_t activity, void *context) {
 *     (void)observer, (void)context;
 *     puts(activity == RLK_ENTRY ? "a run begins" : "it ends");
 * }
 *
 * int main(void) {
 *     rlk_item *observer;
 *     rlk_observer_options options = {.size = sizeof options, .observe = watch, .activities = RLK_ENTRY | RLK_EXIT};
 *     if (rlk_observer_create(&options, &observer) < 0 || rlk_loop_add(NULL, observer, NULL) < 0)
 *         return 1;
 *     rlk_item_release(observer); // the mode keeps it
 *     return rlk_loop_run_in_mode(NULL, NULL, 0, false) == RLK_RUN_TIMED_OUT ? 0 : 1;
 * }
 * @endcode
 *
 * @param options      Read during the call.
 * @param ret_observer The observer, which the caller owns: rlk_item_release.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_observer_create(const rlk_observer_options *options, rlk_item **ret_observer);

/* ---- signalled sources ---- */

/**
 * Called once after rlk_source_signal, in the next pass.
 *
 * @param source  The source.
 * @param context The context that was given with the function.
 *
 * Thread: [loop].
 */
typedef void (*rlk_source_fn)(rlk_item *source, void *context);

/**
 * Called when a source has entered a mode, or has left it.
 *
 * @param loop    The loop.
 * @param mode    The mode. The string is valid until the function returns.
 * @param context The context that was given with the function.
 *
 * Thread: [any]: the thread that adds, removes or invalidates the source, or whose loop ends.
 */
typedef void (*rlk_source_hook_fn)(rlk_loop *loop, const char *mode, void *context);

/**
 * Compares the contexts of two signalled sources of the same `order`: equal sources are one member of a mode. The
 * library compares a new source only with sources of the same hash number, and of those that equal each other only with
 * one. So the cost does not grow with the number of other sources [RLK-C-25].
 *
 * The two sources may be in different loops, or in none, and any thread may compare them. So a comparison may still use
 * a context after rlk_item_release() of its source has returned. Free the context in `release`, and not before. The
 * thread that compares may also be the one that calls `release`.
 *
 * @param a A context.
 * @param b The context of another source with the same function.
 * @return True if they are equal.
 *
 * Thread: [any]: the thread that first adds, removes or searches for one of the sources.
 */
typedef bool (*rlk_equal_fn)(const void *a, const void *b);

/**
 * Computes the hash number of a context; equal contexts must have the same number. The library calls the function once
 * for a source, so the data on which the number depends must not change afterwards.
 *
 * @param context The context that was given with the function.
 * @return The number.
 *
 * Thread: [any]: the thread that first adds, removes or searches for the source.
 */
typedef uint64_t (*rlk_hash_fn)(const void *context);

/**
 * The options of a signalled source. Later versions append members: see `size`. With `schedule`, `cancel` or `equal`
 * the context is released together with the last reference to the source. So `release` must not be the function that
 * releases the source's handle, or neither is ever released.
 */
typedef struct rlk_source_options {
    size_t size;                 /**< sizeof(rlk_source_options). */
    rlk_source_fn perform;       /**< Called after a signal. */
    void *context;               /**< Handed to the functions. */
    rlk_release_fn release;      /**< Or NULL. With one of the next four functions, called when no reference is left. */
    rlk_source_hook_fn schedule; /**< Called when the source has entered a mode; may be NULL. */
    rlk_source_hook_fn cancel;   /**< Called when the source has left a mode; may be NULL. */
    rlk_equal_fn equal;          /**< Compares two sources; with NULL a source equals only itself. */
    rlk_hash_fn hash;            /**< Must be set if `equal` is set, and only then. */
    int64_t order;               /**< Sources with lower numbers are performed first. */
    rlk_retain_fn retain;        /**< With NULL the item takes over `context` itself. */
    rlk_describe_fn describe;    /**< Or NULL. */
} rlk_source_options;

/**
 * Creates a signalled source (version 0 in CFRunLoop). It is no member of any mode yet.
 *
 * @param options    Read during the call.
 * @param ret_source The source, which the caller owns: rlk_item_release.
 * @return 0; -EINVAL (also: `equal` without `hash`, or `hash` without `equal`).
 *
 * Thread: [any].
 */
RLK_API int rlk_source_create(const rlk_source_options *options, rlk_item **ret_source);

/**
 * Signals a source: the next pass of a mode that contains it performs it. Wakes no loop: see rlk_loop_wake_up.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 * #include <stdio.h>
 *
 * static void read_mail(rlk_item *source, void *context) {
 *     (void)source, (void)context;
 *     puts("there is mail");
 * }
 *
 * int main(void) {
 *     rlk_item *mail;
 *     rlk_source_options options = {.size = sizeof options, .perform = read_mail};
 *     if (rlk_source_create(&options, &mail) < 0 || rlk_loop_add(NULL, mail, NULL) < 0 || rlk_source_signal(mail) < 0)
 *         return 1;
 *     int result = rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true);
 *     rlk_item_release(mail);
 *     return result == RLK_RUN_HANDLED_SOURCE ? 0 : 1;
 * }
 * @endcode
 *
 * @param source The source.
 * @return 0; -EINVAL, -ENOENT, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_source_signal(rlk_item *source);

/**
 * Tells whether a source was signalled and is not performed yet.
 *
 * @param source The source.
 * @return 1 or 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_source_is_signalled(rlk_item *source);

RLK_END_DECLS
#endif

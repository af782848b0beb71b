/** <runloopkit/source.h>: sources that the kernel signals: descriptors, counters, and signals of the process. */
#ifndef RUNLOOPKIT_SOURCE_H
#define RUNLOOPKIT_SOURCE_H

#include <runloopkit/item.h>

RLK_BEGIN_DECLS

/** Bits of a descriptor's interest and readiness. RLK_HANGUP and RLK_ERROR are reported whatever the interest is. */
enum {
    RLK_READABLE = 1,   /**< A read does not block: there are bytes, or the end of the file. */
    RLK_WRITABLE = 2,   /**< A write does not block. */
    RLK_HANGUP = 4,     /**< The peer has closed, or has at least shut down writing. */
    RLK_ERROR = 8,      /**< The descriptor has an error. */
    RLK_PRIORITY = 128, /**< Urgent data. */
};

/** When a ready descriptor is served. */
typedef enum rlk_trigger {
    RLK_TRIGGER_LEVEL,    /**< In each pass while the descriptor is ready. */
    RLK_TRIGGER_EDGE,     /**< Once for each change. */
    RLK_TRIGGER_ONE_SHOT, /**< Once, and once again after each rlk_descriptor_set_interest. */
} rlk_trigger;

/**
 * Called when a descriptor is ready.
 *
 * @param source    The source.
 * @param readiness RLK_READABLE...
 * @param context   The context that was given with the function.
 *
 * Thread: [loop].
 */
typedef void (*rlk_descriptor_fn)(rlk_item *source, uint32_t readiness, void *context);

/** The options of a descriptor's source. Later versions append members: see `size`. */
typedef struct rlk_descriptor_options {
    size_t size;             /**< sizeof(rlk_descriptor_options). */
    rlk_descriptor_fn ready; /**< Called when the descriptor is ready. */
    void *context;           /**< Handed to the functions. */
    rlk_release_fn release;  /**< Or NULL. */
    int descriptor;          /**< The descriptor; open when the source is added, and while it is a member. */
    uint32_t interest;       /**< RLK_READABLE... */
    rlk_trigger trigger;     /**< When the descriptor is served. */
    bool owns_descriptor;    /**< The source owns it, and closes it when invalidated; only its callout may read it. */
    bool always_ready;       /**< A file that epoll refuses counts as ready. If false, rlk_loop_add returns -EPERM. */
    uint16_t reserved;       /**< 0. */
} rlk_descriptor_options;

/**
 * Creates the source of a descriptor.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 * #include <unistd.h>
 *
 * static void receive(rlk_item *source, uint32_t readiness, void *descriptor) {
 *     char byte;
 *     (void)source, (void)readiness;
 *     if (read(*(int *)descriptor, &byte, 1) == 1)
 *         rlk_loop_stop(NULL);
 * }
 *
 * int main(void) {
 *     int ends[2];
 *     rlk_item *source;
 *     rlk_descriptor_options options = {
 *         .size = sizeof options, .ready = receive, .context = &ends[0], .interest = RLK_READABLE};
 *     if (pipe(ends) < 0 || write(ends[1], "x", 1) != 1)
 *         return 1;
 *     options.descriptor = ends[0];
 *     if (rlk_descriptor_create(&options, &source) < 0 || rlk_loop_add(NULL, source, NULL) < 0)
 *         return 1;
 *     rlk_item_release(source);
 *     return rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false) == RLK_RUN_STOPPED ? 0 : 1;
 * }
 * @endcode
 *
 * @param options    Read during the call.
 * @param ret_source The source, which the caller owns: rlk_item_release.
 * @return 0; -EINVAL (also: no such trigger), -EBADF (a negative number); with `always_ready` also -EBADF (the
 *         descriptor is closed), -EISDIR, -EMFILE, and -ELOOP (epoll instances are nested too deep).
 *
 * Thread: [any].
 */
RLK_API int rlk_descriptor_create(const rlk_descriptor_options *options, rlk_item **ret_source);

/**
 * Sets the interest. A one-shot source that has fired is served again. After a hang-up or an error the loop reports the
 * present state again. But if the source's own callout makes the call, the loop does so only if the interest has become
 * larger.
 *
 * @param source   The source of a descriptor.
 * @param interest RLK_READABLE...; 0 for hang-ups and errors only.
 * @return 0; -EINVAL, -ENOENT, -ECHILD; -EBADF (the descriptor was closed, or belongs to another file by now), -ENOSPC
 *         or -ENOMEM (epoll refuses). After an error the interest is unchanged in all modes.
 *
 * Thread: [any].
 */
RLK_API int rlk_descriptor_set_interest(rlk_item *source, uint32_t interest);

/**
 * Called when a counter (eventfd(2), timerfd_create(2), a pipe of eight-byte records) was readable. The loop has
 * already read the counter.
 *
 * @param source  The source.
 * @param context The context that was given with the function.
 *
 * Thread: [loop].
 */
typedef void (*rlk_counter_fn)(rlk_item *source, void *context);

/** The options of a counter's source. Later versions append members: see `size`. */
typedef struct rlk_counter_options {
    size_t size;            /**< sizeof(rlk_counter_options). */
    rlk_counter_fn ready;   /**< Called after the counter was readable. */
    void *context;          /**< Handed to the functions. */
    rlk_release_fn release; /**< Or NULL. */
    int descriptor;         /**< The counter. The caller owns it, and keeps it open while the source is a member. */
    uint32_t reserved;      /**< 0. */
} rlk_counter_options;

/**
 * Creates the source of a counter (version 1 in CFRunLoop).
 *
 * @param options    Read during the call.
 * @param ret_source The source, which the caller owns: rlk_item_release.
 * @return 0; -EINVAL, -EBADF (a negative number).
 *
 * Thread: [any].
 */
RLK_API int rlk_counter_create(const rlk_counter_options *options, rlk_item **ret_source);

/** A signal that was received. Later versions append members. */
typedef struct rlk_signal_info {
    size_t size;        /**< The size of what the library has written, in bytes. */
    int32_t signal;     /**< The number of the signal. */
    int32_t code;       /**< Why it was sent: SI_USER... */
    int32_t process_id; /**< The sender. */
    uint32_t user_id;   /**< The real user of the sender. */
    int32_t status;     /**< For SIGCHLD: the child's exit status, or the signal that has ended it. */
    int32_t value;      /**< The value of sigqueue(3). */
} rlk_signal_info;

/**
 * Called when a signal was received.
 *
 * @param source  The source.
 * @param info    The signal, valid during the call.
 * @param context The context that was given with the function.
 *
 * Thread: [loop].
 */
typedef void (*rlk_signal_fn)(rlk_item *source, const rlk_signal_info *info, void *context);

/** The options of a source of signals. Later versions append members: see `size`. */
typedef struct rlk_signal_options {
    size_t size;            /**< sizeof(rlk_signal_options). */
    rlk_signal_fn receive;  /**< Called for each signal. */
    void *context;          /**< Handed to the functions. */
    rlk_release_fn release; /**< Or NULL. */
    const int *signals;     /**< The numbers of the signals. */
    size_t signal_count;    /**< How many: at least one. */
} rlk_signal_options;

/**
 * Creates a source of signals. The call blocks the signals in the calling thread, and so in the threads that this
 * thread starts afterwards, but in no other thread. So call rlk_signals_block in main, before the first thread starts.
 * If a thread invalidates or destroys the last source for a signal, and a source has blocked the signal in that thread,
 * the thread discards the signal if it is pending, and unblocks it.
 *
 * @param options    Read during the call.
 * @param ret_source The source, which the caller owns: rlk_item_release.
 * @return 0; -EINVAL (also: no signal, or one that cannot be received), -EMFILE.
 *
 * Thread: [any].
 */
RLK_API int rlk_signal_create(const rlk_signal_options *options, rlk_item **ret_source);

/**
 * Blocks signals in the calling thread, and in the threads that it starts afterwards.
 *
 * @param signals The numbers.
 * @param count   How many.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_signals_block(const int *signals, size_t count);

RLK_END_DECLS
#endif

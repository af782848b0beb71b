/** <runloopkit/port.h>: messages between threads and processes: ports receive them, and rights send them. */
#ifndef RUNLOOPKIT_PORT_H
#define RUNLOOPKIT_PORT_H

#include <runloopkit/item.h>

RLK_BEGIN_DECLS

/**
 * The right to send to a port. A right does not keep its port alive. When the port ends, the right becomes invalid.
 * rlk_right_retain and rlk_right_release count references: a caller owns the reference that a function returns to it.
 */
typedef struct rlk_right rlk_right;

/**
 * A message: an id, bytes, descriptors, rights, and a right to answer. rlk_message_retain and rlk_message_release count
 * references: a caller owns the reference that a function returns to it. A message does not change, except that callers
 * take its descriptors out, or send them.
 */
typedef struct rlk_message rlk_message;

/* ---- messages ---- */

/** The options of a message. Later versions append members: see `size`. */
typedef struct rlk_message_options {
    size_t size;              /**< sizeof(rlk_message_options). */
    uint32_t id;              /**< Any number; sender and receiver agree on its meaning. */
    uint32_t reserved;        /**< 0. */
    const void *bytes;        /**< Copied. NULL only if there are none. */
    size_t byte_count;        /**< How many. */
    const int *descriptors;   /**< Open, and each only once. The message then owns them, unless its creation fails. */
    size_t descriptor_count;  /**< How many, at most 253. */
    rlk_right *const *rights; /**< Sent with the message, which retains each of them. */
    size_t right_count;       /**< How many. */
    rlk_right *reply;         /**< The right to answer, also retained. NULL for no answer, or for rlk_right_request. */
} rlk_message_options;

/**
 * Creates a message.
 *
 * @param options     Read during the call.
 * @param ret_message The message, which the caller owns: rlk_message_release.
 * @return 0; -EINVAL (also: a descriptor twice), -EBADF (a descriptor is not open), -ETOOMANYREFS (too many
 *         descriptors), -ENOMEM. After an error the caller still owns the descriptors [RLK-C-13].
 *
 * Thread: [any].  Cost: O(bytes).
 */
RLK_API int rlk_message_create(const rlk_message_options *options, rlk_message **ret_message);

/**
 * Counts one more reference. A receiver calls it to keep a message beyond the callout.
 *
 * @param message The message.
 * @return The same message; the caller now owns a reference. NULL for NULL.
 *
 * Thread: [any].
 */
RLK_API rlk_message *rlk_message_retain(rlk_message *message);

/**
 * Gives a reference back. The last release closes the descriptors that are in the message.
 *
 * @param message The message, or NULL.
 *
 * Thread: [any].
 */
RLK_API void rlk_message_release(rlk_message *message);

/**
 * Returns a message's id.
 *
 * @param message The message.
 * @return The number; 0 for NULL.
 *
 * Thread: [any].
 */
RLK_API uint32_t rlk_message_id(rlk_message *message);

/**
 * Returns the bytes of a message.
 *
 * @param message   The message.
 * @param index     0 for the first part. A sender in Swift may have sent several; a message from C has one.
 * @param ret_bytes The bytes, which the message owns: valid while the message exists. NULL if the part is empty.
 * @param ret_count How many.
 * @return 0; -EINVAL, -ENOENT (no such part).
 *
 * Thread: [any].
 */
RLK_API int rlk_message_bytes(rlk_message *message, size_t index, const void **ret_bytes, size_t *ret_count);

/**
 * Returns a descriptor of a message. Use it only while the message has it.
 *
 * @param message The message, which keeps the descriptor.
 * @param index   0 for the first one.
 * @return The descriptor; -EINVAL, -ENOENT (no such descriptor), -EBADF (it was taken out, or sent).
 *
 * Thread: [any].
 */
RLK_API int rlk_message_descriptor(rlk_message *message, size_t index);

/**
 * Takes a descriptor out of a message. Each can be taken once.
 *
 * @param message The message.
 * @param index   0 for the first one.
 * @return The descriptor, which the caller owns: close(2); errors as rlk_message_descriptor.
 *
 * Thread: [any].
 */
RLK_API int rlk_message_take_descriptor(rlk_message *message, size_t index);

/**
 * Returns a right that was sent with a message.
 *
 * @param message   The message.
 * @param index     0 for the first one.
 * @param ret_right The right, which the caller owns: rlk_right_release.
 * @return 0; -EINVAL, -ENOENT (no such right).
 *
 * Thread: [any].
 */
RLK_API int rlk_message_right(rlk_message *message, size_t index, rlk_right **ret_right);

/**
 * Returns the right to answer a message. If the message and the right are both released before an answer was sent, the
 * request fails with -ECANCELED.
 *
 * @param message   The message.
 * @param ret_right The right, which the caller owns: rlk_right_release. The right of a request can send one message.
 * @return 0; -EINVAL, -ENOENT (no answer is expected).
 *
 * Thread: [any].
 */
RLK_API int rlk_message_reply(rlk_message *message, rlk_right **ret_right);

/** The process that sent a message, as the kernel knows it. Later versions append members: see `size`. */
typedef struct rlk_sender {
    size_t size;        /**< The caller sets it to sizeof, the library to the number of bytes written. */
    int32_t process_id; /**< Its number. The process may have ended since. */
    uint32_t user_id;   /**< Its real user. */
    uint32_t group_id;  /**< Its real group. */
    uint32_t reserved;  /**< The library writes 0. */
} rlk_sender;

/**
 * Tells which process sent a message.
 *
 * @param message    The message.
 * @param ret_sender The process. The caller owns the structure and sets its `size` before each call.
 * @return 0; -EINVAL, -ENOENT (this process sent it, by a right to one of its own ports; or the message was not sent).
 *
 * Thread: [any].
 */
RLK_API int rlk_message_sender(rlk_message *message, rlk_sender *ret_sender);

/* ---- ports ---- */

/**
 * Called for each message, at most once in a pass.
 *
 * @param port    The port.
 * @param message The message, valid during the call: see rlk_message_retain. The callout may take its descriptors.
 * @param context The context that was given with the function.
 *
 * Thread: [loop].
 */
typedef void (*rlk_port_fn)(rlk_item *port, rlk_message *message, void *context);

/** The options of a port. Later versions append members: see `size`. */
typedef struct rlk_port_options {
    size_t size;            /**< sizeof(rlk_port_options). */
    rlk_port_fn receive;    /**< Called for each message. */
    void *context;          /**< Handed to the functions. */
    rlk_release_fn release; /**< Or NULL. */
    size_t queue_limit;     /**< The largest number of messages that may wait; 0 for 1024. */
    const char *name;       /**< Processes of this user find the port by it; NULL for none. 1 to 64 of
                                   A-Z a-z 0-9 . _ -, not beginning with a dot, not ending in ".lock". Copied. */
    /** The most bytes in a message from another process; 0 for 2^30. The port refuses a process that sends more. */
    uint64_t maximum_payload;
} rlk_port_options;

/**
 * Creates a port. When the port is invalidated or its last loop ends, the messages that wait in it are discarded.
 *
 * @param options  Read during the call.
 * @param ret_port The port, which the caller owns: rlk_item_release.
 * @return 0; -EINVAL (also: the name is not valid), -EADDRINUSE (another port has the name), -EMFILE. Because of the
 *         folder that contains the names: -EPERM (it is open to others), -EACCES (it belongs to another user, or cannot
 *         be made), -ENOTDIR or -ELOOP (it is no folder), -ENOENT (its parent folder is missing), -EROFS, -ENOSPC, and
 *         others of mkdir(2), open(2) and bind(2).
 *
 * Thread: [any].  Cost: with a name, some twenty system calls.
 */
RLK_API int rlk_port_create(const rlk_port_options *options, rlk_item **ret_port);

/**
 * Returns a right to send to a port.
 *
 * @param port      The port. It may be invalid; the right then is invalid, too.
 * @param ret_right The right, which the caller owns: rlk_right_release.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_port_right(rlk_item *port, rlk_right **ret_right);

/**
 * Counts the messages that wait in a port.
 *
 * @param port The port.
 * @return Their number; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_port_pending_count(rlk_item *port);

/* ---- rights ---- */

/**
 * Returns a right to send to a port of any process of this user, by the port's name.
 *
 * @param name      The name.
 * @param ret_right The right, which the caller owns: rlk_right_release.
 * @return 0; -EINVAL (also: the name is not valid), -ENOENT (no port has the name), -EACCES (it belongs to another
 *         user), -EAGAIN (too many processes connect at this time), -EMFILE; because of the folder of names, which the
 *         call makes if it is missing, the errors of rlk_port_create; and others of connect(2).
 *
 * Thread: [any].  Cost: some ten system calls.
 */
RLK_API int rlk_right_connect(const char *name, rlk_right **ret_right);

/**
 * Counts one more reference.
 *
 * @param right The right.
 * @return The same right; the caller now owns a reference. NULL for NULL.
 *
 * Thread: [any].
 */
RLK_API rlk_right *rlk_right_retain(rlk_right *right);

/**
 * Gives a reference back.
 *
 * @param right The right, or NULL.
 *
 * Thread: [any].
 */
RLK_API void rlk_right_release(rlk_right *right);

/**
 * Tells whether a right can send. The right may become invalid before the call returns.
 *
 * @param right The right.
 * @return False once the receiver is gone, or once a right to one answer was used; false in a child of fork(2), and for
 *         NULL.
 *
 * Thread: [any].
 */
RLK_API bool rlk_right_is_valid(rlk_right *right);

/**
 * Tells whether two rights send to the same port. Their handles may differ.
 *
 * @param right The right.
 * @param other Another right.
 * @return True if so; false for NULL.
 *
 * Thread: [any].
 */
RLK_API bool rlk_right_is_equal(rlk_right *right, rlk_right *other);

/**
 * Sends a message, all of it or nothing [RLK-C-14]. The messages of one thread arrive in the order of sending.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 *
 * static void receive(rlk_item *port, rlk_message *message, void *id) {
 *     (void)port;
 *     *(uint32_t *)id = rlk_message_id(message);
 *     rlk_loop_stop(NULL);
 * }
 *
 * int main(void) {
 *     uint32_t id = 0;
 *     rlk_item *port;
 *     rlk_right *right;
 *     rlk_message *message;
 *     rlk_port_options options = {.size = sizeof options, .receive = receive, .context = &id};
 *     rlk_message_options contents = {.size = sizeof contents, .id = 7, .bytes = "hello", .byte_count = 5};
 *     if (rlk_port_create(&options, &port) < 0 || rlk_loop_add(NULL, port, NULL) < 0)
 *         return 1;
 *     if (rlk_port_right(port, &right) < 0 || rlk_message_create(&contents, &message) < 0)
 *         return 1;
 *     if (rlk_right_send(right, message, 0) == 0)
 *         rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false);
 *     rlk_message_release(message);
 *     rlk_right_release(right);
 *     rlk_item_release(port);
 *     return id == 7 ? 0 : 1;
 * }
 * @endcode
 *
 * @param right      The right.
 * @param message    The message, which the caller keeps. If the call succeeds, the message's descriptors go to the
 *                   receiver.
 * @param timeout_ns The longest wait while the port is full; 0 for no wait; RLK_TIME_FOREVER for no limit.
 * @return 0; -EINVAL, -EPIPE (the receiver is gone), -EAGAIN (the port is full, and timeout_ns is 0), -ETIMEDOUT,
 *         -EDEADLK (the port is full, only this thread's loop serves it, and there is no limit), -EBADF (a descriptor
 *         was taken, or sent before), -ECHILD. By a right from rlk_right_connect, or to another process, also -EACCES
 *         (the receiver has refused this process or one of its messages, and has ended the connection), -EMSGSIZE (too
 *         many parts, or a packet that is larger than the connection takes), -ETOOMANYREFS (too many descriptors, or
 *         too many in transit), -EMFILE, -ENOBUFS and others of sendmsg(2) and memfd_create(2). For a message with a
 *         right to a third process's port also the errors of sending to that process.
 *
 * Thread: [any].  Blocks: while the port is full.  Cost: O(parts); one write(2) if the port's loop sleeps.
 */
RLK_API int rlk_right_send(rlk_right *right, rlk_message *message, uint64_t timeout_ns);

/**
 * Sends a message with the right to one answer, and runs the calling thread's loop until the answer has come. A stop
 * that comes meanwhile does not end the call: it stops the run around it.
 *
 * @param right      The right.
 * @param message    As for rlk_right_send. The call does not use its `reply`.
 * @param timeout_ns The longest wait, for the sending and the answer together; RLK_TIME_FOREVER for no limit.
 * @param mode       The mode that the loop runs in; not RLK_MODE_COMMON. In a mode without members the loop calls
 *                   nothing meanwhile.
 * @param ret_answer The answer, which the caller owns: rlk_message_release.
 * @return 0; -ECANCELED (the right to answer was released), -EPIPE (the receiver is gone, also while the call waits),
 *         -ETIMEDOUT (sending an answer later fails with -EPIPE), -ESHUTDOWN (this thread's loop has ended), -EINVAL
 *         (also: RLK_MODE_COMMON); the errors of rlk_loop_run_in_mode; and those of rlk_right_send except -EAGAIN.
 *
 * Thread: [any].  Blocks: until the answer has come.  Re-entry: allowed in callouts.
 */
RLK_API int rlk_right_request(
    rlk_right *right, rlk_message *message, uint64_t timeout_ns, const char *mode, rlk_message **ret_answer);

RLK_END_DECLS
#endif

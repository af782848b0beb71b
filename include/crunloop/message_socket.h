/**
 * <crunloop/message_socket.h>: packets with descriptors between processes, over connected SOCK_SEQPACKET sockets.
 *
 * A packet arrives whole or not at all, in the order of sending [RLC-MSGSOCK-1].
 */
#ifndef CRUNLOOP_MESSAGE_SOCKET_H
#define CRUNLOOP_MESSAGE_SOCKET_H

#include <crunloop/base.h>
#include <sys/uio.h>

RLC_BEGIN_DECLS

enum { RLC_MESSAGE_SOCKET_DESCRIPTORS = 253 };

/** As the kernel has checked them. */
typedef struct rlc_credentials {
    int32_t process_id; /**< 0: of a process that this one's namespace does not see. */
    uint32_t user_id, group_id;
} rlc_credentials;

/** What has come with a packet. */
typedef struct rlc_received {
    rlc_credentials sender; /**< Of this packet, if has_sender. */
    bool has_sender;        /**< The socket passes credentials. */
    bool has_lost;          /**< This process had no numbers left for what came with it: all of that is closed. */
    size_t count;
    int descriptors[RLC_MESSAGE_SOCKET_DESCRIPTORS]; /**< The caller's, all of them: CLOEXEC. */
} rlc_received;

/**
 * Two connected sockets. Each packet tells its sender's credentials at either end, whoever holds that by then
 * [RLC-MSGSOCK-2].
 *
 * @return 0; -EMFILE, -ENFILE, -ENOMEM.
 *
 * Thread: [any].  Cost: three system calls.
 */
RLC_API int rlc_message_socket_pair(int ret_ends[2]);

/** The next connection of a listening socket: its descriptor; -EAGAIN if there is none, -EMFILE...  Thread: [any]. */
RLC_API int rlc_message_socket_accept(int listener);

/**
 * Who has connected, or listens, at the other end: as it was at that moment. Known before the first packet is read.
 *
 * @return 0 or -errno.
 *
 * Thread: [any].  Cost: one system call.  See: SO_PEERCRED of unix(7).
 */
RLC_API int rlc_message_socket_peer(int fd, rlc_credentials *ret_peer);

/**
 * Asks for each packet's own credentials from now on.
 *
 * @return 0 or -errno.  Thread: [any].  See: SO_PASSCRED of unix(7).
 */
RLC_API int rlc_message_socket_pass_credentials(int fd);

/** True if fd is a SOCK_SEQPACKET socket of the local kind. One system call or three.  Thread: [any]. */
RLC_API bool rlc_message_socket_is_one(int fd);

/**
 * Sends one packet, now or not at all. No SIGPIPE.
 *
 * @param fd               The socket.
 * @param parts            The bytes of the packet, one part after the other.
 * @param part_count       How many parts there are.
 * @param descriptors      Borrowed: the packet has its own. At most 253.
 * @param descriptor_count How many descriptors there are.
 * @return 0; -EAGAIN while the receiver has not read what it got before; -EPIPE, -ECONNRESET, -ENOTCONN if there is
 *         none any more; -EBADF, -ETOOMANYREFS (too many descriptors under way), -EMSGSIZE, -ENOMEM, -ENOBUFS, -EINVAL.
 *
 * Thread: [any].  Cost: one system call.
 */
RLC_API int rlc_message_socket_send(
    int fd, const struct iovec *parts, size_t part_count, const int *descriptors, size_t descriptor_count);

/**
 * Waits until a packet may be sent, or there is nobody any more to send one to.
 *
 * @return 1; 0 at the deadline; -errno.
 *
 * Thread: [any].  Blocks.
 */
RLC_API int rlc_message_socket_wait_writable(int fd, uint64_t deadline_ns);

/**
 * What was sent and has not been taken by the other side yet, as memory: a packet takes some hundred bytes and its own.
 *
 * @return 0: all was taken [RLC-MSGSOCK-5]; -errno.
 *
 * Thread: [any].  Cost: one system call.  See: SIOCOUTQ.
 */
RLC_API int rlc_message_socket_unread(int fd);

/**
 * Waits until less than `unread` of it has not been taken, or there is nobody any more who could [RLC-MSGSOCK-5].
 *
 * @return 1; 0 at the deadline; -EMFILE, -ENFILE, -ENOMEM, -EBADF.
 *
 * Thread: [any].  Blocks.  Cost: an epoll set of its own.
 */
RLC_API int rlc_message_socket_wait_read(int fd, int unread, uint64_t deadline_ns);

/**
 * Takes the next packet, if there is one. All descriptors that came with it are in the answer, or closed
 * [RLC-MSGSOCK-3]. If there are no numbers left for them the packet comes without any, and says so [RLC-MSGSOCK-4].
 *
 * @param fd           The socket.
 * @param buffer       Where its bytes go: not more than `capacity`.
 * @param capacity     The size of the buffer in bytes.
 * @param ret_received Untouched unless the answer is positive.
 * @return The packet's size; 0 if the other side has ended, or has sent an empty packet; -EAGAIN if there is none;
 *         -EMSGSIZE for one larger than the buffer: it is gone. -ECONNRESET once, if the other side has ended without
 *         reading all: what it has sent can still be taken. -errno.
 *
 * Thread: [any].  Cost: one system call.
 */
RLC_API int64_t rlc_message_socket_receive(int fd, void *buffer, size_t capacity, rlc_received *ret_received);

/** Closes what came, from an index on.  Thread: [any]. */
RLC_API void rlc_received_close(const rlc_received *received, size_t from);

RLC_END_DECLS
#endif

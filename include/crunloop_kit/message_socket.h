/**
 * <crunloop_kit/message_socket.h>: packets with descriptors between processes, over connected local sockets of the type
 * SOCK_SEQPACKET.
 *
 * A packet arrives whole or not at all, and packets arrive in the order of sending [RLC-MSGSOCK-1]. The sockets that
 * these functions create are non-blocking.
 */
#ifndef CRUNLOOP_KIT_MESSAGE_SOCKET_H
#define CRUNLOOP_KIT_MESSAGE_SOCKET_H

#include <crunloop/base.h>
#include <sys/uio.h>

RLC_BEGIN_DECLS

/** The largest number of descriptors in a packet: SCM_MAX_FD of unix(7). */
enum { RLC_MESSAGE_SOCKET_DESCRIPTORS = 253 };

/** The identity of a process, which the kernel has verified. */
typedef struct rlc_credentials {
    int32_t process_id; /**< In this process's namespace; 0 if the namespace does not contain the process. */
    uint32_t user_id, group_id;
} rlc_credentials;

/** What a packet carries besides its bytes. */
typedef struct rlc_received {
    rlc_credentials sender; /**< The process that sent this packet. Valid if has_sender. */
    bool has_sender;        /**< True if the socket passes credentials: see rlc_message_socket_pass_credentials. */
    bool has_lost;          /**< True if the process had too few numbers left for the descriptors: all are closed. */
    size_t count;
    int descriptors[RLC_MESSAGE_SOCKET_DESCRIPTORS]; /**< `count` descriptors, close-on-exec. The caller owns them. */
} rlc_received;

/**
 * Creates two connected sockets. Both deliver with each packet the credentials of the process that sends the packet,
 * even if that process has received its socket from another process [RLC-MSGSOCK-2].
 *
 * @param ret_ends The two descriptors; the caller owns them.
 * @return 0; -EMFILE (the process has no number left), -ENFILE (the system has none left), -ENOMEM, -ENOBUFS.
 *
 * Thread: [any].  Cost: three system calls.
 */
int rlc_message_socket_pair(int ret_ends[2]);

/**
 * Accepts the next connection of a listening socket. It does not wait if the socket is non-blocking.
 *
 * @param listener The listening socket; see rlc_port_name.
 * @return A descriptor that the caller owns; -EAGAIN (no connection is pending), -EMFILE, -ENFILE, -ENOMEM, -ENOBUFS;
 *         -EBADF, -ENOTSOCK, -EINVAL (listener does not listen).
 *
 * Thread: [any].  Cost: one system call.
 */
int rlc_message_socket_accept(int listener);

/**
 * Reads which process has made the other end of the connection: at an accepted socket the process that connected, at a
 * socket that connected the process that listened, at a pair the process that created the pair. The kernel knows this
 * before the first packet.
 *
 * @param ret_peer The identity of that process at the time when it connected, listened or created the pair.
 * @return 0; -EBADF, -ENOTSOCK.
 *
 * Thread: [any].  Cost: one system call.  See: SO_PEERCRED of unix(7).
 */
int rlc_message_socket_peer(int fd, rlc_credentials *ret_peer);

/**
 * Makes the socket deliver the sender's credentials with each packet that the peer sends after the call.
 *
 * @param fd The socket. The connections of a listening socket inherit the setting.
 * @return 0; -EBADF, -ENOTSOCK.
 *
 * Thread: [any].  Cost: one system call.  See: SO_PASSCRED of unix(7).
 */
int rlc_message_socket_pass_credentials(int fd);

/**
 * Tells whether a descriptor is a socket of the local domain and the type SOCK_SEQPACKET that does not listen.
 *
 * @param fd Any number.
 * @return True if so; false also if no descriptor has the number.
 *
 * Thread: [any].  Cost: one to three system calls.
 */
bool rlc_message_socket_is_one(int fd);

/**
 * Sends one packet without waiting, and without SIGPIPE.
 *
 * @param parts            The bytes of the packet, one part after the other. At least one byte in all, because the
 *                         receiver cannot tell an empty packet from the end of the connection.
 * @param part_count       The number of parts.
 * @param descriptors      The descriptors to send. The packet holds duplicates; the caller keeps its own.
 * @param descriptor_count The number of descriptors: 0 to 253.
 * @return 0; -EAGAIN (the receiver has not read earlier packets: see rlc_message_socket_wait_writable); -EPIPE,
 *         -ECONNRESET, -ENOTCONN (the receiver is gone); -ETOOMANYREFS (too many descriptors are in transit), -EMSGSIZE
 *         (the packet is larger than the socket's buffer), -EINVAL (more than 253 descriptors), -EBADF (fd or one of
 *         the descriptors is not open), -ENOTSOCK, -ENOMEM, -ENOBUFS. A call that fails has sent nothing.
 *
 * Thread: [any].  Cost: one system call.
 */
int rlc_message_socket_send(
    int fd, const struct iovec *parts, size_t part_count, const int *descriptors, size_t descriptor_count);

/**
 * Waits until the socket accepts a packet, or the peer is gone.
 *
 * @param deadline_ns Nanoseconds on CLOCK_MONOTONIC; 0 for no wait; RLC_TIME_FOREVER for no limit.
 * @return 1 if the caller should try to send now; 0 if the deadline has passed; -ENOMEM.
 *
 * Thread: [any].  Blocks; signals do not end the wait.  Cost: a system call for each wait.
 */
int rlc_message_socket_wait_writable(int fd, uint64_t deadline_ns);

/**
 * Measures the packets that this socket has sent and that the peer has not received yet.
 *
 * @return Bytes of kernel memory: for each packet its own bytes and some hundred more. 0 if the peer has received all
 *         packets [RLC-MSGSOCK-5]. -EBADF, -ENOTTY (fd is no socket).
 *
 * Thread: [any].  Cost: one system call.  See: SIOCOUTQ.
 */
int rlc_message_socket_unread(int fd);

/**
 * Waits until the peer has received so much that rlc_message_socket_unread is less than `unread`, or until the peer is
 * gone [RLC-MSGSOCK-5].
 *
 * @param unread      A value that rlc_message_socket_unread returned.
 * @param deadline_ns Nanoseconds on CLOCK_MONOTONIC; 0 for no wait; RLC_TIME_FOREVER for no limit.
 * @return 1 if less is unread, or the peer is gone; 0 if the deadline has passed; -EMFILE, -ENFILE, -ENOMEM, -ENOSPC,
 *         -EBADF.
 *
 * Thread: [any].  Blocks; signals do not end the wait.  Cost: the call creates an epoll descriptor and closes it.
 */
int rlc_message_socket_wait_read(int fd, int unread, uint64_t deadline_ns);

/**
 * Receives the next packet without waiting.
 *
 * Every descriptor that came with the packet is returned or closed: none leaks [RLC-MSGSOCK-3]. If the process does not
 * have enough numbers left for them, the packet arrives without any, and has_lost is set [RLC-MSGSOCK-4].
 *
 * @param buffer       Where the bytes are written.
 * @param capacity     The size of the buffer in bytes; RLC_FRAME_LARGEST suffices for every frame.
 * @param ret_received What came with the packet; the caller owns the descriptors. The count is 0 unless the call
 *                     returns a positive number.
 * @return The packet's size in bytes; 0 if the peer has closed, or has sent an empty packet; -EAGAIN (no packet has
 *         arrived); -EMSGSIZE (the packet was larger than the buffer, and is lost); -ECONNRESET (the peer has closed
 *         without reading everything; the kernel reports this once, and later calls receive the packets that the peer
 *         has sent); -EBADF, -ENOTSOCK, -ENOTCONN (the socket was never connected), -ENOMEM.
 *
 * Thread: [any].  Cost: one system call.
 */
int64_t rlc_message_socket_receive(int fd, void *buffer, size_t capacity, rlc_received *ret_received);

/**
 * Closes the descriptors that came with a packet, from an index on. The caller keeps those before the index.
 *
 * @param received From rlc_message_socket_receive.
 * @param from     The index of the first one to close; 0 for all.
 *
 * Thread: [any].  Cost: a system call for each descriptor.
 */
void rlc_received_close(const rlc_received *received, size_t from);

RLC_END_DECLS
#endif

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
    bool has_sender;        /**< The socket passes credentials: see rlc_message_socket_pass_credentials. */
    bool has_lost;          /**< The process had no numbers left for the packet's descriptors, which are closed. */
    size_t count;
    int descriptors[RLC_MESSAGE_SOCKET_DESCRIPTORS]; /**< `count` descriptors, close-on-exec. The caller owns them. */
} rlc_received;

/**
 * Creates two connected sockets. Both deliver with each packet the credentials of the process that sends it, even if
 * that process has received its socket from another one [RLC-MSGSOCK-2].
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
 *         -EBADF, -ENOTSOCK, -EINVAL (no listening socket).
 *
 * Thread: [any].  Cost: one system call.
 */
int rlc_message_socket_accept(int listener);

/**
 * Reads which process made the connection: at an accepted socket the process that connected, at the other end the
 * process that listened, at a pair the process that created the pair. The kernel knows it before the first packet.
 *
 * @param ret_peer The identity of that process at that moment.
 * @return 0; -EBADF, -ENOTSOCK.
 *
 * Thread: [any].  Cost: one system call.  See: SO_PEERCRED of unix(7).
 */
int rlc_message_socket_peer(int fd, rlc_credentials *ret_peer);

/**
 * Makes the socket deliver the sender's credentials with each packet that is sent after the call.
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
 * @return True if it is; false also if no descriptor has the number.
 *
 * Thread: [any].  Cost: one to three system calls.
 */
bool rlc_message_socket_is_one(int fd);

/**
 * Sends one packet without waiting, and without SIGPIPE.
 *
 * @param parts            The bytes of the packet, one part after the other. At least one byte in all: to the receiver
 *                         an empty packet looks like the end.
 * @param part_count       The number of parts.
 * @param descriptors      The descriptors to send. The packet holds duplicates; the caller keeps its own.
 * @param descriptor_count The number of descriptors: 0 to 253.
 * @return 0; -EAGAIN (the receiver has not read earlier packets: see rlc_message_socket_wait_writable); -EPIPE,
 *         -ECONNRESET, -ENOTCONN (the receiver is gone); -ETOOMANYREFS (too many descriptors are in transit), -EMSGSIZE
 *         (the packet is larger than the socket's buffer), -EINVAL (more than 253 descriptors), -EBADF (fd or one of
 *         the descriptors is not open), -ENOTSOCK, -ENOMEM, -ENOBUFS. If the call fails it has sent nothing.
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
 * Measures what this socket has sent and the peer has not yet received.
 *
 * @return Bytes of kernel memory: each packet counts its bytes and some hundred more. 0 if the peer has received all
 *         packets [RLC-MSGSOCK-5]. -EBADF, -ENOTTY (no socket).
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
 * Thread: [any].  Blocks; signals do not end the wait.  Cost: it creates an epoll descriptor for the call.
 */
int rlc_message_socket_wait_read(int fd, int unread, uint64_t deadline_ns);

/**
 * Receives the next packet without waiting.
 *
 * The call returns or closes every descriptor that came with the packet: none leaks [RLC-MSGSOCK-3]. If the process has
 * no numbers left for them, the packet arrives without any, and has_lost is set [RLC-MSGSOCK-4].
 *
 * @param buffer       Where the bytes are written.
 * @param capacity     The size of the buffer in bytes; RLC_FRAME_LARGEST suffices for every frame.
 * @param ret_received What came with the packet; the caller owns the descriptors. Its count is 0 unless the result is
 *                     positive.
 * @return The packet's size in bytes; 0 if the peer has closed, or has sent an empty packet; -EAGAIN (no packet has
 *         arrived); -EMSGSIZE (the packet was larger than the buffer, and is lost); -ECONNRESET (the peer has closed
 *         without reading everything; the kernel reports this once, and later calls receive the packets that the peer
 *         has sent); -EBADF, -ENOTSOCK, -ENOTCONN (it was never connected), -ENOMEM.
 *
 * Thread: [any].  Cost: one system call.
 */
int64_t rlc_message_socket_receive(int fd, void *buffer, size_t capacity, rlc_received *ret_received);

/**
 * Closes the descriptors that came with a packet, from an index on. The caller keeps those before it.
 *
 * @param received From rlc_message_socket_receive.
 * @param from     The index of the first one to close; 0 for all.
 *
 * Thread: [any].  Cost: a system call for each.
 */
void rlc_received_close(const rlc_received *received, size_t from);

RLC_END_DECLS
#endif

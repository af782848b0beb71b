#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failure.h"
#include "kernel_numbers.h"

#include <crunloop/clock.h>
#include <crunloop/descriptor.h>
#include <crunloop_kit/message_socket.h>

#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* SCM_PIDFD of Linux 6.5: a descriptor of the sender's process. Any process that shares the socket can enable it. */
enum { PROCESS_DESCRIPTOR = 4 };

/* Room for what the kernel may deliver with a packet: descriptors, the sender's credentials, and SCM_PIDFD. */
typedef union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(RLC_MESSAGE_SOCKET_DESCRIPTORS * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred)) +
               CMSG_SPACE(sizeof(int))];
} control;

int rlc_message_socket_pass_credentials(int fd) {
    int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ? -errno : 0;
}

static void close_pair(const int ends[2]) {
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0)
            (void)close(ends[i]);
    }
}

/** Adopts both ends by rlc_descriptor_adopt, which closes an end that it cannot move; its element is then the error. */
static int adopt_pair(int ends[2]) {
    for (int i = 0; i < 2; i++)
        ends[i] = rlc_descriptor_adopt(ends[i]);
    return ends[0] < 0 ? ends[0] : ends[1] < 0 ? ends[1] : 0;
}

int rlc_message_socket_pair(int ret_ends[2]) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return rlc_failed("socketpair");
    int status = adopt_pair(ends);
    if (status < 0) {
        close_pair(ends);
        return rlc_failed_with("fcntl", status);
    }
    /* Both ends ask for credentials: the kernel then notes the sender of each packet from the first one on. */
    status = rlc_message_socket_pass_credentials(ends[0]);
    if (status == 0)
        status = rlc_message_socket_pass_credentials(ends[1]);
    if (status < 0) {
        close_pair(ends);
        return rlc_failed_with("setsockopt", status);
    }
    ret_ends[0] = ends[0];
    ret_ends[1] = ends[1];
    return 0;
}

int rlc_message_socket_accept(int listener) {
    int fd;
    do
        fd = rlc_descriptor_adopt(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
    while (fd == -EINTR || fd == -ECONNABORTED);
    return fd;
}

int rlc_message_socket_peer(int fd, rlc_credentials *ret_peer) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return -errno;
    *ret_peer = (rlc_credentials){peer.pid, peer.uid, peer.gid};
    return 0;
}

static int option_of(int fd, int option) {
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) < 0 ? -1 : value;
}

bool rlc_message_socket_is_one(int fd) {
    return option_of(fd, SO_DOMAIN) == AF_UNIX && option_of(fd, SO_TYPE) == SOCK_SEQPACKET &&
           option_of(fd, SO_ACCEPTCONN) == 0;
}

static void attach(struct msghdr *message, control *control, const int *descriptors, size_t count) {
    size_t size = count * sizeof(int);
    message->msg_control = control;
    message->msg_controllen = CMSG_SPACE(size);
    memset(control->bytes, 0, message->msg_controllen);
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(header), descriptors, size);
}

/*
 * musl's sendmsg(2) copies the control data to clear the padding in its structures, which the kernel reads as part of
 * the lengths. It copies at most 1,024 bytes, and returns ENOMEM for more. Here the padding is 0 already, so the code
 * makes the system call itself.
 */
static ssize_t send_message(int fd, const struct msghdr *message) {
#ifdef __GLIBC__
    return sendmsg(fd, message, MSG_NOSIGNAL | MSG_DONTWAIT);
#else
    return syscall(SYS_sendmsg, fd, message, MSG_NOSIGNAL | MSG_DONTWAIT);
#endif
}

int rlc_message_socket_send(
    int fd, const struct iovec *parts, size_t part_count, const int *descriptors, size_t descriptor_count) {
    control control;
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = part_count};
    if (descriptor_count > RLC_MESSAGE_SOCKET_DESCRIPTORS)
        return -EINVAL;
    if (descriptor_count > 0)
        attach(&message, &control, descriptors, descriptor_count);
    ssize_t size;
    do
        size = send_message(fd, &message);
    while (size < 0 && errno == EINTR);
    return size < 0 ? -errno : 0;
}

int rlc_message_socket_wait_writable(int fd, uint64_t deadline_ns) {
    struct pollfd entry = {.fd = fd, .events = POLLOUT};
    for (;;) {
        struct timespec left, *limit = NULL;
        if (deadline_ns != RLC_TIME_FOREVER) {
            uint64_t now = rlc_now(RLC_CLOCK_MONOTONIC), rest = deadline_ns > now ? deadline_ns - now : 0;
            left = (struct timespec){(time_t)(rest / 1000000000), (long)(rest % 1000000000)};
            limit = &left;
        }
        int count = ppoll(&entry, 1, limit, NULL);
        if (count > 0)
            return 1;
        if (count < 0 && errno != EINTR)
            return -errno;
        if (count == 0 && rlc_now(RLC_CLOCK_MONOTONIC) >= deadline_ns)
            return 0;
    }
}

int rlc_message_socket_unread(int fd) {
    int unread = 0;
    return ioctl(fd, SIOCOUTQ, &unread) < 0 ? -errno : unread;
}

/*
 * Watches edge-triggered: each packet that the peer reads ends epoll_wait(2), even if the socket was writable before.
 */
static int wait_in_set(int set, int fd, int unread, uint64_t deadline_ns) {
    struct epoll_event event = {.events = EPOLLOUT | EPOLLET};
    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) < 0)
        return rlc_failed("epoll_ctl");
    for (;;) {
        int now = rlc_message_socket_unread(fd), timeout = -1;
        if (now < 0 || now < unread || (event.events & (EPOLLHUP | EPOLLERR)) != 0)
            return now < 0 ? rlc_failed_with("ioctl", now) : 1;
        if (deadline_ns != RLC_TIME_FOREVER) {
            uint64_t time = rlc_now(RLC_CLOCK_MONOTONIC);
            if (time >= deadline_ns)
                return 0;
            uint64_t left = (deadline_ns - time + 999999) / 1000000;
            timeout = left > INT_MAX ? INT_MAX : (int)left;
        }
        event.events = 0;
        if (epoll_wait(set, &event, 1, timeout) < 0 && errno != EINTR)
            return rlc_failed("epoll_wait");
    }
}

int rlc_message_socket_wait_read(int fd, int unread, uint64_t deadline_ns) {
    int set = rlc_made("epoll_create1", epoll_create1(EPOLL_CLOEXEC));
    if (set < 0)
        return set;
    int status = wait_in_set(set, fd, unread, deadline_ns);
    (void)close(set);
    return status;
}

void rlc_received_close(const rlc_received *received, size_t from) {
    for (size_t i = from; i < received->count; i++)
        (void)close(received->descriptors[i]);
}

/** Collects the descriptors of a packet. rlc_descriptor_adopt closes one that it cannot move; that counts as lost. */
static void collect_descriptors(const struct cmsghdr *header, rlc_received *received) {
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(received->descriptors, CMSG_DATA(header), count * sizeof(int)); /* one header in a packet: at most 253 */
    received->count = 0;
    for (size_t i = 0; i < count; i++) {
        int fd = rlc_descriptor_adopt(received->descriptors[i]);
        if (fd >= 0)
            received->descriptors[received->count++] = fd;
        else
            received->has_lost = true;
    }
}

/* Collects the sender and the descriptors, also of a packet that is refused: this process has to close them. */
static void collect(struct msghdr *message, rlc_received *received) {
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET)
            continue;
        if (header->cmsg_type == SCM_RIGHTS) {
            collect_descriptors(header, received);
        } else if (header->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(header), sizeof sender);
            received->sender = (rlc_credentials){sender.pid, sender.uid, sender.gid};
            received->has_sender = true;
        } else if (header->cmsg_type == PROCESS_DESCRIPTOR) {
            int unwanted;
            memcpy(&unwanted, CMSG_DATA(header), sizeof unwanted);
            (void)close(unwanted);
        }
    }
}

int64_t rlc_message_socket_receive(int fd, void *buffer, size_t capacity, rlc_received *ret_received) {
    control control;
    struct iovec part = {buffer, capacity};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ret_received->count = 0;
    ret_received->has_sender = false;
    ssize_t size;
    do
        size = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (size < 0 && errno == EINTR);
    if (size < 0)
        return -errno;
    bool is_whole = size > 0 && (message.msg_flags & MSG_TRUNC) == 0;
    /* The buffer has room for all descriptors of a packet. So if some were cut off, the process has no number left. */
    ret_received->has_lost = (message.msg_flags & MSG_CTRUNC) != 0;
    if (message.msg_controllen > 0)
        collect(&message, ret_received);
    if (!is_whole || ret_received->has_lost) {
        rlc_received_close(ret_received, 0);
        ret_received->count = 0;
    }
    return is_whole || size == 0 ? size : -EMSGSIZE;
}

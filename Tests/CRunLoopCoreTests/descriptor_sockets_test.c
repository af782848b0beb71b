/* The table of descriptor kinds beside plain epoll: sockets. */
#include "descriptor_rows.h"

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <sys/un.h>

enum { BOTH = RLC_READABLE | RLC_WRITABLE };

/* ---- making them ---- */

static struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int make_socket(int domain, int type) {
    int fd = socket(domain, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(fd >= 0);
    return fd;
}

/** Bound to a free port of the loopback. */
static int bind_somewhere(int type, struct sockaddr_in *ret_address) {
    int fd = make_socket(AF_INET, type);
    socklen_t size = sizeof *ret_address;
    *ret_address = loopback(0);
    CHECK_EQUAL(bind(fd, (struct sockaddr *)ret_address, size), 0);
    CHECK_EQUAL(getsockname(fd, (struct sockaddr *)ret_address, &size), 0);
    return fd;
}

static int accept_one(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    CHECK(fd >= 0);
    return fd;
}

static void connect_to(int fd, const struct sockaddr_in *address) {
    int status = connect(fd, (const struct sockaddr *)address, sizeof *address);
    CHECK(status == 0 || errno == EINPROGRESS);
}

static void disconnect(int fd) {
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    CHECK_EQUAL(connect(fd, &none, sizeof none), 0);
}

static void reset(int fd) {
    struct linger now = {.l_onoff = 1};
    CHECK_EQUAL(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    close(fd);
}

static int take_error(int fd) {
    int error = 0;
    socklen_t size = sizeof error;
    CHECK_EQUAL(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size), 0);
    return error;
}

/* ---- TCP ---- */

static void test_RLC_END_9_tcp(void) {
    struct sockaddr_in address;
    int listener = bind_somewhere(SOCK_STREAM, &address), fd = make_socket(AF_INET, SOCK_STREAM);
    CHECK_EQUAL(listen(listener, FEW), 0);
    row row = begin_row("TCP", fd, fd, BOTH);
    CHECK_ROW_ONCE(&row, EPOLLOUT | EPOLLHUP, RLC_WRITABLE | RLC_HANGUP); /* not connected yet */
    for (int round = 0; round < 2; round++) {
        connect_to(fd, &address);
        CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
        CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
        int peer = accept_one(listener);
        write_all(peer, "abc", 3);
        read_byte_by_byte(&row, fd, 3);
        CHECK_EQUAL(shutdown(peer, SHUT_WR), 0);
        CHECK_ROW(&row, EPOLLIN | EPOLLOUT | EPOLLRDHUP, BOTH | RLC_HANGUP);
        CHECK_ROW(&row, EPOLLIN | EPOLLOUT | EPOLLRDHUP, RLC_WRITABLE);
        reset(peer);
        CHECK((reported(&row) & (RLC_HANGUP | RLC_ERROR)) == (RLC_HANGUP | RLC_ERROR));
        check_rests(&row);
        disconnect(fd);
        (void)reported(&row); /* the disconnection is a hang-up, too */
        check_rests(&row);
    }
    end_row(&row);
    close(fd), close(listener);
}

/** Reading is over, and the program connects anew before the loop waits. */
static void test_RLC_END_9_tcp_again_at_once(void) {
    struct sockaddr_in address;
    int listener = bind_somewhere(SOCK_STREAM, &address), fd = make_socket(AF_INET, SOCK_STREAM);
    CHECK_EQUAL(listen(listener, FEW), 0);
    connect_to(fd, &address);
    row row = begin_row("TCP", fd, fd, BOTH);
    for (int round = 0; round < 3; round++) {
        int peer = accept_one(listener);
        write_all(peer, "abcdef", 6);
        close(peer);
        read_byte_by_byte(&row, fd, 6);
        CHECK((reported(&row) & RLC_HANGUP) != 0);
        disconnect(fd);
        connect_to(fd, &address);
    }
    end_row(&row);
    close(fd), close(listener);
}

static void test_RLC_END_9_tcp_refused(void) {
    struct sockaddr_in address;
    int closed = bind_somewhere(SOCK_STREAM, &address), fd = make_socket(AF_INET, SOCK_STREAM);
    row row = begin_row("TCP, connection refused", fd, fd, BOTH);
    CHECK_ROW_ONCE(&row, EPOLLOUT | EPOLLHUP, RLC_WRITABLE | RLC_HANGUP);
    for (int round = 0; round < 3; round++) { /* nobody listens */
        if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno == ECONNREFUSED)
            continue; /* the call has taken the error */
        CHECK((plain_events(&row) & EPOLLERR) != 0);
        CHECK((reported(&row) & (RLC_ERROR | RLC_HANGUP)) == (RLC_ERROR | RLC_HANGUP));
        check_rests(&row);
        CHECK_EQUAL(take_error(fd), ECONNREFUSED);
        disconnect(fd);
        (void)reported(&row); /* a hang-up, too */
        check_rests(&row);
    }
    end_row(&row);
    close(fd), close(closed);
}

static void test_RLC_END_9_listener(void) {
    struct sockaddr_in address;
    int fd = bind_somewhere(SOCK_STREAM, &address), one = 1;
    CHECK_EQUAL(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    CHECK_EQUAL(listen(fd, FEW), 0);
    row row = begin_row("TCP, listening", fd, fd, RLC_READABLE);
    CHECK_EQUAL(shutdown(fd, SHUT_RDWR), 0);
    CHECK_ROW_ONCE(&row, EPOLLHUP, RLC_HANGUP);
    CHECK_EQUAL(listen(fd, FEW), 0); /* at a port of the system's choice, if it had one before */
    socklen_t size = sizeof address;
    CHECK_EQUAL(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    int clients[2];
    for (int i = 0; i < 2; i++)
        connect_to(clients[i] = make_socket(AF_INET, SOCK_STREAM), &address);
    for (int i = 0; i < 2; i++) { /* one a callout */
        CHECK_ROW(&row, EPOLLIN, RLC_READABLE);
        close(accept_one(fd));
        close(clients[i]);
    }
    CHECK_ROW(&row, 0, 0);
    end_row(&row);
    close(fd);
}

/* ---- UNIX ---- */

static void test_RLC_END_9_unix_stream(void) {
    int ends[2];
    make_sockets(ends);
    row row = begin_row("UNIX, stream or packets, connected", ends[0], ends[0], RLC_READABLE);
    write_all(ends[1], "abc", 3);
    CHECK_EQUAL(shutdown(ends[1], SHUT_WR), 0);
    read_byte_by_byte(&row, ends[0], 3);
    CHECK_ROW_ONCE(&row, EPOLLIN | EPOLLRDHUP, RLC_READABLE | RLC_HANGUP);
    close(ends[1]); /* to a reader the same end */
    CHECK_ROW(&row, EPOLLIN | EPOLLRDHUP | EPOLLHUP, 0);
    check_rests(&row);
    end_row(&row);
    close(ends[0]);
}

static void test_RLC_END_9_unix_not_connected(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = make_socket(AF_UNIX, SOCK_STREAM), fd = make_socket(AF_UNIX, SOCK_STREAM);
    (void)snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "crunloop-row.%d", (int)getpid());
    CHECK_EQUAL(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQUAL(listen(listener, FEW), 0);
    row row = begin_row("UNIX, stream, not connected yet", fd, fd, BOTH);
    CHECK_ROW_ONCE(&row, EPOLLOUT | EPOLLHUP, RLC_WRITABLE | RLC_HANGUP);
    CHECK_EQUAL(connect(fd, (struct sockaddr *)&address, sizeof address), 0); /* the kernel wakes nobody for this */
    CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
    CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
    int peer = accept_one(listener);
    write_all(peer, "abc", 3);
    close(peer);
    read_byte_by_byte(&row, fd, 3);
    CHECK((reported(&row) & RLC_HANGUP) != 0);
    check_rests(&row);
    end_row(&row);
    close(fd), close(listener);
}

/* ---- datagrams ---- */

static void test_RLC_END_9_udp_refused(void) {
    struct sockaddr_in address;
    int closed = bind_somewhere(SOCK_DGRAM, &address), fd = make_socket(AF_INET, SOCK_DGRAM);
    close(closed);
    connect_to(fd, &address);
    row row = begin_row("UDP, datagrams refused", fd, fd, RLC_READABLE);
    for (int round = 0; round < 6; round++) {
        CHECK_EQUAL(send(fd, "x", 1, 0), 1);
        CHECK_ROW(&row, EPOLLERR, RLC_ERROR);
        CHECK_EQUAL(take_error(fd), ECONNREFUSED);
        if (round % 2 == 0) /* else the callout sends the next one itself */
            check_rests(&row);
    }
    CHECK_EQUAL(send(fd, "x", 1, 0), 1);
    CHECK_ROW_ONCE(&row, EPOLLERR, RLC_ERROR); /* never taken */
    end_row(&row);
    close(fd);
}

static void test_RLC_END_9_udp_that_writes(void) {
    struct sockaddr_in address;
    int closed = bind_somewhere(SOCK_DGRAM, &address), fd = make_socket(AF_INET, SOCK_DGRAM);
    close(closed);
    connect_to(fd, &address);
    row row = begin_row("UDP, datagrams refused", fd, fd, BOTH);
    for (int round = 0; round < 4; round++) {
        CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
        CHECK_EQUAL(send(fd, "x", 1, 0), 1);
        CHECK_ROW_ONCE(&row, EPOLLOUT | EPOLLERR, RLC_WRITABLE | RLC_ERROR);
        CHECK_EQUAL(send(fd, "x", 1, 0), -1); /* takes the error, and makes no edge */
    }
    end_row(&row);
    close(fd);
}

/** Takes one entry of the queue of errors. */
static bool take_queued(int fd) {
    char byte, control[512];
    struct iovec bytes = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    return recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0;
}

static void test_RLC_END_9_queue_of_errors(void) {
    struct sockaddr_in address;
    int closed = bind_somewhere(SOCK_DGRAM, &address), fd = make_socket(AF_INET, SOCK_DGRAM), one = 1;
    close(closed);
    connect_to(fd, &address);
    CHECK_EQUAL(setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof one), 0);
    row row = begin_row("socket, queue of errors", fd, fd, RLC_READABLE);
    for (int round = 0; round < 3; round++) { /* the entries stay: each further one is reported all the same */
        CHECK_EQUAL(send(fd, "x", 1, 0), 1);
        CHECK_ROW_ONCE(&row, EPOLLERR, RLC_ERROR);
        CHECK_EQUAL(take_error(fd), ECONNREFUSED);
        check_rests(&row);
    }
    while (take_queued(fd))
        (void)reported(&row); /* the next entry is the socket's error then */
    (void)take_error(fd);
    check_rests(&row);
    CHECK_EQUAL(send(fd, "x", 1, 0), 1);
    CHECK_ROW_ONCE(&row, EPOLLERR, RLC_ERROR);
    end_row(&row);
    close(fd);
}

static void test_RLC_END_9_time_stamps(void) {
    struct sockaddr_in address;
    int peer = bind_somewhere(SOCK_DGRAM, &address), fd = make_socket(AF_INET, SOCK_DGRAM);
    int flags = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY;
    connect_to(fd, &address);
    if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags) < 0) { /* emulators leave it out */
        (void)printf("  skipped: socket, time stamps of sent packets\n");
        close(fd);
        close(peer);
        return;
    }
    row row = begin_row("socket, time stamps of sent packets", fd, fd, RLC_READABLE);
    for (int round = 0; round < 3; round++) {
        CHECK_EQUAL(send(fd, "x", 1, 0), 1);
        CHECK_ROW_ONCE(&row, EPOLLERR, RLC_ERROR);
        CHECK(take_queued(fd));
        check_rests(&row);
    }
    end_row(&row);
    close(fd), close(peer);
}

/** Datagrams come while an error is left alone. */
static void test_RLC_END_9_datagrams_beside_an_error(void) {
    struct sockaddr_in address, ours;
    int closed = bind_somewhere(SOCK_DGRAM, &address), fd = bind_somewhere(SOCK_DGRAM, &ours), one = 1;
    int peer = make_socket(AF_INET, SOCK_DGRAM);
    close(closed);
    CHECK_EQUAL(setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof one), 0);
    row row = begin_row("socket, queue of errors", fd, fd, RLC_READABLE);
    CHECK_EQUAL(sendto(fd, "x", 1, 0, (struct sockaddr *)&address, sizeof address), 1);
    CHECK_ROW_ONCE(&row, EPOLLERR, RLC_ERROR);
    (void)take_error(fd);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            CHECK_EQUAL(sendto(peer, "y", 1, 0, (struct sockaddr *)&ours, sizeof ours), 1);
        read_byte_by_byte(&row, fd, 3);
        (void)reported(&row); /* the error, which still lasts */
        check_rests(&row);
    }
    end_row(&row);
    close(fd), close(peer);
}

int main(void) {
    RUN(test_RLC_END_9_tcp);
    RUN(test_RLC_END_9_tcp_again_at_once);
    RUN(test_RLC_END_9_tcp_refused);
    RUN(test_RLC_END_9_listener);
    RUN(test_RLC_END_9_unix_stream);
    RUN(test_RLC_END_9_unix_not_connected);
    RUN(test_RLC_END_9_udp_refused);
    RUN(test_RLC_END_9_udp_that_writes);
    RUN(test_RLC_END_9_queue_of_errors);
    RUN(test_RLC_END_9_time_stamps);
    RUN(test_RLC_END_9_datagrams_beside_an_error);
    return 0;
}

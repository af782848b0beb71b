/* Packets with descriptors and credentials between two ends. */
#include "asleep.h"
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

static void make_ends(int ends[2]) {
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
}

static int send_text(int fd, const char *text, const int *descriptors, size_t count) {
    struct iovec part = {(void *)text, strlen(text)};
    return rlc_message_socket_send(fd, &part, 1, descriptors, count);
}

static void close_both(const int ends[2]) {
    close(ends[0]);
    close(ends[1]);
}

static void test_RLC_MSGSOCK_1_whole_and_in_order(void) {
    int ends[2];
    char buffer[16];
    rlc_received received = {.count = 77, .has_sender = true, .has_lost = true}; /* of a packet before */
    make_ends(ends);
    CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), -EAGAIN);
    CHECK_EQUAL(received.count, 0);
    struct iovec parts[3] = {{"one", 3}, {"", 0}, {"two", 3}};
    CHECK_EQUAL(rlc_message_socket_send(ends[0], parts, 3, NULL, 0), 0);
    CHECK_EQUAL(send_text(ends[0], "three", NULL, 0), 0);
    CHECK_EQUAL(send_text(ends[0], "more than sixteen bytes", NULL, 0), 0);
    CHECK_EQUAL(send_text(ends[0], "last", NULL, 0), 0);
    CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), 6);
    CHECK(memcmp(buffer, "onetwo", 6) == 0 && received.count == 0 && !received.has_sender);
    CHECK(!received.has_lost);
    CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), 5);
    CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), -EMSGSIZE);
    CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), 4);
    close(ends[0]);
    received.count = 77;
    CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), 0);
    CHECK_EQUAL(received.count, 0);
    CHECK_EQUAL(send_text(ends[1], "x", NULL, 0), -EPIPE);
    close(ends[1]);
    CHECK_EQUAL(send_text(9999, "x", NULL, 0), -EBADF);
}

static void test_RLC_MSGSOCK_3_descriptors_up_to_253(void) {
    int ends[2], many[RLC_MESSAGE_SOCKET_DESCRIPTORS + 1];
    char buffer[16];
    rlc_received received;
    make_ends(ends);
    for (size_t i = 0; i < RLC_MESSAGE_SOCKET_DESCRIPTORS + 1; i++)
        many[i] = ends[0];
    for (size_t count = 0; count <= RLC_MESSAGE_SOCKET_DESCRIPTORS; count++) {
        CHECK_EQUAL(send_text(ends[0], "x", many, count), 0);
        CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), 1);
        CHECK_EQUAL(received.count, count);
        for (size_t i = 0; i < count; i++)
            CHECK((fcntl(received.descriptors[i], F_GETFD) & FD_CLOEXEC) != 0);
        rlc_received_close(&received, 0);
    }
    CHECK_EQUAL(send_text(ends[0], "x", many, RLC_MESSAGE_SOCKET_DESCRIPTORS + 1), -EINVAL);
    many[1] = 9999;
    CHECK_EQUAL(send_text(ends[0], "x", many, 2), -EBADF);
    CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), -EAGAIN);
    close_both(ends);
}

/* Who has taken the first ones closes the others. */
static void test_RLC_MSGSOCK_3_the_rest_is_closed(void) {
    int ends[2];
    char buffer[4];
    rlc_received received;
    make_ends(ends);
    CHECK_EQUAL(send_text(ends[0], "x", (int[]){ends[0], ends[1], ends[0]}, 3), 0);
    CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), 1);
    CHECK_EQUAL(received.count, 3);
    rlc_received_close(&received, 1);
    CHECK(fcntl(received.descriptors[0], F_GETFD) >= 0);
    for (int i = 1; i < 3; i++)
        CHECK(fcntl(received.descriptors[i], F_GETFD) < 0 && errno == EBADF);
    close(received.descriptors[0]);
    close_both(ends);
}

/* What does not fit, is too long or comes with nothing is closed: run_case counts. */
static void test_RLC_MSGSOCK_3_nothing_stays_open(void) {
    int ends[2], many[4];
    char buffer[2];
    rlc_received received;
    make_ends(ends);
    for (int i = 0; i < 4; i++)
        many[i] = ends[0];
    CHECK_EQUAL(send_text(ends[0], "too long", many, 4), 0);
    CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), -EMSGSIZE);
    CHECK_EQUAL(send_text(ends[0], "", many, 3), 0);
    CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), 0);
    struct rlimit limit, none;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = (rlim_t)dup(0);
    close((int)none.rlim_cur);
    none.rlim_cur += 2; /* two numbers for four descriptors: truncated control data */
    CHECK_EQUAL(send_text(ends[0], "x", many, 4), 0);
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), 1); /* RLC-MSGSOCK-4 */
    CHECK(received.has_lost);
    CHECK_EQUAL(received.count, 0);
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK_EQUAL(send_text(ends[0], "x", many, 4), 0);
    CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), 1);
    CHECK(!received.has_lost);
    CHECK_EQUAL(received.count, 4);
    rlc_received_close(&received, 0);
    close_both(ends);
}

static void *take_one(void *context) {
    char buffer[4];
    rlc_received received;
    (void)rlc_message_socket_receive(*(int *)context, buffer, sizeof buffer, &received);
    return NULL;
}

/* There was room all the time: what is waited for is that something is taken. */
static void test_RLC_MSGSOCK_5_what_was_not_taken(void) {
    int ends[2];
    pthread_t taker;
    make_ends(ends);
    CHECK_EQUAL(rlc_message_socket_unread(ends[0]), 0);
    CHECK_EQUAL(send_text(ends[0], "x", NULL, 0), 0);
    int one = rlc_message_socket_unread(ends[0]);
    CHECK(one > 256); /* the kernel's own memory counts */
    CHECK_EQUAL(send_text(ends[0], "y", NULL, 0), 0);
    int two = rlc_message_socket_unread(ends[0]);
    CHECK_EQUAL(two, 2 * one);
    CHECK_EQUAL(rlc_message_socket_wait_read(ends[0], two + 1, 0), 1);
    CHECK_EQUAL(rlc_message_socket_wait_read(ends[0], two, 0), 0);
    uint64_t end_ns = rlc_now(RLC_CLOCK_MONOTONIC) + 2000000;
    CHECK_EQUAL(rlc_message_socket_wait_read(ends[0], two, end_ns), 0);
    CHECK(rlc_now(RLC_CLOCK_MONOTONIC) >= end_ns);
    CHECK_EQUAL(pthread_create(&taker, NULL, take_one, &ends[1]), 0);
    CHECK_EQUAL(rlc_message_socket_wait_read(ends[0], two, RLC_TIME_FOREVER), 1);
    CHECK_EQUAL(pthread_join(taker, NULL), 0);
    CHECK_EQUAL(rlc_message_socket_unread(ends[0]), one);
    close(ends[1]);
    CHECK_EQUAL(rlc_message_socket_wait_read(ends[0], one, RLC_TIME_FOREVER), 1); /* nobody is left */
    CHECK_EQUAL(rlc_message_socket_wait_read(ends[0], 0, RLC_TIME_FOREVER), 1);
    close(ends[0]);
    CHECK(rlc_message_socket_unread(ends[0]) < 0);
}

/* Who has an end too can ask for a descriptor of the sender's process with each packet. */
static void test_RLC_MSGSOCK_3_process_descriptors_are_closed(void) {
    enum { PASS_PROCESS_DESCRIPTOR = 76 };
    int ends[2], on = 1;
    char buffer[4];
    rlc_received received;
    make_ends(ends);
    if (setsockopt(ends[1], SOL_SOCKET, PASS_PROCESS_DESCRIPTOR, &on, sizeof on) < 0) {
        printf("skipped 1: the kernel has no SO_PASSPIDFD\n");
        close_both(ends);
        return;
    }
    CHECK_EQUAL(rlc_message_socket_pass_credentials(ends[1]), 0);
    int many[RLC_MESSAGE_SOCKET_DESCRIPTORS];
    for (size_t i = 0; i < RLC_MESSAGE_SOCKET_DESCRIPTORS; i++)
        many[i] = ends[0];
    const size_t counts[] = {0, 1, 2, RLC_MESSAGE_SOCKET_DESCRIPTORS};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        CHECK_EQUAL(send_text(ends[0], "x", many, counts[i]), 0);
        CHECK_EQUAL(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received), 1);
        CHECK(received.has_sender && !received.has_lost);
        CHECK_EQUAL(received.count, counts[i]);
        rlc_received_close(&received, 0);
    }
    close_both(ends); /* run_case counts */
}

static void test_RLC_MSGSOCK_2_senders(void) {
    int ends[2], status;
    char buffer[8];
    rlc_received received;
    CHECK_EQUAL(rlc_message_socket_pair(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        bool is_changed = geteuid() == 0 && setgid(65533) == 0 && setuid(65534) == 0;
        int own[2];
        rlc_credentials peer;
        CHECK_EQUAL(rlc_message_socket_pair(own), 0);
        CHECK_EQUAL(rlc_message_socket_peer(own[0], &peer), 0);
        CHECK(peer.process_id == getpid() && peer.user_id == geteuid() && peer.group_id == getegid());
        _exit(send_text(ends[0], is_changed ? "nobody" : "same", NULL, 0) == 0 ? 0 : 1);
    }
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    CHECK(rlc_message_socket_receive(ends[1], buffer, sizeof buffer, &received) > 0);
    CHECK(received.has_sender && received.sender.process_id == child);
    if (buffer[0] == 'n')
        CHECK(received.sender.user_id == 65534 && received.sender.group_id == 65533);
    else
        printf("skipped 1: another user needs root\n");
    CHECK_EQUAL(send_text(ends[1], "me", &ends[0], 1), 0);
    CHECK_EQUAL(rlc_message_socket_receive(ends[0], buffer, sizeof buffer, &received), 2);
    CHECK(received.has_sender && received.sender.process_id == getpid() && received.count == 1);
    CHECK(rlc_message_socket_is_one(received.descriptors[0]) && !rlc_message_socket_is_one(0));
    rlc_received_close(&received, 0);
    rlc_credentials peer;
    CHECK_EQUAL(rlc_message_socket_peer(ends[0], &peer), 0);
    CHECK(peer.process_id == getpid() && peer.user_id == geteuid());
    CHECK_EQUAL(rlc_message_socket_peer(0, &peer) < 0, true);
    close_both(ends);
}

static void test_a_reset_leaves_what_was_sent(void) {
    int ends[2];
    char buffer[8];
    rlc_received received;
    make_ends(ends);
    CHECK_EQUAL(send_text(ends[0], "unread", NULL, 0), 0);
    CHECK_EQUAL(send_text(ends[1], "bye", NULL, 0), 0);
    close(ends[1]);
    CHECK_EQUAL(rlc_message_socket_receive(ends[0], buffer, sizeof buffer, &received), -ECONNRESET);
    CHECK_EQUAL(rlc_message_socket_receive(ends[0], buffer, sizeof buffer, &received), 3);
    CHECK_EQUAL(rlc_message_socket_receive(ends[0], buffer, sizeof buffer, &received), 0);
    close(ends[0]);
}

static int listen_anywhere(void) {
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const struct sockaddr any = {.sa_family = AF_UNIX};
    CHECK_EQUAL(bind(listener, &any, sizeof any.sa_family), 0); /* the kernel names it */
    CHECK_EQUAL(listen(listener, 1), 0);
    return listener;
}

static int connect_to(int listener) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECK_EQUAL(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    CHECK_EQUAL(connect(client, (struct sockaddr *)&address, size), 0);
    return client;
}

static void check_flags(int fd) {
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
}

/* No program that is started gets one, and no call on one waits. */
static void test_all_ends_are_private_and_do_not_block(void) {
    int ends[2], listener = listen_anywhere(), client = connect_to(listener);
    CHECK_EQUAL(rlc_message_socket_pair(ends), 0);
    int accepted = rlc_message_socket_accept(listener);
    check_flags(ends[0]);
    check_flags(ends[1]);
    check_flags(accepted);
    close_both(ends);
    close_both((int[]){listener, client});
    close(accepted);
}

static void test_what_is_a_message_socket(void) {
    int ends[2], other[2];
    make_ends(ends);
    CHECK(rlc_message_socket_is_one(ends[0]));
    const int types[] = {SOCK_STREAM, SOCK_DGRAM};
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(socketpair(AF_UNIX, types[i] | SOCK_CLOEXEC, 0, other), 0);
        CHECK(!rlc_message_socket_is_one(other[0]));
        close_both(other);
    }
    int listener = listen_anywhere();
    CHECK(!rlc_message_socket_is_one(listener));
    close(listener);
    close_both(ends);
}

/* ---- waits that a signal interrupts ---- */

static _Atomic int interruptions;

static void interrupt(int number) {
    (void)number;
    interruptions++;
}

typedef struct interrupter {
    pthread_t thread, sleeper;
    pid_t sleeper_id;
    void *(*then)(void *context);
    void *context;
} interrupter;

static void *interrupt_and_go_on(void *context) {
    interrupter *self = context;
    await_sleep(self->sleeper_id);
    CHECK_EQUAL(pthread_kill(self->sleeper, SIGUSR1), 0);
    while (interruptions == 0)
        (void)sched_yield();
    return self->then(self->context);
}

/** As soon as this thread sleeps, it gets a signal; then `then` is called. */
static void begin_to_interrupt(interrupter *self, void *(*then)(void *), void *context) {
    const struct sigaction action = {.sa_handler = interrupt};
    *self = (interrupter){.sleeper = pthread_self(), .sleeper_id = own_thread(), .then = then, .context = context};
    interruptions = 0;
    CHECK_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK_EQUAL(pthread_create(&self->thread, NULL, interrupt_and_go_on, self), 0);
}

static void end_to_interrupt(interrupter *self) {
    CHECK_EQUAL(pthread_join(self->thread, NULL), 0);
    CHECK(signal(SIGUSR1, SIG_DFL) == interrupt);
    CHECK_EQUAL(interruptions, 1);
}

static void *read_one(void *context) {
    char buffer[4096];
    rlc_received received;
    for (int i = 0; i < 64; i++)
        (void)rlc_message_socket_receive(*(int *)context, buffer, sizeof buffer, &received);
    return NULL;
}

static void test_a_full_socket(void) {
    int ends[2], status;
    static char block[4096];
    struct iovec part = {block, sizeof block};
    make_ends(ends);
    while ((status = rlc_message_socket_send(ends[0], &part, 1, NULL, 0)) == 0)
        continue;
    CHECK_EQUAL(status, -EAGAIN);
    uint64_t now = rlc_now(RLC_CLOCK_MONOTONIC);
    CHECK_EQUAL(rlc_message_socket_wait_writable(ends[0], now), 0);
    CHECK_EQUAL(rlc_message_socket_wait_writable(ends[0], now + 2000000), 0);
    CHECK(rlc_now(RLC_CLOCK_MONOTONIC) >= now + 2000000);
    pthread_t reader;
    CHECK_EQUAL(pthread_create(&reader, NULL, read_one, &ends[1]), 0);
    CHECK_EQUAL(rlc_message_socket_wait_writable(ends[0], RLC_TIME_FOREVER), 1);
    CHECK_EQUAL(pthread_join(reader, NULL), 0);
    close(ends[1]);
    CHECK_EQUAL(rlc_message_socket_wait_writable(ends[0], RLC_TIME_FOREVER), 1);
    close(ends[0]);
}

static void test_waits_that_a_signal_interrupts_go_on(void) {
    int ends[2];
    interrupter interrupter;
    make_ends(ends);
    CHECK_EQUAL(send_text(ends[0], "x", NULL, 0), 0);
    begin_to_interrupt(&interrupter, take_one, &ends[1]);
    CHECK_EQUAL(rlc_message_socket_wait_read(ends[0], 1, RLC_TIME_FOREVER), 1);
    end_to_interrupt(&interrupter);
    static char block[4096];
    struct iovec part = {block, sizeof block};
    while (rlc_message_socket_send(ends[0], &part, 1, NULL, 0) == 0)
        continue;
    begin_to_interrupt(&interrupter, read_one, &ends[1]);
    CHECK_EQUAL(rlc_message_socket_wait_writable(ends[0], RLC_TIME_FOREVER), 1);
    end_to_interrupt(&interrupter);
    close_both(ends);
}

int main(void) {
    RUN(test_RLC_MSGSOCK_1_whole_and_in_order);
    RUN(test_RLC_MSGSOCK_3_descriptors_up_to_253);
    RUN(test_RLC_MSGSOCK_3_the_rest_is_closed);
    RUN(test_RLC_MSGSOCK_3_nothing_stays_open);
    RUN(test_RLC_MSGSOCK_3_process_descriptors_are_closed);
    RUN(test_RLC_MSGSOCK_2_senders);
    RUN(test_RLC_MSGSOCK_5_what_was_not_taken);
    RUN(test_a_reset_leaves_what_was_sent);
    RUN(test_a_full_socket);
    RUN(test_all_ends_are_private_and_do_not_block);
    RUN(test_what_is_a_message_socket);
    RUN(test_waits_that_a_signal_interrupts_go_on);
    return 0;
}

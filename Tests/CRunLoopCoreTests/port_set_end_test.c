/* Hang-ups, end of file and errors: reported once, then silence. */
#include "port_sets.h"

static void test_RLC_END_1_hang_up_is_reported_once(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    char byte;
    make_pipe(ends);
    rlc_token token = watch(set, ends[0], 0);
    write_all(ends[1], "xy", 2);
    close(ends[1]);
    CHECK((next_ready(set) & RLC_READABLE) != 0); /* level-triggered while there is something to read */
    CHECK((next_ready(set) & RLC_READABLE) != 0);
    CHECK_EQUAL(read(ends[0], &byte, 1), 1);
    CHECK((next_ready(set) & RLC_READABLE) != 0);
    CHECK_EQUAL(read(ends[0], &byte, 1), 1);
    CHECK((next_ready(set) & RLC_HANGUP) != 0);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE), 0);
    CHECK((next_ready(set) & RLC_HANGUP) != 0);
    check_quiet(set);
    close(ends[0]);
    rlc_port_set_destroy(set);
}

/** A reader has read all that there will be. */
static void test_RLC_END_2_the_other_half_is_no_news_to_a_reader(void) {
    for (int more = 0; more <= 1; more++) {
        rlc_port_set *set = make_set();
        int ends[2];
        CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
        (void)watch(set, ends[0], 0);
        CHECK_EQUAL(shutdown(ends[1], SHUT_WR), 0);
        CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_HANGUP);
        if (more) { /* an edge without an end that is new */
            CHECK_EQUAL(shutdown(ends[1], SHUT_WR), 0);
            CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_HANGUP);
        }
        check_quiet(set);
        close(ends[1]);
        check_quiet(set);
        rlc_port_set_destroy(set);
        close(ends[0]);
    }
}

static void test_RLC_END_2_half_closed_socket_still_writes(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    char byte;
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    rlc_token token = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_WRITABLE, 0);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(shutdown(ends[1], SHUT_WR), 0);
    CHECK((next_ready(set) & (RLC_READABLE | RLC_WRITABLE)) == (RLC_READABLE | RLC_WRITABLE));
    CHECK_EQUAL(read(ends[0], &byte, 1), 1);
    CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_WRITABLE | RLC_HANGUP);
    CHECK_EQUAL(next_ready(set), RLC_WRITABLE); /* only writing is left */
    CHECK_EQUAL(next_ready(set), RLC_WRITABLE);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE), 0);
    CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_HANGUP);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_WRITABLE), 0);
    CHECK_EQUAL(next_ready(set), RLC_WRITABLE);
    close(ends[1]); /* now both sides are gone */
    CHECK((next_ready(set) & RLC_HANGUP) != 0);
    check_quiet(set);
    close(ends[0]);
    rlc_port_set_destroy(set);
}

static void test_RLC_END_3_writer_without_readers(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    rlc_token token = add(set, ends[1], RLC_PORT_READINESS, RLC_WRITABLE, 0);
    CHECK_EQUAL(next_ready(set), RLC_WRITABLE);
    close(ends[0]);
    CHECK_EQUAL(next_ready(set), RLC_WRITABLE | RLC_ERROR);
    CHECK_EQUAL(next_ready(set), 0);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, 0), 0);
    CHECK_EQUAL(next_ready(set), RLC_ERROR); /* always reported */
    CHECK_EQUAL(next_ready(set), 0);
    check_quiet(set);
    close(ends[1]);
    rlc_port_set_destroy(set);
}

/* The set looks at such a writer between two waits. A wait that ends for it has not reached its deadline. */
static void test_RLC_END_3_a_look_at_a_writer_is_not_the_deadline(void) {
    rlc_port_set *set = make_set();
    rlc_port_event event;
    int ends[2];
    const uint64_t passed_ns = 1;
    make_pipe(ends);
    (void)add(set, ends[1], RLC_PORT_READINESS, RLC_WRITABLE, 0);
    close(ends[0]);
    CHECK_EQUAL(next_ready(set), RLC_WRITABLE | RLC_ERROR);
    CHECK_EQUAL(next_ready(set), 0);
    for (int i = 0; i < 3; i++) {
        while (rlc_port_set_wait(set, passed_ns) == -EINTR)
            CHECK(!rlc_port_set_take(set, &event));
        CHECK_EQUAL(rlc_port_set_wait(set, RLC_TIME_FOREVER), -EINTR);
        CHECK(!rlc_port_set_take(set, &event));
    }
    close(ends[1]);
    rlc_port_set_destroy(set);
}

static uint32_t pretended_events;

static int pretend_wait(void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    int count = rlc_kernel_default()->epoll_wait(NULL, epoll_fd, events, capacity, deadline_ns);
    (void)context;
    if (count == 1)
        events[0].events |= pretended_events;
    return count;
}

static int pretend_poll(void *context, int fd, int events) {
    (void)context;
    return rlc_kernel_default()->poll(NULL, fd, events) | (int)pretended_events;
}

/* A datagram that was refused: an error that passes. No real network: the kernel's answers are edited. */
static void test_RLC_END_4_an_error_that_passes(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    char byte;
    kernel.table.epoll_wait = pretend_wait;
    kernel.table.poll = pretend_poll;
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    (void)add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_WRITABLE, 0);
    pretended_events = EPOLLERR;
    CHECK_EQUAL(next_ready(set), RLC_WRITABLE | RLC_ERROR);
    CHECK_EQUAL(next_ready(set), 0); /* once */
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 0);
    pretended_events = 0;
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_WRITABLE);
    CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_WRITABLE); /* level-triggered again */
    CHECK_EQUAL(read(ends[0], &byte, 1), 1);
    CHECK_EQUAL(next_ready(set), RLC_WRITABLE);
    close(ends[0]), close(ends[1]);
    rlc_port_set_destroy(set);
}

int main(void) {
    RUN(test_RLC_END_1_hang_up_is_reported_once);
    RUN(test_RLC_END_2_the_other_half_is_no_news_to_a_reader);
    RUN(test_RLC_END_2_half_closed_socket_still_writes);
    RUN(test_RLC_END_3_writer_without_readers);
    RUN(test_RLC_END_3_a_look_at_a_writer_is_not_the_deadline);
    RUN(test_RLC_END_4_an_error_that_passes);
    return 0;
}

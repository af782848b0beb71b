/* Events: order, counters, priority, stale batches. The ends of ports: port_set_end_test.c. */
#include "port_sets.h"

#include <sys/timerfd.h>

static void test_RLC_ORDER_1_in_order_of_readiness(void) {
    rlc_port_set *set = make_set();
    int ends[3][2];
    for (int i = 0; i < 3; i++) {
        make_pipe(ends[i]);
        (void)add(set, ends[i][0], i == 1 ? RLC_PORT_COUNTER : RLC_PORT_READINESS, RLC_READABLE, i);
    }
    write_all(ends[2][1], "12345678", 8);
    write_all(ends[0][1], "12345678", 8);
    write_all(ends[1][1], "12345678", 8);
    CHECK(next_context(set) == &tags[2]);
    CHECK(next_context(set) == &tags[0]);
    CHECK(next_context(set) == &tags[1]);
    for (int i = 0; i < 3; i++)
        close(ends[i][0]), close(ends[i][1]);
    rlc_port_set_destroy(set);
}

static void test_RLC_ORDER_2_a_counter_with_more_queues_at_the_end(void) {
    rlc_port_set *set = make_set();
    int messages[2], other[2];
    make_pipe(messages);
    make_pipe(other);
    (void)add(set, messages[0], RLC_PORT_COUNTER, RLC_READABLE, 0);
    (void)add(set, other[0], RLC_PORT_COUNTER, RLC_READABLE, 1);
    write_all(messages[1], "1111111122222222333", 19); /* two messages and a short one */
    write_all(other[1], "aaaaaaaa", 8);
    CHECK(next_context(set) == &tags[0]);
    CHECK(next_context(set) == &tags[1]);
    CHECK(next_context(set) == &tags[0]);
    CHECK(next_context(set) == &tags[0]); /* short, whole */
    check_quiet(set);
    close(messages[0]), close(messages[1]), close(other[0]), close(other[1]);
    rlc_port_set_destroy(set);
}

static void test_RLC_COUNTER_1_eventfd_is_one_event(void) {
    rlc_port_set *set = make_set();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, 0);
    bump(fd), bump(fd), bump(fd);
    CHECK_EQUAL(next_ready(set), RLC_READABLE);
    check_quiet(set);
    bump(fd);
    CHECK_EQUAL(next_ready(set), RLC_READABLE);
    uint64_t value;
    bump(fd);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 1);
    CHECK_EQUAL(read(fd, &value, sizeof value), 8); /* somebody else was faster: EAGAIN is no event */
    CHECK_EQUAL(next_ready(set), 0);
    close(fd);
    rlc_port_set_destroy(set);
}

/* Wherever its event is in the batch. */
static void test_RLC_COUNTER_7_one_shot_is_for_readiness(void) {
    rlc_port_set *set = make_set();
    int fds[2];
    for (int i = 0; i < 2; i++) {
        fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        (void)add(set, fds[i], RLC_PORT_COUNTER, RLC_READABLE | RLC_ONE_SHOT, i);
    }
    for (int round = 0; round < 2; round++) {
        bump(fds[0]), bump(fds[1]);
        CHECK(next_context(set) == &tags[0]);
        CHECK(next_context(set) == &tags[1]);
        check_quiet(set);
    }
    close(fds[0]), close(fds[1]);
    rlc_port_set_destroy(set);
}

/* A counter that somebody else has read makes no callout, after which what follows would be doubted. */
static void test_RLC_TAKE_9_behind_a_stale_counter_it_is_trusted(void) {
    rlc_port_set *set = make_set();
    uint64_t value;
    int counter = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), ends[2];
    make_pipe(ends);
    (void)add(set, counter, RLC_PORT_COUNTER, RLC_READABLE, 0);
    (void)watch(set, ends[0], 1);
    bump(counter);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 2);
    CHECK_EQUAL(read(counter, &value, sizeof value), 8);
    long polls = count_of(&kernel.polls);
    CHECK(next_context(set) == &tags[1]);
    CHECK_EQUAL(count_of(&kernel.polls), polls);
    close(counter), close(ends[0]), close(ends[1]);
    rlc_port_set_destroy(set);
}

static void test_RLC_COUNTER_2_semaphore_is_one_event_each(void) {
    rlc_port_set *set = make_set();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, 0);
    uint64_t three = 3;
    write_all(fd, &three, sizeof three);
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(next_ready(set), RLC_READABLE);
    check_quiet(set);
    close(fd);
    rlc_port_set_destroy(set);
}

static void test_RLC_COUNTER_3_timerfd(void) {
    rlc_port_set *set = make_set();
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, 0);
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000}};
    CHECK_EQUAL(timerfd_settime(fd, 0, &soon, NULL), 0);
    CHECK_EQUAL(rlc_port_set_wait(set, rlc_now(RLC_CLOCK_MONOTONIC) + UINT64_C(2000000000)), 1);
    CHECK_EQUAL(next_ready(set), RLC_READABLE);
    check_quiet(set);
    close(fd);
    rlc_port_set_destroy(set);
}

static void test_RLC_COUNTER_4_end_of_file_rests(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    rlc_token token = add(set, ends[0], RLC_PORT_COUNTER, RLC_READABLE, 0);
    write_all(ends[1], "12345678", 8);
    close(ends[1]);
    CHECK_EQUAL(next_ready(set), RLC_READABLE); /* first what was written */
    CHECK_EQUAL(next_ready(set), RLC_HANGUP);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_count(set), 1); /* at rest, still a member */
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE), 0);
    CHECK_EQUAL(next_ready(set), RLC_HANGUP);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    close(ends[0]);
    rlc_port_set_destroy(set);
}

static int64_t (*read_anyway)(void *context, int fd, void *buffer, size_t size);
static int interruptions;

static int64_t interrupted_at_first(void *context, int fd, void *buffer, size_t size) {
    return interruptions < 2 ? interruptions++, -EINTR : read_anyway(context, fd, buffer, size);
}

static void test_RLC_COUNTER_5_interrupted_and_failing_reads(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    (void)add(set, ends[1], RLC_PORT_COUNTER, RLC_READABLE, 0); /* the write end: reading fails */
    close(ends[0]);
    CHECK_EQUAL(next_ready(set), RLC_ERROR);
    check_quiet(set);
    close(ends[1]);
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, 1);
    read_anyway = kernel.table.read;
    kernel.table.read = interrupted_at_first;
    CHECK_EQUAL(next_ready(set), RLC_READABLE);
    CHECK_EQUAL(interruptions, 2);
    check_quiet(set);
    rlc_port_set_destroy(set);
    close(fd);
}

static int failures_left, failure;

static int64_t failing_at_first(void *context, int fd, void *buffer, size_t size) {
    return failures_left > 0 ? failures_left--, failure : read_anyway(context, fd, buffer, size);
}

static void test_RLC_COUNTER_8_a_failure_that_passes(void) {
    rlc_port_set *set = make_set();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, 0);
    read_anyway = kernel.table.read;
    kernel.table.read = failing_at_first;
    for (int round = 0; round < 3; round++) {
        failure = round == 0 ? -ECANCELED : -EIO;
        bump(fd);
        failures_left = 1;
        CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_ERROR);
        check_quiet(set); /* what was there is taken */
        bump(fd);
        CHECK_EQUAL(next_ready(set), RLC_READABLE);
        check_quiet(set);
        bump(fd);
        failures_left = 1000000; /* a failure that lasts is reported with each edge */
        CHECK((next_ready(set) & RLC_ERROR) != 0);
        check_quiet(set);
    }
    rlc_port_set_destroy(set);
    close(fd);
}

static void test_RLC_TAKE_1_what_became_stale_is_dropped(void) {
    rlc_port_set *set = make_set();
    int ends[4][2];
    rlc_token tokens[4];
    char byte;
    for (int i = 0; i < 4; i++) {
        make_pipe(ends[i]);
        tokens[i] = watch(set, ends[i][0], i);
        write_all(ends[i][1], "x", 1);
    }
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 4);
    CHECK(next_context(set) == &tags[0]); /* its callout does a lot: */
    CHECK_EQUAL(read(ends[1][0], &byte, 1), 1);
    CHECK_EQUAL(rlc_port_set_remove(set, tokens[2]), 0);
    CHECK_EQUAL(count_of(&kernel.polls), 0); /* a fresh event is trusted */
    CHECK(next_context(set) == &tags[3]);
    CHECK(!rlc_port_set_has_batch(set));
    for (int i = 0; i < 4; i++)
        close(ends[i][0]), close(ends[i][1]);
    rlc_port_set_destroy(set);
}

static void test_RLC_TAKE_2_a_new_member_never_gets_an_old_event(void) {
    rlc_port_set *set = make_set();
    int first[2], second[2];
    make_pipe(first);
    make_pipe(second);
    (void)watch(set, first[0], 0);
    rlc_token old = watch(set, second[0], 1);
    write_all(first[1], "x", 1);
    write_all(second[1], "x", 1);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 2);
    CHECK(next_context(set) == &tags[0]);
    CHECK_EQUAL(rlc_port_set_remove(set, old), 0);
    rlc_token fresh = watch(set, second[0], 2);
    rlc_port_event event;
    CHECK(!rlc_port_set_take(set, &event)); /* same number, same slot, other registration */
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 0);
    CHECK_EQUAL(rlc_port_set_remove(set, fresh), 0);
    close(first[0]), close(first[1]), close(second[0]), close(second[1]);
    rlc_port_set_destroy(set);
}

static void test_RLC_TAKE_3_interest_narrowed_after_the_fetch(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    rlc_token token = add(set, ends[0], RLC_PORT_READINESS, RLC_WRITABLE, 0);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 1);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE), 0);
    check_quiet(set);
    close(ends[0]), close(ends[1]);
    rlc_port_set_destroy(set);
}

static int poll_without_memory(void *context, int fd, int events) {
    (void)context, (void)fd, (void)events;
    return -ENOMEM;
}

/** An edge is told once by the kernel: whoever drops it because poll(2) has failed loses it. */
static void test_RLC_TAKE_6_an_event_is_trusted_if_poll_fails(void) {
    rlc_port_set *set = make_set();
    int ends[2][2];
    for (int i = 0; i < 2; i++) {
        make_pipe(ends[i]);
        (void)add(set, ends[i][0], RLC_PORT_READINESS, RLC_READABLE | RLC_EDGE, i);
        write_all(ends[i][1], "x", 1);
    }
    kernel.table.poll = poll_without_memory;
    CHECK(next_context(set) == &tags[0]);
    CHECK(next_context(set) == &tags[1]);
    check_quiet(set);
    rlc_port_set_destroy(set);
    for (int i = 0; i < 2; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
}

/** Urgent data: no poll of its port but the wait's, also when the event has waited in its batch. */
static void test_RLC_PRIORITY_1_is_told_as_it_was_fetched(void) {
    rlc_port_set *set = make_set();
    int ends[2][2];
    for (int i = 0; i < 2; i++) {
        make_sockets(ends[i]);
        (void)add(set, ends[i][0], RLC_PORT_READINESS, RLC_PRIORITY, i + 1);
        if (send(ends[i][1], "!", 1, MSG_OOB) < 0) { /* before Linux 5.15, or compiled out */
            rlc_port_set_destroy(set);
            return;
        }
    }
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 2);
    CHECK_EQUAL(next(set), 100 + RLC_PRIORITY);
    char byte;
    CHECK_EQUAL(recv(ends[1][0], &byte, 1, MSG_OOB), 1); /* as a trigger's event: a second look would not find it */
    unsigned long before = count_of(&kernel.calls);
    CHECK_EQUAL(next(set), 200 + RLC_PRIORITY);
    CHECK_EQUAL(count_of(&kernel.calls) - before, 0);
    CHECK_EQUAL(recv(ends[0][0], &byte, 1, MSG_OOB), 1);
    check_quiet(set);
    rlc_port_set_destroy(set);
    for (int i = 0; i < 2; i++)
        close(ends[i][0]), close(ends[i][1]);
}

/** Of several on one number only who asks for it; with data and a hang-up; nobody hears of it without the interest. */
static void test_RLC_PRIORITY_1_is_an_interest_of_its_own(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    rlc_token reader = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 1);
    rlc_token urgent = add(set, ends[0], RLC_PORT_READINESS, RLC_PRIORITY | RLC_SHARED, 2);
    if (send(ends[1], "!", 1, MSG_OOB) == 1) {
        char byte;
        int seen = 0;
        for (int event, tries = 0; tries < 4 && (event = next(set)) >= 0; tries++)
            seen |= event == 200 + RLC_PRIORITY ? 2 : event == 100 + RLC_READABLE ? 1 : 4;
        CHECK_EQUAL(seen & ~1, 2);
        CHECK_EQUAL(rlc_port_set_set_interest(set, urgent, RLC_PRIORITY | RLC_ONE_SHOT | RLC_SHARED), 0);
        CHECK_EQUAL(recv(ends[0], &byte, 1, MSG_OOB), 1);
    }
    CHECK_EQUAL(rlc_port_set_remove(set, reader), 0);
    CHECK_EQUAL(rlc_port_set_remove(set, urgent), 0);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

static void test_RLC_COUNTER_6_is_asked_about_when_it_matters(void) {
    rlc_port_set *set = make_set();
    int fds[] = {eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
    for (int i = 0; i < 2; i++) {
        unsigned long calls = count_of(&kernel.calls);
        rlc_token token = add(set, fds[i], RLC_PORT_COUNTER, RLC_READABLE, 1);
        CHECK_EQUAL(count_of(&kernel.calls), calls + 1); /* epoll_ctl(2) alone */
        for (unsigned long event = 1; event <= 4; event++) {
            struct itimerspec past = {.it_value = {.tv_nsec = 1}};
            if (i == 0)
                bump(fds[i]);
            else
                CHECK_EQUAL(timerfd_settime(fds[i], TFD_TIMER_ABSTIME, &past, NULL), 0);
            CHECK_EQUAL(next(set), 100 + RLC_READABLE);
            CHECK_EQUAL(count_of(&kernel.questions), (unsigned long)i * 2 + (event < 2 ? event : 2));
        }
        check_quiet(set);
        CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
        close(fds[i]);
    }
    rlc_port_set_destroy(set);
}

/** Whether a read may wait is asked through the table: one that could is preceded by a look. */
static void test_RLC_COUNTER_6_flags_come_through_the_table(void) {
    rlc_port_set *set = make_set();
    kernel.hidden_flags = O_NONBLOCK;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, 1);
    for (unsigned long event = 1; event <= 3; event++) {
        bump(fd);
        CHECK_EQUAL(next(set), 100 + RLC_READABLE);
        CHECK_EQUAL(count_of(&kernel.polls), event);
    }
    rlc_port_set_destroy(set);
    close(fd);
}

int main(void) {
    RUN(test_RLC_ORDER_1_in_order_of_readiness);
    RUN(test_RLC_ORDER_2_a_counter_with_more_queues_at_the_end);
    RUN(test_RLC_COUNTER_1_eventfd_is_one_event);
    RUN(test_RLC_COUNTER_2_semaphore_is_one_event_each);
    RUN(test_RLC_COUNTER_3_timerfd);
    RUN(test_RLC_COUNTER_4_end_of_file_rests);
    RUN(test_RLC_COUNTER_5_interrupted_and_failing_reads);
    RUN(test_RLC_COUNTER_8_a_failure_that_passes);
    RUN(test_RLC_TAKE_1_what_became_stale_is_dropped);
    RUN(test_RLC_TAKE_2_a_new_member_never_gets_an_old_event);
    RUN(test_RLC_TAKE_3_interest_narrowed_after_the_fetch);
    RUN(test_RLC_TAKE_6_an_event_is_trusted_if_poll_fails);
    RUN(test_RLC_PRIORITY_1_is_told_as_it_was_fetched);
    RUN(test_RLC_PRIORITY_1_is_an_interest_of_its_own);
    RUN(test_RLC_COUNTER_6_is_asked_about_when_it_matters);
    RUN(test_RLC_COUNTER_6_flags_come_through_the_table);
    RUN(test_RLC_COUNTER_7_one_shot_is_for_readiness);
    RUN(test_RLC_TAKE_9_behind_a_stale_counter_it_is_trusted);
    return 0;
}

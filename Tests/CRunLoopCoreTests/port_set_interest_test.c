/* What a change of interest costs, and leaves when it fails; what a counter is asked for; numbers that are the owner's. */
#include "harness.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

static spy kernel;
static int tags[4];

static rlc_port_set *make_set(void) {
    rlc_port_set *set;
    spy_init(&kernel);
    CHECK_EQUAL(rlc_port_set_create(&kernel.table, &set), 0);
    return set;
}

static rlc_token add(rlc_port_set *set, int fd, rlc_port_kind kind, uint32_t interest, int tag) {
    rlc_token token;
    CHECK_EQUAL(rlc_port_set_insert(set, fd, kind, interest, &tags[tag], &token), 0);
    return token;
}

/** The next event as 100 * tag + ready bits; -1 for none. */
static int next(rlc_port_set *set) {
    rlc_port_event event;
    if (!rlc_port_set_has_batch(set))
        (void)rlc_port_set_wait(set, 0);
    return rlc_port_set_take(set, &event) ? (int)((int *)event.context - tags) * 100 + (int)event.ready : -1;
}

static void check_quiet(rlc_port_set *set) {
    CHECK_EQUAL(next(set), -1);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 0);
}

/** The system calls of setting it. */
static unsigned long cost(rlc_port_set *set, rlc_token token, uint32_t interest) {
    unsigned long before = count_of(&kernel.calls);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, interest), 0);
    return count_of(&kernel.calls) - before;
}

static void make_sockets(int ends[2]) {
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
}

/** A hint's number that is added as a port: somebody has closed it, and the owner has it now. */
static void test_RLC_PORT_11_a_hints_number_is_not_taken_over(void) {
    rlc_port_set *set = make_set();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_token token;
    (void)add(set, fd, RLC_PORT_HINT, RLC_READABLE, 1);
    CHECK_EQUAL(rlc_port_set_insert(set, fd, RLC_PORT_READINESS, RLC_READABLE, &tags[2], &token), -EBADF);
    CHECK_EQUAL(rlc_port_set_insert(set, fd, RLC_PORT_COUNTER, RLC_READABLE, &tags[2], &token), -EBADF);
    CHECK_EQUAL(rlc_port_set_count(set), 0);
    bump(fd);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    rlc_port_set_destroy(set);
    close(fd);
}

static void test_RLC_PORT_12_an_equal_interest_is_free(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    rlc_token token = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE, 1);
    CHECK_EQUAL(cost(set, token, RLC_READABLE), 0);
    CHECK_EQUAL(cost(set, token, RLC_READABLE | RLC_WRITABLE), 1);
    CHECK_EQUAL(cost(set, token, RLC_READABLE | RLC_WRITABLE), 0);
    CHECK_EQUAL(next(set), 100 + RLC_WRITABLE);
    CHECK_EQUAL(cost(set, token, RLC_READABLE), 1);
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), 0);
    CHECK_EQUAL(cost(set, token, RLC_READABLE), 0);
    CHECK_EQUAL(cost(set, token, RLC_WRITABLE), 0);
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, false), 0);
    CHECK_EQUAL(next(set), 100 + RLC_WRITABLE);
    CHECK_EQUAL(cost(set, token, RLC_READABLE), 1);
    /* Of several on one number, whoever is the owner. */
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    rlc_token first = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 1);
    rlc_token second = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 2);
    CHECK_EQUAL(cost(set, first, RLC_READABLE | RLC_SHARED), 0);
    CHECK_EQUAL(cost(set, second, RLC_READABLE | RLC_SHARED), 0);
    /* After a hang-up an equal interest wakes: once. */
    close(ends[1]);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE + RLC_HANGUP);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE + RLC_HANGUP);
    check_quiet(set);
    CHECK_EQUAL(cost(set, first, RLC_READABLE | RLC_SHARED), 1);
    CHECK_EQUAL(cost(set, first, RLC_READABLE | RLC_SHARED), 0);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE + RLC_HANGUP);
    check_quiet(set);
    rlc_port_set_destroy(set);
    close(ends[0]);
}

/** Not taken back: silent, until that is tried again. */
static void test_RLC_PORT_15_what_epoll_refuses_is_tried_again(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    write_all(ends[1], "x", 1);
    rlc_token first = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE, 1);
    kernel.fail_with = -ENOSPC;
    CHECK_EQUAL(rlc_port_set_set_muted(set, first, true), 0);
    atomic_store(&kernel.fail_at, 1);
    CHECK_EQUAL(rlc_port_set_set_muted(set, first, false), -ENOSPC);
    check_quiet(set);
    atomic_store(&kernel.fail_at, 1);
    CHECK_EQUAL(rlc_port_set_retry(set), -ENOSPC);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_retry(set), 0);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    unsigned long calls = count_of(&kernel.calls);
    CHECK_EQUAL(rlc_port_set_retry(set), 0);
    CHECK_EQUAL(count_of(&kernel.calls), calls); /* all are heard */
    /* By its interest, though that is what it was. */
    CHECK_EQUAL(rlc_port_set_set_muted(set, first, true), 0);
    atomic_store(&kernel.fail_at, 1);
    CHECK_EQUAL(rlc_port_set_set_muted(set, first, false), -ENOSPC);
    CHECK_EQUAL(rlc_port_set_set_interest(set, first, RLC_READABLE), 0);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    /* The earlier member on a number whose later one rests, and leaves. */
    rlc_token second = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_ONE_SHOT, 2);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    check_quiet(set);
    atomic_store(&kernel.fail_at, 1);
    CHECK_EQUAL(rlc_port_set_remove(set, second), -ENOSPC);
    CHECK_EQUAL(rlc_port_set_count(set), 1);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_retry(set), 0);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

/** The same of one shots; an edge is looked for each time. */
static void test_RLC_PORT_12_an_equal_interest_arms(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    write_all(ends[1], "x", 1);
    rlc_token token = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_ONE_SHOT, 1);
    CHECK_EQUAL(cost(set, token, RLC_READABLE | RLC_ONE_SHOT), 0);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    check_quiet(set);
    CHECK_EQUAL(cost(set, token, RLC_READABLE | RLC_ONE_SHOT), 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    token = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_EDGE, 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    check_quiet(set);
    CHECK_EQUAL(cost(set, token, RLC_READABLE | RLC_EDGE), 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
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

static void test_RLC_PORT_13_a_failed_change_leaves_the_old_interest(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    rlc_token token = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE, 1);
    kernel.fail_with = -ENOMEM;
    atomic_store(&kernel.fail_at, 1);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_WRITABLE), -ENOMEM);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), 0); /* what is registered anew is the old one */
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, false), 0);
    check_quiet(set);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(cost(set, token, RLC_WRITABLE), 1); /* tries again */
    CHECK_EQUAL(next(set), 100 + RLC_WRITABLE);
    /* One that rests still does, and can be woken later. */
    char byte;
    CHECK_EQUAL(read(ends[0], &byte, 1), 1);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE), 0);
    close(ends[1]);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE + RLC_HANGUP);
    atomic_store(&kernel.fail_at, 1);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE), -ENOMEM);
    check_quiet(set);
    CHECK_EQUAL(cost(set, token, RLC_READABLE), 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE + RLC_HANGUP);
    rlc_port_set_destroy(set);
    close(ends[0]);
}

/** Also of one that shares its number: the others are what they were. */
static void test_RLC_PORT_13_of_several_on_one_number(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    rlc_token first = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 1);
    (void)add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 2);
    kernel.fail_with = -ENOMEM;
    atomic_store(&kernel.fail_at, 1);
    CHECK_EQUAL(rlc_port_set_set_interest(set, first, RLC_WRITABLE | RLC_SHARED), -ENOMEM);
    check_quiet(set);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    /* Closed: no interest is taken on, and nobody hears of the number's next owner. */
    int other[2];
    make_sockets(other);
    CHECK_EQUAL(dup3(other[0], ends[0], O_CLOEXEC), ends[0]);
    CHECK_EQUAL(rlc_port_set_set_interest(set, first, RLC_WRITABLE | RLC_SHARED), -EBADF);
    while (next(set) != -1) { /* of the old registration there may be one in the batch */
    }
    write_all(other[1], "x", 1);
    check_quiet(set);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]), close(other[0]), close(other[1]);
}

/** Somebody else has changed what epoll knows. */
static void test_RLC_PORT_14_foreign_registrations(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    struct epoll_event event = {.events = EPOLLIN};
    event.data.u64 = UINT64_MAX;
    CHECK_EQUAL(epoll_ctl(rlc_port_set_fd(set), EPOLL_CTL_ADD, ends[0], &event), 0);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(next(set), -1);
    rlc_token token = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE, 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(epoll_ctl(rlc_port_set_fd(set), EPOLL_CTL_DEL, ends[0], NULL), 0);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE | RLC_WRITABLE), -EBADF);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    token = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE, 2);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    check_quiet(set);
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
    RUN(test_RLC_PORT_11_a_hints_number_is_not_taken_over);
    RUN(test_RLC_PORT_12_an_equal_interest_is_free);
    RUN(test_RLC_PORT_12_an_equal_interest_arms);
    RUN(test_RLC_PORT_15_what_epoll_refuses_is_tried_again);
    RUN(test_RLC_PRIORITY_1_is_told_as_it_was_fetched);
    RUN(test_RLC_PRIORITY_1_is_an_interest_of_its_own);
    RUN(test_RLC_PORT_13_a_failed_change_leaves_the_old_interest);
    RUN(test_RLC_PORT_13_of_several_on_one_number);
    RUN(test_RLC_PORT_14_foreign_registrations);
    RUN(test_RLC_COUNTER_6_is_asked_about_when_it_matters);
    RUN(test_RLC_COUNTER_6_flags_come_through_the_table);
    return 0;
}

/* Members that epoll ceases to watch by a call that has nobody to answer to: take tells of them, once; they are tried again. */
#include "port_sets.h"

#include <crunloop_kit/pass_checks.h>
#include <sys/epoll.h>

enum { REFUSED = 1000 * RLC_FATE_REFUSED + RLC_ERROR, LOST = 1000 * RLC_FATE_LOST + RLC_ERROR };

static int make_semaphore(unsigned count) {
    return eventfd(count, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
}

/** All are told, and none is left to tell. */
static void check_told(rlc_port_set *set) {
    CHECK(!rlc_port_set_has_unwatched(set));
    check_quiet(set);
}

/** After its first event it is asked for again: by a number that is closed, or that somebody has deleted. */
static void test_RLC_TAKE_8_a_counter_that_is_lost_is_told(void) {
    const int errors[] = {-ENOENT, -EBADF};
    for (int i = 0; i < 2; i++) {
        rlc_port_set *set = make_set();
        int fd = make_semaphore(3);
        rlc_token token = add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, 1);
        fail_next(&kernel, errors[i]);
        CHECK_EQUAL(next(set), 100 + RLC_READABLE); /* what was there is told */
        CHECK(rlc_port_set_has_unwatched(set) && rlc_port_set_has_batch(set));
        CHECK_EQUAL(next(set), LOST + 100);
        check_told(set);
        CHECK_EQUAL(rlc_port_set_retry(set), 0); /* it may be a stranger's */
        CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE), -EBADF);
        check_told(set);
        CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
        rlc_port_set_destroy(set);
        close(fd);
    }
}

static void test_RLC_TAKE_8_a_counter_that_is_deleted_by_others(void) {
    rlc_port_set *set = make_set();
    int fd = make_semaphore(2);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, 1);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 1);
    CHECK_EQUAL(epoll_ctl(rlc_port_set_fd(set), EPOLL_CTL_DEL, fd, NULL), 0);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(next(set), LOST + 100);
    check_told(set);
    rlc_port_set_destroy(set);
    close(fd);
}

static void test_RLC_TAKE_8_a_counter_that_is_refused_is_tried_again(void) {
    const int errors[] = {-ENOMEM, -ENOSPC};
    for (int i = 0; i < 2; i++) {
        rlc_port_set *set = make_set();
        int fd = make_semaphore(2);
        (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, 1);
        fail_next(&kernel, errors[i]);
        CHECK_EQUAL(next(set), 100 + RLC_READABLE);
        CHECK_EQUAL(next(set), REFUSED + 100);
        check_told(set);
        fail_next(&kernel, errors[i]);
        CHECK_EQUAL(rlc_port_set_retry(set), errors[i]);
        check_told(set);
        CHECK_EQUAL(rlc_port_set_retry(set), 0);
        CHECK_EQUAL(next(set), 100 + RLC_READABLE);
        check_told(set);
        rlc_port_set_destroy(set);
        close(fd);
    }
}

/** A one shot rests, and what the others on its number want is to be registered. */
static void test_RLC_TAKE_8_those_that_share_with_one_that_rests(void) {
    const int fates[] = {LOST, REFUSED};
    for (int i = 0; i < 2; i++) {
        rlc_port_set *set = make_set();
        int ends[2];
        make_pipe(ends);
        rlc_token shot = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED | RLC_ONE_SHOT, 1);
        (void)add(set, ends[0], RLC_PORT_READINESS, RLC_SHARED, 2);
        (void)add(set, ends[0], RLC_PORT_READINESS, RLC_PRIORITY | RLC_SHARED, 3);
        write_all(ends[1], "x", 1);
        CHECK_EQUAL(rlc_port_set_wait(set, 0), 1);
        if (i == 0)
            CHECK_EQUAL(epoll_ctl(rlc_port_set_fd(set), EPOLL_CTL_DEL, ends[0], NULL), 0);
        else
            fail_next(&kernel, -ENOMEM);
        CHECK_EQUAL(next(set), 100 + RLC_READABLE);
        CHECK_EQUAL(next(set), fates[i] + 200);
        CHECK_EQUAL(next(set), fates[i] + 300);
        check_told(set);
        CHECK_EQUAL(
            rlc_port_set_set_interest(set, shot, RLC_READABLE | RLC_SHARED | RLC_ONE_SHOT), i == 0 ? -EBADF : 0);
        CHECK_EQUAL(next(set), i == 0 ? -1 : 100 + RLC_READABLE);
        rlc_port_set_destroy(set);
        close(ends[0]), close(ends[1]);
    }
}

/** The one that was told leaves; the others' wishes are to be registered without its own. */
static void test_RLC_TAKE_8_those_that_share_with_one_that_leaves(void) {
    const int errors[] = {-EBADF, -ENOMEM}, fates[] = {LOST, REFUSED};
    for (int i = 0; i < 2; i++) {
        rlc_port_set *set = make_set();
        int ends[2];
        make_pipe(ends);
        rlc_token first = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 1);
        (void)add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 2);
        fail_next(&kernel, errors[i]);
        CHECK_EQUAL(rlc_port_set_remove(set, first), 0);
        CHECK(rlc_port_set_has_unwatched(set));
        CHECK_EQUAL(next(set), fates[i] + 200);
        check_told(set);
        rlc_port_set_destroy(set);
        close(ends[0]), close(ends[1]);
    }
}

/** The earlier one on a number that a later one leaves. */
static void test_RLC_TAKE_8_an_earlier_one_that_is_lost(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    (void)watch(set, ends[0], 1);
    rlc_token later = watch(set, ends[0], 2);
    fail_next(&kernel, -ENOENT);
    CHECK_EQUAL(rlc_port_set_remove(set, later), 0);
    CHECK_EQUAL(next(set), LOST + 100);
    check_told(set);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

/** One that is muted is told when it is taken back, one that leaves is not told. */
static void test_RLC_TAKE_8_not_while_it_is_muted(void) {
    rlc_port_set *set = make_set();
    int fd = make_semaphore(1), other = make_semaphore(1);
    rlc_token token = add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, 1);
    rlc_token gone = add(set, other, RLC_PORT_COUNTER, RLC_READABLE, 2);
    fail_next(&kernel, -ENOENT);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), 0);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    CHECK_EQUAL(next(set), -1);
    CHECK(!rlc_port_set_has_unwatched(set));
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, false), 0);
    CHECK_EQUAL(next(set), LOST + 100);
    check_told(set);
    bump(other);
    fail_next(&kernel, -ENOENT);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_remove(set, gone), 0);
    CHECK_EQUAL(next(set), -1);
    check_told(set);
    rlc_port_set_destroy(set);
    close(fd), close(other);
}

/** Its number is closed, and becomes the set's own when another port ends: take has nothing to report meanwhile. */
static void test_RLC_TAKE_8_lost_while_it_is_muted(void) {
    rlc_port_set *set = make_set();
    int lost[2], ends[2];
    make_pipe(lost);
    make_pipe(ends);
    rlc_token token = watch(set, lost[0], 1);
    (void)watch(set, ends[0], 2);
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), 0);
    close(lost[0]), close(ends[1]);
    CHECK_EQUAL(next(set), 200 + RLC_HANGUP);
    CHECK(!rlc_port_set_has_unwatched(set) && !rlc_port_set_has_batch(set));
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, false), 0);
    CHECK(rlc_port_set_has_unwatched(set));
    CHECK_EQUAL(next(set), LOST + 100);
    check_told(set);
    rlc_port_set_destroy(set);
    close(lost[1]), close(ends[0]);
}

/** Taken back by a number that is closed meanwhile. */
static void test_RLC_TAKE_8_taken_back_though_its_number_is_closed(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    rlc_token token = watch(set, ends[0], 1);
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), 0);
    close(ends[0]);
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, false), -EBADF);
    CHECK_EQUAL(next(set), LOST + 100);
    check_told(set);
    rlc_port_set_destroy(set);
    close(ends[1]);
}

/** A set is rebuilt, and finds a second number closed; both of its members are told, the live one is heard. */
static void test_RLC_TAKE_8_what_a_rebuild_finds_closed(void) {
    rlc_port_set *set = make_set();
    int ends[2], lost[2], live[2], stray, kept;
    make_pipe(ends);
    make_pipe(lost);
    make_pipe(live);
    (void)add(set, lost[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 1);
    (void)add(set, lost[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 2);
    rlc_token gone = watch(set, ends[0], 0);
    (void)watch(set, live[0], 3);
    stray = fcntl(ends[0], F_DUPFD_CLOEXEC, 100);
    kept = fcntl(lost[0], F_DUPFD_CLOEXEC, 100);
    write_all(ends[1], "x", 1);
    close(ends[0]), close(lost[0]);
    CHECK_EQUAL(rlc_port_set_remove(set, gone), 0);
    CHECK_EQUAL(next(set), LOST + 100);
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 1);
    CHECK_EQUAL(next(set), LOST + 200);
    check_told(set);
    write_all(live[1], "x", 1);
    CHECK_EQUAL(next(set), 300 + RLC_READABLE);
    rlc_port_set_destroy(set);
    close(ends[1]), close(lost[1]), close(stray), close(kept), close(live[0]), close(live[1]);
}

/** Not taken back: silent, until that is tried again. */
static void test_RLC_PORT_15_what_epoll_refuses_is_tried_again(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    write_all(ends[1], "x", 1);
    rlc_token first = watch(set, ends[0], 1);
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

/* ---- asked whether epoll watches a member ---- */

static void test_a_member_is_watched_until_other_code_closes_it(void) {
    rlc_port_set *set = make_set();
    int ends[2], others[2];
    make_sockets(ends);
    make_sockets(others);
    rlc_token token = watch(set, ends[0], 1);
    CHECK(rlc_kit_is_watched(set, token));
    fail_next(&kernel, -ENOMEM);
    CHECK(rlc_kit_is_watched(set, token)); /* what has failed tells nothing */
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), 0);
    CHECK(!rlc_kit_is_watched(set, token));
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, false), 0);
    CHECK(rlc_kit_is_watched(set, token));
    move_to(others[0], ends[0]);
    CHECK(!rlc_kit_is_watched(set, token));
    move_to(open("/dev/null", O_RDONLY | O_CLOEXEC), ends[0]);
    CHECK(!rlc_kit_is_watched(set, token)); /* epoll refuses it as such */
    close(ends[0]);
    CHECK(!rlc_kit_is_watched(set, token));
    (void)rlc_port_set_remove(set, token);
    CHECK(!rlc_kit_is_watched(set, token)); /* stale */
    rlc_port_set_destroy(set);
    close(ends[1]), close(others[1]);
}

int main(void) {
    RUN(test_RLC_TAKE_8_a_counter_that_is_lost_is_told);
    RUN(test_RLC_TAKE_8_a_counter_that_is_deleted_by_others);
    RUN(test_RLC_TAKE_8_a_counter_that_is_refused_is_tried_again);
    RUN(test_RLC_TAKE_8_those_that_share_with_one_that_rests);
    RUN(test_RLC_TAKE_8_those_that_share_with_one_that_leaves);
    RUN(test_RLC_TAKE_8_an_earlier_one_that_is_lost);
    RUN(test_RLC_TAKE_8_not_while_it_is_muted);
    RUN(test_RLC_TAKE_8_lost_while_it_is_muted);
    RUN(test_RLC_TAKE_8_taken_back_though_its_number_is_closed);
    RUN(test_RLC_TAKE_8_what_a_rebuild_finds_closed);
    RUN(test_a_member_is_watched_until_other_code_closes_it);
    RUN(test_RLC_PORT_15_what_epoll_refuses_is_tried_again);
    return 0;
}

/* What epoll is told, and answers: of numbers that were closed, reused, or changed by others. */
#include "port_sets.h"

static void test_RLC_PORT_5_closed_and_reused_number_is_a_new_port(void) {
    rlc_port_set *set = make_set();
    int old_ends[2], new_ends[2];
    make_pipe(old_ends);
    make_pipe(new_ends);
    rlc_token old = watch(set, old_ends[0], 0);
    move_to(new_ends[0], old_ends[0]); /* closes the old one, opens its number anew */
    rlc_token fresh = watch(set, old_ends[0], 1);
    write_all(new_ends[1], "x", 1);
    CHECK(next_context(set) == &tags[1]);
    CHECK_EQUAL(rlc_port_set_set_interest(set, old, RLC_READABLE), -EBADF); /* a dead member's wishes touch nobody */
    CHECK_EQUAL(rlc_port_set_set_muted(set, old, true), 0);
    CHECK_EQUAL(rlc_port_set_remove(set, old), 0);
    CHECK(next_context(set) == &tags[1]); /* left alone */
    CHECK_EQUAL(rlc_port_set_remove(set, fresh), 0);
    CHECK(next_context(set) == NULL);
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 0);
    rlc_port_set_destroy(set);
    close(old_ends[0]), close(old_ends[1]), close(new_ends[1]);
}

static void test_RLC_PORT_5_removal_after_close_spares_a_stranger(void) {
    rlc_port_set *set = make_set();
    int old_ends[2], new_ends[2];
    make_pipe(old_ends);
    make_pipe(new_ends);
    rlc_token old = watch(set, old_ends[0], 0);
    move_to(new_ends[0], old_ends[0]); /* a stranger's, never a member */
    CHECK_EQUAL(rlc_port_set_set_interest(set, old, RLC_READABLE | RLC_WRITABLE), -EBADF);
    CHECK_EQUAL(rlc_port_set_remove(set, old), 0);
    write_all(new_ends[1], "x", 1);
    CHECK(next_context(set) == NULL);
    rlc_port_set_destroy(set);
    close(old_ends[0]), close(old_ends[1]), close(new_ends[1]);
}

/** What epoll calls closed is nobody's from then on: a stranger behind its number is not touched, not even asked about. */
static void test_RLC_PORT_5_a_change_that_finds_it_closed_gives_it_up(void) {
    rlc_port_set *set = make_set();
    int old_ends[2], new_ends[2];
    make_pipe(old_ends);
    make_pipe(new_ends);
    rlc_token old = watch(set, old_ends[0], 0);
    close(old_ends[0]);
    CHECK_EQUAL(rlc_port_set_set_interest(set, old, RLC_READABLE | RLC_WRITABLE), -EBADF);
    CHECK_EQUAL(dup3(new_ends[0], old_ends[0], O_CLOEXEC), old_ends[0]);
    write_all(new_ends[1], "x", 1);
    unsigned long controls = count_of(&kernel.controls);
    CHECK_EQUAL(rlc_port_set_set_interest(set, old, RLC_READABLE), -EBADF);
    CHECK_EQUAL(rlc_port_set_set_muted(set, old, true), 0);
    CHECK_EQUAL(rlc_port_set_set_muted(set, old, false), 0);
    CHECK(next_context(set) == NULL);
    CHECK_EQUAL(rlc_port_set_remove(set, old), 0);
    CHECK_EQUAL(count_of(&kernel.controls), controls);
    rlc_port_set_destroy(set);
    close(old_ends[0]), close(old_ends[1]), close(new_ends[0]), close(new_ends[1]);
}

/** The number is a regular file's by now: epoll refuses such a file as such, which it did not when the port was added. */
static void test_RLC_PORT_5_a_regular_file_behind_the_number_is_a_stranger(void) {
    rlc_port_set *set = make_set();
    int ends[2], other[2];
    make_pipe(ends);
    make_pipe(other);
    rlc_token old = watch(set, ends[0], 0), muted = watch(set, other[0], 1);
    CHECK_EQUAL(rlc_port_set_set_muted(set, muted, true), 0);
    move_to(open("/proc/self/status", O_RDONLY | O_CLOEXEC), ends[0]);
    move_to(open("/proc/self/status", O_RDONLY | O_CLOEXEC), other[0]);
    CHECK_EQUAL(rlc_port_set_set_interest(set, old, RLC_READABLE | RLC_WRITABLE), -EBADF);
    CHECK_EQUAL(rlc_port_set_set_muted(set, muted, false), -EBADF);
    rlc_port_event event;
    CHECK(rlc_port_set_take(set, &event));
    CHECK(event.context == &tags[1] && event.fate == RLC_FATE_LOST && event.ready == RLC_ERROR);
    CHECK_EQUAL(rlc_port_set_retry(set), 0);
    CHECK_EQUAL(rlc_port_set_remove(set, old), 0);
    CHECK_EQUAL(rlc_port_set_remove(set, muted), 0);
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
    rlc_token token = watch(set, ends[0], 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(epoll_ctl(rlc_port_set_fd(set), EPOLL_CTL_DEL, ends[0], NULL), 0);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE | RLC_WRITABLE), -EBADF);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    token = watch(set, ends[0], 2);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    check_quiet(set);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

int main(void) {
    RUN(test_RLC_PORT_5_closed_and_reused_number_is_a_new_port);
    RUN(test_RLC_PORT_5_removal_after_close_spares_a_stranger);
    RUN(test_RLC_PORT_5_a_change_that_finds_it_closed_gives_it_up);
    RUN(test_RLC_PORT_5_a_regular_file_behind_the_number_is_a_stranger);
    RUN(test_RLC_PORT_14_foreign_registrations);
    return 0;
}

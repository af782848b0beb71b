/* Registrations that outlive their member: a duplicate keeps what its number has left. */
#include "fifo.h"
#include "port_sets.h"

static void test_RLC_PORT_6_a_duplicate_outlives_its_member(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    int duplicate = dup(ends[0]);
    rlc_token token = watch(set, ends[0], 0);
    close(ends[0]);
    write_all(ends[1], "x", 1);
    CHECK(next_context(set) == &tags[0]);            /* it is alive as long as it is a member */
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0); /* too late for EPOLL_CTL_DEL by this number */
    CHECK(next_context(set) == NULL);
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 1);
    unsigned long waits = count_of(&kernel.waits);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 0); /* no spinning */
    CHECK_EQUAL(count_of(&kernel.waits), waits + 1);
    rlc_port_set_destroy(set);
    close(duplicate), close(ends[1]);
}

static void test_RLC_PORT_6_a_duplicate_and_a_reused_number(void) {
    rlc_port_set *set = make_set();
    int old_ends[2], new_ends[2], other[2];
    make_pipe(old_ends);
    make_pipe(new_ends);
    make_pipe(other);
    int fd = rlc_port_set_fd(set), duplicate = dup(old_ends[0]);
    rlc_token old = watch(set, old_ends[0], 0);
    (void)watch(set, other[0], 2);
    move_to(new_ends[0], old_ends[0]);
    (void)watch(set, old_ends[0], 1);
    write_all(old_ends[1], "x", 1); /* the old registration, which no number reaches, shouts */
    CHECK(next_context(set) == NULL);
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 1);
    CHECK_EQUAL(rlc_port_set_fd(set), fd); /* a host that polls it notices nothing */
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 0);
    write_all(new_ends[1], "x", 1);
    CHECK(next_context(set) == &tags[1]);
    write_all(other[1], "x", 1);
    (void)next_context(set);
    drain(set);
    CHECK_EQUAL(rlc_port_set_remove(set, old), 0);
    rlc_port_set_destroy(set);
    close(duplicate), close(old_ends[0]), close(old_ends[1]), close(new_ends[1]), close(other[0]), close(other[1]);
}

static void test_RLC_PORT_6_stray_that_its_number_still_reaches(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    int duplicate = dup(ends[0]), number = ends[0];
    rlc_token token = watch(set, number, 0);
    close(number);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    CHECK_EQUAL(dup3(duplicate, number, O_CLOEXEC), number); /* the same description is back at its number */
    write_all(ends[1], "x", 1);
    CHECK(next_context(set) == NULL);
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 0); /* EPOLL_CTL_DEL was enough */
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 0);
    rlc_port_set_destroy(set);
    close(duplicate), close(number), close(ends[1]);
}

static void test_RLC_PORT_6_failed_rebuild_tries_again(void) {
    for (unsigned long k = 1; k <= 3; k++) {
        rlc_port_set *set = make_set();
        int ends[2], other[2];
        make_pipe(ends);
        make_pipe(other);
        int duplicate = dup(ends[0]);
        rlc_token token = watch(set, ends[0], 0);
        (void)watch(set, other[0], 1);
        close(ends[0]);
        CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
        write_all(ends[1], "x", 1);
        kernel.fail_with = -ENOMEM;
        atomic_store(&kernel.fail_at, k);
        CHECK(next_context(set) == NULL);
        CHECK_EQUAL(rlc_port_set_rebuilds(set), 0);
        atomic_store(&kernel.fail_at, 0);
        CHECK(next_context(set) == NULL);
        CHECK_EQUAL(rlc_port_set_rebuilds(set), 1);
        write_all(other[1], "x", 1);
        CHECK(next_context(set) == &tags[1]);
        rlc_port_set_destroy(set);
        close(duplicate), close(ends[1]), close(other[0]), close(other[1]);
    }
}

/* It waits for news in a set of its own, which the new instance must have, too. */
static void test_RLC_PORT_6_an_ended_member_has_news_after_a_rebuild(void) {
    rlc_port_set *set = make_set();
    int ends[2], fifo = make_fifo();
    make_pipe(ends);
    (void)watch(set, fifo, 1);
    visit("");
    CHECK_EQUAL(next(set), 100 + RLC_HANGUP);
    check_quiet(set);
    int duplicate = dup(ends[0]);
    rlc_token token = watch(set, ends[0], 0);
    close(ends[0]);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(next(set), -1);
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 1);
    check_quiet(set);
    visit("");
    CHECK_EQUAL(next(set), 100 + RLC_HANGUP);
    check_quiet(set);
    rlc_port_set_destroy(set);
    close(duplicate), close(ends[1]), close(fifo);
    CHECK_EQUAL(unlink(path), 0);
}

static void test_RLC_TAKE_5_a_late_event_is_no_stray(void) {
    rlc_port_set *set = make_set();
    int ends[2], gone[2];
    make_pipe(ends);
    make_pipe(gone);
    rlc_token closed = watch(set, gone[0], 0);
    rlc_token token = watch(set, ends[0], 1);
    close(gone[0]);
    CHECK_EQUAL(rlc_port_set_remove(set, closed), 0); /* after its close: the set has to be on its guard */
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 1);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0); /* another thread's doing, between wait and take */
    rlc_port_event event;
    CHECK(!rlc_port_set_take(set, &event));
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 0);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]), close(gone[1]);
}

int main(void) {
    RUN(test_RLC_PORT_6_a_duplicate_outlives_its_member);
    RUN(test_RLC_PORT_6_a_duplicate_and_a_reused_number);
    RUN(test_RLC_PORT_6_stray_that_its_number_still_reaches);
    RUN(test_RLC_PORT_6_failed_rebuild_tries_again);
    RUN(test_RLC_PORT_6_an_ended_member_has_news_after_a_rebuild);
    RUN(test_RLC_TAKE_5_a_late_event_is_no_stray);
    return 0;
}

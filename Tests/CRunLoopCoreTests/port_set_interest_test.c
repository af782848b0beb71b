/* What a change of interest costs, and leaves when it fails; members that are muted. */
#include "port_sets.h"

/** The system calls of setting it. */
static unsigned long cost(rlc_port_set *set, rlc_token token, uint32_t interest) {
    unsigned long before = count_of(&kernel.calls);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, interest), 0);
    return count_of(&kernel.calls) - before;
}

static void test_RLC_PORT_12_an_equal_interest_is_free(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    rlc_token token = watch(set, ends[0], 1);
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

static void test_RLC_PORT_13_a_failed_change_leaves_the_old_interest(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    rlc_token token = watch(set, ends[0], 1);
    fail_next(&kernel, -ENOMEM);
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
    fail_next(&kernel, -ENOMEM);
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

static void test_RLC_PORT_7_muted_is_out_and_back(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    rlc_token token = watch(set, ends[0], 0);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), 0);
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), 0); /* calls do not nest */
    close(ends[1]);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 0); /* not even a hang-up */
    unsigned long controls = count_of(&kernel.controls);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE), 0);
    CHECK_EQUAL(count_of(&kernel.controls), controls); /* stored only */
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, false), 0);
    CHECK(next_context(set) == &tags[0]);
    rlc_port_set_destroy(set);
    close(ends[0]);
}

int main(void) {
    RUN(test_RLC_PORT_12_an_equal_interest_is_free);
    RUN(test_RLC_PORT_12_an_equal_interest_arms);
    RUN(test_RLC_PORT_13_a_failed_change_leaves_the_old_interest);
    RUN(test_RLC_PORT_13_of_several_on_one_number);
    RUN(test_RLC_PORT_7_muted_is_out_and_back);
    return 0;
}

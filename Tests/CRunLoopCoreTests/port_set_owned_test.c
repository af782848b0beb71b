/* Owned members: which fetched events are trusted, and which are verified all the same. */
#include "port_sets.h"

#include <crunloop_kit/pass_checks.h>

enum { PIPES = 3 };

/** Three readable pipes, fetched in one batch: the members have the tags 1 to 3, and all are owned. */
typedef struct batch {
    rlc_port_set *set;
    int ends[PIPES][2];
    rlc_token tokens[PIPES];
} batch;

static void write_to_all(const batch *pipes) {
    for (int i = 0; i < PIPES; i++)
        write_all(pipes->ends[i][1], "x", 1);
}

static void read_from(const batch *pipes, int i) {
    char byte;
    CHECK_EQUAL(read(pipes->ends[i][0], &byte, 1), 1);
}

static void fetch(const batch *pipes) {
    CHECK_EQUAL(rlc_port_set_wait(pipes->set, 0), PIPES);
    kernel.polls = 0;
}

static batch make_batch(uint32_t interest) {
    batch pipes = {.set = make_set()};
    for (int i = 0; i < PIPES; i++) {
        make_pipe(pipes.ends[i]);
        pipes.tokens[i] = add(pipes.set, pipes.ends[i][0], RLC_PORT_READINESS, interest, i + 1);
        rlc_kit_set_owned(pipes.set, pipes.tokens[i], true);
    }
    write_to_all(&pipes);
    fetch(&pipes);
    return pipes;
}

static void end_batch(batch *pipes) {
    rlc_port_set_destroy(pipes->set);
    for (int i = 0; i < PIPES; i++)
        close(pipes->ends[i][0]), close(pipes->ends[i][1]);
}

static void test_RLC_OWN_1_a_fetched_event_is_trusted(void) {
    batch pipes = make_batch(RLC_READABLE);
    for (int i = 0; i < PIPES; i++) {
        CHECK_EQUAL(next(pipes.set), (i + 1) * 100 + RLC_READABLE);
        read_from(&pipes, i);
    }
    CHECK_EQUAL(kernel.polls, 0);
    check_quiet(pipes.set);
    end_batch(&pipes);
}

static void test_RLC_OWN_1_what_can_be_written_is_asked_again(void) {
    batch pipes = make_batch(RLC_READABLE);
    int ends[2];
    make_sockets(ends);
    rlc_token token = add(pipes.set, ends[0], RLC_PORT_READINESS, RLC_WRITABLE, 4);
    rlc_kit_set_owned(pipes.set, token, true);
    while (rlc_port_set_has_batch(pipes.set))
        (void)next(pipes.set);
    CHECK_EQUAL(rlc_port_set_wait(pipes.set, 0), PIPES + 1);
    kernel.polls = 0;
    for (int i = 0; i < PIPES; i++)
        CHECK_EQUAL(next(pipes.set), (i + 1) * 100 + RLC_READABLE);
    CHECK_EQUAL(kernel.polls, 0);
    CHECK_EQUAL(next(pipes.set), 400 + RLC_WRITABLE);
    CHECK_EQUAL(kernel.polls, 1);
    end_batch(&pipes);
    close(ends[0]), close(ends[1]);
}

static void test_RLC_OWN_1_an_end_is_told_as_it_is_now(void) {
    batch pipes = make_batch(RLC_READABLE);
    close(pipes.ends[1][1]);
    while (rlc_port_set_has_batch(pipes.set))
        (void)next(pipes.set);
    fetch(&pipes);
    CHECK_EQUAL(next(pipes.set), 100 + RLC_READABLE);
    read_from(&pipes, 1);
    CHECK_EQUAL(next(pipes.set), 200 + RLC_HANGUP); /* asked: there is nothing to read any more */
    CHECK_EQUAL(kernel.polls, 1);
    CHECK_EQUAL(next(pipes.set), 300 + RLC_READABLE);
    pipes.ends[1][1] = dup(pipes.ends[0][1]);
    end_batch(&pipes);
}

static void test_RLC_OWN_1_who_is_owned_no_more_is_asked(void) {
    batch pipes = make_batch(RLC_READABLE);
    rlc_kit_set_owned(pipes.set, pipes.tokens[2], false);
    CHECK_EQUAL(next(pipes.set), 100 + RLC_READABLE);
    CHECK_EQUAL(next(pipes.set), 200 + RLC_READABLE);
    read_from(&pipes, 2);
    CHECK_EQUAL(next(pipes.set), -1);
    CHECK_EQUAL(kernel.polls, 1);
    end_batch(&pipes);
}

static void test_RLC_OWN_1_a_removed_member_gets_no_event(void) {
    batch pipes = make_batch(RLC_READABLE);
    CHECK_EQUAL(next(pipes.set), 100 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_remove(pipes.set, pipes.tokens[1]), 0);
    CHECK_EQUAL(rlc_port_set_set_muted(pipes.set, pipes.tokens[2], true), 0);
    /* Another one has the number, and the record. */
    rlc_token other = watch(pipes.set, pipes.ends[1][0], 5);
    rlc_kit_set_owned(pipes.set, other, true);
    rlc_kit_set_owned(pipes.set, pipes.tokens[1], false); /* stale: ignored */
    CHECK_EQUAL(rlc_port_set_take(pipes.set, &(rlc_port_event){.ready = 0}), false);
    CHECK_EQUAL(kernel.polls, 0);
    end_batch(&pipes);
}

static void test_RLC_OWN_2_the_event_of_an_older_registration_is_verified(void) {
    batch pipes = make_batch(RLC_READABLE);
    CHECK_EQUAL(next(pipes.set), 100 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_set_interest(pipes.set, pipes.tokens[1], 0), 0);
    read_from(&pipes, 1); /* as a callout for its new interest might */
    CHECK_EQUAL(rlc_port_set_set_interest(pipes.set, pipes.tokens[1], RLC_READABLE), 0);
    CHECK_EQUAL(rlc_port_set_set_muted(pipes.set, pipes.tokens[2], true), 0);
    CHECK_EQUAL(rlc_port_set_set_muted(pipes.set, pipes.tokens[2], false), 0);
    CHECK_EQUAL(next(pipes.set), 300 + RLC_READABLE);
    CHECK_EQUAL(kernel.polls, 2);
    /* From the next event on it is trusted again. */
    read_from(&pipes, 0), read_from(&pipes, 2);
    write_to_all(&pipes);
    fetch(&pipes);
    for (int i = 0; i < PIPES; i++)
        CHECK(next(pipes.set) > 0);
    CHECK_EQUAL(kernel.polls, 0);
    end_batch(&pipes);
}

static void test_RLC_OWN_2_who_shares_its_number_is_verified(void) {
    batch pipes = make_batch(RLC_READABLE | RLC_SHARED);
    while (rlc_port_set_has_batch(pipes.set))
        (void)next(pipes.set);
    rlc_token newest = add(pipes.set, pipes.ends[1][0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 5);
    rlc_kit_set_owned(pipes.set, newest, true);
    fetch(&pipes);
    CHECK_EQUAL(next(pipes.set), 100 + RLC_READABLE);
    int event = next(pipes.set);
    if (event == 300 + RLC_READABLE) /* the new registration has made it the last one */
        event = next(pipes.set);
    CHECK_EQUAL(event, 200 + RLC_READABLE);
    read_from(&pipes, 1);
    CHECK_EQUAL(rlc_port_set_remove(pipes.set, pipes.tokens[1]), 0); /* so that nobody shares any more */
    while (rlc_port_set_has_batch(pipes.set)) {
        event = next(pipes.set);
        CHECK(event == -1 || event == 300 + RLC_READABLE);
    }
    end_batch(&pipes);
}

static void test_RLC_OWN_2_a_one_shot_is_verified(void) {
    batch pipes = make_batch(RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_set_interest(pipes.set, pipes.tokens[1], RLC_READABLE | RLC_ONE_SHOT), 0);
    CHECK_EQUAL(next(pipes.set), 100 + RLC_READABLE);
    CHECK_EQUAL(next(pipes.set), 200 + RLC_READABLE);
    CHECK_EQUAL(next(pipes.set), 300 + RLC_READABLE);
    CHECK_EQUAL(kernel.polls, 1);
    for (int i = 0; i < PIPES; i += 2)
        read_from(&pipes, i);
    check_quiet(pipes.set); /* it has had its shot */
    end_batch(&pipes);
}

static void test_RLC_OWN_3_another_reader_costs_a_call_and_loses_none(void) {
    batch pipes = make_batch(RLC_READABLE);
    CHECK_EQUAL(next(pipes.set), 100 + RLC_READABLE);
    read_from(&pipes, 0), read_from(&pipes, 1); /* against the promise */
    CHECK_EQUAL(next(pipes.set), 200 + RLC_READABLE);
    CHECK_EQUAL(next(pipes.set), 300 + RLC_READABLE);
    read_from(&pipes, 2);
    check_quiet(pipes.set);
    write_all(pipes.ends[1][1], "y", 1);
    CHECK_EQUAL(next(pipes.set), 200 + RLC_READABLE);
    end_batch(&pipes);
}

int main(void) {
    RUN(test_RLC_OWN_1_a_fetched_event_is_trusted);
    RUN(test_RLC_OWN_1_what_can_be_written_is_asked_again);
    RUN(test_RLC_OWN_1_an_end_is_told_as_it_is_now);
    RUN(test_RLC_OWN_1_who_is_owned_no_more_is_asked);
    RUN(test_RLC_OWN_1_a_removed_member_gets_no_event);
    RUN(test_RLC_OWN_2_the_event_of_an_older_registration_is_verified);
    RUN(test_RLC_OWN_2_who_shares_its_number_is_verified);
    RUN(test_RLC_OWN_2_a_one_shot_is_verified);
    RUN(test_RLC_OWN_3_another_reader_costs_a_call_and_loses_none);
    return 0;
}

/* Several members with one descriptor; and readiness that is reported otherwise: edges, one shots. */
#include "port_sets.h"
#include "slot_table.h"

static void test_RLC_TRIGGER_1_an_edge_is_reported_once(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    char byte;
    make_pipe(ends);
    rlc_token token = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_EDGE, 1);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    check_quiet(set);
    write_all(ends[1], "y", 1); /* more, although nothing was read */
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE | RLC_EDGE), 0); /* looks again */
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    while (read(ends[0], &byte, 1) > 0) {
    }
    /* Out and back: what has come meanwhile is not lost. */
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), 0);
    write_all(ends[1], "z", 1);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, false), 0);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(read(ends[0], &byte, 1), 1);
    close(ends[1]);
    CHECK(((next(set) - 100) & RLC_HANGUP) != 0);
    check_quiet(set);
    rlc_port_set_destroy(set);
    close(ends[0]);
}

static void test_RLC_TRIGGER_1_a_peer_that_stops_writing_is_an_edge(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    (void)add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_EDGE, 1);
    CHECK_EQUAL(shutdown(ends[1], SHUT_WR), 0);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE + RLC_HANGUP);
    check_quiet(set);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

static void test_RLC_TRIGGER_2_one_shot_rests_until_its_interest_is_set(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    rlc_token token = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_ONE_SHOT, 1);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    check_quiet(set);
    write_all(ends[1], "y", 1);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE | RLC_ONE_SHOT), 0);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    check_quiet(set);
    /* Out while it rests, and back: it still rests. */
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), 0);
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, false), 0);
    check_quiet(set);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

static void test_RLC_SHARE_1_all_are_told_in_the_order_of_adding(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    rlc_token reader = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 1);
    rlc_token writer = add(set, ends[0], RLC_PORT_READINESS, RLC_WRITABLE | RLC_SHARED, 2);
    rlc_token both = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_WRITABLE | RLC_SHARED, 3);
    CHECK_EQUAL(rlc_port_set_count(set), 3);
    CHECK_EQUAL(next(set), 200 + RLC_WRITABLE); /* nothing to read: the reader is left out */
    CHECK_EQUAL(next(set), 300 + RLC_WRITABLE);
    CHECK_EQUAL(next(set), -1);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(next(set), 200 + RLC_WRITABLE);
    char byte;
    CHECK_EQUAL(read(ends[0], &byte, 1), 1); /* between two: the third is told what is true then */
    CHECK_EQUAL(next(set), 300 + RLC_WRITABLE);
    CHECK_EQUAL(next(set), -1);
    /* Whoever goes, in whatever order, leaves the others as they were. */
    CHECK_EQUAL(rlc_port_set_remove(set, writer), 0);
    CHECK_EQUAL(next(set), 300 + RLC_WRITABLE);
    CHECK_EQUAL(next(set), -1);
    CHECK_EQUAL(rlc_port_set_remove(set, both), 0);
    check_quiet(set); /* the writers' wishes have gone with them */
    write_all(ends[1], "y", 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_remove(set, reader), 0);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 0);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

static void test_RLC_SHARE_1_members_that_come_and_go_between_two(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    write_all(ends[1], "x", 1);
    rlc_token first = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 1);
    rlc_token second = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 2);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_remove(set, second), 0);
    int event = next(set); /* the level is reported anew */
    CHECK(event == -1 || event == 100 + RLC_READABLE);
    while (event != -1)
        event = rlc_port_set_has_batch(set) ? next(set) : -1;
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    second = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 2);
    while (rlc_port_set_has_batch(set))
        CHECK(next(set) != 300 + RLC_READABLE);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_remove(set, first), 0);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_remove(set, second), 0);
    check_quiet(set);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

static void test_RLC_SHARE_2_each_rests_and_is_muted_for_itself(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    rlc_token first = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED | RLC_ONE_SHOT, 1);
    rlc_token second = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 2);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    CHECK_EQUAL(next(set), -1);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE); /* the first has had its shot */
    CHECK_EQUAL(next(set), -1);
    CHECK_EQUAL(rlc_port_set_set_muted(set, second, true), 0);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_set_interest(set, first, RLC_READABLE | RLC_SHARED | RLC_ONE_SHOT), 0);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_set_muted(set, second, false), 0);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    CHECK_EQUAL(next(set), -1);
    /* A hang-up is told to each once. */
    char byte;
    CHECK_EQUAL(read(ends[0], &byte, 1), 1);
    CHECK_EQUAL(rlc_port_set_set_interest(set, first, RLC_READABLE | RLC_SHARED), 0);
    close(ends[1]);
    CHECK(((next(set) - 100) & RLC_HANGUP) != 0);
    CHECK(((next(set) - 200) & RLC_HANGUP) != 0);
    check_quiet(set);
    rlc_port_set_destroy(set);
    close(ends[0]);
}

static void test_RLC_SHARE_3_edge_triggered_if_all_are(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    (void)add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED | RLC_EDGE, 1);
    rlc_token second = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED | RLC_EDGE, 2);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    check_quiet(set);
    rlc_token level = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 3);
    for (int round = 0; round < 2; round++) {
        CHECK_EQUAL(next(set), 100 + RLC_READABLE);
        CHECK_EQUAL(next(set), 200 + RLC_READABLE);
        CHECK_EQUAL(next(set), 300 + RLC_READABLE);
        CHECK_EQUAL(next(set), -1);
    }
    CHECK_EQUAL(rlc_port_set_remove(set, level), 0);
    CHECK_EQUAL(rlc_port_set_remove(set, second), 0);
    while (next(set) != -1) { /* a change of registration looks again */
    }
    check_quiet(set);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

/** A number that was closed and reused belongs to those that were added since. */
static void test_RLC_SHARE_1_a_reused_number_is_not_shared(void) {
    rlc_port_set *set = make_set();
    int old[2], ends[2];
    make_sockets(old);
    make_sockets(ends);
    rlc_token stale = add(set, old[0], RLC_PORT_READINESS, RLC_READABLE | RLC_WRITABLE | RLC_SHARED, 1);
    CHECK_EQUAL(dup3(ends[0], old[0], O_CLOEXEC), old[0]);
    close(ends[0]);
    rlc_token fresh = add(set, old[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 2);
    check_quiet(set); /* the stale one's wish to write is nobody's */
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_set_interest(set, stale, RLC_READABLE | RLC_SHARED), -EBADF);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_remove(set, stale), 0);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_remove(set, fresh), 0);
    rlc_port_set_destroy(set);
    close(old[0]), close(old[1]), close(ends[1]);
}

/** One that shares and one that does not: the later one has the port, as ever. */
static void test_RLC_SHARE_1_only_those_that_share(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    write_all(ends[1], "x", 1);
    (void)add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 1);
    rlc_token alone = watch(set, ends[0], 2);
    CHECK_EQUAL(next(set), 200 + RLC_READABLE);
    CHECK_EQUAL(rlc_port_set_remove(set, alone), 0);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

/**
 * What one has asked for is not told to another: whoever only writes, or waits for nothing, is not told that the peer has
 * stopped writing, as if it were alone; and so does not rest before the hang-up.
 */
static void test_RLC_SHARE_1_a_half_closed_peer_is_told_to_readers_only(void) {
    for (int order = 0; order < 2; order++) {
        rlc_port_set *set = make_set();
        int ends[2];
        make_sockets(ends);
        if (order == 0)
            (void)add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 1);
        (void)add(set, ends[0], RLC_PORT_READINESS, RLC_SHARED, 2);
        (void)add(set, ends[0], RLC_PORT_READINESS, RLC_WRITABLE | RLC_SHARED | RLC_ONE_SHOT, 3);
        if (order == 1)
            (void)add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 1);
        CHECK_EQUAL(shutdown(ends[1], SHUT_WR), 0);
        bool told[4] = {false};
        for (int event; (event = next(set)) != -1 || rlc_port_set_has_batch(set);) {
            told[event / 100] = true;
            CHECK(event == 100 + RLC_READABLE + RLC_HANGUP || event == 300 + RLC_WRITABLE);
        }
        CHECK(told[1] && !told[2] && told[3]);
        close(ends[1]);
        CHECK_EQUAL(next(set), 200 + RLC_HANGUP);
        check_quiet(set);
        rlc_port_set_destroy(set);
        close(ends[0]);
    }
}

/** A failing registration leaves the members that were there as they were. */
static void test_RLC_SHARE_2_a_refused_member_changes_nothing(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_sockets(ends);
    write_all(ends[1], "x", 1);
    (void)add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 1);
    for (unsigned long call = 1; call <= 2; call++) {
        rlc_token token;
        kernel.fail_with = -ENOMEM;
        atomic_store(&kernel.fail_at, call);
        CHECK(rlc_port_set_insert(set, ends[0], RLC_PORT_READINESS, RLC_WRITABLE | RLC_SHARED, &tags[2], &token) ==
              -ENOMEM);
        atomic_store(&kernel.fail_at, 0);
        CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    }
    CHECK_EQUAL(rlc_port_set_count(set), 1);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

enum { ROUNDS = 8 };

/** The members that have come besides, with which the set grows. */
typedef struct crowd {
    int fds[ROUNDS * RLC_SLOTS_PER_CHUNK], count;
} crowd;

static void grow(rlc_port_set *set, crowd *crowd) {
    for (int i = 0; i < RLC_SLOTS_PER_CHUNK; i++) {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        CHECK(fd >= 0);
        (void)watch(set, fd, 9);
        crowd->fds[crowd->count++] = fd;
    }
}

static void end_crowd(const crowd *crowd) {
    for (int i = 0; i < crowd->count; i++)
        close(crowd->fds[i]);
}

static void test_RLC_SHARE_1_in_the_order_of_adding_while_the_set_grows(void) {
    rlc_port_set *set = make_set();
    crowd others = {.count = 0};
    int ends[2];
    make_sockets(ends);
    for (int tag = 1; tag <= 3; tag++)
        (void)add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, tag);
    write_all(ends[1], "x", 1);
    for (int round = 0; round < ROUNDS; round++) {
        grow(set, &others);
        for (int tag = 1; tag <= 3; tag++)
            CHECK_EQUAL(next(set), 100 * tag + RLC_READABLE);
        CHECK_EQUAL(next(set), -1);
    }
    rlc_port_set_destroy(set);
    end_crowd(&others);
    close(ends[0]), close(ends[1]);
}

static void test_RLC_PORT_4_the_latest_has_the_port_while_the_set_grows(void) {
    rlc_port_set *set = make_set();
    crowd others = {.count = 0};
    int ends[2];
    make_pipe(ends);
    write_all(ends[1], "x", 1);
    rlc_token members[3];
    for (int tag = 0; tag < 3; tag++)
        members[tag] = watch(set, ends[0], tag);
    for (int round = 0; round < ROUNDS; round++) {
        grow(set, &others);
        CHECK(next_context(set) == &tags[2]);
    }
    CHECK_EQUAL(rlc_port_set_remove(set, members[2]), 0);
    CHECK(next_context(set) == &tags[1]); /* and gives it back */
    rlc_port_set_destroy(set);
    end_crowd(&others);
    close(ends[0]), close(ends[1]);
}

static void test_RLC_PORT_4_two_members_with_one_descriptor(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    write_all(ends[1], "x", 1);
    rlc_token first = watch(set, ends[0], 0);
    rlc_token second = watch(set, ends[0], 1);
    rlc_token third = watch(set, ends[0], 2);
    CHECK_EQUAL(rlc_port_set_count(set), 3);
    CHECK(next_context(set) == &tags[2]); /* the latest has the port */
    CHECK_EQUAL(rlc_port_set_remove(set, second), 0);
    CHECK(next_context(set) == &tags[2]);
    CHECK_EQUAL(rlc_port_set_remove(set, third), 0);
    CHECK(next_context(set) == &tags[0]); /* and gives it back */
    CHECK_EQUAL(rlc_port_set_remove(set, first), 0);
    CHECK(next_context(set) == NULL);
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 0);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

static void test_RLC_PORT_4_muted_owner_gives_back(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    write_all(ends[1], "x", 1);
    rlc_token first = watch(set, ends[0], 0);
    rlc_token second = watch(set, ends[0], 1);
    CHECK_EQUAL(rlc_port_set_set_muted(set, second, true), 0);
    CHECK(next_context(set) == NULL);
    CHECK_EQUAL(rlc_port_set_set_muted(set, first, true), 0); /* no owner: only noted */
    CHECK_EQUAL(rlc_port_set_remove(set, second), 0);
    CHECK(next_context(set) == NULL);
    CHECK_EQUAL(rlc_port_set_set_muted(set, first, false), 0);
    CHECK(next_context(set) == &tags[0]);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

/* One of the two does not share: the later one has the number alone, and the earlier one has it again afterwards. */
static void test_RLC_PORT_4_one_that_does_not_share(void) {
    for (uint32_t sharer = 0; sharer < 2; sharer++) {
        rlc_port_set *set = make_set();
        int ends[2];
        make_sockets(ends);
        rlc_token first = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | (sharer == 0 ? RLC_SHARED : 0), 1);
        rlc_token second = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | (sharer == 1 ? RLC_SHARED : 0), 2);
        write_all(ends[1], "x", 1);
        for (int i = 0; i < 3; i++)
            CHECK_EQUAL(next(set), 200 + RLC_READABLE);
        drain(set);
        CHECK_EQUAL(rlc_port_set_remove(set, second), 0);
        for (int i = 0; i < 3; i++)
            CHECK_EQUAL(next(set), 100 + RLC_READABLE);
        drain(set);
        CHECK_EQUAL(rlc_port_set_remove(set, first), 0);
        rlc_port_set_destroy(set);
        close(ends[0]), close(ends[1]);
    }
}

enum { OTHERS = 60 };

/** Members of other numbers, so many that the set grows. */
static void add_others(rlc_port_set *set, int *fds) {
    for (int i = 0; i < OTHERS; i++) {
        fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        (void)watch(set, fds[i], 4);
    }
}

/* Three or more of one number keep their order. */
static void test_RLC_SHARE_1_the_order_outlives_growth(void) {
    for (uint32_t shared = 0; shared <= RLC_SHARED; shared += RLC_SHARED) {
        rlc_port_set *set = make_set();
        int ends[2], others[OTHERS];
        rlc_token tokens[4];
        make_sockets(ends);
        for (int i = 1; i <= 3; i++)
            tokens[i] = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE | shared, i);
        add_others(set, others);
        write_all(ends[1], "x", 1);
        for (int i = 1; i <= 3 && shared != 0; i++)
            CHECK_EQUAL(next(set), i * 100 + RLC_READABLE);
        for (int i = 3; i >= 1 && shared == 0; i--) { /* the latest one has the number */
            CHECK_EQUAL(next(set), i * 100 + RLC_READABLE);
            CHECK_EQUAL(rlc_port_set_remove(set, tokens[i]), 0);
            drain(set);
        }
        rlc_port_set_destroy(set);
        close(ends[0]), close(ends[1]);
        for (int i = 0; i < OTHERS; i++)
            close(others[i]);
    }
}

int main(void) {
    RUN(test_RLC_TRIGGER_1_an_edge_is_reported_once);
    RUN(test_RLC_TRIGGER_1_a_peer_that_stops_writing_is_an_edge);
    RUN(test_RLC_TRIGGER_2_one_shot_rests_until_its_interest_is_set);
    RUN(test_RLC_SHARE_1_all_are_told_in_the_order_of_adding);
    RUN(test_RLC_SHARE_1_the_order_outlives_growth);
    RUN(test_RLC_SHARE_1_members_that_come_and_go_between_two);
    RUN(test_RLC_SHARE_2_each_rests_and_is_muted_for_itself);
    RUN(test_RLC_SHARE_3_edge_triggered_if_all_are);
    RUN(test_RLC_SHARE_1_a_reused_number_is_not_shared);
    RUN(test_RLC_SHARE_1_only_those_that_share);
    RUN(test_RLC_SHARE_1_a_half_closed_peer_is_told_to_readers_only);
    RUN(test_RLC_SHARE_2_a_refused_member_changes_nothing);
    RUN(test_RLC_SHARE_1_in_the_order_of_adding_while_the_set_grows);
    RUN(test_RLC_PORT_4_two_members_with_one_descriptor);
    RUN(test_RLC_PORT_4_the_latest_has_the_port_while_the_set_grows);
    RUN(test_RLC_PORT_4_muted_owner_gives_back);
    RUN(test_RLC_PORT_4_one_that_does_not_share);
    return 0;
}

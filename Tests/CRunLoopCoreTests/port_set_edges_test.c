/* Ends that end: what begins again is reported again, whoever shares it, and whatever its port is doing. */
#include "fifo.h"
#include "port_sets.h"

static void end(rlc_port_set *set, int fd) {
    rlc_port_set_destroy(set);
    close(fd);
    unlink(path);
}

static void read_byte(int fd) {
    char byte;
    CHECK_EQUAL(read(fd, &byte, 1), 1);
}

static void check_ends_once(rlc_port_set *set) {
    CHECK_EQUAL(next_ready(set), RLC_HANGUP);
    check_quiet(set);
}

/* ---- one member ---- */

static void test_RLC_END_1_level_again_after_it_has_passed(void) {
    rlc_port_set *set = make_set();
    int fd = make_fifo();
    (void)watch(set, fd, 0);
    for (int round = 0; round < 3; round++) {
        visit("abcdef");
        for (int i = 0; i < 6; i++) {
            CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_HANGUP);
            read_byte(fd);
        }
        check_ends_once(set);
        visit(""); /* begins anew without a byte */
        check_ends_once(set);
    }
    end(set, fd);
}

static void test_RLC_END_1_also_by_edges(void) {
    rlc_port_set *set = make_set();
    int fd = make_fifo();
    rlc_token token = add(set, fd, RLC_PORT_READINESS, RLC_READABLE | RLC_EDGE, 0);
    for (int round = 0; round < 3; round++) {
        visit("");
        check_ends_once(set);
        visit("a");
        CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_HANGUP);
        read_byte(fd);
        check_quiet(set);
    }
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE | RLC_EDGE), 0);
    check_ends_once(set);
    end(set, fd);
}

static void test_RLC_END_6_muted_or_without_interest(void) {
    rlc_port_set *set = make_set();
    int fd = make_fifo();
    rlc_token token = watch(set, fd, 0);
    visit("");
    check_ends_once(set);
    for (int round = 0; round < 3; round++) {
        CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), 0);
        check_quiet(set);
        if (round > 0)
            visit(round == 1 ? "" : "a");
        CHECK_EQUAL(next(set), -1);
        check_quiet(set);
        CHECK_EQUAL(rlc_port_set_set_muted(set, token, false), 0);
        if (round == 2) {
            CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_HANGUP);
            read_byte(fd);
        }
        if (round > 0) /* a hang-up that has not begun anew is not reported again */
            check_ends_once(set);
        check_quiet(set);
    }
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, 0), 0);
    check_ends_once(set);
    visit("ab");
    check_ends_once(set);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE), 0); /* what is true is reported */
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_HANGUP);
        read_byte(fd);
    }
    check_ends_once(set);
    end(set, fd);
}

static void test_RLC_END_6_one_shot(void) {
    rlc_port_set *set = make_set();
    int fd = make_fifo();
    const uint32_t interest = RLC_READABLE | RLC_ONE_SHOT;
    rlc_token token = add(set, fd, RLC_PORT_READINESS, interest, 0);
    for (int round = 0; round < 3; round++) {
        visit("a");
        CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_HANGUP);
        read_byte(fd);
        for (int i = 0; i < 3; i++) {
            check_quiet(set);
            CHECK_EQUAL(rlc_port_set_set_interest(set, token, interest), 0);
            check_ends_once(set);
            if (i > 0)
                visit(""); /* while it is suspended */
        }
        check_quiet(set);
        CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), 0);
        CHECK_EQUAL(rlc_port_set_set_interest(set, token, interest), 0);
        check_quiet(set);
        CHECK_EQUAL(rlc_port_set_set_muted(set, token, false), 0);
        check_ends_once(set);
        CHECK_EQUAL(rlc_port_set_set_interest(set, token, interest), 0);
        check_ends_once(set);
        CHECK_EQUAL(rlc_port_set_set_interest(set, token, interest), 0);
        CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
        token = add(set, fd, RLC_PORT_READINESS, interest, 0);
        check_ends_once(set);
        CHECK_EQUAL(rlc_port_set_set_interest(set, token, interest), 0);
        check_ends_once(set);
        CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
        close(fd);
        fd = open_fifo(O_RDONLY);
        token = add(set, fd, RLC_PORT_READINESS, interest, 0);
        check_quiet(set);
    }
    end(set, fd);
}

/* ---- several members ---- */

static void test_RLC_END_6_several_members(void) {
    for (int order = 0; order < 3; order++) {
        rlc_port_set *set = make_set();
        int fd = make_fifo();
        rlc_token tokens[3];
        for (int i = 0; i < 3; i++) { /* one of them has no interest */
            uint32_t interest = i == order ? 0 : RLC_READABLE;
            tokens[i] = add(set, fd, RLC_PORT_READINESS, interest | RLC_SHARED, i + 1);
        }
        for (int round = 0; round < 3; round++) {
            visit("");
            for (int i = 0; i < 3; i++)
                CHECK_EQUAL(next(set), (i + 1) * 100 + RLC_HANGUP);
            CHECK_EQUAL(next(set), -1);
            check_quiet(set);
        }
        CHECK_EQUAL(rlc_port_set_set_muted(set, tokens[1], true), 0);
        visit("");
        CHECK_EQUAL(next(set), 100 + RLC_HANGUP);
        CHECK_EQUAL(rlc_port_set_remove(set, tokens[2]), 0); /* the owner, before it is reported */
        CHECK_EQUAL(next(set), -1);
        check_quiet(set);
        CHECK_EQUAL(rlc_port_set_set_muted(set, tokens[1], false), 0);
        CHECK_EQUAL(next(set), 200 + RLC_HANGUP);
        CHECK_EQUAL(next(set), -1);
        visit("");
        tokens[2] = add(set, fd, RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 3);
        bool told[4] = {false};
        for (int event; (event = next(set)) != -1 || rlc_port_set_has_batch(set);)
            told[event / 100] = true;
        CHECK(told[1] && told[2] && told[3]);
        check_quiet(set);
        end(set, fd);
    }
}

/** A second member joins a number that has ended. The `call`-th call for it, and `more` after that, fail. */
static void join_while_calls_fail(unsigned long call, unsigned more) {
    rlc_port_set *set = make_set();
    int fd = make_fifo();
    rlc_token first = add(set, fd, RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, 1), second;
    visit("");
    CHECK_EQUAL(next(set), 100 + RLC_HANGUP);
    check_quiet(set);
    kernel.fail_with = -ENOSPC;
    kernel.fail_more = more;
    atomic_store(&kernel.fail_at, call);
    int status = rlc_port_set_insert(set, fd, RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, &tags[2], &second);
    bool has_failed = kernel.fail_more < more || atomic_load(&kernel.fail_at) == 0;
    kernel.fail_more = 0;
    atomic_store(&kernel.fail_at, 0);
    CHECK(status == 0 || status == -ENOSPC);
    CHECK(call > 2 || has_failed);
    drain(set); /* it may have reported that epoll refuses the number */
    CHECK_EQUAL(rlc_port_set_retry(set), 0);
    CHECK_EQUAL(rlc_port_set_set_interest(set, first, RLC_READABLE | RLC_SHARED), 0);
    visit("");
    bool told[3] = {false};
    for (int event; (event = next(set)) != -1 || rlc_port_set_has_batch(set);) {
        CHECK(event == 100 + RLC_HANGUP || event == 200 + RLC_HANGUP);
        told[event / 100] = true;
    }
    CHECK(told[1] && told[2] == (status == 0));
    check_quiet(set);
    end(set, fd);
}

/** Whatever fails, all members still belong to the number. */
static void test_RLC_END_6_a_member_that_joins_while_a_call_fails(void) {
    for (unsigned long call = 1; call <= 5; call++) {
        for (unsigned more = 0; more <= 3; more++)
            join_while_calls_fail(call, more);
    }
}

/* ---- what the callout causes ---- */

static int ended_socket(void) {
    int ends[2];
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    close(ends[1]);
    return ends[0];
}

/** The next one begins between the report and the next wait: it is not taken for the one that was reported. */
static void test_RLC_END_5_begun_in_the_callout(void) {
    rlc_port_set *set = make_set();
    int fd = make_fifo();
    (void)watch(set, fd, 0);
    visit("");
    for (int round = 0; round < 3; round++) {
        CHECK_EQUAL(next_ready(set), RLC_HANGUP);
        visit("");
    }
    check_ends_once(set);
    end(set, fd);
}

/* ---- the edge set ---- */

static int (*create_anyway)(void *context);

static int no_descriptor(void *context) {
    (void)context;
    return -EMFILE;
}

static void test_RLC_END_7_without_descriptors(void) {
    rlc_port_set *set = make_set();
    int fd = make_fifo();
    rlc_token token = watch(set, fd, 0);
    create_anyway = kernel.table.epoll_create;
    kernel.table.epoll_create = no_descriptor;
    for (int round = 0; round < 3; round++) {
        visit("");
        CHECK_EQUAL(next(set), RLC_HANGUP);
        if (round == 0)
            CHECK_EQUAL(next(set), RLC_HANGUP); /* once more: nothing tells the repetition apart */
        check_quiet(set);
        CHECK_EQUAL(atomic_load(&kernel.descriptors), 1);
    }
    visit("ab");
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_HANGUP);
        read_byte(fd);
    }
    kernel.table.epoll_create = create_anyway;
    check_ends_once(set);
    visit("a");
    CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_HANGUP);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    end(set, fd);
}

static void test_RLC_END_7_a_descriptor_while_it_lasts(void) {
    rlc_port_set *set = make_set();
    int fd = make_fifo();
    rlc_token token = watch(set, fd, 0);
    CHECK_EQUAL(atomic_load(&kernel.descriptors), 1);
    visit("");
    check_ends_once(set);
    CHECK_EQUAL(atomic_load(&kernel.descriptors), 2);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    CHECK_EQUAL(atomic_load(&kernel.descriptors), 1);
    end(set, fd);
}

/** Several of one number, without descriptors and without room in epoll. */
static void test_RLC_END_7_several_without_descriptors(void) {
    rlc_port_set *set = make_set();
    int fd = make_fifo();
    create_anyway = kernel.table.epoll_create;
    kernel.table.epoll_create = no_descriptor;
    for (int i = 1; i <= 2; i++)
        (void)add(set, fd, RLC_PORT_READINESS, RLC_READABLE | RLC_SHARED, i);
    for (int round = 0; round < 3; round++) {
        bool told[3] = {false};
        visit("");
        for (int i = 0; i < 8; i++) {
            int event = next(set);
            if (event != -1)
                told[event / 100] = true;
        }
        CHECK(told[1] && told[2]);
        check_quiet(set);
    }
    end(set, fd);
}

static void test_RLC_END_7_the_set_is_not_watched(void) {
    rlc_port_set *set = make_set();
    int fd = make_fifo(), edge_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(edge_fd); /* the lowest free number is the next one's */
    (void)watch(set, fd, 0);
    visit("");
    check_ends_once(set);
    rlc_token token;
    CHECK_EQUAL(rlc_port_set_insert(set, edge_fd, RLC_PORT_READINESS, RLC_READABLE, &tags[1], &token), -EBADF);
    /* Other code closes it. The next end makes another. */
    int other = ended_socket();
    close(edge_fd);
    (void)watch(set, other, 2);
    CHECK(((next(set) - 200) & RLC_HANGUP) != 0);
    while (next(set) != -1) {
    }
    check_quiet(set);
    visit("a");
    CHECK_EQUAL(next_ready(set), RLC_READABLE | RLC_HANGUP);
    close(other);
    end(set, fd);
}

/** As if a child of fork(2) had it. */
static void test_RLC_END_7_the_set_is_held_by_others(void) {
    rlc_port_set *set = make_set();
    int fd = make_fifo(), edge_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(edge_fd);
    rlc_token token = watch(set, fd, 0);
    visit("");
    check_ends_once(set);
    int held = dup(edge_fd);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    visit("");
    check_quiet(set);
    (void)watch(set, fd, 0);
    check_ends_once(set);
    visit("");
    check_ends_once(set);
    close(held);
    end(set, fd);
}

static void test_RLC_END_10_a_closed_number(void) {
    rlc_port_set *set = make_set();
    int fd = make_fifo(), copy = dup(fd);
    rlc_token token = watch(set, fd, 1);
    visit("");
    check_ends_once(set);
    close(fd); /* the copy keeps the registration */
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    visit("");
    CHECK_EQUAL(next(set), -1);
    CHECK_EQUAL(next(set), -1);
    check_quiet(set);
    CHECK_EQUAL(dup(copy), fd);
    token = watch(set, fd, 2);
    CHECK_EQUAL(next(set), 200 + RLC_HANGUP);
    check_quiet(set);
    /* Closed and opened again while the member stays: a new member is the new file's. */
    int ends[2];
    make_pipe(ends);
    CHECK_EQUAL(dup3(ends[0], fd, O_CLOEXEC), fd);
    rlc_token later = watch(set, fd, 3);
    write_all(ends[1], "x", 1);
    visit("");
    int event;
    while ((event = next(set)) != 300 + RLC_READABLE)
        CHECK(event == -1 || event == 1000 * RLC_FATE_LOST + 200 + RLC_ERROR);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    CHECK_EQUAL(rlc_port_set_remove(set, later), 0);
    close(ends[0]), close(ends[1]), close(copy);
    end(set, fd);
}

int main(void) {
    RUN(test_RLC_END_1_level_again_after_it_has_passed);
    RUN(test_RLC_END_1_also_by_edges);
    RUN(test_RLC_END_6_muted_or_without_interest);
    RUN(test_RLC_END_6_one_shot);
    RUN(test_RLC_END_6_several_members);
    RUN(test_RLC_END_6_a_member_that_joins_while_a_call_fails);
    RUN(test_RLC_END_5_begun_in_the_callout);
    RUN(test_RLC_END_7_without_descriptors);
    RUN(test_RLC_END_7_a_descriptor_while_it_lasts);
    RUN(test_RLC_END_7_several_without_descriptors);
    RUN(test_RLC_END_7_the_set_is_not_watched);
    RUN(test_RLC_END_7_the_set_is_held_by_others);
    RUN(test_RLC_END_10_a_closed_number);
    return 0;
}

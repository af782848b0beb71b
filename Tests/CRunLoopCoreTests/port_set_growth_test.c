/* A set whose tables have grown: what holds for its first members holds for the later ones, and for those from before. */
#include "port_sets.h"

#include <crunloop_kit/pass_checks.h>

enum { CROWD = 40, FIRST_TAG = 100 };

/** Pipes, as many as the tables have to grow for several times. Their members have the tags from FIRST_TAG on. */
typedef struct crowd {
    int ends[CROWD][2];
    rlc_token tokens[CROWD];
} crowd;

static void add_one(rlc_port_set *set, crowd *crowd, int i) {
    make_pipe(crowd->ends[i]);
    crowd->tokens[i] = watch(set, crowd->ends[i][0], FIRST_TAG + i);
}

static void add_crowd(rlc_port_set *set, crowd *crowd) {
    for (int i = 0; i < CROWD; i++)
        add_one(set, crowd, i);
}

static void read_byte(int fd) {
    char byte;
    CHECK_EQUAL(read(fd, &byte, 1), 1);
}

/** Each of them is told of what is its own. */
static void check_crowd(rlc_port_set *set, const crowd *crowd) {
    for (int i = 0; i < CROWD; i++) {
        write_all(crowd->ends[i][1], "x", 1);
        CHECK(next_context(set) == &tags[FIRST_TAG + i]);
        read_byte(crowd->ends[i][0]);
    }
    check_quiet(set);
}

static void end_crowd(rlc_port_set *set, const crowd *crowd) {
    rlc_port_set_destroy(set);
    for (int i = 0; i < CROWD; i++)
        close(crowd->ends[i][0]), close(crowd->ends[i][1]);
}

/* ---- strays ---- */

/** A stray of a late member; the duplicate of its descriptor keeps it. */
static int make_stray(rlc_port_set *set, int ends[2]) {
    make_pipe(ends);
    int duplicate = dup(ends[0]);
    rlc_token token = watch(set, ends[0], 0);
    close(ends[0]);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    return duplicate;
}

static void test_RLC_PORT_6_a_rebuild_forgets_nobody(void) {
    rlc_port_set *set = make_set();
    crowd crowd;
    int ends[2];
    add_crowd(set, &crowd);
    int duplicate = make_stray(set, ends);
    write_all(ends[1], "x", 1);
    CHECK(next_context(set) == NULL);
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 1);
    check_crowd(set, &crowd);
    close(duplicate), close(ends[1]);
    end_crowd(set, &crowd);
}

static void test_RLC_PORT_6_a_late_stray_that_its_number_still_reaches(void) {
    rlc_port_set *set = make_set();
    crowd crowd;
    int ends[2];
    add_crowd(set, &crowd);
    int duplicate = make_stray(set, ends);
    CHECK_EQUAL(dup3(duplicate, ends[0], O_CLOEXEC), ends[0]);
    write_all(ends[1], "x", 1);
    CHECK(next_context(set) == NULL);
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 0);
    check_crowd(set, &crowd);
    close(duplicate), close(ends[0]), close(ends[1]);
    end_crowd(set, &crowd);
}

/* ---- owned members ---- */

static void test_RLC_OWN_1_all_of_many_are_trusted(void) {
    rlc_port_set *set = make_set();
    crowd crowd;
    for (int i = 0; i < CROWD; i++) {
        add_one(set, &crowd, i);
        rlc_kit_set_owned(set, crowd.tokens[i], true);
    }
    (void)rlc_port_set_wait(set, 0); /* moves into the batch for so many */
    for (int i = 0; i < CROWD; i++)
        write_all(crowd.ends[i][1], "x", 1);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), CROWD);
    kernel.polls = 0;
    for (int i = 0; i < CROWD; i++) {
        CHECK(next_context(set) == &tags[FIRST_TAG + i]);
        read_byte(crowd.ends[i][0]);
    }
    CHECK_EQUAL(kernel.polls, 0);
    check_quiet(set);
    end_crowd(set, &crowd);
}

/* ---- members that epoll ceases to watch ---- */

static void test_RLC_TAKE_8_a_late_member_is_told_and_tried_again(void) {
    rlc_port_set *set = make_set();
    crowd crowd;
    add_crowd(set, &crowd);
    int fd = eventfd(2, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, 1);
    fail_next(&kernel, -ENOMEM);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    CHECK_EQUAL(next(set), 1000 * RLC_FATE_REFUSED + 100 + RLC_ERROR);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_retry(set), 0);
    CHECK_EQUAL(next(set), 100 + RLC_READABLE);
    check_crowd(set, &crowd);
    close(fd);
    end_crowd(set, &crowd);
}

int main(void) {
    RUN(test_RLC_PORT_6_a_rebuild_forgets_nobody);
    RUN(test_RLC_PORT_6_a_late_stray_that_its_number_still_reaches);
    RUN(test_RLC_OWN_1_all_of_many_are_trusted);
    RUN(test_RLC_TAKE_8_a_late_member_is_told_and_tried_again);
    return 0;
}

/* Members: insertion, identity, numbers that are closed and reused, duplicates, failures. */
#include "harness.h"
#include "port_set_internal.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

static spy kernel;
static int tags[200];

static rlc_port_set *make_set(void) {
    rlc_port_set *set;
    spy_init(&kernel);
    CHECK_EQUAL(rlc_port_set_create(&kernel.table, &set), 0);
    return set;
}

static rlc_token watch(rlc_port_set *set, int fd, void *context) {
    rlc_token token;
    CHECK_EQUAL(rlc_port_set_insert(set, fd, RLC_PORT_READINESS, RLC_READABLE, context, &token), 0);
    return token;
}

/** The context of the next event; NULL if there is none. */
static void *next_context(rlc_port_set *set) {
    rlc_port_event event;
    if (!rlc_port_set_has_batch(set))
        (void)rlc_port_set_wait(set, 0);
    return rlc_port_set_take(set, &event) ? event.context : NULL;
}

static void drain(rlc_port_set *set) {
    rlc_port_event event;
    while (rlc_port_set_take(set, &event)) {
    }
}

static void test_RLC_PORT_1_insert_take_remove(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    rlc_token token = watch(set, ends[0], &tags[0]);
    CHECK_EQUAL(rlc_port_set_count(set), 1);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 0);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(rlc_port_set_wait(set, RLC_TIME_FOREVER), 1);
    CHECK(rlc_port_set_has_batch(set));
    rlc_port_event event;
    CHECK(rlc_port_set_take(set, &event));
    CHECK(event.token.bits == token.bits && event.context == &tags[0]);
    CHECK(event.kind == RLC_PORT_READINESS && event.ready == RLC_READABLE);
    CHECK(!rlc_port_set_take(set, &event));
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    CHECK_EQUAL(rlc_port_set_remove(set, token), -ENOENT);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE), -ENOENT);
    CHECK_EQUAL(rlc_port_set_set_muted(set, token, true), -ENOENT);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 0);
    CHECK_EQUAL(rlc_port_set_count(set), 0);
    rlc_port_set_destroy(set);
    rlc_port_set_destroy(NULL);
    close(ends[0]), close(ends[1]);
}

static void test_RLC_PORT_2_what_cannot_be_watched(void) {
    rlc_port_set *set = make_set();
    char path[] = "/tmp/port-set-test-XXXXXX";
    int file = mkstemp(path);
    rlc_token token = {.bits = 9};
    CHECK(file >= 0 && unlink(path) == 0);
    CHECK_EQUAL(rlc_port_set_insert(set, file, RLC_PORT_READINESS, RLC_READABLE, NULL, &token), -EPERM);
    CHECK_EQUAL(rlc_port_set_insert(set, -1, RLC_PORT_READINESS, RLC_READABLE, NULL, &token), -EBADF);
    close(file);
    CHECK_EQUAL(rlc_port_set_insert(set, file, RLC_PORT_READINESS, RLC_READABLE, NULL, &token), -EBADF);
    CHECK_EQUAL(rlc_port_set_count(set), 0);
    CHECK_EQUAL(token.bits, 9);
    rlc_port_set_destroy(set);
}

static void test_RLC_PORT_3_every_failure_leaves_nothing_half_added(void) {
    int ends[2];
    make_pipe(ends);
    const int errors[] = {-ENOSPC, -ENOMEM};
    for (unsigned long k = 1; k <= 8; k++) { /* allocations; a batch that cannot grow is no failure */
        rlc_port_set *set = make_set();
        rlc_token token;
        fail_allocation(k);
        int status = rlc_port_set_insert(set, ends[0], RLC_PORT_READINESS, RLC_READABLE, &tags[0], &token);
        fail_allocation(0);
        CHECK(status == 0 || status == -ENOMEM);
        CHECK_EQUAL(rlc_port_set_count(set), status == 0);
        if (status != 0)
            (void)watch(set, ends[0], &tags[0]);
        write_all(ends[1], "x", 1);
        CHECK(next_context(set) == &tags[0]);
        char byte;
        CHECK_EQUAL(read(ends[0], &byte, 1), 1);
        rlc_port_set_destroy(set);
    }
    for (int i = 0; i < 2; i++) { /* system calls, also when it would take over a number */
        rlc_port_set *set = make_set();
        rlc_token first, second = {.bits = 5};
        kernel.fail_with = errors[i];
        atomic_store(&kernel.fail_at, 1);
        CHECK_EQUAL(rlc_port_set_insert(set, ends[0], RLC_PORT_READINESS, RLC_READABLE, NULL, &first), errors[i]);
        CHECK(rlc_port_set_owner(set, ends[0]) == NULL);
        first = watch(set, ends[0], &tags[1]);
        for (unsigned long k = 1; k <= 2; k++) {
            atomic_store(&kernel.fail_at, k);
            CHECK_EQUAL(rlc_port_set_insert(set, ends[0], RLC_PORT_READINESS, RLC_READABLE, NULL, &second), errors[i]);
            CHECK(second.bits == 5);
            CHECK_EQUAL(rlc_port_set_count(set), 1);
        }
        write_all(ends[1], "x", 1);
        CHECK(next_context(set) == &tags[1]); /* the first is what it was */
        char byte;
        CHECK_EQUAL(read(ends[0], &byte, 1), 1);
        rlc_port_set_destroy(set);
    }
    rlc_port_set *set = NULL;
    spy_init(&kernel);
    atomic_store(&kernel.fail_at, 1);
    CHECK_EQUAL(rlc_port_set_create(&kernel.table, &set), -EMFILE);
    for (unsigned long k = 1; k <= 2; k++) {
        fail_allocation(k);
        CHECK_EQUAL(rlc_port_set_create(&kernel.table, &set), -ENOMEM);
    }
    CHECK(set == NULL);
    close(ends[0]), close(ends[1]);
}

static void test_RLC_PORT_4_two_members_with_one_descriptor(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    write_all(ends[1], "x", 1);
    rlc_token first = watch(set, ends[0], &tags[0]);
    rlc_token second = watch(set, ends[0], &tags[1]);
    rlc_token third = watch(set, ends[0], &tags[2]);
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
    rlc_token first = watch(set, ends[0], &tags[0]);
    rlc_token second = watch(set, ends[0], &tags[1]);
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

static void move_to(int from, int number) {
    CHECK_EQUAL(dup3(from, number, O_CLOEXEC), number);
    close(from);
}

static void test_RLC_PORT_5_closed_and_reused_number_is_a_new_port(void) {
    rlc_port_set *set = make_set();
    int old_ends[2], new_ends[2];
    make_pipe(old_ends);
    make_pipe(new_ends);
    rlc_token old = watch(set, old_ends[0], &tags[0]);
    move_to(new_ends[0], old_ends[0]); /* closes the old one, opens its number anew */
    rlc_token fresh = watch(set, old_ends[0], &tags[1]);
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
    rlc_token old = watch(set, old_ends[0], &tags[0]);
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
    rlc_token old = watch(set, old_ends[0], &tags[0]);
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

static void test_RLC_PORT_6_a_duplicate_outlives_its_member(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    int duplicate = dup(ends[0]);
    rlc_token token = watch(set, ends[0], &tags[0]);
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
    rlc_token old = watch(set, old_ends[0], &tags[0]);
    (void)watch(set, other[0], &tags[2]);
    move_to(new_ends[0], old_ends[0]);
    (void)watch(set, old_ends[0], &tags[1]);
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
    rlc_token token = watch(set, number, &tags[0]);
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
        rlc_token token = watch(set, ends[0], &tags[0]);
        (void)watch(set, other[0], &tags[1]);
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

static void test_RLC_PORT_7_muted_is_out_and_back(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    rlc_token token = watch(set, ends[0], &tags[0]);
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

static void test_RLC_PORT_8_many_members_and_a_batch_that_grows(void) {
    enum { COUNT = 150 };
    rlc_port_set *set = make_set();
    int fds[COUNT];
    rlc_token tokens[COUNT];
    for (int i = 0; i < COUNT; i++) {
        fds[i] = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        CHECK_EQUAL(rlc_port_set_insert(set, fds[i], RLC_PORT_COUNTER, RLC_READABLE, &tags[i], &tokens[i]), 0);
    }
    unsigned long waits = count_of(&kernel.waits), blocks = allocations();
    for (int i = 0; i < COUNT; i++)
        CHECK(next_context(set) == &tags[i]);        /* in the order in which they became ready */
    CHECK_EQUAL(count_of(&kernel.waits), waits + 2); /* 128 + 22 */
    CHECK_EQUAL(allocations(), blocks);
    for (int i = 0; i < COUNT; i += 2)
        CHECK_EQUAL(rlc_port_set_remove(set, tokens[i]), 0);
    CHECK_EQUAL(rlc_port_set_count(set), COUNT / 2);
    for (int i = COUNT - 1; i >= 0; i--)
        bump(fds[i]);
    for (int i = COUNT - 1; i >= 0; i -= 2)
        CHECK(next_context(set) == &tags[i]);
    CHECK(next_context(set) == NULL);
    rlc_port_set_destroy(set);
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
}

static void test_RLC_PORT_9_hints_do_not_count(void) {
    rlc_port_set *set = make_set();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_token token;
    CHECK_EQUAL(rlc_port_set_insert(set, fd, RLC_PORT_HINT, RLC_READABLE, &tags[0], &token), 0);
    CHECK_EQUAL(rlc_port_set_count(set), 0);
    bump(fd);
    unsigned long reads = count_of(&kernel.reads);
    CHECK(next_context(set) == &tags[0]);
    CHECK(next_context(set) == NULL); /* an edge: once, and nobody read it */
    bump(fd);
    CHECK(next_context(set) == &tags[0]);
    CHECK_EQUAL(count_of(&kernel.reads), reads);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    CHECK_EQUAL(rlc_port_set_count(set), 0);
    rlc_port_set_destroy(set);
    close(fd);
}

static void test_RLC_PORT_10_next_names_each_member_once(void) {
    rlc_port_set *set = make_set();
    int ends[2], hint = eventfd(0, EFD_CLOEXEC);
    make_pipe(ends);
    rlc_token token;
    CHECK_EQUAL(rlc_port_set_insert(set, hint, RLC_PORT_HINT, RLC_READABLE, &tags[9], &token), 0);
    rlc_token gone = watch(set, ends[0], &tags[0]);
    rlc_token muted = watch(set, ends[1], &tags[1]);
    CHECK_EQUAL(rlc_port_set_set_muted(set, muted, true), 0);
    CHECK_EQUAL(rlc_port_set_remove(set, gone), 0);
    uint32_t position = 0;
    CHECK(rlc_port_set_next(set, &position) == &tags[1]);
    CHECK(rlc_port_set_next(set, &position) == NULL);
    (void)watch(set, ends[0], &tags[2]);
    bool seen[3] = {false};
    position = 0;
    for (int *tag; (tag = rlc_port_set_next(set, &position)) != NULL; seen[tag - tags] = true)
        CHECK(!seen[tag - tags]);
    CHECK(!seen[0] && seen[1] && seen[2]);
    rlc_port_set_destroy(set);
    close(hint);
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    RUN(test_RLC_PORT_1_insert_take_remove);
    RUN(test_RLC_PORT_2_what_cannot_be_watched);
    RUN(test_RLC_PORT_3_every_failure_leaves_nothing_half_added);
    RUN(test_RLC_PORT_4_two_members_with_one_descriptor);
    RUN(test_RLC_PORT_4_muted_owner_gives_back);
    RUN(test_RLC_PORT_5_closed_and_reused_number_is_a_new_port);
    RUN(test_RLC_PORT_5_removal_after_close_spares_a_stranger);
    RUN(test_RLC_PORT_5_a_change_that_finds_it_closed_gives_it_up);
    RUN(test_RLC_PORT_6_a_duplicate_outlives_its_member);
    RUN(test_RLC_PORT_6_a_duplicate_and_a_reused_number);
    RUN(test_RLC_PORT_6_stray_that_its_number_still_reaches);
    RUN(test_RLC_PORT_6_failed_rebuild_tries_again);
    RUN(test_RLC_PORT_7_muted_is_out_and_back);
    RUN(test_RLC_PORT_8_many_members_and_a_batch_that_grows);
    RUN(test_RLC_PORT_9_hints_do_not_count);
    RUN(test_RLC_PORT_10_next_names_each_member_once);
    return 0;
}

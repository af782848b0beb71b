/* Members: insertion, identity, hints, failures. */
#include "port_set_internal.h"
#include "port_sets.h"

#include <sys/resource.h>

static void test_RLC_PORT_1_insert_take_remove(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    rlc_token token = watch(set, ends[0], 0);
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
            (void)watch(set, ends[0], 0);
        write_all(ends[1], "x", 1);
        CHECK(next_context(set) == &tags[0]);
        char byte;
        CHECK_EQUAL(read(ends[0], &byte, 1), 1);
        rlc_port_set_destroy(set);
    }
    for (int i = 0; i < 2; i++) { /* system calls, also when it would take over a number */
        rlc_port_set *set = make_set();
        rlc_token first, second = {.bits = 5};
        fail_next(&kernel, errors[i]);
        CHECK_EQUAL(rlc_port_set_insert(set, ends[0], RLC_PORT_READINESS, RLC_READABLE, NULL, &first), errors[i]);
        CHECK(rlc_port_set_owner(set, ends[0]) == NULL);
        first = watch(set, ends[0], 1);
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
    rlc_token gone = watch(set, ends[0], 0);
    rlc_token muted = watch(set, ends[1], 1);
    CHECK_EQUAL(rlc_port_set_set_muted(set, muted, true), 0);
    CHECK_EQUAL(rlc_port_set_remove(set, gone), 0);
    uint32_t position = 0;
    CHECK(rlc_port_set_next(set, &position) == &tags[1]);
    CHECK(rlc_port_set_next(set, &position) == NULL);
    (void)watch(set, ends[0], 2);
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

int main(void) {
    RUN(test_RLC_PORT_1_insert_take_remove);
    RUN(test_RLC_PORT_2_what_cannot_be_watched);
    RUN(test_RLC_PORT_3_every_failure_leaves_nothing_half_added);
    RUN(test_RLC_PORT_9_hints_do_not_count);
    RUN(test_RLC_PORT_10_next_names_each_member_once);
    RUN(test_RLC_PORT_11_a_hints_number_is_not_taken_over);
    return 0;
}

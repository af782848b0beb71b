/* Events: order, counters, stale batches, other threads. The ends of ports: port_set_end_test.c. */
#include "harness.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

static spy kernel;
static int tags[8];

static rlc_port_set *make_set(void) {
    rlc_port_set *set;
    spy_init(&kernel);
    CHECK_EQUAL(rlc_port_set_create(&kernel.table, &set), 0);
    return set;
}

static rlc_token add(rlc_port_set *set, int fd, rlc_port_kind kind, uint32_t interest, void *context) {
    rlc_token token;
    CHECK_EQUAL(rlc_port_set_insert(set, fd, kind, interest, context, &token), 0);
    return token;
}

static bool next(rlc_port_set *set, rlc_port_event *ret_event) {
    memset(ret_event, 0, sizeof *ret_event);
    if (!rlc_port_set_has_batch(set))
        (void)rlc_port_set_wait(set, 0);
    return rlc_port_set_take(set, ret_event);
}

/** What is ready next, as RLC_... bits; 0 for nothing. */
static uint32_t next_ready(rlc_port_set *set) {
    rlc_port_event event;
    return next(set, &event) ? event.ready : 0;
}

static void *next_context(rlc_port_set *set) {
    rlc_port_event event;
    return next(set, &event) ? event.context : NULL;
}

/** What a wait would have cost: with nothing to say, the set must also not keep the processor busy. */
static void check_quiet(rlc_port_set *set) {
    CHECK_EQUAL(next_ready(set), 0);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 0);
}

static void test_RLC_ORDER_1_in_order_of_readiness(void) {
    rlc_port_set *set = make_set();
    int ends[3][2];
    for (int i = 0; i < 3; i++) {
        make_pipe(ends[i]);
        (void)add(set, ends[i][0], i == 1 ? RLC_PORT_COUNTER : RLC_PORT_READINESS, RLC_READABLE, &tags[i]);
    }
    write_all(ends[2][1], "12345678", 8);
    write_all(ends[0][1], "12345678", 8);
    write_all(ends[1][1], "12345678", 8);
    CHECK(next_context(set) == &tags[2]);
    CHECK(next_context(set) == &tags[0]);
    CHECK(next_context(set) == &tags[1]);
    for (int i = 0; i < 3; i++)
        close(ends[i][0]), close(ends[i][1]);
    rlc_port_set_destroy(set);
}

static void test_RLC_ORDER_2_a_counter_with_more_queues_at_the_end(void) {
    rlc_port_set *set = make_set();
    int messages[2], other[2];
    make_pipe(messages);
    make_pipe(other);
    (void)add(set, messages[0], RLC_PORT_COUNTER, RLC_READABLE, &tags[0]);
    (void)add(set, other[0], RLC_PORT_COUNTER, RLC_READABLE, &tags[1]);
    write_all(messages[1], "1111111122222222333", 19); /* two messages and a short one */
    write_all(other[1], "aaaaaaaa", 8);
    CHECK(next_context(set) == &tags[0]);
    CHECK(next_context(set) == &tags[1]);
    CHECK(next_context(set) == &tags[0]);
    CHECK(next_context(set) == &tags[0]); /* short, whole */
    check_quiet(set);
    close(messages[0]), close(messages[1]), close(other[0]), close(other[1]);
    rlc_port_set_destroy(set);
}

static void test_RLC_COUNTER_1_eventfd_is_one_event(void) {
    rlc_port_set *set = make_set();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, &tags[0]);
    bump(fd), bump(fd), bump(fd);
    CHECK_EQUAL(next_ready(set), RLC_READABLE);
    check_quiet(set);
    bump(fd);
    CHECK_EQUAL(next_ready(set), RLC_READABLE);
    uint64_t value;
    bump(fd);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 1);
    CHECK_EQUAL(read(fd, &value, sizeof value), 8); /* somebody else was faster: EAGAIN is no event */
    CHECK_EQUAL(next_ready(set), 0);
    close(fd);
    rlc_port_set_destroy(set);
}

static void test_RLC_COUNTER_2_semaphore_is_one_event_each(void) {
    rlc_port_set *set = make_set();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, &tags[0]);
    uint64_t three = 3;
    write_all(fd, &three, sizeof three);
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(next_ready(set), RLC_READABLE);
    check_quiet(set);
    close(fd);
    rlc_port_set_destroy(set);
}

static void test_RLC_COUNTER_3_timerfd(void) {
    rlc_port_set *set = make_set();
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, &tags[0]);
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000}};
    CHECK_EQUAL(timerfd_settime(fd, 0, &soon, NULL), 0);
    CHECK_EQUAL(rlc_port_set_wait(set, rlc_now(RLC_CLOCK_MONOTONIC) + UINT64_C(2000000000)), 1);
    CHECK_EQUAL(next_ready(set), RLC_READABLE);
    check_quiet(set);
    close(fd);
    rlc_port_set_destroy(set);
}

static void test_RLC_COUNTER_4_end_of_file_rests(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    rlc_token token = add(set, ends[0], RLC_PORT_COUNTER, RLC_READABLE, &tags[0]);
    write_all(ends[1], "12345678", 8);
    close(ends[1]);
    CHECK_EQUAL(next_ready(set), RLC_READABLE); /* first what was written */
    CHECK_EQUAL(next_ready(set), RLC_HANGUP);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_count(set), 1); /* at rest, still a member */
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE), 0);
    CHECK_EQUAL(next_ready(set), RLC_HANGUP);
    check_quiet(set);
    CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
    close(ends[0]);
    rlc_port_set_destroy(set);
}

static int64_t (*read_anyway)(void *context, int fd, void *buffer, size_t size);
static int interruptions;

static int64_t interrupted_at_first(void *context, int fd, void *buffer, size_t size) {
    return interruptions < 2 ? interruptions++, -EINTR : read_anyway(context, fd, buffer, size);
}

static void test_RLC_COUNTER_5_interrupted_and_failing_reads(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    make_pipe(ends);
    (void)add(set, ends[1], RLC_PORT_COUNTER, RLC_READABLE, &tags[0]); /* the write end: reading fails */
    close(ends[0]);
    CHECK_EQUAL(next_ready(set), RLC_ERROR);
    check_quiet(set);
    close(ends[1]);
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, &tags[1]);
    read_anyway = kernel.table.read;
    kernel.table.read = interrupted_at_first;
    CHECK_EQUAL(next_ready(set), RLC_READABLE);
    CHECK_EQUAL(interruptions, 2);
    check_quiet(set);
    rlc_port_set_destroy(set);
    close(fd);
}

static void test_RLC_TAKE_1_what_became_stale_is_dropped(void) {
    rlc_port_set *set = make_set();
    int ends[4][2];
    rlc_token tokens[4];
    char byte;
    for (int i = 0; i < 4; i++) {
        make_pipe(ends[i]);
        tokens[i] = add(set, ends[i][0], RLC_PORT_READINESS, RLC_READABLE, &tags[i]);
        write_all(ends[i][1], "x", 1);
    }
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 4);
    CHECK(next_context(set) == &tags[0]); /* its callout does a lot: */
    CHECK_EQUAL(read(ends[1][0], &byte, 1), 1);
    CHECK_EQUAL(rlc_port_set_remove(set, tokens[2]), 0);
    CHECK_EQUAL(count_of(&kernel.polls), 0); /* a fresh event is believed */
    CHECK(next_context(set) == &tags[3]);
    CHECK(!rlc_port_set_has_batch(set));
    for (int i = 0; i < 4; i++)
        close(ends[i][0]), close(ends[i][1]);
    rlc_port_set_destroy(set);
}

static void test_RLC_TAKE_2_a_new_member_never_gets_an_old_event(void) {
    rlc_port_set *set = make_set();
    int first[2], second[2];
    make_pipe(first);
    make_pipe(second);
    (void)add(set, first[0], RLC_PORT_READINESS, RLC_READABLE, &tags[0]);
    rlc_token old = add(set, second[0], RLC_PORT_READINESS, RLC_READABLE, &tags[1]);
    write_all(first[1], "x", 1);
    write_all(second[1], "x", 1);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 2);
    CHECK(next_context(set) == &tags[0]);
    CHECK_EQUAL(rlc_port_set_remove(set, old), 0);
    rlc_token fresh = add(set, second[0], RLC_PORT_READINESS, RLC_READABLE, &tags[2]);
    rlc_port_event event;
    CHECK(!rlc_port_set_take(set, &event)); /* same number, same slot, other registration */
    CHECK_EQUAL(rlc_port_set_rebuilds(set), 0);
    CHECK_EQUAL(rlc_port_set_remove(set, fresh), 0);
    close(first[0]), close(first[1]), close(second[0]), close(second[1]);
    rlc_port_set_destroy(set);
}

static void test_RLC_TAKE_3_interest_narrowed_after_the_fetch(void) {
    rlc_port_set *set = make_set();
    int ends[2];
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    rlc_token token = add(set, ends[0], RLC_PORT_READINESS, RLC_WRITABLE, &tags[0]);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 1);
    CHECK_EQUAL(rlc_port_set_set_interest(set, token, RLC_READABLE), 0);
    check_quiet(set);
    close(ends[0]), close(ends[1]);
    rlc_port_set_destroy(set);
}

static void test_RLC_TAKE_4_one_call_per_wait_and_no_allocation(void) {
    rlc_port_set *set = make_set();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, &tags[0]);
    unsigned long blocks = 0, calls = 0;
    for (int i = -2; i < 100; i++) {
        if (i == 0) { /* with the second event it has learned what the counter is */
            blocks = allocations();
            calls = count_of(&kernel.calls);
        }
        bump(fd);
        CHECK_EQUAL(rlc_port_set_wait(set, RLC_TIME_FOREVER), 1);
        CHECK_EQUAL(next_ready(set), RLC_READABLE);
    }
    bool asks_again = rlc_kernel_default()->counter_empties(NULL, fd) == 0; /* kernels before 6.7 */
    CHECK_EQUAL(count_of(&kernel.calls), calls + (asks_again ? 300 : 200)); /* the wait and the eight bytes */
    CHECK_EQUAL(allocations(), blocks);
    close(fd);
    rlc_port_set_destroy(set);
}

static void test_RLC_TAKE_5_a_late_event_is_no_stray(void) {
    rlc_port_set *set = make_set();
    int ends[2], gone[2];
    make_pipe(ends);
    make_pipe(gone);
    rlc_token closed = add(set, gone[0], RLC_PORT_READINESS, RLC_READABLE, &tags[0]);
    rlc_token token = add(set, ends[0], RLC_PORT_READINESS, RLC_READABLE, &tags[1]);
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

/* ---- members come and go, under a lock, while the owner sleeps without it ---- */

enum { CHURN = 3000 };

typedef struct churn {
    rlc_port_set *set;
    pthread_mutex_t lock;
    int wake_fd, seen_fd;
    atomic_bool done;
} churn;

static void *come_and_go(void *context) {
    churn *churn = context;
    for (int i = 0; i < CHURN; i++) {
        int fds[20];
        rlc_token tokens[20];
        int count = i % 100 == 0 ? 20 : 2; /* now and then enough for a larger batch */
        for (int j = 0; j < count; j++) {
            fds[j] = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
            (void)pthread_mutex_lock(&churn->lock);
            tokens[j] = add(churn->set, fds[j], RLC_PORT_READINESS, RLC_READABLE, &tags[1]);
            (void)pthread_mutex_unlock(&churn->lock);
        }
        for (int j = 0; j < count; j++) {
            (void)pthread_mutex_lock(&churn->lock);
            CHECK_EQUAL(rlc_port_set_remove(churn->set, tokens[j]), 0);
            (void)pthread_mutex_unlock(&churn->lock);
            close(fds[j]);
        }
    }
    atomic_store(&churn->done, true);
    bump(churn->wake_fd);
    return NULL;
}

static void test_RLC_SET_1_other_threads_change_a_set_that_sleeps(void) {
    churn churn = {
        .set = make_set(), .lock = PTHREAD_MUTEX_INITIALIZER, .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    (void)add(churn.set, churn.wake_fd, RLC_PORT_HINT, RLC_READABLE, &tags[0]);
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, come_and_go, &churn), 0);
    while (!atomic_load(&churn.done)) {
        int count = rlc_port_set_wait(churn.set, RLC_TIME_FOREVER);
        CHECK(count >= 0 || count == -EINTR);
        rlc_port_event event;
        bool taken;
        do {
            (void)pthread_mutex_lock(&churn.lock);
            taken = rlc_port_set_take(churn.set, &event);
            (void)pthread_mutex_unlock(&churn.lock);
        } while (taken);
    }
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(rlc_port_set_rebuilds(churn.set), 0);
    CHECK_EQUAL(rlc_port_set_count(churn.set), 0);
    rlc_port_set_destroy(churn.set);
    close(churn.wake_fd);
}

static int poll_without_memory(void *context, int fd, int events) {
    (void)context, (void)fd, (void)events;
    return -ENOMEM;
}

/** An edge is told once by the kernel: whoever drops it because poll(2) has failed loses it. */
static void test_RLC_TAKE_6_an_event_is_believed_if_poll_fails(void) {
    rlc_port_set *set = make_set();
    int ends[2][2];
    for (int i = 0; i < 2; i++) {
        make_pipe(ends[i]);
        (void)add(set, ends[i][0], RLC_PORT_READINESS, RLC_READABLE | RLC_EDGE, &tags[i]);
        write_all(ends[i][1], "x", 1);
    }
    kernel.table.poll = poll_without_memory;
    CHECK(next_context(set) == &tags[0]);
    CHECK(next_context(set) == &tags[1]);
    check_quiet(set);
    rlc_port_set_destroy(set);
    for (int i = 0; i < 2; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
}

int main(void) {
    RUN(test_RLC_ORDER_1_in_order_of_readiness);
    RUN(test_RLC_ORDER_2_a_counter_with_more_queues_at_the_end);
    RUN(test_RLC_COUNTER_1_eventfd_is_one_event);
    RUN(test_RLC_COUNTER_2_semaphore_is_one_event_each);
    RUN(test_RLC_COUNTER_3_timerfd);
    RUN(test_RLC_COUNTER_4_end_of_file_rests);
    RUN(test_RLC_COUNTER_5_interrupted_and_failing_reads);
    RUN(test_RLC_TAKE_1_what_became_stale_is_dropped);
    RUN(test_RLC_TAKE_2_a_new_member_never_gets_an_old_event);
    RUN(test_RLC_TAKE_3_interest_narrowed_after_the_fetch);
    RUN(test_RLC_TAKE_4_one_call_per_wait_and_no_allocation);
    RUN(test_RLC_TAKE_5_a_late_event_is_no_stray);
    RUN(test_RLC_TAKE_6_an_event_is_believed_if_poll_fails);
    RUN(test_RLC_SET_1_other_threads_change_a_set_that_sleeps);
    return 0;
}

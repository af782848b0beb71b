/* Timers of the small loop whose timerfd cannot be made, or was closed by other code. In real time. */
#include "harness.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MS = 1000 * 1000 };

static rlc_kernel table;
static int refusal, timer_fd;
static unsigned waits;

static int make_timerfd(void *context, rlc_clock clock) {
    if (refusal != 0)
        return refusal;
    timer_fd = rlc_kernel_default()->timerfd_create(context, clock);
    return timer_fd;
}

static int count_wait(void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    waits++;
    return rlc_kernel_default()->epoll_wait(context, epoll_fd, events, capacity, deadline_ns);
}

static rlc_loop *make_loop(void) {
    rlc_loop *loop;
    table = *rlc_kernel_default();
    table.timerfd_create = make_timerfd;
    table.epoll_wait = count_wait;
    refusal = 0;
    timer_fd = -1;
    CHECK_EQUAL(rlc_loop_create(&table, &loop), 0);
    return loop;
}

static int fires, stop_at;

static void fire(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)timer, (void)context;
    CHECK(rlc_now(RLC_CLOCK_MONOTONIC) >= deadline_ns);
    if (++fires >= stop_at)
        rlc_loop_stop(loop);
}

static rlc_timer *repeating(rlc_loop *loop, uint64_t delay_ns) {
    rlc_timer *timer;
    fires = 0;
    CHECK_EQUAL(rlc_loop_add_timer(loop, fire, NULL, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + delay_ns, MS, 0), 0);
    return timer;
}

static uint64_t limit(bool is_limited) {
    return is_limited ? rlc_now(RLC_CLOCK_MONOTONIC) + (uint64_t)30000 * MS : RLC_TIME_FOREVER;
}

static void test_RLC_LOOP_18_the_wait_carries_a_date_without_a_timerfd(void) {
    for (int limited = 0; limited < 2; limited++) {
        rlc_loop *loop = make_loop();
        refusal = -EMFILE;
        repeating(loop, MS);
        stop_at = 10;
        waits = 0;
        CHECK_EQUAL(rlc_loop_run(loop, limit(limited)), RLC_RUN_STOPPED);
        CHECK(waits <= 25); /* no spin */
        CHECK_EQUAL(timer_fd, -1);
        refusal = 0; /* and as soon as there is a descriptor it has one */
        stop_at = 20;
        CHECK_EQUAL(rlc_loop_run(loop, limit(limited)), RLC_RUN_STOPPED);
        CHECK(timer_fd >= 0);
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    }
}

static void test_RLC_LOOP_18_a_host_is_told(void) {
    rlc_loop *loop = make_loop();
    refusal = -EMFILE;
    repeating(loop, MS);
    stop_at = 3;
    CHECK_EQUAL(rlc_loop_prepare(loop), -EMFILE); /* nothing would end its sleep */
    refusal = 0;
    while (fires < 3) {
        int ready = rlc_loop_prepare(loop);
        struct pollfd entry = {.fd = rlc_loop_fd(loop), .events = POLLIN};
        if (ready == 0)
            CHECK_EQUAL(poll(&entry, 1, 30000), 1);
        CHECK(rlc_loop_dispatch(loop) >= 0);
    }
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/** What other code puts at the number of the timerfd: nothing, a file that epoll takes, or one that it refuses. */
enum { NOTHING, TAKEN, REFUSED, WAYS };

static void close_it(int replaced) {
    if (replaced == NOTHING) {
        close(timer_fd);
        return;
    }
    int other = replaced == TAKEN ? eventfd(0, 0) : open("/dev/null", O_RDONLY);
    CHECK_EQUAL(dup2(other, timer_fd), timer_fd);
    close(other);
}

/** What other code has put there stays. */
static void finish(rlc_loop *loop, int lost_fd, int replaced) {
    if (replaced) {
        CHECK(lost_fd != timer_fd); /* the number is not free */
        CHECK_EQUAL(close(lost_fd), 0);
    }
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_LOOP_19_a_lost_timerfd_before_and_between_runs(void) {
    for (int variant = 0; variant < 16; variant++) {
        int replaced = variant & 1, limited = variant & 2, has_run = variant & 4, is_host = variant & 8;
        rlc_loop *loop = make_loop();
        rlc_timer *timer = repeating(loop, MS);
        stop_at = 2;
        if (has_run)
            CHECK_EQUAL(rlc_loop_run(loop, limit(limited)), RLC_RUN_STOPPED);
        int lost_fd = timer_fd;
        close_it(replaced);
        fires = 0;
        waits = 0;
        if (is_host) { /* its sleep has no end of its own: the next date notices */
            CHECK_EQUAL(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC), MS, 0), 0);
            while (fires < 2 && waits < 100) {
                struct pollfd entry = {.fd = rlc_loop_fd(loop), .events = POLLIN};
                if (rlc_loop_prepare(loop) == 0)
                    CHECK_EQUAL(poll(&entry, 1, 30000), 1);
                CHECK(rlc_loop_dispatch(loop) >= 0);
            }
        } else {
            CHECK_EQUAL(rlc_loop_run(loop, limit(limited)), RLC_RUN_STOPPED);
        }
        CHECK_EQUAL(fires, 2);
        CHECK(waits <= 20);
        finish(loop, lost_fd, replaced);
    }
}

/** Set for a later date by one run, lost, and awaited by the next. */
static void test_RLC_LOOP_19_a_lost_timerfd_that_is_set(void) {
    for (int variant = 0; variant < 2 * WAYS; variant++) {
        int replaced = variant % WAYS, limited = variant / WAYS;
        rlc_loop *loop = make_loop();
        repeating(loop, 20 * MS);
        stop_at = 2;
        CHECK_EQUAL(rlc_loop_run(loop, rlc_now(RLC_CLOCK_MONOTONIC) + MS), RLC_RUN_TIMED_OUT);
        int lost_fd = timer_fd;
        close_it(replaced);
        waits = 0;
        CHECK_EQUAL(rlc_loop_run(loop, limit(limited)), RLC_RUN_STOPPED);
        CHECK(waits <= 10);
        finish(loop, lost_fd, replaced);
    }
}

static int replaces;

static void lose_in_callout(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop, (void)timer, (void)deadline_ns, (void)context;
    close_it(replaces);
}

static void test_RLC_LOOP_19_a_lost_timerfd_in_a_callout(void) {
    for (int variant = 0; variant < WAYS; variant++) {
        rlc_loop *loop = make_loop();
        rlc_timer *other;
        repeating(loop, 20 * MS); /* armed anew, or carried */
        stop_at = 2;
        replaces = variant;
        CHECK_EQUAL(rlc_loop_add_timer(loop, lose_in_callout, NULL, &other), 0);
        CHECK_EQUAL(rlc_timer_arm(other, rlc_now(RLC_CLOCK_MONOTONIC) + MS, 0, 0), 0);
        int lost_fd = timer_fd;
        waits = 0;
        CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
        CHECK(waits <= 10);
        finish(loop, lost_fd, replaces);
    }
}

int main(void) {
    RUN(test_RLC_LOOP_18_the_wait_carries_a_date_without_a_timerfd);
    RUN(test_RLC_LOOP_18_a_host_is_told);
    RUN(test_RLC_LOOP_19_a_lost_timerfd_before_and_between_runs);
    RUN(test_RLC_LOOP_19_a_lost_timerfd_that_is_set);
    RUN(test_RLC_LOOP_19_a_lost_timerfd_in_a_callout);
    return 0;
}

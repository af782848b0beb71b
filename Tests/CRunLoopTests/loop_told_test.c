/* When a pass of the small loop reads the clock for its timers: not where the kernel would have told of the first one. */
#include "loop_internal.h"
#include "loops.h"

#include <sys/eventfd.h>

static const uint64_t far_off = UINT64_C(1000000000000);

static rlc_loop *make_counting_loop(void) {
    rlc_loop *loop = make_loop();
    kernel.table.now = count_and_tell_time;
    return loop;
}

static rlc_timer *arm_new(rlc_loop *loop, int *fired, uint64_t deadline_ns, uint64_t interval_ns) {
    rlc_timer *timer;
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, fired, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, deadline_ns, interval_ns, 0), 0);
    return timer;
}

static void watch_readable(rlc_loop *loop, int *fds, int count) {
    for (int i = 0; i < count; i++) {
        fds[i] = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK); /* for ever */
        (void)idle_watch(loop, fds[i]);
    }
}

static void pass(rlc_loop *loop) {
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
}

static void finish(rlc_loop *loop, const int *fds, int count) {
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

/** How often the clock is read in 100 passes with as many events, while the kernel knows of a timer that is far off. */
static unsigned long reads_with_events(int events) {
    int fired = 0, fds[4];
    rlc_loop *loop = make_counting_loop();
    (void)arm_new(loop, &fired, far_off, 0);
    watch_readable(loop, fds, events);
    pass(loop);
    unsigned long made = count_of(&kernel.calls);
    clock_reads = 0;
    for (int i = 0; i < 100; i++)
        pass(loop);
    CHECK_EQUAL(count_of(&kernel.calls), made + 100);
    unsigned long reads = clock_reads;
    CHECK_EQUAL(fired, 0);
    spy_advance(&kernel, far_off);
    pass(loop);
    if (fired == 0) /* the kernel had more events than the batch had room for */
        pass(loop);
    CHECK_EQUAL(fired, 1);
    finish(loop, fds, events);
    return reads;
}

static void test_RLC_COST_6_what_the_kernel_would_tell_needs_no_clock(void) {
    CHECK_EQUAL(reads_with_events(1), 0);
    CHECK_EQUAL(reads_with_events(3), 0);
    CHECK_EQUAL(reads_with_events(4), 100); /* looking through more is dearer than the clock */
}

/** The timer's event is one of `events`, which became ready in the order that `place` says. */
static void check_told_among(int events, int place) {
    int fired = 0, fds[3];
    rlc_loop *loop = make_counting_loop();
    (void)arm_new(loop, &fired, 5000, 0);
    for (int i = 0; i < events - 1; i++) {
        fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        (void)idle_watch(loop, fds[i]);
    }
    CHECK_EQUAL(rlc_loop_run_once(loop, 2000), RLC_RUN_TIMED_OUT); /* the kernel knows */
    for (int i = 0; i < events; i++) {
        if (i == place)
            spy_advance(&kernel, 5000);
        else
            bump(fds[i < place ? i : i - 1]);
    }
    calls = 0;
    pass(loop);
    CHECK_EQUAL(fired, 1); /* in that pass */
    CHECK_EQUAL(calls, events - 1);
    finish(loop, fds, events - 1);
}

static void test_RLC_COST_6_a_timer_that_is_told_fires_in_that_pass(void) {
    for (int events = 1; events <= 3; events++)
        for (int place = 0; place < events; place++)
            check_told_among(events, place);
}

static void test_RLC_COST_6_an_earlier_date_is_not_told(void) {
    int fired = 0, fd;
    rlc_loop *loop = make_counting_loop();
    (void)arm_new(loop, &fired, far_off, 0);
    watch_readable(loop, &fd, 1);
    pass(loop);
    (void)arm_new(loop, &fired, 3000, 0);
    pass(loop); /* it is told of now; then it is disarmed by an earlier one, which is not */
    rlc_timer *early = arm_new(loop, &fired, 2000, 0);
    kernel.time_ns = 2000;
    pass(loop);
    CHECK_EQUAL(fired, 1);
    CHECK_EQUAL(rlc_timer_arm(early, 1, 0, 0), 0); /* past when it is armed */
    pass(loop);
    CHECK_EQUAL(fired, 2);
    spy_advance(&kernel, 3000);
    pass(loop);
    CHECK_EQUAL(fired, 3);
    finish(loop, &fd, 1);
}

static void test_RLC_COST_6_a_poll_that_waits_for_nothing_looks_at_the_clock(void) {
    int fired = 0;
    rlc_loop *loop = make_counting_loop();
    (void)arm_new(loop, &fired, 5000, 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, 2000), RLC_RUN_TIMED_OUT);
    kernel.time_ns = 5000; /* the kernel's timer is late */
    CHECK_EQUAL(rlc_loop_run_once(loop, 0), RLC_RUN_HANDLED);
    CHECK_EQUAL(fired, 1);
    finish(loop, NULL, 0);
}

static void test_RLC_COST_6_after_an_expiry_the_kernel_tells_nothing(void) {
    int fired = 0, fd;
    rlc_loop *loop = make_counting_loop();
    watch_readable(loop, &fd, 1);
    (void)arm_new(loop, &fired, 2000, 1000);
    for (int i = 0; i < 100; i++) {
        pass(loop); /* the kernel is told of the next date */
        spy_advance(&kernel, 2000 + (uint64_t)i * 1000);
        pass(loop);
        CHECK_EQUAL(fired, i + 1);
    }
    finish(loop, &fd, 1);
}

/** A tolerant timer's wait ends by itself, or the kernel is told of its last moment; it fires with any pass before. */
static void test_RLC_COST_6_a_tolerant_timer_fires_before_it_is_told(void) {
    int fired = 0, fd;
    rlc_loop *loop = make_counting_loop();
    rlc_timer *timer;
    watch_readable(loop, &fd, 1);
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &fired, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, 5000, 0, 400000), 0);
    pass(loop);
    pass(loop);
    CHECK_EQUAL(fired, 0);
    kernel.time_ns = 5000;
    pass(loop);
    CHECK_EQUAL(fired, 1);
    finish(loop, &fd, 1);
}

static void test_RLC_COST_6_in_a_host_too(void) {
    int fired = 0, fd;
    rlc_loop *loop = make_counting_loop();
    (void)arm_new(loop, &fired, 5000, 0);
    watch_readable(loop, &fd, 1);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    clock_reads = 0;
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
    CHECK_EQUAL(clock_reads, 1); /* for its answer */
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    spy_advance(&kernel, 5000);
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
    CHECK_EQUAL(fired, 1);
    finish(loop, &fd, 1);
}

/* ---- posts: what ends a row of them that looks at nothing ---- */

static rlc_timer *near;
static int near_fired, step_of_arming;

/** Arms a timer that is due at once in the k-th post of many. */
static void arm_in_one(job *job) {
    if (job->runs == step_of_arming)
        CHECK_EQUAL(rlc_timer_arm(near, kernel.time_ns, 0, 0), 0);
    CHECK_EQUAL(near_fired, job->runs > step_of_arming); /* in the very next pass, before its posts */
    if (job->again == 0)
        CHECK_EQUAL(rlc_loop_stop(job->loop), 0);
}

static void test_RLC_COST_6_a_near_timer_ends_a_row_of_posts(void) {
    for (step_of_arming = 300; step_of_arming < 370; step_of_arming++) {
        int fired = 0;
        rlc_loop *loop = make_counting_loop();
        (void)arm_new(loop, &fired, far_off, 0);
        near_fired = 0;
        CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &near_fired, &near), 0);
        job job = make_job(loop);
        job.again = 400;
        job.then = arm_in_one;
        CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
        CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
        CHECK_EQUAL(near_fired, 1);
        finish(loop, NULL, 0);
    }
}

static void arm_and_disarm(job *job) {
    CHECK_EQUAL(rlc_timer_arm(near, kernel.time_ns + 1000000, 0, 0), 0);
    CHECK_EQUAL(rlc_timer_arm(near, RLC_TIME_FOREVER, 0, 0), 0);
    if (job->again == 0)
        CHECK_EQUAL(rlc_loop_stop(job->loop), 0);
}

static void disarm_once(job *job) {
    CHECK_EQUAL(rlc_timer_arm(near, RLC_TIME_FOREVER, 0, 0), 0);
    if (job->again == 0)
        CHECK_EQUAL(rlc_loop_stop(job->loop), 0);
}

static unsigned long reads_among_posts(void (*then)(job *job)) {
    rlc_loop *loop = make_counting_loop();
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &near_fired, &near), 0);
    CHECK_EQUAL(rlc_timer_arm(near, kernel.time_ns + 1000000, 0, 0), 0);
    job job = make_job(loop);
    job.again = 640;
    job.then = then;
    clock_reads = 0;
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    finish(loop, NULL, 0);
    return clock_reads;
}

static void test_RLC_COST_6_a_date_that_was_taken_back_is_forgotten(void) {
    CHECK(reads_among_posts(disarm_once) < 100);
    CHECK(reads_among_posts(arm_and_disarm) < 100);
}

int main(void) {
    RUN(test_RLC_COST_6_what_the_kernel_would_tell_needs_no_clock);
    RUN(test_RLC_COST_6_a_timer_that_is_told_fires_in_that_pass);
    RUN(test_RLC_COST_6_an_earlier_date_is_not_told);
    RUN(test_RLC_COST_6_a_poll_that_waits_for_nothing_looks_at_the_clock);
    RUN(test_RLC_COST_6_after_an_expiry_the_kernel_tells_nothing);
    RUN(test_RLC_COST_6_a_tolerant_timer_fires_before_it_is_told);
    RUN(test_RLC_COST_6_in_a_host_too);
    RUN(test_RLC_COST_6_a_near_timer_ends_a_row_of_posts);
    RUN(test_RLC_COST_6_a_date_that_was_taken_back_is_forgotten);
    return 0;
}

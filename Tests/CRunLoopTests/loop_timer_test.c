/* Timers of the small loop, in virtual time: every date is exact. */
#include "loops.h"

typedef struct alarm {
    rlc_timer *timer;
    int calls;
    uint64_t dates[16], times[16];
    void (*then)(rlc_loop *loop, struct alarm *alarm);
} alarm_log;

static void ring(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    alarm_log *alarm = context;
    CHECK(timer == alarm->timer);
    CHECK(kernel.time_ns >= deadline_ns); /* never early */
    if (alarm->calls < 16) {
        alarm->dates[alarm->calls] = deadline_ns;
        alarm->times[alarm->calls] = kernel.time_ns;
    }
    alarm->calls++;
    if (alarm->then != NULL)
        alarm->then(loop, alarm);
}

static void add(rlc_loop *loop, alarm_log *alarm) {
    CHECK_EQUAL(rlc_loop_add_timer(loop, ring, alarm, &alarm->timer), 0);
}

static void test_RLC_DATE_1_once(void) {
    rlc_loop *loop = make_loop();
    alarm_log alarm = {0};
    add(loop, &alarm);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED); /* a timer that is not armed holds nothing */
    CHECK_EQUAL(rlc_timer_arm(alarm.timer, 5000, 0, 0), 0);
    CHECK_EQUAL(rlc_loop_run(loop, 4999), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(alarm.calls, 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(alarm.calls, 1);
    CHECK_EQUAL(alarm.times[0], 5000);
    CHECK_EQUAL(rlc_timer_arm(alarm.timer, 1, 0, 0), 0); /* long past: at once */
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(alarm.calls, 2);
    CHECK_EQUAL(kernel.time_ns, 5000);
    CHECK_EQUAL(rlc_timer_arm(alarm.timer, 9000, 0, 0), 0);
    CHECK_EQUAL(rlc_timer_arm(alarm.timer, RLC_TIME_FOREVER, 0, 0), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    rlc_timer_remove(alarm.timer);
    rlc_timer_remove(NULL);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void sleep_long(rlc_loop *loop, alarm_log *alarm) {
    if (alarm->calls == 2)
        spy_advance(&kernel, kernel.time_ns + 3500);
    if (alarm->calls == 4)
        rlc_loop_stop(loop);
}

static void test_RLC_DATE_2_missed_dates_are_skipped_and_the_phase_is_kept(void) {
    rlc_loop *loop = make_loop();
    alarm_log alarm = {.then = sleep_long};
    add(loop, &alarm);
    CHECK_EQUAL(rlc_timer_arm(alarm.timer, 2000, 1000, 0), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    const uint64_t dates[] = {2000, 3000, 7000, 8000}; /* 4000, 5000 and 6000 passed in one long call */
    for (int i = 0; i < 4; i++)
        CHECK_EQUAL(alarm.dates[i], dates[i]);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_DATE_3_tolerance_saves_wake_ups(void) {
    rlc_loop *loop = make_loop();
    alarm_log slack = {0}, tight = {0};
    add(loop, &slack);
    add(loop, &tight);
    CHECK_EQUAL(rlc_timer_arm(slack.timer, 2000, 0, 5000), 0);
    CHECK_EQUAL(rlc_timer_arm(tight.timer, 4000, 0, 0), 0);
    unsigned long waits = count_of(&kernel.waits);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(slack.times[0], 4000); /* both at once, */
    CHECK_EQUAL(tight.times[0], 4000);
    CHECK_EQUAL(count_of(&kernel.waits), waits + 1); /* after one sleep */
    CHECK_EQUAL(rlc_timer_arm(slack.timer, 5000, 0, 700), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(slack.times[1], 5700); /* never later than the tolerance */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static alarm_log *other;

static void remove_other(rlc_loop *loop, alarm_log *alarm) {
    (void)loop;
    rlc_timer_remove(other->timer);
    rlc_timer_remove(alarm->timer);
    rlc_timer_remove(alarm->timer);
    CHECK_EQUAL(rlc_timer_arm(alarm->timer, 1, 0, 0), -ENOENT);
}

static void test_RLC_DATE_4_no_callout_after_removal(void) {
    rlc_loop *loop = make_loop();
    alarm_log first = {.then = remove_other}, second = {0};
    add(loop, &first);
    add(loop, &second);
    other = &second;
    CHECK_EQUAL(rlc_timer_arm(first.timer, 2000, 1000, 0), 0);
    CHECK_EQUAL(rlc_timer_arm(second.timer, 2000, 0, 0), 0); /* due in the same pass */
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(first.calls, 1);
    CHECK_EQUAL(second.calls, 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void postpone_other(rlc_loop *loop, alarm_log *alarm) {
    (void)loop, (void)alarm;
    CHECK_EQUAL(rlc_timer_arm(other->timer, 9000, 0, 0), 0);
}

static void test_RLC_DATE_5_arming_anew_takes_back_what_is_due(void) {
    rlc_loop *loop = make_loop();
    alarm_log first = {.then = postpone_other}, second = {0};
    add(loop, &first);
    add(loop, &second);
    other = &second;
    CHECK_EQUAL(rlc_timer_arm(first.timer, 2000, 0, 0), 0);
    CHECK_EQUAL(rlc_timer_arm(second.timer, 2000, 0, 0), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(second.calls, 1);
    CHECK_EQUAL(second.times[0], 9000);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void arm_for_now(rlc_loop *loop, alarm_log *alarm) {
    (void)loop;
    if (alarm->calls < 5)
        CHECK_EQUAL(rlc_timer_arm(alarm->timer, kernel.time_ns, 0, 0), 0);
}

static void test_RLC_DATE_6_armed_for_now_waits_for_the_next_pass(void) {
    rlc_loop *loop = make_loop();
    alarm_log alarm = {.then = arm_for_now};
    add(loop, &alarm);
    CHECK_EQUAL(rlc_timer_arm(alarm.timer, 1, 0, 0), 0);
    for (int i = 1; i <= 5; i++) {
        CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
        CHECK_EQUAL(alarm.calls, i);
    }
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void run_inside(rlc_loop *loop, alarm_log *alarm) {
    int before = alarm->calls;
    if (alarm->calls == 1)
        CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 5000), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(alarm->calls, before);
    if (alarm->calls == 3)
        rlc_loop_stop(loop);
}

static void test_RLC_DATE_7_a_nested_run_does_not_enter_it_again(void) {
    rlc_loop *loop = make_loop();
    alarm_log alarm = {.then = run_inside}, keeper = {0};
    add(loop, &alarm);
    add(loop, &keeper);
    CHECK_EQUAL(rlc_timer_arm(keeper.timer, 1000000, 0, 0), 0);
    CHECK_EQUAL(rlc_timer_arm(alarm.timer, 2000, 1000, 0), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(alarm.dates[0], 2000);
    CHECK_EQUAL(alarm.dates[1], 8000); /* the phase, after 5000 inside */
    CHECK_EQUAL(alarm.dates[2], 9000);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void serve_others(rlc_loop *loop, alarm_log *alarm) {
    if (alarm->calls == 1)
        CHECK_EQUAL(rlc_loop_run_once(loop, 0), RLC_RUN_HANDLED);
    CHECK_EQUAL(other->calls, 1); /* it was due together with this one: the nested run called it */
}

static void test_RLC_DATE_8_a_nested_run_calls_what_was_due_before(void) {
    rlc_loop *loop = make_loop();
    alarm_log first = {.then = serve_others}, second = {0};
    add(loop, &first);
    add(loop, &second);
    other = &second;
    CHECK_EQUAL(rlc_timer_arm(first.timer, 2000, 0, 0), 0);
    CHECK_EQUAL(rlc_timer_arm(second.timer, 2000, 0, 0), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(second.calls, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void choose_next(rlc_loop *loop, alarm_log *alarm) {
    if (alarm->calls == 1)
        CHECK_EQUAL(rlc_timer_arm(alarm->timer, 7500, 1000, 0), 0);
    if (alarm->calls == 3)
        CHECK_EQUAL(rlc_timer_arm(alarm->timer, RLC_TIME_FOREVER, 0, 0), 0);
    (void)loop;
}

static void test_RLC_DATE_10_its_own_arming_wins_over_the_interval(void) {
    rlc_loop *loop = make_loop();
    alarm_log alarm = {.then = choose_next};
    add(loop, &alarm);
    CHECK_EQUAL(rlc_timer_arm(alarm.timer, 2000, 1000, 0), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    const uint64_t dates[] = {2000, 7500, 8500};
    CHECK_EQUAL(alarm.calls, 3);
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(alarm.dates[i], dates[i]);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/** Armed in its first callout, it fires in a run inside that one; its second callout arms nothing. */
static void arm_and_run_inside(rlc_loop *loop, alarm_log *alarm) {
    if (alarm->calls != 1)
        return;
    CHECK_EQUAL(rlc_timer_arm(alarm->timer, 3000, 700, 0), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(alarm->calls, 2);
}

static void test_RLC_DATE_10_an_arming_counts_although_it_fired_nested(void) {
    rlc_loop *loop = make_loop();
    alarm_log alarm = {.then = arm_and_run_inside};
    add(loop, &alarm);
    CHECK_EQUAL(rlc_timer_arm(alarm.timer, 2000, 0, 0), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(alarm.dates[1], 3000);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(alarm.dates[2], 3700); /* the repetition of 3000, not of the first callout's 2000 */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void remove_and_add(rlc_loop *loop, alarm_log *alarm) {
    rlc_timer *removed = alarm->timer, *fresh;
    rlc_timer_remove(removed);
    CHECK_EQUAL(rlc_loop_add_timer(loop, ring, NULL, &fresh), 0);
    CHECK(fresh != removed); /* its callout's frame still names it */
    CHECK_EQUAL(rlc_timer_arm(removed, 1, 0, 0), -ENOENT);
    rlc_timer_remove(fresh);
}

/** Repeating, removed in its own callout, in a run inside another callout: nothing is buried until that one returns. */
static void run_for_long(rlc_loop *loop, alarm_log *alarm) {
    (void)alarm;
    CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 5000), RLC_RUN_TIMED_OUT);
}

static void test_RLC_DATE_4_removed_in_its_own_callout(void) {
    rlc_loop *loop = make_loop();
    alarm_log outer = {.then = run_for_long}, keeper = {0}, removed = {.then = remove_and_add};
    add(loop, &outer);
    add(loop, &keeper);
    add(loop, &removed);
    CHECK_EQUAL(rlc_timer_arm(keeper.timer, 1000000, 0, 0), 0);
    CHECK_EQUAL(rlc_timer_arm(outer.timer, 2000, 0, 0), 0);
    CHECK_EQUAL(rlc_timer_arm(removed.timer, 3000, 1000, 0), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(removed.calls, 1);
    CHECK_EQUAL(outer.calls, 1);
    add(loop, &removed);
    CHECK_EQUAL(rlc_timer_arm(removed.timer, 1, 1000, 0), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(removed.calls, 2);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_DATE_9_adding_fails_cleanly(void) {
    for (unsigned long k = 1; k <= 4; k++) { /* the eventfd, its place in the set; the timerfd, its place */
        rlc_loop *loop = make_loop();
        alarm_log alarm = {0};
        atomic_store(&kernel.fail_at, k);
        int status = rlc_loop_add_timer(loop, ring, &alarm, &alarm.timer);
        CHECK_EQUAL(status, k <= 2 ? -EMFILE : 0); /* without a timerfd the waits carry the dates */
        CHECK((alarm.timer == NULL) == (status < 0));
        if (status < 0)
            add(loop, &alarm);
        CHECK_EQUAL(rlc_timer_arm(alarm.timer, 2000, 0, 0), 0);
        CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
        CHECK_EQUAL(alarm.calls, 1);
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    }
    for (unsigned long k = 1; k <= 8; k++) {
        rlc_loop *loop = make_loop();
        alarm_log alarm = {0};
        fail_allocation(k);
        int status = rlc_loop_add_timer(loop, ring, &alarm, &alarm.timer);
        fail_allocation(0);
        CHECK(status == 0 || status == -ENOMEM);
        if (status < 0)
            add(loop, &alarm);
        CHECK_EQUAL(rlc_timer_arm(alarm.timer, 2000, 0, 7), 0);
        CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
        CHECK_EQUAL(alarm.calls, 1);
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    }
}

enum { MS = 1000000 };

/** Runs from now for `ns`. How many waits that takes. */
static unsigned long waits_of_run(rlc_loop *loop, uint64_t ns) {
    unsigned long waits = count_of(&kernel.waits);
    CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + ns), RLC_RUN_TIMED_OUT);
    return count_of(&kernel.waits) - waits;
}

static void watch_nothing(rlc_loop *loop, int ends[2]) {
    make_pipe(ends);
    (void)idle_watch(loop, ends[0]);
}

static void close_both(const int ends[2]) {
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_RLC_DATE_11_a_cancelled_timeout_wakes_no_loop(void) {
    rlc_loop *loop = make_loop();
    int ends[2];
    watch_nothing(loop, ends);
    for (int i = 0; i < 10; i++) {
        alarm_log alarm = {0};
        add(loop, &alarm);
        CHECK_EQUAL(rlc_timer_arm(alarm.timer, kernel.time_ns + 40 * MS, 0, 0), 0);
        unsigned long sets = count_of(&kernel.sets);
        CHECK_EQUAL(waits_of_run(loop, 5 * MS), 1);
        if (i % 2 == 0)
            rlc_timer_remove(alarm.timer);
        else
            CHECK_EQUAL(rlc_timer_arm(alarm.timer, RLC_TIME_FOREVER, 0, 0), 0);
        CHECK_EQUAL(waits_of_run(loop, 80 * MS), 1);
        CHECK_EQUAL(count_of(&kernel.sets) - sets, 2);
        rlc_timer_remove(alarm.timer);
        CHECK_EQUAL(alarm.calls, 0);
    }
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close_both(ends);
}

/** What is left is in time. */
static void test_RLC_DATE_11_a_later_timer_has_the_descriptor(void) {
    rlc_loop *loop = make_loop();
    alarm_log early = {0}, late = {0};
    add(loop, &early);
    add(loop, &late);
    CHECK_EQUAL(rlc_timer_arm(early.timer, 10 * MS, 0, 0), 0);
    CHECK_EQUAL(rlc_timer_arm(late.timer, 20 * MS, 0, 0), 0);
    CHECK_EQUAL(waits_of_run(loop, 5 * MS), 1);
    rlc_timer_remove(early.timer);
    unsigned long sets = count_of(&kernel.sets);
    CHECK_EQUAL(waits_of_run(loop, 10 * MS), 1);
    CHECK_EQUAL(count_of(&kernel.sets) - sets, 1);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(late.times[0], 20 * MS);
    rlc_timer_remove(late.timer);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_DATE_12_timeouts_one_after_the_other_share_a_wake(void) {
    enum { TIMEOUTS = 40000, LENGTH = 100, WAKES = TIMEOUTS / LENGTH };
    for (int rearms = 0; rearms < 2; rearms++) {
        rlc_loop *loop = make_loop();
        alarm_log alarm = {0};
        int ends[2];
        watch_nothing(loop, ends);
        add(loop, &alarm);
        unsigned long sets = count_of(&kernel.sets), wakes = 0;
        for (int i = 0; i < TIMEOUTS; i++) { /* one a millisecond */
            CHECK_EQUAL(rlc_timer_arm(alarm.timer, kernel.time_ns + (uint64_t)LENGTH * MS + MS / 4, 0, 0), 0);
            wakes += waits_of_run(loop, MS / 2) - 1;
            if (rearms == 0)
                CHECK_EQUAL(rlc_timer_arm(alarm.timer, RLC_TIME_FOREVER, 0, 0), 0);
            wakes += waits_of_run(loop, MS / 2) - 1;
        }
        sets = count_of(&kernel.sets) - sets;
        CHECK(wakes <= WAKES);
        CHECK(sets <= WAKES + 3 * 10);
        /* Three calls for each date that was spared in vain: after 1, 4, 8, 16, 32 and 64 dates, then after each 65. */
        CHECK_EQUAL(alarm.calls, 0);
        rlc_timer_remove(alarm.timer);
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
        close_both(ends);
    }
}

int main(void) {
    RUN(test_RLC_DATE_1_once);
    RUN(test_RLC_DATE_2_missed_dates_are_skipped_and_the_phase_is_kept);
    RUN(test_RLC_DATE_3_tolerance_saves_wake_ups);
    RUN(test_RLC_DATE_4_no_callout_after_removal);
    RUN(test_RLC_DATE_5_arming_anew_takes_back_what_is_due);
    RUN(test_RLC_DATE_6_armed_for_now_waits_for_the_next_pass);
    RUN(test_RLC_DATE_7_a_nested_run_does_not_enter_it_again);
    RUN(test_RLC_DATE_8_a_nested_run_calls_what_was_due_before);
    RUN(test_RLC_DATE_4_removed_in_its_own_callout);
    RUN(test_RLC_DATE_10_an_arming_counts_although_it_fired_nested);
    RUN(test_RLC_DATE_9_adding_fails_cleanly);
    RUN(test_RLC_DATE_10_its_own_arming_wins_over_the_interval);
    RUN(test_RLC_DATE_11_a_cancelled_timeout_wakes_no_loop);
    RUN(test_RLC_DATE_11_a_later_timer_has_the_descriptor);
    RUN(test_RLC_DATE_12_timeouts_one_after_the_other_share_a_wake);
    return 0;
}

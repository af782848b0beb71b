/** A guest that is served, busy, asleep, or left. Included by model_guest_test.c, whose cases these are. */
#include <setjmp.h>

/* ---- RLC-MODEL-1, 2, 3: what is served ---- */

static int others;

static void count_other(rlc_post_node *node, bool ran) {
    (void)node;
    others += ran;
}

/** Nor does the guest take anything else out of the queue when it is prepared again. */
static void test_RLC_MODEL_2_pending_work_is_served_once(void) {
    rlc_post_node other = {.post_fn = count_other};
    others = 0;
    attach();
    queue_work();
    CHECK_EQUAL(rlc_loop_defer(loop, &other), 0);
    queue_work();
    notify();
    pass(); /* it prepares the guest again, and the descriptor is readable beside */
    CHECK_EQUAL(model.work.calls, 1);
    CHECK_EQUAL(others, 1);
    model.prepare.status = 0;
    CHECK(would_sleep());
    detach_and_check(1);
}

static void test_RLC_MODEL_2_endless_work_is_served_once_a_pass(void) {
    attach();
    model.prepare.status = 1;
    for (int i = 1; i <= 5; i++) {
        pass();
        CHECK_EQUAL(model.work.calls, i);
        CHECK_EQUAL(model.prepare.calls, i);
    }
    detach_and_check(0);
}

static void test_RLC_MODEL_3_each_stop_is_told(void) {
    attach();
    notify();
    pass();
    CHECK_EQUAL(stops, 0);
    model.work.status = RLK_RUN_STOPPED;
    for (int i = 1; i <= 2; i++) {
        notify();
        pass();
        CHECK_EQUAL(stops, i);
    }
    detach_and_check(0);
}

static void test_RLC_MODEL_7_another_descriptor_is_watched(void) {
    attach();
    pass();
    model.descriptor = counters[1];
    model.generation++;
    pass();
    CHECK_EQUAL(members, 1);
    bump(counters[0]);
    CHECK(would_sleep());
    notify();
    pass();
    CHECK_EQUAL(model.work.calls, 1);
    model.descriptor = counters[0];
    drain();
    model.generation++;
    pass();
    unsigned long changes = count_of(&kernel.controls);
    pass();
    CHECK_EQUAL(count_of(&kernel.controls), changes); /* the same one */
    detach_and_check(1);
}

static void test_RLC_MODEL_8_a_refused_descriptor_is_tried_again(void) {
    attach();
    refusals = 3;
    for (int i = 1; i <= 3; i++) {
        CHECK(!would_sleep());
        pass();
        CHECK_EQUAL(model.work.calls, i); /* served meanwhile */
    }
    CHECK_EQUAL(refusals, 0);
    int before = model.work.calls;
    CHECK(would_sleep());
    CHECK_EQUAL(members, 1);
    notify();
    pass();
    CHECK_EQUAL(model.work.calls, before + 1);
    detach_and_check(0);
}

/* ---- RLC-MODEL-4: busy, and one inside the other ---- */

/** An observer of a preparation runs the loop. */
static void test_RLC_MODEL_4_a_busy_model_ends_no_sleep(void) {
    attach();
    model.prepare.status = -EBUSY;
    notify();
    pass();
    CHECK(would_sleep());
    CHECK_EQUAL(model.work.calls, 0);
    CHECK_EQUAL(rlc_model_guest_status(guest), 0);
    model.prepare.status = 0;
    pass();
    CHECK_EQUAL(model.work.calls, 1);
    CHECK_EQUAL(members, 1);
    detach_and_check(0);
}

static void test_RLC_MODEL_5_a_busy_preparation_begins_no_wait(void) {
    attach();
    model.prepare.status = -EBUSY;
    pass();
    detach_and_check(0);
}

static void test_RLC_MODEL_5_a_busy_preparation_leaves_the_wait(void) {
    attach();
    pass();
    model.prepare.status = -EBUSY;
    pass();
    detach_and_check(1);
}

static void test_RLC_MODEL_5_a_busy_pass_leaves_the_wait(void) {
    attach();
    model.work.status = -EBUSY;
    notify();
    pass();
    CHECK_EQUAL(model.work.calls, 1);
    CHECK_EQUAL(rlc_model_guest_status(guest), 0);
    detach_and_check(1);
}

/** Refused while it is busy: it is registered when the model is busy no more. */
static void test_RLC_MODEL_8_a_busy_model_whose_descriptor_is_refused(void) {
    attach();
    model.prepare.status = model.work.status = -EBUSY;
    refusals = 1;
    notify();
    pass();
    int before = model.work.calls;
    pass();
    CHECK_EQUAL(members, 1);
    CHECK(would_sleep());
    CHECK_EQUAL(model.work.calls, before);
    model.prepare.status = 0;
    model.work.status = RLK_RUN_TIMED_OUT;
    pass();
    CHECK_EQUAL(model.work.calls, before + 1);
    detach_and_check(0);
}

static void serve_inside(void) {
    notify();
    pass();
}

static void test_RLC_MODEL_4_a_callout_runs_the_loop(void) {
    attach();
    model.work.once = serve_inside;
    notify();
    pass();
    CHECK_EQUAL(model.work.calls, 2);
    CHECK_EQUAL(members, 1);
    notify();
    pass();
    CHECK_EQUAL(model.work.calls, 3);
    detach_and_check(0);
}

static void serve_a_stop_inside(void) {
    serve_inside();
    CHECK_EQUAL(stops, 1);
    model.work.status = RLK_RUN_TIMED_OUT;
}

/** A callout has opened a dialogue, and the stop is reported inside it. */
static void test_RLC_MODEL_3_a_stop_inside_of_a_callout_is_told(void) {
    attach();
    model.work = (script){.once = serve_a_stop_inside, .status = RLK_RUN_STOPPED};
    notify();
    pass();
    CHECK_EQUAL(model.work.calls, 2);
    CHECK_EQUAL(stops, 1);
    detach_and_check(0);
}

enum { DEPTH = 70 }; /* more levels than the guest has bits */

static void prepare_and_detach(void) {
    prepare_the_loop();
    detach();
}

static void serve_deeper(void) {
    model.work.once = model.work.calls < DEPTH ? serve_deeper : prepare_and_detach;
    serve_inside();
}

static void test_RLC_MODEL_4_to_any_depth(void) {
    attach();
    model.work.once = serve_deeper;
    notify();
    pass();
    CHECK_EQUAL(model.work.calls, DEPTH + 1);
    check_after_detaching(1); /* the innermost wait was open */
}

static void test_RLC_MODEL_5_a_wait_of_a_callout_ends_with_it(void) {
    attach();
    model.work.once = prepare_the_loop;
    notify();
    pass();
    CHECK_EQUAL(model.prepare.calls, 2);
    detach_and_check(0);
}

static void test_RLC_MODEL_5_a_wait_of_a_callout_ends_with_the_guest(void) {
    attach();
    model.work.once = prepare_and_detach;
    notify();
    pass();
    check_after_detaching(1);
}

/** The wait of the callout is open still when the pass inside of it has found the model busy. */
static void be_busy_inside_and_detach(void) {
    model.work.status = -EBUSY;
    serve_inside();
    model.work.status = RLK_RUN_TIMED_OUT;
    detach();
}

static void test_RLC_MODEL_5_a_busy_pass_inside_of_a_callout_leaves_the_wait(void) {
    attach();
    model.work.once = be_busy_inside_and_detach;
    notify();
    pass();
    CHECK_EQUAL(model.work.calls, 2);
    check_after_detaching(1);
}

/* ---- a run of the model sleeps in the host ---- */

static bool is_asleep;

static bool tell_sleep(void *context) {
    CHECK(context == &is_asleep);
    return is_asleep;
}

static void attach_with_sleep(void) {
    attach();
    guest->is_asleep_fn = tell_sleep;
    guest->sleep_context = &is_asleep;
    is_asleep = false;
}

static void test_RLC_MODEL_9_a_run_that_sleeps_in_the_host_is_left_alone(void) {
    attach_with_sleep();
    is_asleep = true;
    notify();
    pass();
    CHECK(would_sleep());
    CHECK_EQUAL(model.prepare.calls + model.work.calls, 0);
    is_asleep = false;
    pass();
    CHECK_EQUAL(model.work.calls, 1);
    detach_and_check(0);
}

static void test_RLC_MODEL_9_pending_work_waits_for_the_end_of_the_sleep(void) {
    attach_with_sleep();
    queue_work();
    is_asleep = true;
    pass();
    CHECK_EQUAL(model.work.calls, 0);
    is_asleep = false;
    pass();
    CHECK_EQUAL(model.work.calls, 1);
    detach_and_check(0);
}

/* ---- RLC-MODEL-10: passes that are left ---- */

static jmp_buf outside;

static void prepare_and_jump(void) {
    prepare_the_loop();
    longjmp(outside, 1);
}

/** From so deep in the stack that each later pass of a test lies above it. */
static void be_left(void) {
    volatile char depth[4096] = {0};
    (void)depth;
    model.work.once = prepare_and_jump;
    notify();
    if (setjmp(outside) == 0)
        pass();
}

static void test_RLC_MODEL_10_a_guest_that_was_left_is_served_and_freed(void) {
    attach();
    be_left();
    be_left();
    notify();
    pass();
    CHECK_EQUAL(model.work.calls, 3);
    CHECK_EQUAL(guest->level, 0);
    detach_and_check(0);
}

/** Its waits have ended with the callouts. */
static void test_RLC_MODEL_10_a_guest_that_was_left_waits_no_more(void) {
    attach();
    be_left();
    model.prepare.status = -EBUSY;
    pass();
    detach_and_check(0);
}

static void run_cases_of_service(void) {
    RUN_TWICE(test_RLC_MODEL_2_pending_work_is_served_once);
    RUN_TWICE(test_RLC_MODEL_2_endless_work_is_served_once_a_pass);
    RUN_TWICE(test_RLC_MODEL_3_each_stop_is_told);
    RUN_TWICE(test_RLC_MODEL_7_another_descriptor_is_watched);
    RUN_TWICE(test_RLC_MODEL_8_a_refused_descriptor_is_tried_again);
    RUN_TWICE(test_RLC_MODEL_4_a_busy_model_ends_no_sleep);
    RUN_TWICE(test_RLC_MODEL_5_a_busy_preparation_begins_no_wait);
    RUN_TWICE(test_RLC_MODEL_5_a_busy_preparation_leaves_the_wait);
    RUN_TWICE(test_RLC_MODEL_5_a_busy_pass_leaves_the_wait);
    RUN_TWICE(test_RLC_MODEL_8_a_busy_model_whose_descriptor_is_refused);
    RUN_TWICE(test_RLC_MODEL_4_a_callout_runs_the_loop);
    RUN_TWICE(test_RLC_MODEL_3_a_stop_inside_of_a_callout_is_told);
    RUN_TWICE(test_RLC_MODEL_4_to_any_depth);
    RUN_TWICE(test_RLC_MODEL_5_a_wait_of_a_callout_ends_with_it);
    RUN_TWICE(test_RLC_MODEL_5_a_wait_of_a_callout_ends_with_the_guest);
    RUN_TWICE(test_RLC_MODEL_5_a_busy_pass_inside_of_a_callout_leaves_the_wait);
    RUN_TWICE(test_RLC_MODEL_9_a_run_that_sleeps_in_the_host_is_left_alone);
    RUN_TWICE(test_RLC_MODEL_9_pending_work_waits_for_the_end_of_the_sleep);
    RUN_TWICE(test_RLC_MODEL_10_a_guest_that_was_left_is_served_and_freed);
    RUN_TWICE(test_RLC_MODEL_10_a_guest_that_was_left_waits_no_more);
}

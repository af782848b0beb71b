/* <crunloop/adapters/model_guest.h>: an rlk_loop inside an rlc_loop. */
#include <crunloop/adapters/epoll.h>
#include <crunloop/adapters/model_guest.h>
#include <crunloop/clock.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <unistd.h>

#include "model.h"

/** Two loops of one thread, the one inside the other; and how often the outer one was prepared for a sleep. */
typedef struct pair {
    rlc_loop *loop;
    rlk_loop *model;
    rlc_model_guest *guest;
    rlk_item *keeper;
    int passes, stops, served;
} pair;

static void count_pass(rlc_loop *loop, rlc_hook *hook, void *context) {
    (void)loop, (void)hook;
    ((pair *)context)->passes++;
}

static void count_stop(rlc_loop *loop, void *context) {
    pair *both = context;
    both->stops++;
    CHECK_IS(rlc_loop_stop(loop), 0);
}

static void begin_on(pair *both, const rlc_kernel *kernel) {
    rlc_hook *hook;
    *both = (pair){.model = rlk_loop_current(), .keeper = model_keeper()};
    CHECK_IS(rlc_loop_create(kernel, &both->loop), 0);
    CHECK_IS(rlc_loop_add_hook(both->loop, count_pass, NULL, both, &hook), 0);
    CHECK_IS(rlc_model_guest_attach(both->loop, NULL, NULL, count_stop, both, &both->guest), 0);
}

static void begin(pair *both) {
    begin_on(both, NULL);
}

static void end(pair *both) {
    if (both->guest != NULL)
        CHECK_IS(rlc_model_guest_status(both->guest), 0);
    rlc_model_guest_detach(both->guest);
    CHECK_IS(rlc_loop_destroy(both->loop), 0);
    CHECK_IS(rlk_item_invalidate(both->keeper), 0);
    rlk_item_release(both->keeper);
}

static void run(pair *both) {
    CHECK_IS(rlc_loop_run(both->loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
}

static void serve_last(void *context) {
    pair *both = context;
    both->served++;
    CHECK_IS(rlc_loop_stop(both->loop), 0);
}

static void fire_last(rlk_item *timer, void *context) {
    (void)timer;
    serve_last(context);
}

static void read_last(rlk_item *source, uint32_t readiness, void *context) {
    (void)source, (void)readiness;
    serve_last(context);
}

/* ---- what is served ---- */

static void perform_last(void *context) {
    pair *both = context;
    CHECK_IS(rlk_loop_perform(both->model, NULL, serve_last, both), 0);
}

static void *perform_while_it_sleeps(void *context) {
    while (!rlk_loop_is_waiting(((pair *)context)->model))
        sched_yield();
    perform_last(context);
    return NULL;
}

static void run_beside(pair *both, void *(*body)(void *)) {
    pthread_t thread;
    CHECK_IS(pthread_create(&thread, NULL, body, both), 0);
    run(both);
    pthread_join(thread, NULL);
}

static void test_RLC_MODEL_1_blocks(void) {
    pair both;
    begin(&both);
    perform_last(&both); /* before the first pass */
    run(&both);
    model_on_thread(perform_last, &both);
    run(&both);
    run_beside(&both, perform_while_it_sleeps);
    CHECK_IS(both.served, 3);
    end(&both);
}

static void test_RLC_MODEL_1_timers_and_descriptors(void) {
    pair both;
    begin(&both);
    rlk_item *timer, *source;
    int ends[2];
    CHECK_IS(pipe(ends), 0);
    rlk_timer_options options = {.size = sizeof options, .fire = fire_last, .context = &both};
    options.fire_date_ns = rlc_now(RLC_CLOCK_MONOTONIC) + 1000000;
    CHECK_IS(rlk_timer_create(&options, &timer), 0);
    CHECK_IS(rlk_loop_add(NULL, timer, NULL), 1);
    run(&both);
    rlk_descriptor_options readable = {.size = sizeof readable, .ready = read_last, .context = &both};
    readable.descriptor = ends[0];
    readable.interest = RLK_READABLE;
    CHECK_IS(rlk_descriptor_create(&readable, &source), 0);
    CHECK_IS(rlk_loop_add(NULL, source, NULL), 1);
    CHECK_IS(write(ends[1], "", 1), 1);
    run(&both);
    CHECK_IS(both.served, 2);
    CHECK_IS(rlk_item_invalidate(source), 0);
    rlk_item_release(source);
    rlk_item_release(timer);
    end(&both);
    close(ends[0]), close(ends[1]);
}

static void stop_outer(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)timer, (void)deadline_ns, (void)context;
    CHECK_IS(rlc_loop_stop(loop), 0);
}

static void stop_outer_soon(pair *both) {
    rlc_timer *timer;
    CHECK_IS(rlc_loop_add_timer(both->loop, stop_outer, NULL, &timer), 0);
    CHECK_IS(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + 5000000, 0, 0), 0);
}

static void test_RLC_MODEL_2_an_idle_model_ends_no_sleep(void) {
    pair both;
    begin(&both);
    perform_last(&both);
    run(&both);
    both.passes = 0;
    stop_outer_soon(&both);
    run(&both);
    CHECK(both.passes <= 2);
    end(&both);
}

/** A block that queues itself. */
static void go_on(void *context) {
    pair *both = context;
    both->served++;
    CHECK_IS(rlk_loop_perform(NULL, NULL, go_on, both), 0);
}

static void test_RLC_MODEL_2_endless_work_lets_the_loop_run(void) {
    pair both;
    begin(&both);
    CHECK_IS(rlk_loop_perform(NULL, NULL, go_on, &both), 0);
    stop_outer_soon(&both);
    run(&both);
    CHECK(both.served > 1);
    CHECK(both.served <= 3 * both.passes); /* a pass looks at the queue three times */
    end(&both);
}

static void count_served(void *context) {
    ((pair *)context)->served++;
}

static void *perform_in_host(void *context) {
    while (!rlk_loop_is_waiting(((pair *)context)->model))
        sched_yield();
    CHECK_IS(rlk_loop_perform(((pair *)context)->model, NULL, count_served, context), 0);
    return NULL;
}

/** The host knows nothing of the model: it sleeps for the rlc_loop. */
static void test_RLC_MODEL_1_in_the_host_of_the_loop(void) {
    pair both;
    rlc_epoll_host *host;
    struct epoll_event events[4];
    pthread_t thread;
    begin(&both);
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    CHECK_IS(rlc_epoll_attach(both.loop, epoll_fd, &host), 0);
    CHECK_IS(pthread_create(&thread, NULL, perform_in_host, &both), 0);
    while (both.served == 0)
        CHECK_IS(rlc_epoll_wait(host, events, 4, -1), 0);
    pthread_join(thread, NULL);
    CHECK_IS(both.served, 1);
    both.passes = 0;
    CHECK_IS(rlc_epoll_wait(host, events, 4, 5), 0);
    CHECK(both.passes <= 2);
    rlc_epoll_detach(host);
    end(&both);
    close(epoll_fd);
}

/* ---- a stop ---- */

static void *stop_while_it_sleeps(void *context) {
    pair *both = context;
    while (!rlk_loop_is_waiting(both->model))
        sched_yield();
    CHECK_IS(rlk_loop_stop(both->model), 0);
    return NULL;
}

static void test_RLC_MODEL_3_a_stop_is_told(void) {
    pair both;
    begin(&both);
    run_beside(&both, stop_while_it_sleeps);
    CHECK_IS(both.stops, 1);
    CHECK_IS(rlk_loop_perform(NULL, NULL, model_stop, NULL), 0);
    run(&both);
    CHECK_IS(both.stops, 2);
    end(&both);
}

/* ---- one inside the other ---- */

static void perform_deeper(void *context);

/** What comes for the model meanwhile is served there, and the loop sleeps when there is nothing. */
static void run_outer_inside(void *context) {
    pair *both = context;
    run_beside(both, perform_while_it_sleeps);
    CHECK_IS(both->served, 1);
    stop_outer_soon(both);
    both->passes = 0;
    run(both);
    CHECK(both->passes <= 3);
    CHECK_IS(rlc_loop_stop(both->loop), 0); /* the run around the callout */
}

static void test_RLC_MODEL_4_the_loop_inside_a_callout_of_the_model(void) {
    pair both;
    begin(&both);
    CHECK_IS(rlk_loop_perform(NULL, NULL, run_outer_inside, &both), 0); /* by the node */
    run(&both);
    CHECK_IS(both.served, 1);
    both.served = 0;
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), 0);
    CHECK_IS(rlk_loop_perform(NULL, NULL, run_outer_inside, &both), 0); /* by the watch */
    run(&both);
    CHECK_IS(both.served, 1);
    end(&both);
}

enum { DEPTH = 70 }; /* more levels than the guest has bits */

static void run_outer_deeper(void *context) {
    pair *both = context;
    if (++both->served < DEPTH) {
        model_on_thread(perform_deeper, both);
        run(both);
    }
    CHECK_IS(rlc_loop_stop(both->loop), 0);
}

static void perform_deeper(void *context) {
    CHECK_IS(rlk_loop_perform(((pair *)context)->model, NULL, run_outer_deeper, context), 0);
}

static void test_RLC_MODEL_4_one_inside_the_other_to_any_depth(void) {
    pair both;
    begin(&both);
    perform_deeper(&both);
    run(&both);
    CHECK_IS(both.served, DEPTH);
    CHECK_IS(rlc_model_guest_status(both.guest), 0);
    both.served = 0;
    perform_last(&both);
    run(&both);
    CHECK_IS(both.served, 1);
    end(&both);
}

/** The run inside has prepared the model last: that wait ends with the callout. */
static void leave_a_wait_open(void *context) {
    pair *both = context;
    stop_outer_soon(both);
    run(both);
    CHECK(rlk_loop_is_waiting(NULL));
    CHECK_IS(rlc_loop_stop(both->loop), 0);
}

static void test_RLC_MODEL_5_a_wait_of_a_callout_ends_with_it(void) {
    pair both;
    begin(&both);
    CHECK_IS(rlk_loop_perform(NULL, NULL, leave_a_wait_open, &both), 0);
    run(&both);
    CHECK(!rlk_loop_is_waiting(NULL));
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), 0); /* by another host */
    rlc_model_guest_detach(both.guest);
    both.guest = NULL;
    CHECK(rlk_loop_is_waiting(NULL));
    CHECK_IS(rlk_loop_cancel_wait(NULL, NULL), 0);
    end(&both);
}

static void run_model_inside(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop, (void)timer, (void)deadline_ns;
    perform_last(context);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_TIMED_OUT);
}

static void test_RLC_MODEL_4_the_model_inside_a_callout_of_the_loop(void) {
    pair both;
    rlc_timer *timer;
    begin(&both);
    CHECK_IS(rlc_loop_add_timer(both.loop, run_model_inside, &both, &timer), 0);
    CHECK_IS(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC), 0, 0), 0);
    run(&both);
    CHECK_IS(both.served, 1);
    perform_last(&both);
    run(&both);
    CHECK_IS(both.served, 2);
    end(&both);
}

/** The descriptor of a source is closed before its source is removed, and its file lives on: epoll goes on to tell of it. */
static void test_RLC_MODEL_7_another_epoll_instance_is_watched(void) {
    pair both;
    begin(&both);
    rlk_item *source;
    uint64_t generation, again;
    int ends[2], copy;
    CHECK_IS(pipe(ends), 0);
    rlk_descriptor_options readable = {.size = sizeof readable, .ready = read_last, .context = &both};
    readable.descriptor = ends[0];
    readable.interest = RLK_READABLE;
    CHECK_IS(rlk_descriptor_create(&readable, &source), 0);
    CHECK_IS(rlk_loop_add(NULL, source, NULL), 1);
    perform_last(&both);
    run(&both);
    CHECK(rlk_loop_host_descriptor(NULL, NULL, &generation) >= 0);
    CHECK((copy = dup(ends[0])) >= 0);
    close(ends[0]);
    CHECK_IS(rlk_item_invalidate(source), 0);
    CHECK_IS(write(ends[1], "", 1), 1);
    stop_outer_soon(&both);
    both.passes = 0;
    run(&both);
    CHECK(both.passes <= 5);
    CHECK(rlk_loop_host_descriptor(NULL, NULL, &again) >= 0);
    CHECK(again != generation);
    run_beside(&both, perform_while_it_sleeps);
    CHECK_IS(both.served, 2);
    rlk_item_release(source);
    end(&both);
    close(ends[1]), close(copy);
}

/** The host is not through with its call: what comes for the model is served afterwards, and the loop sleeps. */
static void run_outer_once(rlk_item *observer, uint32_t activity, void *context) {
    (void)activity;
    pair *both = context;
    CHECK_IS(rlk_item_invalidate(observer), 0);
    model_on_thread(perform_last, both);
    stop_outer_soon(both);
    both->passes = 0;
    run(both);
    CHECK(both->passes <= 3);
    CHECK_IS(both->served, 0);
}

static void test_RLC_MODEL_4_the_loop_inside_an_observer_of_the_model(void) {
    pair both;
    rlk_item *observer;
    begin(&both);
    rlk_observer_options options = {.size = sizeof options, .observe = run_outer_once, .context = &both};
    options.activities = RLK_BEFORE_WAITING;
    CHECK_IS(rlk_observer_create(&options, &observer), 0);
    CHECK_IS(rlk_loop_add(NULL, observer, NULL), 1);
    run(&both);
    CHECK_IS(both.served, 1);
    rlk_item_release(observer);
    end(&both);
}

/* ---- its end, and what is refused ---- */

static _Thread_local int refused_fd, refusals;

static int refuse_some(void *context, int epoll_fd, int operation, int fd, struct epoll_event *event) {
    if (operation == EPOLL_CTL_ADD && fd == refused_fd && refusals > 0) {
        refusals--;
        return -ENOSPC;
    }
    return rlc_kernel_default()->epoll_control(context, epoll_fd, operation, fd, event);
}

static bool is_readable(const rlc_loop *loop) {
    struct pollfd entry = {.fd = rlc_loop_fd(loop), .events = POLLIN};
    return poll(&entry, 1, 0) == 1;
}

static void test_RLC_MODEL_8_a_refused_descriptor_is_tried_again(void) {
    pair both;
    rlc_kernel kernel = rlc_kernel_copy();
    kernel.epoll_control = refuse_some;
    refused_fd = rlk_loop_host_descriptor(NULL, NULL, NULL);
    refusals = 3;
    begin_on(&both, &kernel);
    for (int i = 0; i < 6; i++)
        CHECK(rlc_loop_dispatch(both.loop) >= 0);
    CHECK_IS(refusals, 0);
    CHECK_IS(rlc_loop_prepare(both.loop), 0);
    model_on_thread(perform_last, &both);
    CHECK(is_readable(both.loop));
    CHECK_IS(rlc_loop_dispatch(both.loop), 0);
    CHECK_IS(both.served, 1);
    end(&both);
}

/** The descriptor is out of the loop's epoll set while its callout runs the loop, and not taken back there. */
static void run_outer_and_refuse(void *context) {
    pair *both = context;
    refusals = 3;
    CHECK_IS(rlc_loop_run(both->loop, 0), RLC_RUN_TIMED_OUT);
    CHECK(refusals < 3);
    both->served++;
}

static void perform_refuser(void *context) {
    CHECK_IS(rlk_loop_perform(((pair *)context)->model, NULL, run_outer_and_refuse, context), 0);
}

/** After the guest's own hook: what comes now shows on the descriptor only. */
static void perform_after_prepare(rlc_loop *loop, rlc_hook *hook, void *context) {
    (void)loop;
    rlc_hook_remove(hook);
    model_on_thread(perform_refuser, context);
}

static void test_RLC_MODEL_8_a_descriptor_that_is_not_taken_back_is_tried_again(void) {
    pair both;
    rlc_hook *hook;
    rlc_kernel kernel = rlc_kernel_copy();
    kernel.epoll_control = refuse_some;
    refused_fd = rlk_loop_host_descriptor(NULL, NULL, NULL);
    begin_on(&both, &kernel);
    CHECK_IS(rlc_loop_prepare(both.loop), 0);
    CHECK_IS(rlc_loop_add_hook(both.loop, perform_after_prepare, NULL, &both, &hook), 0);
    for (int i = 0; i < 8; i++)
        CHECK(rlc_loop_dispatch(both.loop) >= 0);
    CHECK_IS(refusals, 0);
    CHECK_IS(both.served, 1);
    CHECK_IS(rlc_loop_prepare(both.loop), 0);
    model_on_thread(perform_last, &both);
    CHECK(is_readable(both.loop));
    CHECK_IS(rlc_loop_dispatch(both.loop), 0);
    CHECK_IS(both.served, 2);
    end(&both);
}

static void leave(void *context) {
    pair *both = context;
    rlc_model_guest_detach(both->guest);
    both->guest = NULL;
    serve_last(both);
}

static void test_RLC_MODEL_5_a_callout_takes_the_model_out(void) {
    pair both;
    begin(&both);
    CHECK_IS(rlk_loop_perform(NULL, NULL, leave, &both), 0);
    run(&both);
    perform_last(&both);
    stop_outer_soon(&both);
    run(&both);
    CHECK_IS(both.served, 1);
    CHECK_IS(rlc_model_guest_attach(both.loop, both.model, RLK_MODE_DEFAULT, NULL, NULL, &both.guest), 0);
    run(&both);
    CHECK_IS(both.served, 2);
    end(&both);
}

/** The node is in the loop's queue when the guest is detached, and when the loop is destroyed. */
static void test_RLC_MODEL_5_work_that_is_pending_ends_with_it(void) {
    pair both;
    begin(&both);
    perform_last(&both);
    CHECK_IS(rlc_loop_prepare(both.loop), 1);
    end(&both);
    CHECK_IS(both.served, 0);
}

/** It is taken out between the preparation and the pass, or in an observer of the preparation: nobody waits. */
static void leave_in_observer(rlk_item *observer, uint32_t activity, void *context) {
    (void)activity;
    CHECK_IS(rlk_item_invalidate(observer), 0);
    rlc_model_guest_detach(((pair *)context)->guest);
    ((pair *)context)->guest = NULL;
}

static void check_that_nobody_waits(pair *both) {
    CHECK(!rlk_loop_is_waiting(both->model));
    CHECK_IS(rlk_loop_stop(both->model), 0);
    CHECK_IS(rlc_model_guest_attach(both->loop, NULL, NULL, count_stop, both, &both->guest), 0);
    perform_last(both);
    run(both);
    CHECK_IS(both->served, 1);
    CHECK_IS(both->stops, 0);
    end(both);
}

static void test_RLC_MODEL_5_no_wait_is_left_behind(void) {
    pair both;
    begin(&both);
    CHECK_IS(rlc_loop_prepare(both.loop), 0);
    CHECK(rlk_loop_is_waiting(both.model));
    rlc_model_guest_detach(both.guest);
    check_that_nobody_waits(&both);
}

static void change_in_observer(rlk_item *observer, uint32_t activity, void *context) {
    pair *both = context;
    leave_in_observer(observer, activity, context);
    CHECK_IS(rlc_model_guest_attach(both->loop, NULL, NULL, count_stop, both, &both->guest), 0);
}

static void observe(pair *both, uint32_t activities, void (*body)(rlk_item *, uint32_t, void *)) {
    rlk_item *observer;
    rlk_observer_options options = {.size = sizeof options, .observe = body, .context = both};
    options.activities = activities;
    CHECK_IS(rlk_observer_create(&options, &observer), 0);
    CHECK_IS(rlk_loop_add(NULL, observer, NULL), 1);
    rlk_item_release(observer);
}

static void test_RLC_MODEL_5_an_observer_takes_the_model_out(void) {
    pair both;
    begin(&both);
    observe(&both, RLK_BEFORE_WAITING, leave_in_observer);
    CHECK(rlc_loop_prepare(both.loop) >= 0);
    CHECK(both.guest == NULL);
    check_that_nobody_waits(&both);
}

/** The next one is there for the sleep that follows. */
static void test_RLC_MODEL_5_an_observer_changes_the_guest(void) {
    pair both;
    begin(&both);
    observe(&both, RLK_BEFORE_WAITING, change_in_observer);
    CHECK_IS(rlc_loop_prepare(both.loop), 1);
    CHECK_IS(rlc_loop_prepare(both.loop), 0);
    CHECK(rlk_loop_is_waiting(both.model));
    run_beside(&both, perform_while_it_sleeps);
    CHECK_IS(both.served, 1);
    end(&both);
}

/** The owner knows the guest until the call returns. */
static void test_RLC_MODEL_5_an_observer_of_the_end_detaches_it_again(void) {
    pair both;
    begin(&both);
    observe(&both, RLK_AFTER_WAITING, leave_in_observer);
    CHECK_IS(rlc_loop_prepare(both.loop), 0);
    rlc_model_guest_detach(both.guest);
    CHECK(both.guest == NULL);
    check_that_nobody_waits(&both);
}

/** A guest that is not the one that has prepared the model. */
static void test_RLC_MODEL_5_a_guest_ends_its_own_wait_only(void) {
    pair both;
    begin(&both);
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), 0);
    rlc_model_guest_detach(both.guest);
    both.guest = NULL;
    CHECK(rlk_loop_is_waiting(both.model));
    CHECK_IS(rlk_loop_cancel_wait(NULL, NULL), 0);
    end(&both);
}

static void attach_wrongly(void *context) {
    rlc_model_guest *guest = NULL;
    CHECK_IS(
        rlc_model_guest_attach(((pair *)context)->loop, ((pair *)context)->model, NULL, NULL, NULL, &guest), -EPERM);
    CHECK(guest == NULL);
}

static void test_RLC_MODEL_6_bad_guests(void) {
    pair both;
    begin(&both);
    rlc_model_guest *guest = NULL;
    model_on_thread(attach_wrongly, &both);
    CHECK_IS(rlc_model_guest_attach(both.loop, NULL, RLK_MODE_COMMON, NULL, NULL, &guest), -EINVAL);
    CHECK_IS(rlc_model_guest_attach(both.loop, NULL, NO_MODE, NULL, NULL, &guest), -EINVAL);
    rlk_loop *ended = model_ended_loop();
    CHECK_IS(rlc_model_guest_attach(both.loop, ended, NULL, NULL, NULL, &guest), -ESHUTDOWN);
    rlk_loop_release(ended);
    CHECK(guest == NULL);
    rlc_model_guest_detach(NULL);
    end(&both);
}

/* ---- passes that are left ---- */

static jmp_buf outside;

static void jump(void *context) {
    (void)context;
    longjmp(outside, 1);
}

static void run_and_leave(pair *both) {
    CHECK_IS(rlk_loop_perform(NULL, NULL, jump, NULL), 0);
    if (setjmp(outside) == 0)
        run(both);
}

/** The guest knows that no pass of it is on the stack, and that the model waits for it. */
static void test_RLC_MODEL_10_passes_are_left(void) {
    pair both;
    begin(&both);
    for (int i = 0; i < 100; i++)
        run_and_leave(&both);
    perform_last(&both);
    run(&both);
    CHECK_IS(both.served, 1);
    for (int i = 0; i < 3 && rlc_loop_prepare(both.loop) > 0; i++)
        CHECK(rlc_loop_dispatch(both.loop) >= 0); /* what is left of the wakes */
    CHECK_IS(rlc_loop_prepare(both.loop), 0);
    CHECK(rlk_loop_is_waiting(both.model));
    CHECK_IS(both.guest->level, 0);
    CHECK(rlc_stack_is_left(both.guest->calls, RLC_STACK_HERE));
    rlc_model_guest_detach(both.guest);
    both.guest = NULL;
    CHECK(!rlk_loop_is_waiting(both.model));
    end(&both);
}

/** The pass around it goes on when it has detached the guest. */
static void leave_inside_and_detach(void *context) {
    pair *both = context;
    run_and_leave(both);
    CHECK(!rlc_stack_is_left(both->guest->calls, RLC_STACK_HERE));
    leave(both);
}

static void test_RLC_MODEL_10_a_pass_inside_of_another_one_is_left(void) {
    pair both;
    begin(&both);
    CHECK_IS(rlk_loop_perform(NULL, NULL, leave_inside_and_detach, &both), 0);
    run(&both);
    CHECK_IS(both.served, 1);
    CHECK(!rlk_loop_is_waiting(both.model));
    end(&both);
}

const model_test *model_guest_tests(void) {
    static const model_test tests[] = {
        {"RLC-MODEL-1 blocks", test_RLC_MODEL_1_blocks},
        {"RLC-MODEL-1 timers and descriptors", test_RLC_MODEL_1_timers_and_descriptors},
        {"RLC-MODEL-1 in the host of the loop", test_RLC_MODEL_1_in_the_host_of_the_loop},
        {"RLC-MODEL-2 an idle model", test_RLC_MODEL_2_an_idle_model_ends_no_sleep},
        {"RLC-MODEL-2 endless work", test_RLC_MODEL_2_endless_work_lets_the_loop_run},
        {"RLC-MODEL-3 a stop", test_RLC_MODEL_3_a_stop_is_told},
        {"RLC-MODEL-4 the loop inside", test_RLC_MODEL_4_the_loop_inside_a_callout_of_the_model},
        {"RLC-MODEL-4 to any depth", test_RLC_MODEL_4_one_inside_the_other_to_any_depth},
        {"RLC-MODEL-5 a wait of a callout", test_RLC_MODEL_5_a_wait_of_a_callout_ends_with_it},
        {"RLC-MODEL-4 the model inside", test_RLC_MODEL_4_the_model_inside_a_callout_of_the_loop},
        {"RLC-MODEL-4 inside an observer", test_RLC_MODEL_4_the_loop_inside_an_observer_of_the_model},
        {"RLC-MODEL-5 detached in a callout", test_RLC_MODEL_5_a_callout_takes_the_model_out},
        {"RLC-MODEL-5 pending work", test_RLC_MODEL_5_work_that_is_pending_ends_with_it},
        {"RLC-MODEL-5 no wait is left", test_RLC_MODEL_5_no_wait_is_left_behind},
        {"RLC-MODEL-5 detached in an observer", test_RLC_MODEL_5_an_observer_takes_the_model_out},
        {"RLC-MODEL-5 changed in an observer", test_RLC_MODEL_5_an_observer_changes_the_guest},
        {"RLC-MODEL-5 detached twice", test_RLC_MODEL_5_an_observer_of_the_end_detaches_it_again},
        {"RLC-MODEL-5 its own wait", test_RLC_MODEL_5_a_guest_ends_its_own_wait_only},
        {"RLC-MODEL-6 bad guests", test_RLC_MODEL_6_bad_guests},
        {"RLC-MODEL-7 another epoll instance", test_RLC_MODEL_7_another_epoll_instance_is_watched},
        {"RLC-MODEL-8 refused", test_RLC_MODEL_8_a_refused_descriptor_is_tried_again},
        {"RLC-MODEL-10 passes are left", test_RLC_MODEL_10_passes_are_left},
        {"RLC-MODEL-10 inside of another one", test_RLC_MODEL_10_a_pass_inside_of_another_one_is_left},
        {"RLC-MODEL-8 not taken back", test_RLC_MODEL_8_a_descriptor_that_is_not_taken_back_is_tried_again},
        {NULL, NULL},
    };
    return tests;
}

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "model.h"

static bool is_readable(int descriptor) {
    struct pollfd polled = {.fd = descriptor, .events = POLLIN};
    return poll(&polled, 1, 0) == 1;
}

static void test_hosting(void) {
    int performed = 0;
    uint64_t generation = 77, again = 78;
    rlk_item *keeper = model_keeper();
    int descriptor = rlk_loop_host_descriptor(NULL, NULL, &generation);
    CHECK(descriptor >= 0);
    CHECK_IS(rlk_loop_host_descriptor(NULL, NULL, &again), descriptor);
    CHECK_IS(rlk_loop_host_descriptor(NULL, NULL, NULL), descriptor);
    CHECK_IS(again, generation);
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), 0);
    CHECK(!is_readable(descriptor));
    CHECK_IS(rlk_loop_perform(NULL, NULL, model_count, &performed), 0);
    CHECK(is_readable(descriptor));
    CHECK_IS(rlk_loop_run_pending_work(NULL, NULL), RLK_RUN_TIMED_OUT);
    CHECK_IS(performed, 1);
    CHECK_IS(rlk_source_signal(keeper), 0);
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), 1);
    CHECK_IS(rlk_loop_stop(NULL), 0);
    CHECK_IS(rlk_loop_run_pending_work(NULL, NULL), RLK_RUN_STOPPED);
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), 0);
    CHECK(rlk_loop_is_waiting(NULL));
    CHECK_IS(rlk_loop_cancel_wait(NULL, NULL), 0);
    CHECK(!rlk_loop_is_waiting(NULL));
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
}

/** As a dialogue does. */
static void host_inside(void *context) {
    int descriptor = rlk_loop_host_descriptor(NULL, NULL, NULL);
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), 0);
    CHECK(!is_readable(descriptor));
    CHECK_IS(rlk_loop_perform(NULL, NULL, model_count, context), 0);
    CHECK(is_readable(descriptor));
    CHECK_IS(rlk_loop_run_pending_work(NULL, NULL), RLK_RUN_TIMED_OUT);
    CHECK_IS(*(int *)context, 1);
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), 0);
    CHECK_IS(rlk_loop_stop(NULL), 0);
    CHECK_IS(rlk_loop_run_pending_work(NULL, NULL), RLK_RUN_STOPPED);
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), 0);
}

static void test_RLK_C_2_hosting_inside(void) {
    int performed = 0;
    CHECK_IS(rlk_loop_perform(NULL, NULL, host_inside, &performed), 0);
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), 1);
    CHECK_IS(rlk_loop_run_pending_work(NULL, NULL), RLK_RUN_TIMED_OUT);
    CHECK_IS(performed, 1);
    CHECK(!rlk_loop_is_waiting(NULL));
}

/** A host that serves something of its own, and then stops the run. */
static bool sleep_in_host(int descriptor, uint64_t until_ns, void *context) {
    CHECK_IS(descriptor, rlk_loop_host_descriptor(NULL, NULL, NULL));
    CHECK(until_ns == RLK_TIME_FOREVER);
    CHECK(rlk_loop_is_waiting(NULL));
    if (++*(int *)context == 2)
        CHECK_IS(rlk_loop_stop(NULL), 0);
    return true;
}

static void test_RLK_HOST_32_runs_that_sleep_in_the_host(void) {
    int sleeps = 0;
    rlk_item *keeper = model_keeper();
    CHECK_IS(rlk_loop_set_host_sleep(NULL, sleep_in_host, &sleeps), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_STOPPED);
    CHECK_IS(sleeps, 2);
    CHECK_IS(rlk_loop_set_host_sleep(NULL, NULL, NULL), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, rlk_now(RLK_CLOCK_MONOTONIC) + 1000000, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(sleeps, 2);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
}

static bool note_limit(int descriptor, uint64_t until_ns, void *context) {
    (void)descriptor;
    *(uint64_t *)context = until_ns;
    CHECK_IS(rlk_loop_stop(NULL), 0);
    return true;
}

static void no_fire(rlk_item *timer, void *context) {
    (void)timer, (void)context;
    CHECK(!"a timer of tomorrow fires");
}

/** The end of a run, or the date of a timer, whichever comes first. */
static void test_RLK_HOST_32_a_host_is_told_until_when(void) {
    uint64_t until_ns = 0, hour_ns = UINT64_C(3600000000000), date_ns = rlk_now(RLK_CLOCK_MONOTONIC) + hour_ns;
    rlk_item *timer = NULL, *keeper = model_keeper();
    rlk_timer_options options = {.size = sizeof options, .fire = no_fire, .fire_date_ns = date_ns};
    CHECK_IS(rlk_loop_set_host_sleep(NULL, note_limit, &until_ns), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, date_ns + 5, false), RLK_RUN_STOPPED);
    CHECK_IS(until_ns, date_ns + 5);
    CHECK_IS(rlk_timer_create(&options, &timer), 0);
    CHECK_IS(rlk_loop_add(NULL, timer, NULL), 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, date_ns + 5, false), RLK_RUN_STOPPED);
    CHECK_IS(until_ns, date_ns);
    CHECK_IS(rlk_loop_set_host_sleep(NULL, NULL, NULL), 0);
    CHECK_IS(rlk_item_invalidate(timer), 0);
    rlk_item_release(timer);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
}

static void no_work(void *context) {
    (void)context;
    CHECK(!"work of tomorrow runs");
}

/** As late as the tolerance allows, however it was given. */
static void test_RLK_HOST_32_a_host_sleeps_for_tolerances_too(void) {
    uint64_t until_ns = 0, hour_ns = UINT64_C(3600000000000), date_ns = rlk_now(RLK_CLOCK_MONOTONIC) + hour_ns;
    uint64_t end_ns = date_ns + 10 * hour_ns;
    rlk_item *timer = NULL;
    rlk_delayed *delayed = NULL;
    rlk_timer_options options = {
        .size = sizeof options, .fire = no_fire, .fire_date_ns = date_ns, .tolerance_ns = 7000};
    rlk_work work = {.size = sizeof work, .perform = no_work};
    CHECK_IS(rlk_loop_set_host_sleep(NULL, note_limit, &until_ns), 0);
    CHECK_IS(rlk_timer_create(&options, &timer), 0);
    CHECK_IS(rlk_loop_add(NULL, timer, NULL), 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, end_ns, false), RLK_RUN_STOPPED);
    CHECK_IS(until_ns, date_ns + 7000);
    CHECK_IS(rlk_timer_set_tolerance(timer, 9000), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, end_ns, false), RLK_RUN_STOPPED);
    CHECK_IS(until_ns, date_ns + 9000);
    CHECK_IS(rlk_item_invalidate(timer), 0);
    rlk_item_release(timer);
    CHECK_IS(rlk_loop_perform_after(NULL, hour_ns, 5 * hour_ns, &work, &delayed), 0);
    CHECK_IS(rlk_loop_next_fire_date(NULL, NULL, &date_ns), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, end_ns, false), RLK_RUN_STOPPED);
    CHECK_IS(until_ns, date_ns + 5 * hour_ns);
    CHECK_IS(rlk_delayed_cancel(delayed), 1);
    rlk_delayed_release(delayed);
    CHECK_IS(rlk_loop_set_host_sleep(NULL, NULL, NULL), 0);
}

/** Nothing but work that wakes ends the host's sleep. */
static void test_enqueued_work_ends_no_sleep(void) {
    int performed = 0;
    rlk_item *keeper = model_keeper();
    rlk_work work = {.size = sizeof work, .perform = model_count, .context = &performed};
    int descriptor = rlk_loop_host_descriptor(NULL, NULL, NULL);
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), 0);
    CHECK_IS(rlk_loop_enqueue_work(NULL, &work), 0);
    CHECK(!is_readable(descriptor));
    CHECK_IS(rlk_loop_perform_work(NULL, &work), 0);
    CHECK(is_readable(descriptor));
    CHECK_IS(rlk_loop_run_pending_work(NULL, NULL), RLK_RUN_TIMED_OUT);
    CHECK_IS(performed, 2);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
}

static void host_wrongly(void *loop) {
    CHECK_IS(rlk_loop_host_descriptor(loop, NULL, NULL), -EPERM);
    CHECK_IS(rlk_loop_prepare_to_wait(loop, NULL), -EPERM);
    CHECK_IS(rlk_loop_run_pending_work(loop, NULL), -EPERM);
    CHECK_IS(rlk_loop_cancel_wait(loop, NULL), -EPERM);
    CHECK_IS(rlk_loop_set_host_sleep(loop, sleep_in_host, NULL), -EPERM);
}

static void host_in_observer(rlk_item *observer, uint32_t activity, void *context) {
    (void)activity;
    CHECK_IS(rlk_item_invalidate(observer), 0);
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), -EBUSY);
    CHECK_IS(rlk_loop_run_pending_work(NULL, NULL), -EBUSY);
    model_count(context);
}

static void test_RLK_C_2_bad_hosts(void) {
    int performed = 0;
    static const char *const bad[] = {NO_MODE, RLK_MODE_COMMON};
    for (int i = 0; i < 2; i++) {
        CHECK_IS(rlk_loop_host_descriptor(NULL, bad[i], NULL), -EINVAL);
        CHECK_IS(rlk_loop_prepare_to_wait(NULL, bad[i]), -EINVAL);
        CHECK_IS(rlk_loop_run_pending_work(NULL, bad[i]), -EINVAL);
        CHECK_IS(rlk_loop_cancel_wait(NULL, bad[i]), -EINVAL);
    }
    model_on_thread(host_wrongly, rlk_loop_current());
    rlk_item *observer;
    rlk_observer_options options = {.size = sizeof options, .observe = host_in_observer, .context = &performed};
    options.activities = RLK_BEFORE_WAITING;
    CHECK_IS(rlk_observer_create(&options, &observer), 0);
    CHECK_IS(rlk_loop_add(NULL, observer, NULL), 1);
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, NULL), 0);
    rlk_item_release(observer);
    CHECK_IS(performed, 1);
    CHECK_IS(rlk_loop_prepare_to_wait(NULL, RLK_MODE_TRACKING), -EALREADY); /* one mode at a time */
    CHECK_IS(rlk_loop_run_pending_work(NULL, RLK_MODE_TRACKING), -EALREADY);
    CHECK_IS(rlk_loop_cancel_wait(NULL, RLK_MODE_TRACKING), 0);
    CHECK(rlk_loop_is_waiting(NULL));
    CHECK_IS(rlk_loop_cancel_wait(NULL, NULL), 0);
    rlk_loop *ended = model_ended_loop();
    CHECK_IS(rlk_loop_host_descriptor(ended, NULL, NULL), -ESHUTDOWN);
    rlk_loop_release(ended);
}

static void test_statistics(void) {
    int performed = 0;
    rlk_loop_statistics figures = {.size = sizeof figures};
    CHECK_IS(rlk_loop_collect_statistics(NULL, true), 0);
    CHECK_IS(rlk_loop_perform(NULL, NULL, model_count, &performed), 0);
    rlk_loop_run_in_mode(NULL, NULL, 0, false);
    CHECK_IS(rlk_loop_read_statistics(NULL, &figures), 0);
    CHECK_IS(figures.runs, 1);
    CHECK_IS(figures.passes, 1);
    CHECK_IS(figures.blocks_performed, 1);
    CHECK_IS(rlk_loop_collect_statistics(NULL, true), 0); /* no beginning */
    CHECK_IS(rlk_loop_read_statistics(NULL, &figures), 0);
    CHECK_IS(figures.runs, 1);
    CHECK_IS(rlk_loop_collect_statistics(NULL, false), 0);
    CHECK_IS(rlk_loop_perform(NULL, NULL, model_count, &performed), 0);
    rlk_loop_run_in_mode(NULL, NULL, 0, false);
    CHECK_IS(rlk_loop_collect_statistics(NULL, true), 0);
    CHECK_IS(rlk_loop_read_statistics(NULL, &figures), 0);
    CHECK_IS(figures.runs + figures.passes + figures.blocks_performed, 0);
    CHECK_IS(rlk_loop_collect_statistics(NULL, false), 0);
    CHECK_IS(rlk_loop_read_statistics(NULL, NULL), -EINVAL);
}

static void count_item(rlk_item *item, void *context) {
    (void)item;
    ++*(int *)context;
}

enum { TIMERS = 2, BLOCKS = 3, EVENTS = 4, RUNS = 5 };

/** One source, two timers, three blocks and four events. */
static void give_each_kind(rlk_item **ret_items, int counter, int *ret_calls) {
    rlk_source_options source = {.size = sizeof source, .perform = count_item, .context = ret_calls};
    rlk_timer_options timer = {.size = sizeof timer, .fire = count_item, .context = ret_calls, .fire_date_ns = 1};
    rlk_counter_options events = {.size = sizeof events, .ready = count_item, .context = ret_calls};
    events.descriptor = counter;
    CHECK_IS(rlk_source_create(&source, &ret_items[0]), 0);
    CHECK_IS(rlk_counter_create(&events, &ret_items[1]), 0);
    for (int i = 0; i < TIMERS; i++)
        CHECK_IS(rlk_timer_create(&timer, &ret_items[2 + i]), 0);
    for (int i = 0; i < 2 + TIMERS; i++)
        CHECK_IS(rlk_loop_add(NULL, ret_items[i], NULL), 1);
    CHECK_IS(rlk_source_signal(ret_items[0]), 0);
    for (int i = 0; i < BLOCKS; i++)
        CHECK_IS(rlk_loop_perform(NULL, NULL, model_count, ret_calls), 0);
}

/** The size is set before each reading. */
static rlk_loop_statistics read_figures(void) {
    rlk_loop_statistics figures = {.size = sizeof figures};
    CHECK_IS(rlk_loop_read_statistics(NULL, &figures), 0);
    return figures;
}

static void test_each_figure_counts_its_own(void) {
    int calls = 0, counter = eventfd(EVENTS, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    rlk_item *items[2 + TIMERS];
    give_each_kind(items, counter, &calls);
    CHECK_IS(rlk_loop_collect_statistics(NULL, true), 0);
    for (int i = 0; i < RUNS; i++)
        CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_TIMED_OUT);
    rlk_loop_statistics figures = read_figures();
    CHECK_IS(figures.runs, RUNS);
    CHECK(figures.passes >= RUNS);
    CHECK_IS(figures.sources_performed, 1);
    CHECK_IS(figures.timers_fired, TIMERS);
    CHECK_IS(figures.blocks_performed, BLOCKS);
    CHECK_IS(figures.port_callouts, EVENTS);
    CHECK_IS(figures.sleeps + figures.spurious_wakes + figures.sleep_time_ns, 0);
    CHECK(figures.busy_time_ns > 0);
    CHECK_IS(calls, 1 + TIMERS + BLOCKS + EVENTS);
    for (; figures.sleeps == 0; figures = read_figures()) /* the first one may begin too late */
        rlk_loop_run_in_mode(NULL, NULL, rlk_now(RLK_CLOCK_MONOTONIC) + 1000000, false);
    CHECK(figures.sleep_time_ns > 0 && figures.spurious_wakes < figures.sleeps);
    for (int i = 0; i < 2 + TIMERS; i++) {
        CHECK_IS(rlk_item_invalidate(items[i]), 0);
        rlk_item_release(items[i]);
    }
    close(counter);
}

const model_test *model_host_tests(void) {
    static const model_test tests[] = {
        {"hosting", test_hosting},
        {"RLK-C-2 hosting inside", test_RLK_C_2_hosting_inside},
        {"RLK-HOST-32 runs that sleep in the host", test_RLK_HOST_32_runs_that_sleep_in_the_host},
        {"RLK-HOST-32 a host is told until when", test_RLK_HOST_32_a_host_is_told_until_when},
        {"RLK-HOST-32 a host sleeps for tolerances too", test_RLK_HOST_32_a_host_sleeps_for_tolerances_too},
        {"enqueued work ends no sleep", test_enqueued_work_ends_no_sleep},
        {"RLK-C-2 bad hosts", test_RLK_C_2_bad_hosts},
        {"statistics", test_statistics},
        {"each figure counts its own", test_each_figure_counts_its_own},
        {NULL, NULL},
    };
    return tests;
}

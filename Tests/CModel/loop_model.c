#include <signal.h>
#include <time.h>

#include "model.h"

static void test_handles(void) {
    rlk_loop *loop = rlk_loop_current();
    CHECK(loop == rlk_loop_current());
    CHECK(loop != rlk_loop_main());
    CHECK(rlk_loop_main() == rlk_loop_main());
    CHECK(rlk_loop_retain(loop) == loop);
    rlk_loop_release(loop);
    CHECK(rlk_loop_retain(NULL) == NULL);
    rlk_loop_release(NULL);
    CHECK(rlk_loop_is_current(loop) && rlk_loop_is_current(NULL) && !rlk_loop_is_current(rlk_loop_main()));
    CHECK(!rlk_loop_is_waiting(loop) && !rlk_loop_has_ended(loop));
}

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;
    CHECK_IS(clock_gettime(clock, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void test_clocks(void) {
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME};
    for (int i = 0; i < 3; i++) {
        uint64_t before_ns = read_clock(clocks[i]), now_ns = rlk_now((rlk_clock)i), after_ns = read_clock(clocks[i]);
        CHECK(before_ns <= now_ns && now_ns <= after_ns);
    }
    CHECK_IS(rlk_now((rlk_clock)7), 0);
}

static void test_RLK_C_5_results_of_runs(void) {
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_FINISHED);
    CHECK_IS(rlk_loop_run_in_mode(NULL, RLK_MODE_COMMON, RLK_TIME_FOREVER, false), RLK_RUN_FINISHED);
    rlk_item *keeper = model_keeper();
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, rlk_now(RLK_CLOCK_MONOTONIC), false), RLK_RUN_TIMED_OUT);
    CHECK_IS(rlk_source_signal(keeper), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
    CHECK_IS(rlk_loop_perform(NULL, NULL, model_stop, NULL), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_STOPPED);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
    CHECK_IS(rlk_loop_perform(NULL, "panel", model_stop, NULL), 0);
    CHECK_IS(rlk_loop_run_until_stopped(NULL, "panel"), RLK_RUN_STOPPED);
}

static void test_RLK_C_2_bad_modes(void) {
    uint64_t date = 5;
    CHECK_IS(rlk_loop_run_in_mode(NULL, NO_MODE, 0, false), -EINVAL);
    CHECK_IS(rlk_loop_run_until_stopped(NULL, NO_MODE), -EINVAL);
    CHECK_IS(rlk_loop_run_until_stopped(NULL, RLK_MODE_COMMON), -EINVAL);
    CHECK_IS(rlk_loop_add_common_mode(NULL, NO_MODE), -EINVAL);
    CHECK_IS(rlk_loop_add_common_mode(NULL, RLK_MODE_COMMON), -EINVAL);
    CHECK_IS(rlk_loop_is_common_mode(NULL, NO_MODE), -EINVAL);
    CHECK_IS(rlk_loop_is_empty(NULL, NO_MODE), -EINVAL);
    CHECK_IS(rlk_loop_next_fire_date(NULL, NO_MODE, &date), -EINVAL);
    CHECK_IS(rlk_loop_next_fire_date(NULL, NULL, NULL), -EINVAL);
    CHECK_IS(rlk_loop_visit_modes(NULL, NULL, NULL), -EINVAL);
    CHECK_IS(date, 5);
}

static void test_RLK_C_16_version(void) {
    CHECK_IS(rlk_version(), RLK_VERSION);
    CHECK_IS(RLK_VERSION, RLK_VERSION_NUMBER(RLK_VERSION_MAJOR, RLK_VERSION_MINOR, RLK_VERSION_PATCH));
    CHECK(RLK_VERSION_NUMBER(0, 999, 999) < RLK_VERSION_NUMBER(1, 0, 0));
}

static void run_wrongly(void *loop) {
    CHECK_IS(rlk_loop_run_in_mode(loop, NULL, 0, false), -EPERM);
    CHECK_IS(rlk_loop_run_until_stopped(loop, NULL), -EPERM);
}

static void test_wrong_thread(void) {
    model_on_thread(run_wrongly, rlk_loop_current());
}

static void test_ended_loop(void) {
    rlk_loop *loop = model_ended_loop();
    CHECK_IS(rlk_loop_stop(loop), -ESHUTDOWN);
    CHECK_IS(rlk_loop_wake_up(loop), -ESHUTDOWN);
    CHECK_IS(rlk_loop_add_common_mode(loop, "panel"), -ESHUTDOWN);
    CHECK_IS(rlk_loop_run_in_mode(loop, NULL, 0, false), -ESHUTDOWN);
    CHECK_IS(rlk_loop_run_until_stopped(loop, NULL), -ESHUTDOWN);
    CHECK(!rlk_loop_is_current(loop) && !rlk_loop_is_waiting(loop));
    CHECK(rlk_loop_describe(loop, NULL, 0) > 0);
    rlk_loop_release(loop);
}

static void wake_once(rlk_item *observer, uint32_t activity, void *context) {
    int *waits = context;
    (void)observer;
    if (activity == RLK_BEFORE_WAITING)
        CHECK_IS(rlk_loop_wake_up(NULL), 0);
    else if (++*waits == 2)
        CHECK_IS(rlk_loop_stop(NULL), 0);
}

static void test_wakes(void) {
    int waits = 0;
    rlk_item *keeper = model_keeper(), *observer = NULL;
    rlk_observer_options options = {.size = sizeof options,
        .observe = wake_once,
        .context = &waits,
        .activities = RLK_BEFORE_WAITING | RLK_AFTER_WAITING};
    CHECK_IS(rlk_observer_create(&options, &observer), 0);
    CHECK_IS(rlk_loop_add(NULL, observer, NULL), 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_STOPPED);
    CHECK_IS(waits, 2);
    CHECK_IS(rlk_item_invalidate(observer), 0);
    rlk_item_release(observer);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
}

static rlk_loop *handled;

static void on_signal(int number) {
    if (number == SIGUSR1)
        rlk_loop_wake_up(handled);
    else
        rlk_loop_stop(handled);
}

static void raise_signals(rlk_item *observer, uint32_t activity, void *context) {
    int *waits = context;
    (void)observer, (void)activity;
    pthread_kill(pthread_self(), ++*waits == 2 ? SIGUSR2 : SIGUSR1);
}

static void test_RLK_C_10_signal_handlers(void) {
    int waits = 0;
    struct sigaction action = {.sa_handler = on_signal}, first, second;
    sigaction(SIGUSR1, &action, &first);
    sigaction(SIGUSR2, &action, &second);
    handled = rlk_loop_current();
    rlk_item *keeper = model_keeper(), *observer = NULL;
    rlk_observer_options options = {
        .size = sizeof options, .observe = raise_signals, .context = &waits, .activities = RLK_BEFORE_WAITING};
    CHECK_IS(rlk_observer_create(&options, &observer), 0);
    CHECK_IS(rlk_loop_add(NULL, observer, NULL), 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_STOPPED);
    CHECK_IS(waits, 2);
    CHECK_IS(rlk_item_invalidate(observer), 0);
    rlk_item_release(observer);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
    sigaction(SIGUSR1, &first, NULL);
    sigaction(SIGUSR2, &second, NULL);
}

static void look_for_panel(const char *mode, void *context) {
    *(int *)context += strcmp(mode, "panel") == 0;
}

static void read_mode(void *context) {
    char name[4];
    CHECK_IS(rlk_loop_copy_current_mode(NULL, NULL, 0), 5);
    CHECK_IS(rlk_loop_copy_current_mode(NULL, NULL, 1), -EINVAL);
    CHECK_IS(rlk_loop_copy_current_mode(NULL, name, sizeof name), 5);
    CHECK_IS(strcmp(name, "pan"), 0);
    model_count(context);
}

static void test_modes(void) {
    int performed = 0, seen = 0;
    char name[16] = "x";
    CHECK_IS(rlk_loop_copy_current_mode(NULL, name, sizeof name), 0);
    CHECK_IS(name[0], 0);
    CHECK_IS(rlk_loop_is_common_mode(NULL, NULL), 1);
    CHECK_IS(rlk_loop_is_common_mode(NULL, "panel"), 0);
    CHECK_IS(rlk_loop_is_empty(NULL, "panel"), 1);
    CHECK_IS(rlk_loop_add_common_mode(NULL, "panel"), 0);
    CHECK_IS(rlk_loop_is_common_mode(NULL, "panel"), 1);
    CHECK_IS(rlk_loop_perform(NULL, RLK_MODE_COMMON, read_mode, &performed), 0);
    CHECK_IS(rlk_loop_perform(NULL, "panel", read_mode, &performed), 0);
    CHECK_IS(rlk_loop_is_empty(NULL, "panel"), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, "panel", 0, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(performed, 2);
    int count = rlk_loop_visit_modes(NULL, look_for_panel, &seen);
    CHECK(count >= 2);
    CHECK_IS(seen, 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, "only run", 0, false), RLK_RUN_FINISHED);
    CHECK_IS(rlk_loop_visit_modes(NULL, look_for_panel, &seen), count); /* a run makes no mode */
}

static void test_RLK_C_15_runs_without_descriptors(void) {
    rlk_item *keeper = model_keeper();
    model_begin_shortage();
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), -EMFILE);
    CHECK_IS(rlk_loop_run_until_stopped(NULL, NULL), -EMFILE);
    CHECK_IS(rlk_loop_host_descriptor(NULL, NULL, NULL), -EMFILE);
    model_end_shortage();
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    CHECK_IS(rlk_loop_is_empty(NULL, NULL), 1);
    rlk_item_release(keeper);
}

static void test_description(void) {
    char text[8192], part[9];
    int length = rlk_loop_describe(NULL, text, sizeof text);
    CHECK(length > 8 && length < (int)sizeof text);
    CHECK_IS(strlen(text), length);
    CHECK_IS(rlk_loop_describe(NULL, part, sizeof part), length);
    CHECK_IS(strlen(part), 8);
    CHECK_IS(strncmp(part, text, 8), 0);
    CHECK_IS(rlk_loop_describe(NULL, NULL, 8), -EINVAL);
}

const model_test *model_loop_tests(void) {
    static const model_test tests[] = {
        {"handles", test_handles},
        {"clocks", test_clocks},
        {"RLK-C-5 results of runs", test_RLK_C_5_results_of_runs},
        {"RLK-C-2 bad modes", test_RLK_C_2_bad_modes},
        {"RLK-C-16 version", test_RLK_C_16_version},
        {"wrong thread", test_wrong_thread},
        {"ended loop", test_ended_loop},
        {"wakes", test_wakes},
        {"RLK-C-10 signal handlers", test_RLK_C_10_signal_handlers},
        {"modes", test_modes},
        {"RLK-C-15 runs without descriptors", test_RLK_C_15_runs_without_descriptors},
        {"description", test_description},
        {NULL, NULL},
    };
    return tests;
}

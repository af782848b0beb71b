#include "model.h"

struct line {
    char text[16];
    int count, released;
};

static void write_1(void *context) {
    struct line *line = context;
    line->text[line->count++] = '1';
}
static void write_2(void *context) {
    struct line *line = context;
    line->text[line->count++] = '2';
}
static void write_3(void *context) {
    struct line *line = context;
    CHECK_IS(line->released, 0);
    line->text[line->count++] = '3';
}
static void released(void *context) {
    ++((struct line *)context)->released;
}

static void test_order(void) {
    struct line line = {.count = 0};
    rlk_work work = {.size = sizeof work, .perform = write_3, .context = &line, .release = released};
    CHECK_IS(rlk_loop_perform(NULL, NULL, write_1, &line), 0);
    CHECK_IS(rlk_loop_perform(rlk_loop_current(), RLK_MODE_COMMON, write_2, &line), 0);
    CHECK_IS(rlk_loop_perform_work(NULL, &work), 0);
    CHECK_IS(rlk_loop_enqueue_work(NULL, &(rlk_work){.size = sizeof work, .perform = write_1, .context = &line}), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(strcmp(line.text, "1231"), 0);
    CHECK_IS(line.released, 1);
}

static void test_lists_of_modes(void) {
    static const char *const two[] = {"one", "two"};
    struct line line = {.count = 0};
    rlk_work work = {
        .size = sizeof work, .perform = write_1, .context = &line, .release = released, .modes = two, .mode_count = 2};
    CHECK_IS(rlk_loop_perform_work(NULL, &work), 0);
    rlk_loop_run_in_mode(NULL, NULL, 0, false);
    CHECK_IS(line.count, 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, "two", 0, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(rlk_loop_run_in_mode(NULL, "one", 0, false), RLK_RUN_FINISHED);
    CHECK_IS(line.count, 1);
    CHECK_IS(line.released, 1);
}

static void test_RLK_C_1_bad_work(void) {
    static const char *const bad[] = {"one", NO_MODE}, *const none[] = {NULL, "one"};
    struct line line = {.count = 0};
    rlk_work work = {.size = sizeof work, .perform = write_1, .context = &line, .release = released};
    rlk_work wrong[] = {work, work, work, work};
    wrong[0].size--;
    wrong[1].perform = NULL;
    wrong[2].modes = bad, wrong[2].mode_count = 2;
    wrong[3].modes = none, wrong[3].mode_count = 2;
    for (int i = 0; i < 4; i++) {
        CHECK_IS(rlk_loop_perform_work(NULL, &wrong[i]), i == 3 ? 0 : -EINVAL);
        CHECK_IS(rlk_loop_enqueue_work(NULL, &wrong[i]), i == 3 ? 0 : -EINVAL);
    }
    CHECK_IS(rlk_loop_perform_work(NULL, NULL), -EINVAL);
    CHECK_IS(rlk_loop_enqueue_work(NULL, NULL), -EINVAL);
    CHECK_IS(rlk_loop_perform(NULL, NULL, NULL, NULL), -EINVAL);
    CHECK_IS(rlk_loop_perform(NULL, NO_MODE, write_1, &line), -EINVAL);
    CHECK_IS(line.released, 0);
    rlk_loop_run_in_mode(NULL, NULL, 0, false);
    CHECK_IS(line.count, 2);
    CHECK_IS(line.released, 2);

    rlk_loop *ended = model_ended_loop();
    CHECK_IS(rlk_loop_perform_work(ended, &work), -ESHUTDOWN);
    CHECK_IS(rlk_loop_enqueue_work(ended, &work), -ESHUTDOWN);
    CHECK_IS(rlk_loop_perform(ended, NULL, write_1, &line), -ESHUTDOWN);
    rlk_loop_release(ended);
    CHECK_IS(line.released, 2);
}

/* Work of work waits for the next drain; and a release function gives more work. */
static void more(void *context) {
    write_1(context);
    CHECK_IS(rlk_loop_perform(NULL, NULL, write_2, context), 0);
}

static void work_in_release(void *context) {
    released(context);
    CHECK_IS(rlk_loop_perform(NULL, NULL, write_2, context), 0);
}

static void test_RLK_C_8_re_entry(void) {
    struct line line = {.count = 0};
    rlk_work work = {.size = sizeof work, .perform = more, .context = &line, .release = released};
    CHECK_IS(rlk_loop_perform_work(NULL, &work), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(strcmp(line.text, "12"), 0);
    work.release = work_in_release;
    work.perform = write_1;
    CHECK_IS(rlk_loop_perform_work(NULL, &work), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(strcmp(line.text, "1212"), 0);
    CHECK_IS(line.released, 2);
}

static void test_as_source_and_idle(void) {
    struct line line = {.count = 0};
    rlk_item *keeper = model_keeper();
    rlk_work work = {.size = sizeof work, .perform = write_1, .context = &line, .release = released};
    CHECK_IS(rlk_loop_perform_as_source(NULL, &work), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
    CHECK_IS(line.released, 1);
    work.perform = write_2;
    CHECK_IS(rlk_loop_perform_when_idle(NULL, &work), 0);
    CHECK_IS(rlk_loop_perform(NULL, NULL, write_1, &line), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_TIMED_OUT);
    work.perform = model_stop, work.release = NULL;
    CHECK_IS(rlk_loop_perform_when_idle(NULL, &work), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_STOPPED);
    CHECK_IS(strcmp(line.text, "112"), 0);
    CHECK_IS(line.released, 2);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
}

static void test_after_a_delay(void) {
    struct line line = {.count = 0};
    rlk_delayed *soon = NULL, *never = NULL;
    rlk_work work = {.size = sizeof work, .perform = write_1, .context = &line, .release = released};
    CHECK_IS(rlk_loop_perform_after(NULL, 1000, 0, &work, &soon), 0);
    CHECK_IS(rlk_loop_perform_after(NULL, 1000, 1000, &work, NULL), 0);
    CHECK_IS(rlk_loop_perform_after(NULL, 3600000000000, 0, &work, &never), 0);
    CHECK(rlk_delayed_is_pending(soon) && rlk_delayed_is_pending(never));
    CHECK_IS(rlk_delayed_cancel(never), 1);
    CHECK_IS(rlk_delayed_cancel(never), 0);
    CHECK(!rlk_delayed_is_pending(never));
    CHECK_IS(line.released, 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_FINISHED);
    CHECK_IS(line.count, 2);
    CHECK_IS(line.released, 3);
    CHECK(!rlk_delayed_is_pending(soon));
    CHECK_IS(rlk_delayed_cancel(soon), 0);
    rlk_delayed_release(soon);
    rlk_delayed_release(never);
}

/* The delay counts from now; the tolerance is none of it. */
static void test_the_date_after_a_delay(void) {
    static const char *const panel = "panel";
    int performed = 0;
    uint64_t date_ns = 0, hour_ns = UINT64_C(3600000000000), before_ns = rlk_now(RLK_CLOCK_MONOTONIC);
    rlk_delayed *delayed = NULL;
    rlk_work work = {.size = sizeof work, .perform = model_count, .context = &performed};
    work.modes = &panel, work.mode_count = 1;
    CHECK_IS(rlk_loop_perform_after(NULL, hour_ns, 5, &work, &delayed), 0);
    uint64_t after_ns = rlk_now(RLK_CLOCK_MONOTONIC);
    CHECK_IS(rlk_loop_next_fire_date(NULL, "panel", &date_ns), 0);
    CHECK(before_ns + hour_ns <= date_ns && date_ns <= after_ns + hour_ns);
    CHECK_IS(rlk_loop_next_fire_date(NULL, NULL, &date_ns), 0);
    CHECK_IS(date_ns, RLK_TIME_FOREVER);
    CHECK_IS(rlk_loop_run_in_mode(NULL, "panel", 0, false), RLK_RUN_TIMED_OUT);
    CHECK(performed == 0 && rlk_delayed_is_pending(delayed));
    CHECK_IS(rlk_delayed_cancel(delayed), 1);
    rlk_delayed_release(delayed);
}

static void wait_for_work(void *loop) {
    struct line line = {.count = 0};
    CHECK_IS(rlk_loop_perform_and_wait(loop, NULL, 0, write_1, &line), -ETIMEDOUT);
    CHECK_IS(line.count, 0);
    CHECK_IS(rlk_loop_perform_and_wait(NULL, NULL, RLK_TIME_FOREVER, write_1, &line), 0);
    CHECK_IS(line.count, 1);
}

static void test_waiting(void) {
    model_on_thread(wait_for_work, rlk_loop_current());
}

static void defer_more(void *context) {
    CHECK_IS(rlk_scope_defer(write_1, context), 0);
    CHECK_IS(rlk_scope_defer(write_2, context), 0);
    CHECK_IS(((struct line *)context)->count, 0);
}

static void defer_alone(void *context) {
    CHECK_IS(rlk_scope_defer(model_count, context), 0);
}

static void test_scopes(void) {
    int count = 0;
    struct line line = {.count = 0};
    CHECK_IS(rlk_scope_with(defer_more, &line), 0);
    CHECK_IS(strcmp(line.text, "21"), 0);
    CHECK_IS(rlk_scope_with(NULL, NULL), -EINVAL);
    CHECK_IS(rlk_scope_defer(NULL, NULL), -EINVAL);
    model_on_thread(defer_alone, &count);
    CHECK_IS(count, 1);
}

static void test_RLK_C_1_bad_later_work(void) {
    static const char *const two[] = {"one", "two"};
    struct line line = {.count = 0};
    rlk_delayed *delayed = NULL;
    rlk_loop *ended = model_ended_loop();
    rlk_work work = {.size = sizeof work, .perform = write_1, .context = &line, .release = released};
    CHECK_IS(rlk_loop_perform_as_source(NULL, NULL), -EINVAL);
    CHECK_IS(rlk_loop_perform_as_source(ended, &work), -ESHUTDOWN);
    CHECK_IS(rlk_loop_perform_when_idle(NULL, NULL), -EINVAL);
    CHECK_IS(rlk_loop_perform_when_idle(ended, &work), -ESHUTDOWN);
    CHECK_IS(rlk_loop_perform_after(NULL, 0, 0, NULL, &delayed), -EINVAL);
    CHECK_IS(rlk_loop_perform_after(ended, 0, 0, &work, &delayed), -ESHUTDOWN);
    CHECK_IS(rlk_loop_perform_and_wait(NULL, NULL, 0, NULL, NULL), -EINVAL);
    CHECK_IS(rlk_loop_perform_and_wait(NULL, NO_MODE, 0, write_1, &line), -EINVAL);
    CHECK_IS(rlk_loop_perform_and_wait(ended, NULL, RLK_TIME_FOREVER, write_1, &line), -ESHUTDOWN);
    work.modes = two, work.mode_count = 2;
    CHECK_IS(rlk_loop_perform_when_idle(NULL, &work), -EINVAL);
    CHECK_IS(rlk_delayed_cancel(NULL), -EINVAL);
    CHECK(!rlk_delayed_is_pending(NULL) && delayed == NULL);
    rlk_delayed_release(NULL);
    CHECK_IS(line.count, 0);
    CHECK_IS(line.released, 0);
    rlk_loop_release(ended);
}

#ifdef __BLOCKS__
static void test_blocks(void) {
    __block int count = 0;
    rlk_loop *ended = model_ended_loop();
    CHECK_IS(rlk_loop_perform_block(NULL, NULL,
                 ^{
                   count++;
                 }),
        0);
    CHECK_IS(rlk_loop_perform_block(ended, NULL,
                 ^{
                   count++;
                 }),
        -ESHUTDOWN);
    CHECK_IS(rlk_loop_perform_block(NULL, NULL, NULL), -EINVAL);
    rlk_loop_run_in_mode(NULL, NULL, 0, false);
    CHECK_IS(count, 1);
    rlk_loop_release(ended);
}
#endif

static void count_release(void *context) {
    ++((int *)context)[1];
}

static void test_RLK_C_15_delays_without_descriptors(void) {
    int counts[2] = {0, 0};
    rlk_delayed *delayed = NULL;
    rlk_work work = {.size = sizeof work, .perform = model_count, .context = &counts[0]};
    work.release = count_release;
    model_begin_shortage();
    CHECK_IS(rlk_loop_perform_after(NULL, 0, 0, &work, &delayed), 0);             /* the waits carry its date */
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), -EMFILE); /* for the eventfd of the first run */
    model_end_shortage();
    CHECK(delayed != NULL && counts[0] == 0 && counts[1] == 0);
    rlk_delayed_release(delayed);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_FINISHED);
    CHECK(counts[0] == 1 && counts[1] == 1);
}

const model_test *model_perform_tests(void) {
    static const model_test tests[] = {
        {"order", test_order},
        {"lists of modes", test_lists_of_modes},
        {"RLK-C-1 bad work", test_RLK_C_1_bad_work},
        {"RLK-C-8 re-entry", test_RLK_C_8_re_entry},
        {"as a source, and when idle", test_as_source_and_idle},
        {"after a delay", test_after_a_delay},
        {"the date after a delay", test_the_date_after_a_delay},
        {"waiting", test_waiting},
        {"scopes", test_scopes},
        {"RLK-C-1 bad later work", test_RLK_C_1_bad_later_work},
        {"RLK-C-15 delays without descriptors", test_RLK_C_15_delays_without_descriptors},
#ifdef __BLOCKS__
        {"blocks", test_blocks},
#endif
        {NULL, NULL},
    };
    return tests;
}

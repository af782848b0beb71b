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

const model_test *model_perform_tests(void) {
    static const model_test tests[] = {
        {"order", test_order},
        {"lists of modes", test_lists_of_modes},
        {"RLK-C-1 bad work", test_RLK_C_1_bad_work},
        {"RLK-C-8 re-entry", test_RLK_C_8_re_entry},
        {NULL, NULL},
    };
    return tests;
}

#include <stdlib.h>

#include "model.h"

/* ---- observers ---- */

struct record {
    uint32_t activities[16];
    int count, released;
};

static void record(rlk_item *observer, uint32_t activity, void *context) {
    struct record *record = context;
    CHECK(rlk_item_is_valid(observer));
    if (record->count < 16)
        record->activities[record->count++] = activity;
}

static void release_record(void *context) {
    ++((struct record *)context)->released;
}

static void test_observers(void) {
    static const uint32_t wanted[] = {RLK_ENTRY, RLK_BEFORE_TIMERS, RLK_BEFORE_SOURCES, RLK_EXIT};
    struct record seen = {.count = 0};
    rlk_item *keeper = model_keeper(), *observer = NULL;
    rlk_observer_options options = {.size = sizeof options,
        .observe = record,
        .context = &seen,
        .release = release_record,
        .activities = RLK_ALL_ACTIVITIES};
    CHECK_IS(rlk_observer_create(&options, &observer), 0);
    CHECK_IS(rlk_loop_add(NULL, observer, NULL), 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(seen.count, 4);
    for (int i = 0; i < 4; i++)
        CHECK_IS(seen.activities[i], wanted[i]);
    CHECK_IS(seen.released, 0);
    CHECK_IS(rlk_item_invalidate(observer), 0);
    CHECK_IS(seen.released, 1);
    rlk_item_release(observer);
    CHECK_IS(seen.released, 1);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
}

struct line {
    char text[8];
    int count;
};

static void write_a(rlk_item *observer, uint32_t activity, void *context) {
    struct line *line = context;
    (void)observer, (void)activity;
    line->text[line->count++] = 'a';
}

static void write_b(rlk_item *observer, uint32_t activity, void *context) {
    struct line *line = context;
    (void)observer, (void)activity;
    line->text[line->count++] = 'b';
}

static void test_order_and_once(void) {
    struct line line = {.count = 0};
    rlk_item *keeper = model_keeper(), *late = NULL, *early = NULL;
    rlk_observer_options options = {
        .size = sizeof options, .observe = write_b, .context = &line, .activities = RLK_ENTRY, .order = 2};
    CHECK_IS(rlk_observer_create(&options, &late), 0);
    options = (rlk_observer_options){.size = sizeof options,
        .observe = write_a,
        .context = &line,
        .activities = RLK_ENTRY,
        .once = true,
        .order = -1};
    CHECK_IS(rlk_observer_create(&options, &early), 0);
    CHECK_IS(rlk_loop_add(NULL, late, NULL), 1);
    CHECK_IS(rlk_loop_add(NULL, early, NULL), 1);
    CHECK_IS(rlk_loop_add(NULL, early, NULL), 0);
    for (int i = 0; i < 2; i++)
        CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(strcmp(line.text, "abb"), 0);
    CHECK(!rlk_item_is_valid(early) && rlk_item_is_valid(late));
    rlk_item_release(early);
    CHECK_IS(rlk_item_invalidate(late), 0);
    rlk_item_release(late);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
}

/* ---- signalled sources ---- */

struct source {
    rlk_item *item;
    int performed, released, scheduled, cancelled, key;
};

static void perform(rlk_item *item, void *context) {
    struct source *source = context;
    CHECK(item == source->item);
    CHECK_IS(rlk_source_is_signalled(item), 0);
    source->performed++;
}

static void released(void *context) {
    ++((struct source *)context)->released;
}
static void scheduled(rlk_loop *loop, const char *mode, void *context) {
    CHECK(loop == rlk_loop_current());
    CHECK_IS(strcmp(mode, "panel"), 0);
    ++((struct source *)context)->scheduled;
}
static void cancelled(rlk_loop *loop, const char *mode, void *context) {
    CHECK(loop == rlk_loop_current());
    CHECK_IS(strcmp(mode, "panel"), 0);
    ++((struct source *)context)->cancelled;
}
static bool equal(const void *a, const void *b) {
    return ((const struct source *)a)->key == ((const struct source *)b)->key;
}
static uint64_t hash(const void *context) {
    return (uint64_t)((const struct source *)context)->key;
}

static void test_sources(void) {
    struct source source = {.key = 1};
    rlk_source_options options = {.size = sizeof options, .perform = perform, .context = &source, .release = released};
    CHECK_IS(rlk_source_create(&options, &source.item), 0);
    CHECK_IS(rlk_loop_contains(NULL, source.item, NULL), 0);
    CHECK_IS(rlk_loop_remove(NULL, source.item, NULL), 0);
    CHECK_IS(rlk_loop_add(NULL, source.item, NULL), 1);
    CHECK_IS(rlk_loop_contains(NULL, source.item, NULL), 1);
    CHECK_IS(rlk_source_is_signalled(source.item), 0);
    CHECK_IS(rlk_source_signal(source.item), 0);
    CHECK_IS(rlk_source_is_signalled(source.item), 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
    CHECK_IS(source.performed, 1);
    CHECK_IS(rlk_loop_remove(NULL, source.item, NULL), 1);
    CHECK_IS(rlk_loop_add(NULL, source.item, NULL), 1);
    CHECK_IS(source.released, 0);
    CHECK_IS(rlk_item_invalidate_and_wait(source.item, RLK_TIME_FOREVER), 0);
    CHECK_IS(source.released, 1);
    CHECK_IS(rlk_item_invalidate(source.item), 0);
    CHECK_IS(rlk_source_signal(source.item), -ENOENT);
    CHECK_IS(rlk_loop_add(NULL, source.item, NULL), 0);
    CHECK_IS(rlk_source_is_signalled(source.item), 0);
    rlk_item_release(source.item);
    CHECK_IS(source.released, 1);
}

static void test_RLK_C_6_each_mode_has_its_own_members(void) {
    rlk_item *keeper = model_keeper();
    CHECK_IS(rlk_loop_contains(NULL, keeper, "panel"), 0);
    CHECK_IS(rlk_loop_remove(NULL, keeper, "panel"), 0);
    CHECK_IS(rlk_loop_contains(NULL, keeper, NULL), 1);
    CHECK_IS(rlk_loop_add(NULL, keeper, "panel"), 1);
    CHECK_IS(rlk_loop_contains(NULL, keeper, "panel"), 1);
    CHECK_IS(rlk_loop_remove(NULL, keeper, NULL), 1);
    CHECK_IS(rlk_loop_contains(NULL, keeper, NULL), 0);
    CHECK_IS(rlk_loop_contains(NULL, keeper, "panel"), 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_FINISHED);
    CHECK_IS(rlk_loop_run_in_mode(NULL, "panel", 0, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(rlk_loop_remove(NULL, keeper, "panel"), 1);
    CHECK_IS(rlk_loop_is_empty(NULL, "panel"), 1);
    CHECK(rlk_item_is_valid(keeper));
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
}

static void test_hooks_and_equality(void) {
    struct source one = {.key = 4}, two = {.key = 4}, three = {.key = 5};
    struct source *all[] = {&one, &two, &three};
    for (int i = 0; i < 3; i++) {
        rlk_source_options options = {.size = sizeof options,
            .perform = perform,
            .context = all[i],
            .release = released,
            .schedule = scheduled,
            .cancel = cancelled,
            .equal = equal,
            .hash = hash};
        CHECK_IS(rlk_source_create(&options, &all[i]->item), 0);
        CHECK_IS(rlk_loop_add(NULL, all[i]->item, "panel"), i == 1 ? 0 : 1);
        CHECK_IS(all[i]->scheduled, i == 1 ? 0 : 1);
    }
    CHECK_IS(rlk_loop_remove(NULL, one.item, "panel"), 1);
    CHECK_IS(one.cancelled, 1);
    CHECK_IS(rlk_item_invalidate(three.item), 0);
    CHECK_IS(three.cancelled, 1);
    CHECK_IS(three.released, 0);
    for (int i = 0; i < 3; i++) {
        rlk_item_release(all[i]->item);
        CHECK_IS(all[i]->released, 1);
    }
}

/* In its own callout a source ends itself, and runs another mode. */
static void end_itself(rlk_item *item, void *context) {
    struct source *source = context;
    source->performed++;
    CHECK_IS(rlk_item_invalidate(item), 0);
    CHECK_IS(source->released, 0);
    CHECK_IS(rlk_loop_perform(NULL, "inner", model_count, &source->key), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, "inner", 0, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(source->released, 0);
}

static void test_RLK_C_7_ended_in_its_callout(void) {
    struct source source = {.key = 0};
    rlk_source_options options = {
        .size = sizeof options, .perform = end_itself, .context = &source, .release = released};
    CHECK_IS(rlk_source_create(&options, &source.item), 0);
    CHECK_IS(rlk_loop_add(NULL, source.item, NULL), 1);
    CHECK_IS(rlk_source_signal(source.item), 0);
    rlk_item_release(source.item);
    rlk_loop_run_in_mode(NULL, NULL, 0, false);
    CHECK_IS(source.performed, 1);
    CHECK_IS(source.key, 1);
    CHECK_IS(source.released, 1);
}

static void wait_for_itself(rlk_item *item, void *context) {
    struct source *source = context;
    source->performed++;
    CHECK_IS(rlk_item_invalidate_and_wait(item, RLK_TIME_FOREVER), -EDEADLK);
    CHECK(rlk_item_is_valid(item));
    CHECK_IS(source->released, 0);
}

static void test_waiting_in_its_own_callout(void) {
    struct source source = {.key = 0};
    rlk_source_options options = {
        .size = sizeof options, .perform = wait_for_itself, .context = &source, .release = released};
    CHECK_IS(rlk_source_create(&options, &source.item), 0);
    CHECK_IS(rlk_loop_add(NULL, source.item, NULL), 1);
    CHECK_IS(rlk_source_signal(source.item), 0);
    rlk_loop_run_in_mode(NULL, NULL, 0, false);
    CHECK_IS(source.performed, 1);
    CHECK_IS(rlk_item_invalidate_and_wait(source.item, RLK_TIME_FOREVER), 0);
    CHECK_IS(source.released, 1);
    rlk_item_release(source.item);
}

/* ---- ends ---- */

struct leftovers {
    int sources, observers, timers, work;
};

static void no_perform(rlk_item *item, void *context) {
    (void)item, (void)context;
}
static void no_observe(rlk_item *item, uint32_t activity, void *context) {
    (void)item, (void)activity, (void)context;
}
static void no_work(void *context) {
    (void)context, abort();
}

static void leave_things(void *context) {
    struct leftovers *left = context;
    rlk_item *item = NULL;
    rlk_source_options source = {
        .size = sizeof source, .perform = no_perform, .context = &left->sources, .release = model_count};
    CHECK_IS(rlk_source_create(&source, &item), 0);
    CHECK_IS(rlk_loop_add(NULL, item, NULL), 1);
    rlk_item_release(item);
    rlk_observer_options observer = {.size = sizeof observer,
        .observe = no_observe,
        .context = &left->observers,
        .release = model_count,
        .activities = RLK_ENTRY};
    CHECK_IS(rlk_observer_create(&observer, &item), 0);
    CHECK_IS(rlk_loop_add(NULL, item, RLK_MODE_COMMON), 1);
    rlk_item_release(item);
    rlk_timer_options timer = {.size = sizeof timer,
        .fire = no_perform,
        .context = &left->timers,
        .release = model_count,
        .fire_date_ns = RLK_TIME_FOREVER};
    CHECK_IS(rlk_timer_create(&timer, &item), 0);
    CHECK_IS(rlk_loop_add(NULL, item, NULL), 1);
    rlk_item_release(item);
    rlk_work work = {.size = sizeof work, .perform = no_work, .context = &left->work, .release = model_count};
    CHECK_IS(rlk_loop_perform_work(NULL, &work), 0);
    CHECK_IS(rlk_loop_enqueue_work(NULL, &work), 0);
}

static void test_RLK_C_3_end_of_the_loop(void) {
    struct leftovers left = {.work = 0};
    model_on_thread(leave_things, &left);
    CHECK_IS(left.sources, 1);
    CHECK_IS(left.observers, 1);
    CHECK_IS(left.timers, 1);
    CHECK_IS(left.work, 2);
}

static void test_ended_loop(void) {
    rlk_loop *loop = model_ended_loop();
    rlk_item *keeper = model_keeper();
    CHECK_IS(rlk_loop_add(loop, keeper, NULL), -ESHUTDOWN);
    CHECK_IS(rlk_loop_remove(loop, keeper, NULL), 0);
    CHECK_IS(rlk_loop_contains(loop, keeper, NULL), 0);
    CHECK(rlk_item_is_valid(keeper));
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
    rlk_loop_release(loop);
}

/* ---- what items are asked, and bad input ---- */

static void test_labels_and_keeping(void) {
    char text[256];
    rlk_item *keeper = model_keeper();
    CHECK_IS(rlk_item_set_label(keeper, "pump"), 0);
    int length = rlk_item_describe(keeper, text, sizeof text);
    CHECK(length > 0 && strstr(text, "\"pump\"") != NULL);
    CHECK_IS(rlk_item_set_label(keeper, NO_MODE), -EINVAL);
    CHECK_IS(rlk_item_describe(keeper, NULL, 0), length);
    CHECK_IS(rlk_item_set_label(keeper, NULL), 0);
    CHECK(rlk_item_describe(keeper, text, sizeof text) > 0 && strstr(text, "pump") == NULL);
    CHECK_IS(rlk_item_set_keeps_running(keeper, false), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_FINISHED);
    CHECK_IS(rlk_item_set_keeps_running(keeper, true), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_TIMED_OUT);
    CHECK(rlk_item_retain(keeper) == keeper);
    rlk_item_release(keeper);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
}

static void test_RLK_C_2_bad_items(void) {
    rlk_item *item = NULL, *keeper = model_keeper();
    CHECK_IS(rlk_loop_add(NULL, NULL, NULL), -EINVAL);
    CHECK_IS(rlk_loop_add(NULL, keeper, NO_MODE), -EINVAL);
    CHECK_IS(rlk_loop_remove(NULL, NULL, NULL), -EINVAL);
    CHECK_IS(rlk_loop_remove(NULL, keeper, NO_MODE), -EINVAL);
    CHECK_IS(rlk_loop_contains(NULL, NULL, NULL), -EINVAL);
    CHECK_IS(rlk_loop_contains(NULL, keeper, NO_MODE), -EINVAL);
    CHECK_IS(rlk_item_invalidate(NULL), -EINVAL);
    CHECK_IS(rlk_item_invalidate_and_wait(NULL, 0), -EINVAL);
    CHECK_IS(rlk_item_set_label(NULL, "x"), -EINVAL);
    CHECK_IS(rlk_item_set_keeps_running(NULL, true), -EINVAL);
    CHECK_IS(rlk_item_describe(NULL, NULL, 0), -EINVAL);
    CHECK_IS(rlk_item_describe(keeper, NULL, 1), -EINVAL);
    CHECK_IS(rlk_source_signal(NULL), -EINVAL);
    CHECK_IS(rlk_source_is_signalled(NULL), -EINVAL);
    CHECK(!rlk_item_is_valid(NULL) && rlk_item_retain(NULL) == NULL);
    rlk_item_release(NULL);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);

    rlk_observer_options observer = {.size = sizeof observer, .observe = no_observe, .activities = RLK_ENTRY};
    CHECK_IS(rlk_observer_create(NULL, &item), -EINVAL);
    CHECK_IS(rlk_observer_create(&observer, NULL), -EINVAL);
    CHECK_IS(rlk_observer_create(&(rlk_observer_options){.size = sizeof observer}, &item), -EINVAL);
    rlk_source_options source = {.size = sizeof source, .perform = no_perform, .equal = equal};
    CHECK_IS(rlk_source_create(NULL, &item), -EINVAL);
    CHECK_IS(rlk_source_create(&source, &item), -EINVAL);
    source.hash = hash;
    CHECK_IS(rlk_source_create(&source, NULL), -EINVAL);
    CHECK_IS(rlk_source_create(&(rlk_source_options){.size = sizeof source}, &item), -EINVAL);
    CHECK(item == NULL);
    CHECK_IS(rlk_observer_create(&observer, &item), 0);
    CHECK_IS(rlk_source_signal(item), -EINVAL);
    CHECK_IS(rlk_source_is_signalled(item), -EINVAL);
    rlk_item_release(item);
}

const model_test *model_item_tests(void) {
    static const model_test tests[] = {
        {"observers", test_observers},
        {"RLK-C-6 order and once", test_order_and_once},
        {"RLK-C-6 sources", test_sources},
        {"RLK-C-6 each mode has its own members", test_RLK_C_6_each_mode_has_its_own_members},
        {"hooks and equality", test_hooks_and_equality},
        {"RLK-C-7 ended in its callout", test_RLK_C_7_ended_in_its_callout},
        {"RLK-C-3 end of the loop", test_RLK_C_3_end_of_the_loop},
        {"ended loop", test_ended_loop},
        {"labels and keeping", test_labels_and_keeping},
        {"RLK-C-2 bad items", test_RLK_C_2_bad_items},
        {"waiting in its own callout", test_waiting_in_its_own_callout},
        {NULL, NULL},
    };
    return tests;
}

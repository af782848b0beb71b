#include "model.h"

struct timer {
    int fired, released, limit;
    uint64_t dates[4];
};

static void fire(rlk_item *item, void *context) {
    struct timer *timer = context;
    CHECK(rlk_item_is_valid(item));
    CHECK_IS(rlk_timer_fire_date(item, &timer->dates[timer->fired & 3]), 0);
    if (++timer->fired == timer->limit)
        model_stop(NULL);
}

static void released(void *context) {
    ++((struct timer *)context)->released;
}

static rlk_item *make(struct timer *timer, rlk_clock clock, uint64_t date_ns, uint64_t interval_ns) {
    rlk_item *item = NULL;
    rlk_timer_options options = {.size = sizeof options,
        .fire = fire,
        .context = timer,
        .release = released,
        .clock = clock,
        .fire_date_ns = date_ns,
        .interval_ns = interval_ns};
    CHECK_IS(rlk_timer_create(&options, &item), 0);
    return item;
}

static void test_once_on_each_clock(void) {
    for (int clock = RLK_CLOCK_MONOTONIC; clock <= RLK_CLOCK_REALTIME; clock++) {
        struct timer timer = {.limit = 0};
        rlk_item *item = make(&timer, (rlk_clock)clock, rlk_now((rlk_clock)clock), 0);
        CHECK_IS(rlk_loop_add(NULL, item, NULL), 1);
        CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_FINISHED);
        CHECK_IS(timer.fired, 1);
        CHECK_IS(timer.released, 1);
        CHECK(!rlk_item_is_valid(item));
        rlk_item_release(item);
        CHECK_IS(timer.released, 1);
    }
}

static void test_repeating(void) {
    uint64_t date = 0;
    struct timer timer = {.limit = 3};
    rlk_item *item = make(&timer, RLK_CLOCK_MONOTONIC, 1, 1000);
    CHECK_IS(rlk_timer_set_tolerance(item, 400), 0);
    CHECK_IS(rlk_loop_add(NULL, item, NULL), 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_STOPPED);
    CHECK_IS(timer.fired, 3);
    CHECK_IS(rlk_timer_fire_date(item, &date), 0);
    CHECK(timer.dates[2] > timer.dates[1] && date > timer.dates[2]);
    CHECK_IS((timer.dates[2] - timer.dates[1]) % 1000, 0);
    CHECK_IS((date - timer.dates[2]) % 1000, 0);
    CHECK_IS(rlk_item_invalidate(item), 0);
    CHECK_IS(timer.released, 1);
    CHECK_IS(rlk_timer_fire_date(item, &date), -ENOENT);
    CHECK_IS(rlk_timer_set_fire_date(item, 1), -ENOENT);
    CHECK_IS(rlk_timer_set_tolerance(item, 1), -ENOENT);
    rlk_item_release(item);
}

static void test_rearmed_on_each_clock(void) {
    for (int clock = RLK_CLOCK_MONOTONIC; clock <= RLK_CLOCK_REALTIME; clock++) {
        uint64_t date = 0;
        struct timer timer = {.limit = 1};
        rlk_item *item = make(&timer, (rlk_clock)clock, RLK_TIME_FOREVER, RLK_TIME_FOREVER);
        CHECK_IS(rlk_loop_add(NULL, item, NULL), 1);
        CHECK_IS(rlk_timer_fire_date(item, &date), 0);
        CHECK_IS(date, RLK_TIME_FOREVER);
        CHECK_IS(rlk_loop_next_fire_date(NULL, NULL, &date), 0);
        CHECK_IS(date, RLK_TIME_FOREVER);
        for (int round = 0; round < 2; round++) {
            timer.fired = 0;
            CHECK_IS(rlk_timer_set_fire_date(item, 7), 0);
            CHECK_IS(rlk_timer_fire_date(item, &date), 0);
            CHECK_IS(date, 7);
            CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false), RLK_RUN_STOPPED);
            CHECK_IS(timer.fired, 1);
            CHECK_IS(rlk_timer_fire_date(item, &date), 0);
            CHECK_IS(date, RLK_TIME_FOREVER);
        }
        CHECK_IS(timer.released, 0);
        CHECK_IS(rlk_item_invalidate(item), 0);
        rlk_item_release(item);
        CHECK_IS(timer.released, 1);
    }
}

/* The first moment of a clock is a date, and long past. Another timer of the clock fires as well. */
static void test_the_first_moment_of_each_clock(void) {
    for (int clock = RLK_CLOCK_MONOTONIC; clock <= RLK_CLOCK_REALTIME; clock++) {
        uint64_t limit = rlk_now(RLK_CLOCK_MONOTONIC) + UINT64_C(30000000000);
        struct timer first = {.limit = 0}, later = {.limit = 0}, set = {.limit = 1};
        rlk_item *items[] = {make(&first, (rlk_clock)clock, 0, 0),
            make(&later, (rlk_clock)clock, rlk_now((rlk_clock)clock) + 1000000, 0),
            make(&set, (rlk_clock)clock, RLK_TIME_FOREVER, RLK_TIME_FOREVER)};
        CHECK_IS(rlk_loop_add(NULL, items[0], NULL), 1);
        CHECK_IS(rlk_loop_add(NULL, items[1], NULL), 1);
        CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, limit, false), RLK_RUN_FINISHED);
        CHECK_IS(first.fired, 1);
        CHECK_IS(first.dates[0], 0);
        CHECK_IS(later.fired, 1);
        CHECK_IS(rlk_loop_add(NULL, items[2], NULL), 1);
        CHECK_IS(rlk_timer_set_fire_date(items[2], 0), 0);
        CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, limit, false), RLK_RUN_STOPPED);
        CHECK_IS(set.fired, 1);
        for (int i = 0; i < 3; i++) {
            CHECK_IS(rlk_item_invalidate(items[i]), 0);
            rlk_item_release(items[i]);
        }
    }
}

static void test_next_date(void) {
    uint64_t date = 0, soon = rlk_now(RLK_CLOCK_MONOTONIC) + 3600000000000;
    struct timer timer = {.limit = 0};
    rlk_item *item = make(&timer, RLK_CLOCK_MONOTONIC, soon, 0), *keeper = model_keeper();
    CHECK_IS(rlk_loop_next_fire_date(NULL, NULL, &date), 0);
    CHECK_IS(date, RLK_TIME_FOREVER); /* a mode without timers */
    CHECK_IS(rlk_loop_next_fire_date(NULL, "none", &date), 0);
    CHECK_IS(date, RLK_TIME_FOREVER);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
    CHECK_IS(rlk_loop_add(NULL, item, RLK_MODE_COMMON), 1);
    CHECK_IS(rlk_loop_next_fire_date(NULL, NULL, &date), 0);
    CHECK_IS(date, soon);
    CHECK_IS(rlk_item_invalidate(item), 0);
    rlk_item_release(item);
    CHECK_IS(timer.released, 1);
}

static void test_RLK_C_2_bad_timers(void) {
    uint64_t date = 3;
    struct timer timer = {.limit = 0};
    rlk_item *item = NULL, *keeper = model_keeper();
    rlk_timer_options options = {.size = sizeof options, .fire = fire, .context = &timer, .release = released};
    CHECK_IS(rlk_timer_create(NULL, &item), -EINVAL);
    CHECK_IS(rlk_timer_create(&options, NULL), -EINVAL);
    options.clock = (rlk_clock)3;
    CHECK_IS(rlk_timer_create(&options, &item), -EINVAL);
    options = (rlk_timer_options){.size = sizeof options, .context = &timer, .release = released};
    CHECK_IS(rlk_timer_create(&options, &item), -EINVAL);
    CHECK(item == NULL);
    CHECK_IS(timer.released, 0);
    CHECK_IS(rlk_timer_set_fire_date(NULL, 1), -EINVAL);
    CHECK_IS(rlk_timer_set_fire_date(keeper, 1), -EINVAL);
    CHECK_IS(rlk_timer_fire_date(NULL, &date), -EINVAL);
    CHECK_IS(rlk_timer_fire_date(keeper, &date), -EINVAL);
    CHECK_IS(rlk_timer_set_tolerance(NULL, 1), -EINVAL);
    CHECK_IS(rlk_timer_set_tolerance(keeper, 1), -EINVAL);
    CHECK_IS(date, 3);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
    item = make(&timer, RLK_CLOCK_MONOTONIC, 1, 0);
    CHECK_IS(rlk_timer_fire_date(item, NULL), -EINVAL);
    rlk_item_release(item);
    CHECK_IS(timer.released, 1);
}

const model_test *model_timer_tests(void) {
    static const model_test tests[] = {
        {"once on each clock", test_once_on_each_clock},
        {"repeating", test_repeating},
        {"rearmed on each clock", test_rearmed_on_each_clock},
        {"the first moment of each clock", test_the_first_moment_of_each_clock},
        {"next date", test_next_date},
        {"RLK-C-2 bad timers", test_RLK_C_2_bad_timers},
        {NULL, NULL},
    };
    return tests;
}

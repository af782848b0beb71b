#include <stdlib.h>

#include "model.h"

/* A context that counts its references, and has words. */
struct counted {
    int references, described, length;
    char words[300];
};

static void *retain(void *context) {
    ++((struct counted *)context)->references;
    return context;
}
static void release(void *context) {
    --((struct counted *)context)->references;
}
static int describe(const void *context, char *buffer, size_t size) {
    struct counted *counted = (struct counted *)context;
    counted->described++;
    CHECK(counted->references > 0);
    if (counted->length < 0)
        return counted->length;
    return snprintf(buffer, size, "%s", counted->words);
}

static void do_nothing(rlk_item *item, void *context) {
    (void)item, (void)context;
}
static void note_nothing(rlk_item *item, uint32_t activity, void *context) {
    (void)item, (void)activity, (void)context;
}

enum { OBSERVER, SOURCE, TIMER, WALL_TIMER, KINDS };

static rlk_item *make(int kind, struct counted *counted) {
    rlk_item *item = NULL;
    rlk_observer_options observer = {.size = sizeof observer,
        .observe = note_nothing,
        .context = counted,
        .release = release,
        .activities = RLK_ENTRY,
        .retain = retain,
        .describe = describe};
    rlk_source_options source = {.size = sizeof source,
        .perform = do_nothing,
        .context = counted,
        .release = release,
        .retain = retain,
        .describe = describe};
    rlk_timer_options timer = {.size = sizeof timer,
        .fire = do_nothing,
        .context = counted,
        .release = release,
        .clock = kind == WALL_TIMER ? RLK_CLOCK_REALTIME : RLK_CLOCK_MONOTONIC,
        .fire_date_ns = RLK_TIME_FOREVER,
        .retain = retain,
        .describe = describe};
    CHECK_IS(kind == OBSERVER ? rlk_observer_create(&observer, &item)
             : kind == SOURCE ? rlk_source_create(&source, &item)
                              : rlk_timer_create(&timer, &item),
        0);
    return item;
}

static void test_RLK_C_23_contexts_are_retained_once(void) {
    for (int kind = 0; kind < KINDS; kind++) {
        struct counted counted = {.words = "x"};
        rlk_item *item = make(kind, &counted);
        CHECK_IS(counted.references, 1);
        CHECK_IS(rlk_loop_add(NULL, item, NULL), 1);
        CHECK_IS(rlk_loop_add(NULL, item, "other"), 1);
        CHECK_IS(counted.references, 1);
        CHECK_IS(rlk_item_invalidate(item), 0);
        CHECK_IS(counted.references, 0);
        rlk_item_release(item);
        CHECK_IS(counted.references, 0);
    }
}

/* The context that the functions are given is what `retain` has returned. */
static void *retain_next(void *context) {
    return retain((struct counted *)context + 1);
}

static void test_RLK_C_23_what_retain_returns_is_the_context(void) {
    struct counted counted[2] = {{.words = "given"}, {.words = "kept"}};
    rlk_source_options options = {.size = sizeof options,
        .perform = do_nothing,
        .context = counted,
        .release = release,
        .retain = retain_next,
        .describe = describe};
    rlk_item *item = NULL;
    char text[200];
    CHECK_IS(rlk_source_create(&options, &item), 0);
    CHECK(rlk_item_describe(item, text, sizeof text) > 0);
    CHECK(strstr(text, ", context kept, in no mode>") != NULL);
    rlk_item_release(item);
    CHECK_IS(counted[0].references, 0);
    CHECK_IS(counted[1].references, 0);
}

static int ends_of_null, calls_with_null;

static void *retain_as_null(void *context) {
    (void)context;
    return NULL;
}
static void release_null(void *context) {
    ends_of_null++;
    CHECK(context == NULL);
}
static void perform_with_null(rlk_item *item, void *context) {
    (void)item;
    calls_with_null++;
    CHECK(context == NULL);
}

static void test_RLK_C_23_null_is_a_context_like_any_other(void) {
    int given = 0;
    rlk_item *item = NULL;
    rlk_source_options options = {.size = sizeof options,
        .perform = perform_with_null,
        .context = &given,
        .release = release_null,
        .retain = retain_as_null};
    ends_of_null = calls_with_null = 0;
    CHECK_IS(rlk_source_create(&options, &item), 0);
    CHECK_IS(rlk_loop_add(NULL, item, NULL), 1);
    CHECK_IS(rlk_source_signal(item), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
    CHECK_IS(rlk_item_invalidate(item), 0);
    rlk_item_release(item);
    CHECK_IS(calls_with_null, 1);
    CHECK_IS(ends_of_null, 1);
}

static void test_RLK_C_24_words_are_in_descriptions(void) {
    for (int kind = 0; kind < KINDS; kind++) {
        struct counted counted = {.words = "of the panel"};
        rlk_item *item = make(kind, &counted);
        char text[2000];
        CHECK(rlk_item_describe(item, text, sizeof text) > 0);
        CHECK(strstr(text, ", context of the panel, in no mode>") != NULL);
        CHECK_IS(counted.described, 1);
        CHECK_IS(rlk_loop_add(NULL, item, NULL), 1);
        CHECK(rlk_loop_describe(NULL, text, sizeof text) > 0);
        CHECK(strstr(text, "context of the panel") != NULL);
        CHECK_IS(rlk_item_invalidate(item), 0); /* released: not asked any more */
        counted.described = 0;
        CHECK(rlk_item_describe(item, text, sizeof text) > 0);
        CHECK_IS(counted.described, 0);
        CHECK(strstr(text, "context") == NULL);
        rlk_item_release(item);
    }
}

static void test_RLK_C_24_long_words_and_none(void) {
    struct counted counted = {.length = 0};
    rlk_item *item = make(SOURCE, &counted);
    char text[1000];
    memset(counted.words, 'w', sizeof counted.words - 1);
    CHECK(rlk_item_describe(item, text, sizeof text) > (int)sizeof counted.words);
    CHECK(strstr(text, counted.words) != NULL);
    CHECK_IS(counted.described, 2);
    for (size_t length = sizeof counted.words - 1; length > 0; length--) { /* one is that of the first buffer */
        counted.words[length] = 0;
        CHECK(rlk_item_describe(item, text, sizeof text) > 0);
        const char *words = strstr(text, ", context ");
        CHECK(words != NULL && strspn(words + 10, "w") == length);
    }
    counted.length = -1;
    CHECK(rlk_item_describe(item, text, sizeof text) > 0);
    CHECK(strstr(text, "context") == NULL);
    rlk_item_release(item);
    CHECK_IS(counted.references, 0);
}

/* ---- equal contexts are found by their hash ---- */

static long compared, hashed;

static bool equal(const void *a, const void *b) {
    compared++;
    return *(const int *)a == *(const int *)b;
}
static uint64_t hash(const void *context) {
    hashed++;
    return (uint64_t) * (const int *)context * 0x9E3779B97F4A7C15u;
}

static rlk_item *numbered_by(int *number, rlk_equal_fn compare) {
    rlk_item *item = NULL;
    rlk_source_options options = {
        .size = sizeof options, .perform = do_nothing, .context = number, .equal = compare, .hash = hash};
    CHECK_IS(rlk_source_create(&options, &item), 0);
    return item;
}

static rlk_item *numbered(int *number) {
    return numbered_by(number, equal);
}

/* Of another type: it would read what is not there. */
static bool never_equal(const void *a, const void *b) {
    (void)a, (void)b;
    CHECK(!"contexts of different functions are compared");
    return true;
}

static void test_RLK_C_25_contexts_of_different_functions_are_not_compared(void) {
    int number = 7, same = 7;
    rlk_item *items[] = {numbered(&number), numbered_by(&same, never_equal)};
    compared = 0;
    for (int i = 0; i < 2; i++) {
        CHECK_IS(rlk_loop_contains(NULL, items[i], NULL), 0);
        CHECK_IS(rlk_loop_add(NULL, items[i], NULL), 1);
    }
    CHECK_IS(compared, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_IS(rlk_loop_remove(NULL, items[i], NULL), 1);
        rlk_item_release(items[i]);
    }
}

static void count_for(int count) {
    int *numbers = malloc((size_t)count * sizeof *numbers), twin = count / 2;
    rlk_item **items = malloc((size_t)count * sizeof *items), *equal_one = numbered(&twin);
    compared = hashed = 0;
    for (int i = 0; i < count; i++) {
        numbers[i] = i;
        items[i] = numbered(&numbers[i]);
        CHECK_IS(rlk_loop_add(NULL, items[i], NULL), 1);
        CHECK_IS(rlk_loop_contains(NULL, items[i], NULL), 1);
    }
    CHECK_IS(compared, 0);
    CHECK_IS(hashed, count);
    CHECK_IS(rlk_loop_add(NULL, equal_one, NULL), 0);
    CHECK_IS(rlk_loop_contains(NULL, equal_one, NULL), 1);
    CHECK_IS(compared, 1);
    CHECK_IS(hashed, count + 1);
    for (int i = 0; i < count; i++) {
        CHECK_IS(i == twin ? rlk_loop_remove(NULL, items[i], NULL) : rlk_item_invalidate(items[i]), i == twin);
        rlk_item_release(items[i]);
    }
    CHECK_IS(rlk_loop_contains(NULL, equal_one, NULL), 0);
    rlk_item_release(equal_one);
    free(numbers), free(items);
}

static void test_RLK_C_25_one_more_source_costs_the_same(void) {
    count_for(10);
    count_for(4000);
}

const model_test *model_context_tests(void) {
    static const model_test tests[] = {
        {"RLK-C-23 contexts are retained once", test_RLK_C_23_contexts_are_retained_once},
        {"RLK-C-23 what retain returns is the context", test_RLK_C_23_what_retain_returns_is_the_context},
        {"RLK-C-23 NULL is a context like any other", test_RLK_C_23_null_is_a_context_like_any_other},
        {"RLK-C-24 words are in descriptions", test_RLK_C_24_words_are_in_descriptions},
        {"RLK-C-24 long words and none", test_RLK_C_24_long_words_and_none},
        {"RLK-C-25 contexts of different functions", test_RLK_C_25_contexts_of_different_functions_are_not_compared},
        {"RLK-C-25 one more source costs the same", test_RLK_C_25_one_more_source_costs_the_same},
        {NULL, NULL},
    };
    return tests;
}

#include "harness.h"
#include "timer_heap_internal.h"

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % bound;
}

static rlc_timer_heap *make_heap(void) {
    rlc_timer_heap *heap;
    CHECK_EQUAL(rlc_timer_heap_create(&heap), 0);
    return heap;
}

static rlc_token insert(rlc_timer_heap *heap, void *context) {
    rlc_token token;
    CHECK_EQUAL(rlc_timer_heap_insert(heap, context, &token), 0);
    return token;
}

static void check_next(rlc_timer_heap *heap, uint64_t now_ns, void *expected) {
    void *context = NULL;
    rlc_token token;
    CHECK(rlc_timer_heap_take_due(heap, now_ns, &context, &token));
    CHECK(context == expected);
}

static void check_none(rlc_timer_heap *heap, uint64_t now_ns) {
    void *context;
    rlc_token token;
    CHECK(!rlc_timer_heap_take_due(heap, now_ns, &context, &token));
}

static int names[8];

static void test_empty(void) {
    rlc_timer_heap *heap = make_heap();
    CHECK(rlc_timer_heap_first(heap) == RLC_TIME_FOREVER);
    CHECK(rlc_timer_heap_wake_at(heap) == RLC_TIME_FOREVER);
    check_none(heap, RLC_TIME_FOREVER);
    CHECK_EQUAL(rlc_timer_heap_count(heap), 0);
    rlc_timer_heap_destroy(heap);
    rlc_timer_heap_destroy(NULL);
}

static void test_RLC_HEAP_1_never_early(void) {
    rlc_timer_heap *heap = make_heap();
    rlc_token token = insert(heap, &names[0]);
    check_none(heap, RLC_TIME_FOREVER); /* a member, but not armed */
    CHECK_EQUAL(rlc_timer_heap_arm(heap, token, 100, 0), 0);
    check_none(heap, 99);
    check_next(heap, 100, &names[0]);
    check_none(heap, RLC_TIME_FOREVER); /* taking disarms */
    CHECK_EQUAL(rlc_timer_heap_count(heap), 1);
    rlc_timer_heap_destroy(heap);
}

static void test_RLC_HEAP_2_equal_deadlines_in_order_of_arming(void) {
    rlc_timer_heap *heap = make_heap();
    rlc_token tokens[6];
    for (int i = 0; i < 6; i++)
        tokens[i] = insert(heap, &names[i]);
    const int order[] = {3, 0, 5, 1, 4, 2};
    for (int i = 0; i < 6; i++) {
        /* Tolerant ones and exact ones mixed: one order. */
        CHECK_EQUAL(rlc_timer_heap_arm(heap, tokens[order[i]], 100, (uint64_t)(order[i] % 2) * 50), 0);
    }
    CHECK_EQUAL(rlc_timer_heap_arm(heap, tokens[0], 100, 0), 0); /* a new place: the last */
    const int expected[] = {3, 5, 1, 4, 2, 0};
    for (int i = 0; i < 6; i++)
        check_next(heap, 100, &names[expected[i]]);
    rlc_timer_heap_destroy(heap);
}

static void test_RLC_HEAP_12_a_tolerance_changes_no_place(void) {
    rlc_timer_heap *heap = make_heap();
    rlc_token tokens[4];
    for (int i = 0; i < 4; i++) {
        tokens[i] = insert(heap, &names[i]);
        CHECK_EQUAL(rlc_timer_heap_arm(heap, tokens[i], 100, 0), 0);
    }
    CHECK_EQUAL(rlc_timer_heap_set_tolerance(heap, tokens[0], 50), 0);
    CHECK_EQUAL(rlc_timer_heap_set_tolerance(heap, tokens[2], 70), 0);
    CHECK_EQUAL(rlc_timer_heap_set_tolerance(heap, tokens[2], 30), 0);
    CHECK_EQUAL(rlc_timer_heap_set_tolerance(heap, tokens[2], 90), 0);
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 100);
    CHECK_EQUAL(rlc_timer_heap_remove(heap, tokens[3]), 0);
    CHECK_EQUAL(rlc_timer_heap_set_tolerance(heap, tokens[3], 5), -ENOENT);
    CHECK_EQUAL(rlc_timer_heap_set_tolerance(heap, tokens[1], 60), 0);
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 150); /* none is exact any more */
    CHECK_EQUAL(rlc_timer_heap_set_tolerance(heap, tokens[0], 0), 0);
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 100);
    for (int i = 0; i < 3; i++)
        check_next(heap, 100, &names[i]);
    CHECK_EQUAL(rlc_timer_heap_set_tolerance(heap, tokens[0], 50), 0); /* not armed: nothing */
    CHECK(rlc_timer_heap_first(heap) == RLC_TIME_FOREVER);
    rlc_timer_heap_destroy(heap);
}

static void test_RLC_HEAP_13_armed_until_taken(void) {
    rlc_timer_heap *heap = make_heap();
    rlc_token token = insert(heap, &names[0]);
    CHECK(!rlc_timer_heap_is_armed(heap, token));
    CHECK_EQUAL(rlc_timer_heap_arm(heap, token, 100, 0), 0);
    CHECK(rlc_timer_heap_is_armed(heap, token));
    check_next(heap, 100, &names[0]);
    CHECK(!rlc_timer_heap_is_armed(heap, token));
    CHECK_EQUAL(rlc_timer_heap_arm(heap, token, 100, 50), 0);
    CHECK(rlc_timer_heap_is_armed(heap, token));
    CHECK_EQUAL(rlc_timer_heap_remove(heap, token), 0);
    CHECK(!rlc_timer_heap_is_armed(heap, token));
    rlc_timer_heap_destroy(heap);
}

static void test_RLC_HEAP_3_tolerances_merge(void) {
    rlc_timer_heap *heap = make_heap();
    rlc_token a = insert(heap, &names[0]), b = insert(heap, &names[1]), c = insert(heap, &names[2]);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 100, 1000), 0);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, b, 200, 10), 0);
    CHECK_EQUAL(rlc_timer_heap_first(heap), 100);
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 210); /* one wake-up serves both */
    CHECK_EQUAL(rlc_timer_heap_arm(heap, c, 150, 0), 0);
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 150);
    check_next(heap, 210, &names[0]);
    check_next(heap, 210, &names[2]);
    check_next(heap, 210, &names[1]);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 100, RLC_TIME_FOREVER), 0);
    CHECK(rlc_timer_heap_wake_at(heap) == RLC_TIME_FOREVER); /* no hurry at all */
    CHECK_EQUAL(rlc_timer_heap_first(heap), 100);
    rlc_timer_heap_destroy(heap);
}

static void test_RLC_HEAP_4_push_out_surfaces_and_sinks(void) {
    rlc_timer_heap *heap = make_heap();
    rlc_token a = insert(heap, &names[0]), b = insert(heap, &names[1]);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 100, 0), 0);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, b, 150, 0), 0);
    for (uint64_t i = 1; i <= 10; i++)
        CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 100 + i * 100, 0), 0);
    CHECK_EQUAL(rlc_timer_heap_first(heap), 150);
    check_next(heap, 1000, &names[1]);
    check_none(heap, 1099);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 50, 0), 0); /* and back */
    CHECK_EQUAL(rlc_timer_heap_first(heap), 50);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 60, 5), 0); /* from exact to tolerant */
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 65);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 70, 0), 0);
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 70);
    rlc_timer_heap_destroy(heap);
}

/** What is known of the first entry ends with it: pushed out, taken out, or changed in its tolerance. */
static void test_RLC_HEAP_4_a_first_timer_that_was_looked_at_is_pushed_out(void) {
    for (uint64_t tolerance = 0; tolerance < 2; tolerance++) {
        rlc_timer_heap *heap = make_heap();
        rlc_token a = insert(heap, &names[0]), b = insert(heap, &names[1]);
        CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 100, tolerance), 0);
        CHECK_EQUAL(rlc_timer_heap_first(heap), 100); /* settled */
        CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 100 + tolerance);
        CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 200, tolerance), 0);
        CHECK_EQUAL(rlc_timer_heap_first(heap), 200);
        CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 200 + tolerance);
        CHECK_EQUAL(rlc_timer_heap_arm(heap, b, 300, tolerance), 0);
        CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 400, tolerance), 0);
        CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 300 + tolerance);
        CHECK_EQUAL(rlc_timer_heap_first(heap), 300);
        check_none(heap, 299);
        check_next(heap, 300, &names[1]);
        CHECK_EQUAL(rlc_timer_heap_first(heap), 400);
        rlc_timer_heap_destroy(heap);
    }
}

static void test_RLC_HEAP_5_forever_disarms(void) {
    rlc_timer_heap *heap = make_heap();
    rlc_token a = insert(heap, &names[0]);
    for (uint64_t tolerance = 0; tolerance < 2; tolerance++) {
        CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 100, tolerance), 0);
        CHECK_EQUAL(rlc_timer_heap_arm(heap, a, RLC_TIME_FOREVER, tolerance), 0);
        CHECK(rlc_timer_heap_first(heap) == RLC_TIME_FOREVER);
        check_none(heap, RLC_TIME_FOREVER);
    }
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, RLC_TIME_FOREVER - 1, 5), 0); /* far, but not never */
    CHECK(rlc_timer_heap_first(heap) == RLC_TIME_FOREVER - 1);
    rlc_timer_heap_destroy(heap);
}

static void test_RLC_HEAP_6_stale_tokens(void) {
    rlc_timer_heap *heap = make_heap();
    rlc_token a = insert(heap, &names[0]);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 100, 3), 0);
    CHECK_EQUAL(rlc_timer_heap_remove(heap, a), 0);
    CHECK_EQUAL(rlc_timer_heap_remove(heap, a), -ENOENT);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 5, 0), -ENOENT);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, (rlc_token){0}, 5, 0), -ENOENT);
    (void)insert(heap, &names[1]);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 5, 0), -ENOENT); /* the slot has a new owner */
    check_none(heap, RLC_TIME_FOREVER);
    rlc_timer_heap_destroy(heap);
}

static void test_RLC_HEAP_7_only_insert_allocates(void) {
    enum { COUNT = 300 };
    rlc_timer_heap *heap = make_heap();
    rlc_token tokens[COUNT];
    for (int i = 0; i < COUNT; i++)
        tokens[i] = insert(heap, NULL);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, tokens[0], 1, 1), 0); /* the first tolerance of its life */
    unsigned long before = allocations();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            CHECK_EQUAL(
                rlc_timer_heap_arm(heap, tokens[i], random_below(1000), random_below(2) * random_below(500)), 0);
        }
        void *context;
        rlc_token token;
        while (rlc_timer_heap_take_due(heap, 600, &context, &token)) {
        }
    }
    CHECK_EQUAL(allocations(), before);
    rlc_timer_heap_destroy(heap);
}

static void test_RLC_HEAP_8_insert_fails_cleanly(void) {
    rlc_timer_heap *heap = NULL;
    fail_allocation(1);
    CHECK_EQUAL(rlc_timer_heap_create(&heap), -ENOMEM);
    CHECK(heap == NULL);
    for (unsigned long k = 1; k <= 4; k++) {
        heap = make_heap();
        rlc_token token = {.bits = 7};
        fail_allocation(k);
        CHECK_EQUAL(rlc_timer_heap_insert(heap, NULL, &token), -ENOMEM);
        CHECK_EQUAL(token.bits, 7);
        CHECK_EQUAL(rlc_timer_heap_count(heap), 0);
        token = insert(heap, &names[0]);
        CHECK_EQUAL(rlc_timer_heap_arm(heap, token, 1, 1), 0);
        check_next(heap, 1, &names[0]);
        rlc_timer_heap_destroy(heap);
    }
}

/** With tolerance there are more arrays: room counts when all of them have it. */
static void test_RLC_HEAP_8_growing_fails_cleanly(void) {
    for (unsigned long k = 1; k <= 8; k++) {
        rlc_timer_heap *heap = make_heap();
        rlc_token token;
        CHECK_EQUAL(rlc_timer_heap_arm(heap, insert(heap, &names[0]), 100, 10), 0);
        int status = 0;
        for (int i = 0; i < 40 && status == 0; i++) {
            fail_allocation(k);
            status = rlc_timer_heap_insert(heap, &names[1], &token);
            fail_allocation(0);
        }
        unsigned long before = allocations();
        token = insert(heap, &names[1]);
        CHECK(status == 0 || allocations() > before); /* tries again */
        CHECK_EQUAL(rlc_timer_heap_arm(heap, token, 50, 10), 0);
        check_next(heap, 50, &names[1]);
        check_next(heap, 100, &names[0]);
        rlc_timer_heap_destroy(heap);
    }
}

static void test_RLC_HEAP_9_without_memory_a_timer_is_exact(void) {
    for (unsigned long k = 1; k <= 3; k++) {
        rlc_timer_heap *heap = make_heap();
        rlc_token a = insert(heap, &names[0]), b = insert(heap, &names[1]);
        fail_allocation(k);
        CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 100, 50), 0);
        CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 100);
        CHECK_EQUAL(rlc_timer_heap_arm(heap, b, 120, 50), 0); /* there is memory again */
        CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 150, 50), 0);
        CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 170);
        rlc_token c = insert(heap, &names[2]);
        CHECK_EQUAL(rlc_timer_heap_arm(heap, c, 110, 10), 0);
        CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 120);
        check_next(heap, 150, &names[2]);
        check_next(heap, 150, &names[1]);
        check_next(heap, 150, &names[0]);
        rlc_timer_heap_destroy(heap);
    }
}

static void test_RLC_HEAP_2_the_order_outlives_2_to_the_32_arms(void) {
    enum { COUNT = 200 };
    static int marks[COUNT];
    rlc_timer_heap *heap = make_heap();
    rlc_token tokens[COUNT];
    for (int i = 0; i < COUNT; i++)
        tokens[i] = insert(heap, &marks[i]);
    rlc_timer_heap_set_sequence(heap, UINT32_MAX - COUNT / 2); /* the number runs over half-way */
    for (int i = 0; i < COUNT; i++)
        CHECK_EQUAL(rlc_timer_heap_arm(heap, tokens[i], 100, (uint64_t)(i % 3)), 0);
    rlc_timer_heap_set_sequence(heap, UINT32_MAX);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, tokens[0], 100, 0), 0);
    for (int i = 1; i < COUNT; i++)
        check_next(heap, 100, &marks[i]);
    check_next(heap, 100, &marks[0]);
    rlc_timer_heap_destroy(heap);
}

/* ---- against a model that is too simple to be wrong ---- */

enum { MODEL = 64 };

typedef struct model_timer {
    rlc_token token;
    uint64_t deadline, latest, sequence;
    bool exists;
} model_timer;

static model_timer model[MODEL];
static uint64_t model_sequence;

static model_timer *model_first(void) {
    model_timer *first = NULL;
    for (int i = 0; i < MODEL; i++) {
        model_timer *timer = &model[i];
        if (!timer->exists || timer->deadline == RLC_TIME_FOREVER)
            continue;
        if (first == NULL || timer->deadline < first->deadline ||
            (timer->deadline == first->deadline && timer->sequence < first->sequence))
            first = timer;
    }
    return first;
}

static uint64_t model_wake_at(void) {
    uint64_t wake_at = RLC_TIME_FOREVER;
    for (int i = 0; i < MODEL; i++) {
        if (!model[i].exists || model[i].deadline == RLC_TIME_FOREVER)
            continue;
        if (model[i].latest < wake_at)
            wake_at = model[i].latest;
    }
    return wake_at;
}

/** Of all that are armed until it changes; 0: each has its own. */
static uint32_t shared_tolerance;

static uint64_t random_tolerance(void) {
    uint32_t own = random_below(40);
    return random_below(2) * (shared_tolerance != 0 ? shared_tolerance : own);
}

static void random_change(rlc_timer_heap *heap) {
    model_timer *timer = &model[random_below(MODEL)];
    uint32_t what = random_below(20);
    if (!timer->exists) {
        timer->token = insert(heap, timer);
        timer->exists = true;
        timer->deadline = RLC_TIME_FOREVER;
    } else if (what == 0) {
        CHECK_EQUAL(rlc_timer_heap_remove(heap, timer->token), 0);
        timer->exists = false;
    } else {
        uint64_t tolerance = random_tolerance();
        timer->deadline = what == 1 ? RLC_TIME_FOREVER : random_below(100);
        timer->latest = timer->deadline + tolerance;
        timer->sequence = ++model_sequence;
        CHECK_EQUAL(rlc_timer_heap_arm(heap, timer->token, timer->deadline, tolerance), 0);
    }
}

static void check_taken(void *now, void *context, rlc_token token) {
    model_timer *expected = model_first();
    CHECK(expected == context);
    CHECK(expected->token.bits == token.bits && expected->deadline <= *(uint64_t *)now);
    expected->deadline = RLC_TIME_FOREVER;
}

/** All at once, or one by one. */
static void take_all_due(rlc_timer_heap *heap, uint64_t now) {
    if (random_below(2) == 0)
        rlc_timer_heap_take_all(heap, now, check_taken, &now);
    void *context;
    rlc_token token;
    while (rlc_timer_heap_take_due(heap, now, &context, &token))
        check_taken(&now, context, token);
    model_timer *next = model_first();
    CHECK(next == NULL || next->deadline > now);
}

static void check_order(void *last_ns, void *context, rlc_token token) {
    uint64_t deadline_ns = *(uint64_t *)context;
    (void)token;
    CHECK(deadline_ns >= *(uint64_t *)last_ns);
    *(uint64_t *)last_ns = deadline_ns;
}

static void test_RLC_HEAP_10_many_at_once_come_in_order(void) {
    enum { COUNT = 5000 };
    static uint64_t deadlines[COUNT];
    for (uint32_t shape = 0; shape < 4; shape++) {
        rlc_timer_heap *heap = make_heap();
        for (uint32_t i = 0; i < COUNT; i++) {
            const uint64_t shapes[] = {i, COUNT - i, random_below(COUNT), i < COUNT / 2 ? i : COUNT - i};
            deadlines[i] = shapes[shape];
            CHECK_EQUAL(rlc_timer_heap_arm(heap, insert(heap, &deadlines[i]), deadlines[i], 0), 0);
        }
        size_t taken = 0;
        uint64_t last_ns = 0;
        for (uint64_t now_ns = 0; now_ns <= COUNT; now_ns += COUNT / 3)
            taken += rlc_timer_heap_take_all(heap, now_ns, check_order, &last_ns);
        taken += rlc_timer_heap_take_all(heap, COUNT, check_order, &last_ns);
        CHECK_EQUAL(taken, COUNT);
        rlc_timer_heap_destroy(heap);
    }
}

static void test_RLC_HEAP_4_pushing_out_moves_nothing(void) {
    enum { COUNT = 1000 };
    rlc_timer_heap *heap = make_heap();
    rlc_token tokens[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        tokens[i] = insert(heap, NULL);
        CHECK_EQUAL(rlc_timer_heap_arm(heap, tokens[i], COUNT - i, 0), 0);
    }
    uint64_t before = rlc_timer_heap_moves(heap);
    CHECK(before > 0);
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK_EQUAL(rlc_timer_heap_arm(heap, tokens[i], COUNT + i, 0), 0);
    CHECK_EQUAL(rlc_timer_heap_moves(heap), before);
    CHECK_EQUAL(rlc_timer_heap_first(heap), COUNT);
    CHECK(rlc_timer_heap_moves(heap) > before);
    rlc_timer_heap_destroy(heap);
}

static void test_random_operations_against_a_model(void) {
    rlc_timer_heap *heap = make_heap();
    for (int i = 0; i < 100000; i++) {
        random_change(heap);
        if (random_below(4) == 0) {
            model_timer *first = model_first();
            CHECK(rlc_timer_heap_first(heap) == (first == NULL ? RLC_TIME_FOREVER : first->deadline));
            CHECK(rlc_timer_heap_wake_at(heap) == model_wake_at());
        }
        if (random_below(16) == 0)
            take_all_due(heap, random_below(60));
        if (random_below(400) == 0) {
            shared_tolerance = random_below(3) * 7;
            take_all_due(heap, random_below(2) * 100); /* sometimes nothing is left armed */
        }
        if (random_below(5000) == 0)
            rlc_timer_heap_set_sequence(heap, UINT32_MAX);
    }
    rlc_timer_heap_destroy(heap);
}

enum { CROWD = 500 };

/** Arms a crowd, takes the half of it and the rest, and returns how many entries were moved. */
static uint64_t moves_of_crowd(rlc_timer_heap *heap, const rlc_token *tokens, uint64_t tolerance_ns) {
    uint64_t before = rlc_timer_heap_moves(heap);
    for (uint64_t i = 0; i < CROWD; i++)
        CHECK_EQUAL(rlc_timer_heap_arm(heap, tokens[i], 1000 + i * 7919 % CROWD, tolerance_ns), 0);
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 1000 + tolerance_ns);
    void *context;
    rlc_token token;
    for (int i = 0; i < CROWD / 2; i++)
        CHECK(rlc_timer_heap_take_due(heap, 1000 + CROWD, &context, &token));
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 1000 + CROWD / 2 + tolerance_ns);
    CHECK_EQUAL(rlc_timer_heap_take_all(heap, 1000 + CROWD, check_order, &(uint64_t){0}), CROWD / 2);
    return rlc_timer_heap_moves(heap) - before;
}

static void test_RLC_HEAP_14_equal_tolerances_cost_no_more_than_none(void) {
    rlc_timer_heap *heap = make_heap();
    rlc_token tokens[CROWD];
    static uint64_t names_of_crowd[CROWD];
    for (int i = 0; i < CROWD; i++)
        tokens[i] = insert(heap, &names_of_crowd[i]);
    uint64_t moves = moves_of_crowd(heap, tokens, 0);
    CHECK_EQUAL(moves_of_crowd(heap, tokens, 20), moves);
    rlc_token other = insert(heap, &names_of_crowd[0]);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, other, 5000, 1), 0);
    CHECK(moves_of_crowd(heap, tokens, 30) > moves);
    check_next(heap, 5000, &names_of_crowd[0]);
    CHECK_EQUAL(moves_of_crowd(heap, tokens, 30), moves);
    rlc_timer_heap_destroy(heap);
}

static void test_RLC_HEAP_14_the_first_other_tolerance_tells_them_apart(void) {
    rlc_timer_heap *heap = make_heap();
    rlc_token a = insert(heap, &names[0]), b = insert(heap, &names[1]), c = insert(heap, &names[2]);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 100, 50), 0);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, b, 110, 50), 0);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, 130, 50), 0); /* pushed out: its key is stale then */
    CHECK_EQUAL(rlc_timer_heap_arm(heap, c, 140, 5), 0);
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 145);
    CHECK_EQUAL(rlc_timer_heap_remove(heap, c), 0);
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 160);
    CHECK_EQUAL(rlc_timer_heap_set_tolerance(heap, a, 10), 0);
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 140);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, a, RLC_TIME_FOREVER - 1, 50), 0); /* its latest moment is never */
    CHECK_EQUAL(rlc_timer_heap_wake_at(heap), 160);
    check_next(heap, 200, &names[1]);
    CHECK(rlc_timer_heap_wake_at(heap) == RLC_TIME_FOREVER);
    check_none(heap, 200);
    rlc_timer_heap_destroy(heap);
}

static void test_RLC_HEAP_11_next_names_each_member_once(void) {
    rlc_timer_heap *heap = make_heap();
    rlc_token tokens[8];
    for (int i = 0; i < 8; i++)
        tokens[i] = insert(heap, &names[i]);
    CHECK_EQUAL(rlc_timer_heap_arm(heap, tokens[3], 100, 0), 0);
    CHECK_EQUAL(rlc_timer_heap_remove(heap, tokens[0]), 0);
    CHECK_EQUAL(rlc_timer_heap_remove(heap, tokens[5]), 0);
    unsigned seen = 0;
    uint32_t position = 0;
    for (int *name; (name = rlc_timer_heap_next(heap, &position)) != NULL; seen |= 1u << (name - names))
        CHECK((seen & 1u << (name - names)) == 0);
    CHECK_EQUAL(seen, 0xdeu);
    rlc_timer_heap_destroy(heap);
}

int main(void) {
    RUN(test_empty);
    RUN(test_RLC_HEAP_1_never_early);
    RUN(test_RLC_HEAP_2_equal_deadlines_in_order_of_arming);
    RUN(test_RLC_HEAP_12_a_tolerance_changes_no_place);
    RUN(test_RLC_HEAP_13_armed_until_taken);
    RUN(test_RLC_HEAP_3_tolerances_merge);
    RUN(test_RLC_HEAP_4_push_out_surfaces_and_sinks);
    RUN(test_RLC_HEAP_4_a_first_timer_that_was_looked_at_is_pushed_out);
    RUN(test_RLC_HEAP_5_forever_disarms);
    RUN(test_RLC_HEAP_6_stale_tokens);
    RUN(test_RLC_HEAP_7_only_insert_allocates);
    RUN(test_RLC_HEAP_8_insert_fails_cleanly);
    RUN(test_RLC_HEAP_2_the_order_outlives_2_to_the_32_arms);
    RUN(test_RLC_HEAP_8_growing_fails_cleanly);
    RUN(test_RLC_HEAP_9_without_memory_a_timer_is_exact);
    RUN(test_RLC_HEAP_4_pushing_out_moves_nothing);
    RUN(test_RLC_HEAP_10_many_at_once_come_in_order);
    RUN(test_RLC_HEAP_14_equal_tolerances_cost_no_more_than_none);
    RUN(test_RLC_HEAP_14_the_first_other_tolerance_tells_them_apart);
    RUN(test_RLC_HEAP_11_next_names_each_member_once);
    RUN(test_random_operations_against_a_model);
    return 0;
}

/** Dialogues and sleeps inside of a sleep, and one that is left. Included by glib_model_test.c, whose cases these are. */
#include <setjmp.h>

/* ---- RLC-MODEL-9: a dialogue in a sleep, which serves the guest's mode ---- */

static void open_dialogue(void) {
    int before = model.work.calls;
    while (model.work.calls == before)
        g_main_context_iteration(context, TRUE);
    fired++;
}

static gboolean open_by_glib(gpointer unused) {
    (void)unused;
    open_dialogue();
    return G_SOURCE_REMOVE;
}

static void open_by_loop(rlc_post_node *node, bool ran) {
    (void)node;
    CHECK(ran);
    open_dialogue();
}

static gboolean sleep_with_dialogues(gpointer unused) {
    (void)unused;
    rlc_post_node node = {.post_fn = open_by_loop};
    for (int i = 1; i <= 4; i++) {
        if (i % 2 == 0)
            CHECK_EQUAL(rlc_loop_defer(loop, &node), 0);
        else
            add(g_idle_source_new(), open_by_glib);
        bump(model.descriptor);
        while (fired < i)
            CHECK(sleep_in_host(counters[1], RLK_TIME_FOREVER));
        CHECK_EQUAL(model.work.calls, i);
    }
    called++;
    return G_SOURCE_REMOVE;
}

static void test_RLC_MODEL_9_a_dialogue_in_a_sleep_serves_the_guests_mode(void) {
    begin();
    in_a_callback(sleep_with_dialogues);
    end();
}

/* ---- RLC-MODEL-9: a sleep in a sleep ---- */

static void sleep_inside(void) {
    bump(counters[2]);
    CHECK(sleep_in_host(counters[2], RLK_TIME_FOREVER));
    take(counters[2]);
}

/** The sleep around it goes on, and with it the rlc_loop without the guest. */
static void sleep_inside_and_run(rlc_post_node *node, bool ran) {
    count_pass(node, ran);
    sleep_inside();
    int before = model.prepare.calls + model.work.calls;
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(model.prepare.calls + model.work.calls, before);
}

/** A dialogue after it serves the guest's mode. */
static gboolean sleep_inside_and_open(gpointer unused) {
    sleep_inside();
    return open_by_glib(unused);
}

static gboolean sleep_around_sleeps(gpointer unused) {
    (void)unused;
    rlc_post_node node = {.post_fn = sleep_inside_and_run};
    passes = 0;
    bump(model.descriptor);
    CHECK_EQUAL(rlc_loop_defer(loop, &node), 0);
    while (passes == 0)
        CHECK(sleep_in_host(counters[1], RLK_TIME_FOREVER));
    add(g_idle_source_new(), sleep_inside_and_open);
    while (fired == 0)
        CHECK(sleep_in_host(counters[1], RLK_TIME_FOREVER));
    CHECK_EQUAL(model.work.calls, 1);
    called++;
    return G_SOURCE_REMOVE;
}

static void test_RLC_MODEL_9_a_sleep_goes_on_when_one_inside_of_it_has_ended(void) {
    begin();
    in_a_callback(sleep_around_sleeps);
    end();
}

static gboolean detach_in_an_inner_sleep(gpointer unused) {
    add(g_idle_source_new(), detach_runs);
    rlk_host_sleep_fn sleep = sleep_fn;
    while (fired == 0)
        CHECK(sleep(counters[2], RLK_TIME_FOREVER, sleep_context));
    (void)unused;
    return G_SOURCE_REMOVE;
}

static gboolean sleep_until_detached_inside(gpointer unused) {
    (void)unused;
    add(g_idle_source_new(), detach_in_an_inner_sleep);
    while (fired == 0)
        CHECK(sleep_in_host(counters[1], RLK_TIME_FOREVER));
    called++;
    return G_SOURCE_REMOVE;
}

/** What is detached is freed when the outermost sleep has ended. */
static void test_RLC_MODEL_12_detached_in_a_sleep_inside_of_another_one(void) {
    begin();
    in_a_callback(sleep_until_detached_inside);
    CHECK(runs == NULL);
    end();
}

/* ---- RLC-MODEL-10: a sleep that is left ---- */

static jmp_buf outside;

static gboolean leave_source(GSource *source, GSourceFunc callback, gpointer data) {
    (void)source, (void)callback, (void)data;
    longjmp(outside, 1);
}

static GSource *leaving;

/** From so deep in the stack that all that follows lies above it. GLib keeps the list of the dispatch that is left. */
static gboolean be_left(gpointer unused) {
    static GSourceFuncs functions = {NULL, NULL, leave_source, NULL, NULL, NULL};
    volatile char depth[4096] = {0};
    gint priority;
    (void)unused, (void)depth;
    leaving = g_source_new(&functions, sizeof *leaving); /* without a callback: GLib would keep that */
    g_source_set_ready_time(leaving, 0);
    g_source_attach(leaving, context);
    if (setjmp(outside) == 0)
        for (;;)
            CHECK(sleep_in_host(counters[1], RLK_TIME_FOREVER));
    g_source_destroy(leaving);
    g_source_unref(leaving), g_source_unref(leaving); /* the reference of the dispatch that was left, too */
    (void)g_main_context_prepare(context, &priority);
    called++;
    return G_SOURCE_REMOVE;
}

/** The guest is served, no source of it keeps anybody awake, and later runs sleep. */
static void test_RLC_MODEL_10_a_sleep_is_left(void) {
    begin();
    for (int i = 1; i <= 3; i++) {
        in_a_callback(be_left);
        bump(model.descriptor);
        while (model.work.calls < i)
            g_main_context_iteration(context, TRUE);
        bump(counters[1]);
        CHECK(iterations_of_a_while() <= 20);
        take(counters[1]);
        in_a_callback(sleep_once);
    }
    end();
}

static void run_cases_of_sleeps(void) {
    RUN(test_RLC_MODEL_9_a_dialogue_in_a_sleep_serves_the_guests_mode);
    RUN(test_RLC_MODEL_9_a_sleep_goes_on_when_one_inside_of_it_has_ended);
    RUN(test_RLC_MODEL_12_detached_in_a_sleep_inside_of_another_one);
    RUN(test_RLC_MODEL_10_a_sleep_is_left); /* the last one: GLib counts the dispatches that were left for ever */
}

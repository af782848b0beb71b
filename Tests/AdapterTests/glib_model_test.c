/*
 * <crunloop/adapters/glib_model.h> with a scripted model: the sleeps of its runs in a GMainContext.
 * Tests/LibraryTests/dialogue.c has what needs the real model.
 */
#include "harness.h"
#include "scripted_model.h"

#include <crunloop/adapters/glib_model.h>
#include <poll.h>

static spy kernel;
static rlc_loop *loop;
static GMainContext *context;
static rlc_model_guest *guest;
static GSource *host;
static rlc_glib_model *runs;
static int counters[3]; /* the guest's mode, and two that runs serve */
static int fired, called;

/* ---- the model ---- */

static rlk_host_sleep_fn sleep_fn;
static void *sleep_context;
static int sleep_status; /* the answer if that is refused */

int rlk_loop_set_host_sleep(rlk_loop *of, rlk_host_sleep_fn fn, void *given) {
    CHECK(of == &model);
    if (sleep_status < 0)
        return sleep_status;
    sleep_fn = fn;
    sleep_context = given;
    return 0;
}

/** One sleep of a run, which a callback of GLib makes. */
static bool sleep_in_host(int descriptor, uint64_t until_ns) {
    return sleep_fn(descriptor, until_ns, sleep_context);
}

static bool is_readable(int descriptor) {
    struct pollfd entry = {.fd = descriptor, .events = POLLIN};
    return poll(&entry, 1, 0) == 1;
}

static void take(int descriptor) {
    uint64_t value;
    CHECK_EQUAL(read(descriptor, &value, sizeof value), 8);
}

/* ---- GLib ---- */

static void begin(void) {
    spy_init(&kernel);
    fired = called = 0;
    for (int i = 0; i < 3; i++)
        CHECK((counters[i] = kernel.table.eventfd_create(kernel.table.context)) >= 0);
    model = (rlk_loop){.references = 1, .mode = "kept", .descriptor = counters[0], .generation = 1};
    model.work.status = RLK_RUN_TIMED_OUT;
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
    context = g_main_context_new();
    CHECK_EQUAL(rlc_model_guest_attach(loop, &model, "kept", NULL, NULL, &guest), 0);
    host = rlc_glib_attach(loop, context);
    CHECK_EQUAL(rlc_glib_model_attach(guest, host, &runs), 0);
}

static void end(void) {
    GSource *source = g_source_ref(host);
    rlc_glib_model_detach(runs);
    CHECK(sleep_fn == NULL);
    CHECK(guest->is_asleep_fn == NULL); /* it would be asked of what is gone */
    rlc_glib_detach(host);
    rlc_model_guest_detach(guest);
    CHECK_EQUAL(source->ref_count, 1);
    g_source_unref(source);
    g_main_context_unref(context);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    CHECK_EQUAL(model.references, 1);
    for (int i = 0; i < 3; i++)
        kernel.table.close(kernel.table.context, counters[i]);
    CHECK_EQUAL(atomic_load(&kernel.descriptors), 0);
}

static void add(GSource *source, GSourceFunc function) {
    g_source_set_callback(source, function, NULL, NULL);
    g_source_attach(source, context);
    g_source_unref(source);
}

static gboolean note_fired(gpointer unused) {
    (void)unused;
    fired++;
    return G_SOURCE_REMOVE;
}

static void after(guint ms) {
    add(g_timeout_source_new(ms), note_fired);
}

/** Each case is a callback of GLib. */
static void in_a_callback(GSourceFunc function) {
    int before = called;
    add(g_idle_source_new(), function);
    while (called == before)
        g_main_context_iteration(context, TRUE);
}

/* ---- RLC-MODEL-9: what ends a sleep ---- */

enum { TOO_LATE_MS = 60000 };

/** GLib has woken its context for what was new: nothing but the time ends the last one of these sleeps. */
static void sleep_for_a_while(int descriptor) {
    fired = 0;
    for (after(2); fired == 0;)
        CHECK(sleep_in_host(descriptor, RLK_TIME_FOREVER));
    fired = 0;
}

/** One mode after the other, and the first one again. */
static gboolean sleep_in_two_modes(gpointer unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        int descriptor = counters[2 - i % 2];
        sleep_for_a_while(counters[1 + i % 2]);
        after(TOO_LATE_MS);
        bump(descriptor);
        CHECK(sleep_in_host(descriptor, RLK_TIME_FOREVER));
        CHECK_EQUAL(fired, 0);
        take(descriptor);
    }
    called++;
    return G_SOURCE_REMOVE;
}

static void test_RLC_MODEL_9_the_descriptor_of_its_own_mode_ends_a_sleep(void) {
    begin();
    in_a_callback(sleep_in_two_modes);
    end();
}

static gboolean sleep_with_and_without_a_date(gpointer unused) {
    (void)unused;
    uint64_t date_ns = rlc_now(RLC_CLOCK_MONOTONIC) + 2000000;
    while (rlc_now(RLC_CLOCK_MONOTONIC) < date_ns)
        CHECK(sleep_in_host(counters[1], date_ns));
    int sleeps = 0;
    after(20);
    for (; fired == 0; sleeps++)
        CHECK(sleep_in_host(counters[1], RLK_TIME_FOREVER));
    CHECK(sleeps <= 20); /* GLib wakes its context for a source that comes */
    called++;
    return G_SOURCE_REMOVE;
}

static void test_RLC_MODEL_9_the_date_of_the_sleep_before_is_over(void) {
    begin();
    in_a_callback(sleep_with_and_without_a_date);
    end();
}

static gboolean sleep_once(gpointer unused) {
    (void)unused;
    bump(counters[1]);
    CHECK(sleep_in_host(counters[1], RLK_TIME_FOREVER));
    take(counters[1]);
    called++;
    return G_SOURCE_REMOVE;
}

/** GLib's iterations until its timer. */
static int iterations_of_a_while(void) {
    int count = 0;
    fired = 0;
    for (after(20); fired == 0; count++)
        g_main_context_iteration(context, TRUE);
    return count;
}

/** No run sleeps: what would end a sleep keeps nobody awake. A later run sleeps by it again. */
static void test_RLC_MODEL_9_nothing_spins_on_the_end_of_no_sleep(void) {
    begin();
    for (int round = 0; round < 2; round++) {
        in_a_callback(sleep_once);
        bump(counters[1]);
        CHECK(iterations_of_a_while() <= 20);
        take(counters[1]);
    }
    end();
}

/* ---- RLC-MODEL-9: what goes on in a sleep ---- */

static gboolean sleep_beside_the_guest(gpointer unused) {
    (void)unused;
    int before = model.prepare.calls + model.work.calls;
    bump(model.descriptor);
    after(2);
    while (fired == 0)
        CHECK(sleep_in_host(counters[1], RLK_TIME_FOREVER));
    CHECK_EQUAL(model.prepare.calls + model.work.calls, before);
    CHECK(is_readable(model.descriptor));
    called++;
    return G_SOURCE_REMOVE;
}

/** The run serves its own mode; the guest's comes afterwards. */
static void test_RLC_MODEL_9_a_sleep_leaves_the_guests_mode_alone(void) {
    begin();
    in_a_callback(sleep_beside_the_guest);
    while (model.work.calls == 0)
        g_main_context_iteration(context, TRUE);
    CHECK(!is_readable(model.descriptor));
    end();
}

static int passes;

static void count_pass(rlc_post_node *node, bool ran) {
    (void)node;
    passes += ran;
}

/** The rlc_loop makes a pass in the sleep, in which the node of the guest is. */
static gboolean sleep_beside_a_pass(gpointer unused) {
    (void)unused;
    rlc_post_node node = {.post_fn = count_pass};
    passes = 0;
    model.prepare.status = 1;
    CHECK_EQUAL(rlc_loop_prepare(loop), 1);
    CHECK_EQUAL(rlc_loop_defer(loop, &node), 0);
    int before = model.prepare.calls + model.work.calls;
    while (passes == 0)
        CHECK(sleep_in_host(counters[1], RLK_TIME_FOREVER));
    CHECK_EQUAL(model.prepare.calls + model.work.calls, before);
    called++;
    return G_SOURCE_REMOVE;
}

static void test_RLC_MODEL_9_a_pass_in_a_sleep_leaves_the_guests_mode_alone(void) {
    begin();
    in_a_callback(sleep_beside_a_pass);
    while (model.work.calls == 0)
        g_main_context_iteration(context, TRUE);
    end();
}

/* ---- RLC-MODEL-9: where GLib cannot be iterated ---- */

static void try_to_sleep(void) {
    bump(counters[1]); /* which would end the sleep */
    CHECK(!sleep_in_host(counters[1], RLK_TIME_FOREVER));
    take(counters[1]);
    fired++;
}

/** An observer of before-waiting runs the model, in a dialogue. */
static gboolean prepare_in_a_dialogue(gpointer unused) {
    (void)unused;
    model.prepare.once = try_to_sleep;
    while (fired == 0)
        g_main_context_iteration(context, FALSE);
    called++;
    return G_SOURCE_REMOVE;
}

static void test_RLC_MODEL_9_there_is_no_sleep_while_glib_prepares(void) {
    begin();
    in_a_callback(prepare_in_a_dialogue);
    end();
}

static gboolean try_in_another_context(gpointer unused) {
    (void)unused;
    try_to_sleep();
    return G_SOURCE_REMOVE;
}

/** The thread does not own the context of the runs. */
static void test_RLC_MODEL_9_there_is_no_sleep_in_a_callback_of_another_context(void) {
    begin();
    GMainContext *other = g_main_context_new();
    GSource *idle = g_idle_source_new();
    g_source_set_callback(idle, try_in_another_context, NULL, NULL);
    g_source_attach(idle, other);
    g_source_unref(idle);
    while (fired == 0)
        g_main_context_iteration(other, TRUE);
    g_main_context_unref(other);
    end();
}

static void test_RLC_MODEL_9_there_is_no_sleep_outside_of_a_callback(void) {
    begin();
    CHECK(!sleep_in_host(counters[1], RLK_TIME_FOREVER));
    CHECK(!sleep_in_host(counters[1], 1));
    end();
}

static gboolean detach_runs(gpointer unused) {
    (void)unused;
    rlc_glib_model_detach(runs);
    runs = NULL;
    fired++;
    return G_SOURCE_REMOVE;
}

static gboolean sleep_until_detached(gpointer unused) {
    rlk_host_sleep_fn sleep = sleep_fn;
    add(g_idle_source_new(), detach_runs);
    while (fired == 0)
        CHECK(sleep(counters[1], RLK_TIME_FOREVER, sleep_context));
    (void)unused;
    called++;
    return G_SOURCE_REMOVE;
}

static void test_RLC_MODEL_12_detached_in_a_sleep(void) {
    begin();
    in_a_callback(sleep_until_detached);
    CHECK(runs == NULL);
    bump(model.descriptor); /* the guest is served on */
    while (model.work.calls == 0)
        g_main_context_iteration(context, TRUE);
    end();
}

/* ---- what is refused ---- */

static void try_to_attach(int status) {
    CHECK_EQUAL(rlc_glib_model_attach(guest, host, &runs), status);
    CHECK(runs == NULL);
    CHECK(sleep_fn == NULL);
    CHECK(guest->is_asleep_fn == NULL);
}

static void test_RLC_MODEL_6_a_refused_sleep_attaches_nothing(void) {
    begin();
    rlc_glib_model_detach(runs);
    runs = NULL;
    sleep_status = -EPERM;
    try_to_attach(-EPERM);
    sleep_status = 0;
    fail_allocation(1);
    try_to_attach(-ENOMEM);
    fail_allocation(0);
    end();
}

#include "glib_model_cases.h"

int main(void) {
    RUN(test_RLC_MODEL_9_the_descriptor_of_its_own_mode_ends_a_sleep);
    RUN(test_RLC_MODEL_9_the_date_of_the_sleep_before_is_over);
    RUN(test_RLC_MODEL_9_nothing_spins_on_the_end_of_no_sleep);
    RUN(test_RLC_MODEL_9_a_sleep_leaves_the_guests_mode_alone);
    RUN(test_RLC_MODEL_9_a_pass_in_a_sleep_leaves_the_guests_mode_alone);
    RUN(test_RLC_MODEL_9_there_is_no_sleep_while_glib_prepares);
    RUN(test_RLC_MODEL_9_there_is_no_sleep_in_a_callback_of_another_context);
    RUN(test_RLC_MODEL_9_there_is_no_sleep_outside_of_a_callback);
    RUN(test_RLC_MODEL_12_detached_in_a_sleep);
    RUN(test_RLC_MODEL_6_a_refused_sleep_attaches_nothing);
    run_cases_of_sleeps();
    return 0;
}

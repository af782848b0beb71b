/* <crunloop/adapters/glib.h> in a GMainContext. */
#include "adapters.h"

#include <crunloop/adapters/glib.h>

static GMainContext *context;
static GSource *attached, *load;
static int load_fd;
static void (*load_fn)(void), (*timer_fn)(void);

static void open_host(void) {
    context = g_main_context_new();
}

static void close_host(void) {
    g_main_context_unref(context);
}

static void attach(rlc_loop *of) {
    attached = rlc_glib_attach(of, context);
}

static void detach(void) {
    rlc_glib_detach(attached);
    attached = NULL;
}

static void turn_host(bool may_wait) {
    g_main_context_iteration(context, may_wait);
}

static gboolean call_load(gint fd, GIOCondition condition, gpointer data) {
    (void)fd, (void)condition, (void)data;
    load_fn();
    return G_SOURCE_CONTINUE;
}

static void add_load(void (*fn)(void)) {
    load_fn = fn;
    load_fd = make_counter(1);
    load = g_unix_fd_source_new(load_fd, G_IO_IN);
    g_source_set_callback(load, G_SOURCE_FUNC(call_load), NULL, NULL);
    g_source_attach(load, context);
}

static void remove_load(void) {
    g_source_destroy(load);
    g_source_unref(load);
    close(load_fd);
}

static gboolean call_timer(gpointer data) {
    (void)data;
    timer_fn();
    return G_SOURCE_REMOVE;
}

static void after(int ms, void (*fn)(void)) {
    timer_fn = fn;
    GSource *timeout = g_timeout_source_new((guint)ms);
    g_source_set_callback(timeout, call_timer, NULL, NULL);
    g_source_attach(timeout, context);
    g_source_unref(timeout);
}

static void test_RLC_ADAPT_8_a_child_of_fork_is_refused(void) {
    begin();
    pid_t child = fork_with_limit();
    if (child == 0) {
        turn(false);
        _exit(rlc_glib_status(attached) == -ECHILD && g_source_is_destroyed(attached) ? 7 : 1);
    }
    CHECK_EQUAL(status_of(child), 7);
    end();
}

static gboolean leave_source(GSource *source, GSourceFunc callback, gpointer data) {
    (void)source, (void)callback, (void)data;
    longjmp(outside, 1);
}

static void do_nothing(void) {}

/** A dispatch with several sources, which its last one leaves. */
static void leave_inner_dispatch(rlc_post_node *node, bool ran) {
    static GSourceFuncs functions = {NULL, NULL, leave_source, NULL, NULL, NULL};
    count_post(node, ran);
    after(0, do_nothing);
    GSource *last = g_source_new(&functions, sizeof *last);
    g_source_set_ready_time(last, 0);
    g_source_attach(last, context);
    if (setjmp(outside) == 0)
        for (;;)
            turn(false);
    g_source_destroy(last);
    g_source_unref(last), g_source_unref(last); /* the reference of the dispatch that was left, too */
}

static void test_RLC_ADAPT_11_a_dispatch_in_a_callout_is_left(void) {
    begin();
    for (int i = 1; i <= 3; i++) {
        rlc_post_node node = {.post_fn = leave_inner_dispatch};
        CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
        TURN_UNTIL(calls == i);
    }
    calls = 0;
    serve_hops();
    end();
}

/** What the loop has failed with. */
static int fails_with(void) {
    for (int i = 0; i < 3; i++)
        turn_host(false);
    return rlc_glib_status(attached);
}

/** GLib's memory is not counted here: its references are. */
static void test_RLC_ADAPT_7_a_source_that_is_detached_is_freed(void) {
    begin();
    GSource *source = g_source_ref(attached);
    turn(false);
    detach();
    CHECK(g_source_is_destroyed(source));
    CHECK_EQUAL(source->ref_count, 1);
    g_source_unref(source);
    end();
}

static void test_RLC_ADAPT_1_no_context_is_the_default_one(void) {
    begin();
    detach();
    attached = rlc_glib_attach(loop, NULL);
    rlc_post_node node = {.post_fn = count_post};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    while (calls == 0)
        g_main_context_iteration(g_main_context_default(), TRUE);
    end();
}

int main(void) {
    static const host_ops ops = {"glib", open_host, close_host, attach, detach, turn_host, add_load, remove_load, after,
        .nests = true, .fails_with = fails_with, .turns_of_a_hop = 2, .idle_turns = 2};
    (void)g_main_context_default(); /* what it opens stays */
    run_adapter_cases(&ops);
    RUN(test_RLC_ADAPT_1_no_context_is_the_default_one);
    RUN(test_RLC_ADAPT_4_a_loop_that_has_failed_ends_no_sleep);
    RUN(test_RLC_ADAPT_8_a_child_of_fork_is_refused);
    RUN(test_RLC_ADAPT_11_a_dispatch_in_a_callout_is_left);
    RUN(test_RLC_ADAPT_7_a_source_that_is_detached_is_freed);
    return 0;
}

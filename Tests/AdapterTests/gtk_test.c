/*
 * <crunloop/adapters/glib.h> in the main loop of GTK 3 or 4, with a window that draws all the time. What a GMainContext
 * alone shows, glib_test.c does. Needs a display.
 */
#include "harness.h"

#include <crunloop/adapters/glib.h>
#include <gtk/gtk.h>
#include <pthread.h>
#include <sched.h>

enum { HOPS = 300 };

static spy kernel;
static rlc_loop *loop;
static GSource *attached;
static GMainLoop *main_loop;
static GtkWidget *window;
static int frames, hops, fired;

static gboolean count_frame(GtkWidget *widget, GdkFrameClock *clock, gpointer unused) {
    (void)clock, (void)unused;
    frames++;
    gtk_widget_queue_draw(widget);
    return G_SOURCE_CONTINUE;
}

static void open_window(void) {
#if GTK_MAJOR_VERSION >= 4
    window = gtk_window_new();
    gtk_window_present(GTK_WINDOW(window));
#else
    window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
    gtk_widget_show_all(window);
#endif
    gtk_widget_add_tick_callback(window, count_frame, NULL, NULL);
}

static void close_window(void) {
#if GTK_MAJOR_VERSION >= 4
    gtk_window_destroy(GTK_WINDOW(window));
#else
    gtk_widget_destroy(window);
#endif
}

static void begin(void) {
    spy_init(&kernel);
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
    attached = rlc_glib_attach(loop, NULL);
    main_loop = g_main_loop_new(NULL, FALSE);
    frames = hops = fired = 0;
    open_window();
}

static void end(void) {
    CHECK_EQUAL(rlc_glib_status(attached), 0);
    close_window();
    g_main_loop_unref(main_loop);
    rlc_glib_detach(attached);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    CHECK_EQUAL(atomic_load(&kernel.descriptors), 0);
}

/** A post that another thread awaits. */
typedef struct hop {
    rlc_post_node node; /* first */
    atomic_bool has_run;
} hop;

static void answer(rlc_post_node *node, bool ran) {
    CHECK(ran);
    hops++;
    atomic_store(&((hop *)node)->has_run, true);
}

static void quit(rlc_post_node *node, bool ran) {
    (void)node;
    CHECK(ran);
    g_main_loop_quit(main_loop);
}

static void *post_hops(void *unused) {
    static rlc_post_node last = {.post_fn = quit};
    for (int i = 0; i < HOPS; i++) {
        hop hop = {.node = {.post_fn = answer}};
        CHECK_EQUAL(rlc_loop_post(loop, &hop.node), 0);
        while (!atomic_load(&hop.has_run))
            sched_yield();
    }
    CHECK_EQUAL(rlc_loop_post(loop, &last), 0);
    return unused;
}

static void run_beside_hops(void) {
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, post_hops, NULL), 0);
    g_main_loop_run(main_loop);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

static void test_RLC_ADAPT_5_posts_beside_a_window(void) {
    begin();
    run_beside_hops();
    CHECK_EQUAL(hops, HOPS);
    end();
}

static void fire(rlc_loop *of, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)of, (void)timer, (void)deadline_ns, (void)context;
    if (++fired >= 5 && frames >= 3)
        g_main_loop_quit(main_loop);
}

/** Until both have had their turns. */
static void test_RLC_ADAPT_3_a_window_draws_beside_timers(void) {
    begin();
    rlc_timer *timer;
    CHECK_EQUAL(rlc_loop_add_timer(loop, fire, NULL, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC), 2000000, 0), 0);
    g_main_loop_run(main_loop);
    CHECK(fired >= 5);
    CHECK(frames >= 3);
    end();
}

/** As a dialog does that is run in a callout: the window and the hops go on. */
static void run_inside(rlc_post_node *node, bool ran) {
    (void)node;
    CHECK(ran);
    int before = frames;
    while (frames < before + 3 || hops < HOPS)
        g_main_context_iteration(NULL, TRUE);
}

static void test_RLC_ADAPT_2_a_window_draws_inside_a_callout(void) {
    rlc_post_node node = {.post_fn = run_inside};
    begin();
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    run_beside_hops();
    CHECK_EQUAL(hops, HOPS);
    end();
}

int main(void) {
#if GTK_MAJOR_VERSION >= 4
    CHECK(gtk_init_check());
#else
    CHECK(gtk_init_check(NULL, NULL));
#endif
    /* GTK 4 reads the themes of icons in a thread, from the first window on. */
    RUN_BESIDE_THREADS(test_RLC_ADAPT_5_posts_beside_a_window);
    RUN_BESIDE_THREADS(test_RLC_ADAPT_3_a_window_draws_beside_timers);
    RUN_BESIDE_THREADS(test_RLC_ADAPT_2_a_window_draws_inside_a_callout);
    return 0;
}

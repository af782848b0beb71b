/*
 * A GLib program whose main loop also serves an rlc_loop, by <crunloop/adapters/glib.h>: one call attaches it. A timer of
 * GLib's, one of the loop, and a worker's posts run on the same thread.
 *
 *   cc glib.c $(pkg-config --cflags --libs crunloop glib-2.0) -pthread -o glib
 */
#include <crunloop/adapters/glib.h>
#include <crunloop/loop_post.h>

#include <stdio.h>
#include <stdlib.h>

enum { POSTS = 3, TICKS = 3 };

static GMainLoop *main_loop;
static rlc_loop *loop;
static int posts, ticks, timeouts;

static void end_when_done(void) {
    if (posts == POSTS && ticks == TICKS && timeouts > 0)
        g_main_loop_quit(main_loop);
}

static void work_arrives(rlc_post_node *node, bool ran) {
    free(node);
    if (ran)
        printf("loop: post %d\n", ++posts);
    end_when_done();
}

static gpointer worker(gpointer unused) {
    (void)unused;
    for (int i = 0; i < POSTS; i++) {
        rlc_post_node *node = calloc(1, sizeof *node);
        if (node == NULL)
            abort();
        node->post_fn = work_arrives;
        if (rlc_loop_post(loop, node) != 0)
            abort();
    }
    return NULL;
}

static void tick(rlc_loop *of, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)of, (void)deadline_ns, (void)context;
    printf("loop: tick %d\n", ++ticks);
    if (ticks == TICKS)
        rlc_timer_arm(timer, RLC_TIME_FOREVER, 0, 0);
    end_when_done();
}

static gboolean time_out(gpointer unused) {
    (void)unused;
    if (timeouts++ == 0)
        puts("glib: timeout");
    end_when_done();
    return G_SOURCE_CONTINUE;
}

int main(void) {
    const uint64_t ms = 1000000;
    rlc_timer *timer;
    main_loop = g_main_loop_new(NULL, FALSE);
    if (rlc_loop_create(NULL, &loop) < 0 || rlc_loop_add_timer(loop, tick, NULL, &timer) < 0)
        return 1;
    rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + 2 * ms, 2 * ms, 0);
    guint timeout = g_timeout_add(3, time_out, NULL);
    GSource *source = rlc_glib_attach(loop, NULL);
    GThread *thread = g_thread_new("worker", worker, NULL);

    g_main_loop_run(main_loop);

    g_thread_join(thread);
    g_source_remove(timeout);
    rlc_glib_detach(source);
    rlc_loop_destroy(loop);
    g_main_loop_unref(main_loop);
    puts("c-embed: GLib and the loop are done");
    return fflush(stdout) == 0 ? 0 : 1;
}

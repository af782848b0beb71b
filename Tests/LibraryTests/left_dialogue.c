/* Callouts of the model that longjmp(3) leaves through GLib. It prints what is wrong. */
#include <crunloop/adapters/glib.h>
#include <crunloop/adapters/glib_model.h>
#include <runloopkit/runloopkit.h>
#include <setjmp.h>
#include <stdio.h>

enum { ENOUGH = 20 };

static rlc_loop *loop;
static rlc_model_guest *guest;
static rlc_glib_model *runs;
static GSource *host;
static GMainLoop *outer;
static jmp_buf outside;
static int ticks, core_ticks, polls, failures;

static void check(bool holds, const char *what, int count) {
    if (holds)
        return;
    printf("FAIL %s: %d\n", what, count);
    failures++;
}

static gint count_poll(GPollFD *fds, guint count, gint timeout_ms) {
    polls++;
    return g_poll(fds, count, timeout_ms);
}

static void end_if_enough(void) {
    if (outer != NULL && ticks >= ENOUGH && core_ticks >= ENOUGH)
        g_main_loop_quit(outer);
}

static void tick(rlk_item *timer, void *context) {
    (void)timer, (void)context;
    ticks++;
    end_if_enough();
}

static void core_tick(rlc_loop *of, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)of, (void)timer, (void)deadline_ns, (void)context;
    core_ticks++;
    end_if_enough();
}

static gboolean give_up(gpointer data) {
    (void)data;
    g_main_loop_quit(outer);
    return G_SOURCE_REMOVE;
}

/** The model and the rlc_loop go on, and GLib sleeps between what they have to do. */
static void check_that_all_goes_on(const char *where) {
    ticks = core_ticks = polls = 0;
    outer = g_main_loop_new(NULL, FALSE);
    guint id = g_timeout_add(10000, give_up, NULL);
    g_main_loop_run(outer);
    check(ticks >= ENOUGH, where, ticks);
    check(core_ticks >= ENOUGH, where, core_ticks);
    check(polls <= 4 * (ticks + core_ticks) + 20, where, polls);
    g_source_remove(id);
    g_main_loop_unref(outer);
    outer = NULL;
}

static void leave(void *context) {
    (void)context;
    longjmp(outside, 1);
}

/* ---- out of a callout, up to where GLib is run ---- */

static void leave_a_callout(void) {
    GMainLoop *left = g_main_loop_new(NULL, FALSE);
    if (rlk_loop_perform(NULL, NULL, leave, NULL) == 0 && setjmp(outside) == 0)
        g_main_loop_run(left);
}

/* ---- out of a callback of GLib, in which a run of the model sleeps, up to the callback of an outer dispatch ---- */

static gboolean leave_sleep(gpointer data) {
    (void)data;
    longjmp(outside, 1);
}

static void track(void *context) {
    (void)context;
    g_timeout_add(1, leave_sleep, NULL);
    (void)rlk_loop_run_in_mode(NULL, RLK_MODE_TRACKING, RLK_TIME_FOREVER, false);
}

static gboolean open_dialogue(gpointer data) {
    gint priority;
    GMainLoop *left = g_main_loop_new(NULL, FALSE);
    if (rlk_loop_perform(NULL, NULL, track, NULL) == 0 && setjmp(outside) == 0)
        g_main_loop_run(left);
    (void)g_main_context_prepare(NULL, &priority); /* GLib would take the list of the left dispatch for this one's */
    g_main_loop_quit(data);
    return G_SOURCE_REMOVE;
}

static void leave_a_sleep(void) {
    GMainLoop *around = g_main_loop_new(NULL, FALSE);
    g_timeout_add(1, open_dialogue, around);
    g_main_loop_run(around);
    g_main_loop_unref(around);
}

int main(void) {
    rlk_item *timer;
    rlc_timer *core_timer;
    rlk_timer_options options = {.size = sizeof options, .fire = tick, .interval_ns = 2000000};
    if (rlc_loop_create(NULL, &loop) < 0 || rlc_model_guest_attach(loop, NULL, NULL, NULL, NULL, &guest) < 0 ||
        rlk_timer_create(&options, &timer) < 0 || rlk_loop_add(NULL, timer, RLK_MODE_COMMON) < 0 ||
        rlc_loop_add_timer(loop, core_tick, NULL, &core_timer) < 0 || rlc_timer_arm(core_timer, 1, 2000000, 0) < 0)
        return 2;
    host = rlc_glib_attach(loop, NULL);
    if (rlc_glib_model_attach(guest, host, &runs) < 0)
        return 2;
    g_main_context_set_poll_func(NULL, count_poll);
    check_that_all_goes_on("at first");
    for (int i = 0; i < 3; i++) {
        leave_a_callout();
        check_that_all_goes_on("after a callout was left");
        leave_a_sleep();
        check_that_all_goes_on("after a run was left in its sleep");
    }
    check(rlc_stack_is_left(runs->calls, RLC_STACK_HERE), "a sleep seems to be on the stack", 1);
    check(rlc_model_guest_status(guest) == 0, "the guest has failed", rlc_model_guest_status(guest));
    rlc_glib_model_detach(runs);
    rlc_glib_detach(host);
    rlc_model_guest_detach(guest);
    rlk_item_release(timer);
    return rlc_loop_destroy(loop) < 0 || failures > 0;
}

/* The model in GLib: dialogues that its callouts open, and runs of it that sleep in GLib. It prints what is wrong. */
#include <crunloop/adapters/glib.h>
#include <crunloop/adapters/glib_model.h>
#include <runloopkit/runloopkit.h>
#include <stdio.h>

static rlc_loop *loop;
static rlc_model_guest *guest;
static rlc_glib_model *runs;
static GSource *host;
static GMainLoop *outer, *inner;
static int ticks, performs, timeouts, failures, core_ticks;

static void check(bool holds, const char *what, int count) {
    if (holds)
        return;
    printf("FAIL %s: %d\n", what, count);
    failures++;
}

static void tick(rlk_item *timer, void *context) {
    (void)timer, (void)context;
    ticks++;
}

static void core_tick(rlc_loop *of, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)of, (void)timer, (void)deadline_ns, (void)context;
    core_ticks++;
}

static void count(void *context) {
    (void)context;
    performs++;
}

/** A dialogue ends when everything goes on in it. */
static gboolean look(gpointer data) {
    (void)data;
    (void)rlk_loop_perform(NULL, RLK_MODE_COMMON, count, NULL);
    timeouts++;
    if (ticks >= 3 && performs >= 3 && core_ticks >= 3)
        g_main_loop_quit(inner);
    return G_SOURCE_CONTINUE;
}

static void open_dialogue(void) {
    ticks = performs = core_ticks = 0;
    GMainLoop *around = inner;
    inner = g_main_loop_new(NULL, FALSE);
    guint id = g_timeout_add(2, look, NULL);
    g_main_loop_run(inner);
    g_source_remove(id);
    g_main_loop_unref(inner);
    inner = around;
}

/* ---- a run that sleeps in GLib ---- */

static gboolean stop_soon(gpointer data) {
    (void)data;
    if (ticks < 3 || ++timeouts < 3)
        return G_SOURCE_CONTINUE;
    (void)rlk_loop_stop(NULL);
    return G_SOURCE_REMOVE;
}

static void note(void *context) {
    *(int *)context += 1;
}

static gboolean open_in_sleep(gpointer data) {
    open_dialogue();
    *(int *)data += 1;
    ticks = timeouts = 0;
    g_timeout_add(2, stop_soon, NULL);
    return G_SOURCE_REMOVE;
}

static void track(void *context) {
    (void)context;
    int noted = 0, opened = 0, result;
    ticks = timeouts = 0;
    g_timeout_add(2, stop_soon, NULL);
    (void)rlk_loop_perform(NULL, NULL, note, &noted);
    result = rlk_loop_run_in_mode(NULL, RLK_MODE_TRACKING, RLK_TIME_FOREVER, false);
    check(result == RLK_RUN_STOPPED && timeouts == 3, "a run in a callout stops GLib's timeouts", timeouts);
    check(noted == 0, "a run serves another mode than its own", noted);
    g_timeout_add(1, open_in_sleep, &opened);
    result = rlk_loop_run_in_mode(NULL, RLK_MODE_TRACKING, RLK_TIME_FOREVER, false);
    check(result == RLK_RUN_STOPPED && opened == 1, "a dialogue in the sleep of a run", opened);
    check(noted == 1, "such a dialogue does not serve the guest's mode", noted);
    g_main_loop_quit(outer);
}

/* ---- dialogues ---- */

static int depth;

static void open_by_model(void *context) {
    (void)context;
    if (++depth < 5)
        (void)rlk_loop_perform(NULL, NULL, open_by_model, NULL);
    open_dialogue();
    if (--depth == 0)
        (void)rlk_loop_perform(NULL, NULL, track, NULL);
}

int main(void) {
    rlk_item *timer;
    rlc_timer *core_timer;
    rlk_timer_options options = {.size = sizeof options, .fire = tick, .interval_ns = 2000000};
    outer = g_main_loop_new(NULL, FALSE);
    if (rlc_loop_create(NULL, &loop) < 0 || rlc_model_guest_attach(loop, NULL, NULL, NULL, NULL, &guest) < 0 ||
        rlk_timer_create(&options, &timer) < 0 || rlk_loop_add(NULL, timer, RLK_MODE_COMMON) < 0 ||
        rlc_loop_add_timer(loop, core_tick, NULL, &core_timer) < 0 || rlc_timer_arm(core_timer, 1, 2000000, 0) < 0)
        return 2;
    host = rlc_glib_attach(loop, NULL);
    if (rlc_glib_model_attach(guest, host, &runs) < 0 || rlk_loop_perform(NULL, NULL, open_by_model, NULL) < 0)
        return 2;
    g_main_loop_run(outer);
    check(rlc_model_guest_status(guest) == 0, "the guest has failed", rlc_model_guest_status(guest));
    rlc_glib_model_detach(runs);
    rlc_glib_detach(host);
    rlc_model_guest_detach(guest);
    rlk_item_release(timer);
    return rlc_loop_destroy(loop) < 0 || failures > 0;
}

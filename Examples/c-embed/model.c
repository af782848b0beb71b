/* A host in C with the whole model: modes, observers, a signalled source, a timer, and work from another thread.
 *   cc model.c $(pkg-config --cflags --libs runloopkit) -pthread */
#include <pthread.h>
#include <runloopkit/runloopkit.h>
#include <stdio.h>
#include <stdlib.h>

static void demand(int status, const char *what) {
    if (status < 0) {
        fprintf(stderr, "%s: error %d\n", what, -status);
        exit(EXIT_FAILURE);
    }
}

static void watch(rlk_item *observer, uint32_t activity, void *context) {
    (void)observer, (void)context;
    if (activity == RLK_ENTRY)
        puts("a run begins");
    else
        puts("it ends");
}

static void read_mail(rlk_item *source, void *context) {
    (void)source, (void)context;
    puts("mail");
}

static void tick(rlk_item *timer, void *mail) {
    (void)timer;
    puts("tick");
    demand(rlk_source_signal(mail), "rlk_source_signal");
}

static void close_panel(void *context) {
    printf("%s is closed\n", (const char *)context);
    demand(rlk_loop_stop(NULL), "rlk_loop_stop");
}

static void *work(void *loop) {
    demand(rlk_loop_perform(loop, "panel", close_panel, "the panel"), "rlk_loop_perform");
    return NULL;
}

int main(void) {
    rlk_item *observer, *mail, *timer;
    rlk_observer_options watching = {.size = sizeof watching, .observe = watch, .activities = RLK_ENTRY | RLK_EXIT};
    rlk_source_options reading = {.size = sizeof reading, .perform = read_mail};
    demand(rlk_observer_create(&watching, &observer), "rlk_observer_create");
    demand(rlk_source_create(&reading, &mail), "rlk_source_create");
    rlk_timer_options ticking = {
        .size = sizeof ticking, .fire = tick, .context = mail, .fire_date_ns = rlk_now(RLK_CLOCK_MONOTONIC) + 1000000};
    demand(rlk_timer_create(&ticking, &timer), "rlk_timer_create");
    demand(rlk_loop_add_common_mode(NULL, "panel"), "rlk_loop_add_common_mode");
    demand(rlk_loop_add(NULL, observer, RLK_MODE_COMMON), "rlk_loop_add");
    demand(rlk_loop_add(NULL, mail, RLK_MODE_COMMON), "rlk_loop_add");
    demand(rlk_loop_add(NULL, timer, NULL), "rlk_loop_add");

    /* The default mode, until a source was served. The timer is not in the panel's mode. */
    int result = rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true);
    demand(result, "rlk_loop_run_in_mode");

    pthread_t thread;
    demand(-pthread_create(&thread, NULL, work, rlk_loop_current()), "pthread_create");
    demand(rlk_loop_run_until_stopped(NULL, "panel"), "rlk_loop_run_until_stopped");
    pthread_join(thread, NULL);

    rlk_item *items[] = {observer, mail, timer};
    for (int i = 0; i < 3; i++) {
        demand(rlk_item_invalidate(items[i]), "rlk_item_invalidate");
        rlk_item_release(items[i]);
    }
    if (fflush(stdout) != 0) {
        perror("standard output");
        return EXIT_FAILURE;
    }
    return result == RLK_RUN_HANDLED_SOURCE ? EXIT_SUCCESS : EXIT_FAILURE;
}

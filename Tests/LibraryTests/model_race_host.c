/* A host of the model that is compiled with ThreadSanitizer. With an argument: it has a race of its own. */
#include <pthread.h>
#include <runloopkit/runloopkit.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 200 };

static rlk_loop *loop;
static rlk_item *source, *timer;
static rlk_right *right;
static int sum, released, signalled, fired, received, told, raced; /* plain, all of them */

static void require(int status) {
    if (status < 0)
        abort();
}

static void add(void *context) {
    int *value = context;
    sum += *value;
    *value = -1;
}

static void end(void *context) {
    released += *(int *)context == -1;
    free(context);
}

static void on_source(rlk_item *item, void *context) {
    (void)item;
    signalled = *(int *)context;
}

static void on_timer(rlk_item *item, void *context) {
    (void)item;
    fired = *(int *)context;
}

static void on_message(rlk_item *port, rlk_message *message, void *context) {
    (void)port;
    received += *(int *)context + (int)rlk_message_id(message);
    if (received == JOBS * 8)
        rlk_loop_stop(NULL);
}

static void add_told(void *context) {
    *(int *)context += told;
}

static void *hand_over(void *values) {
    int *value = values;
    for (int i = 0; i < JOBS; i++) {
        int *job = malloc(sizeof *job);
        if (job == NULL)
            abort();
        *job = 1;
        const rlk_work work = {.size = sizeof work, .perform = add, .context = job, .release = end};
        require(rlk_loop_perform_work(loop, &work));
    }
    value[0] = 3;
    require(rlk_source_signal(source));
    require(rlk_loop_wake_up(loop));
    value[1] = 4;
    require(rlk_timer_set_fire_date(timer, 1));
    value[2] = 5;
    for (int i = 0; i < JOBS; i++) {
        rlk_message_options options = {.size = sizeof options, .id = 3};
        rlk_message *message;
        require(rlk_message_create(&options, &message));
        require(rlk_right_send(right, message, RLK_TIME_FOREVER));
        rlk_message_release(message);
    }
    told = 6;
    int sum_told = 1;
    require(rlk_loop_perform_and_wait(loop, NULL, RLK_TIME_FOREVER, add_told, &sum_told));
    told = sum_told;
    require(rlk_loop_perform(loop, NULL, add_told, &value[3]));
    return NULL;
}

static void *race(void *unused) {
    raced = 1;
    return unused;
}

static void make(int *values) {
    rlk_item *port;
    rlk_source_options of_source = {.size = sizeof of_source, .perform = on_source, .context = &values[0]};
    rlk_timer_options of_timer = {
        .size = sizeof of_timer, .fire = on_timer, .context = &values[1], .fire_date_ns = RLK_TIME_FOREVER};
    rlk_port_options of_port = {.size = sizeof of_port, .receive = on_message, .context = &values[2]};
    require(rlk_source_create(&of_source, &source));
    require(rlk_timer_create(&of_timer, &timer));
    require(rlk_port_create(&of_port, &port));
    require(rlk_port_right(port, &right));
    require(rlk_loop_add(NULL, source, NULL));
    require(rlk_loop_add(NULL, timer, NULL));
    require(rlk_loop_add(NULL, port, NULL));
    rlk_item_release(port);
}

int main(int argc, char **argv) {
    int values[4] = {0};
    pthread_t thread;
    (void)argv;
    loop = rlk_loop_current();
    make(values);
    if (pthread_create(&thread, NULL, hand_over, values) != 0)
        abort();
    require(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false));
    while (values[3] == 0)
        require(rlk_loop_run_in_mode(NULL, NULL, rlk_now(RLK_CLOCK_MONOTONIC) + 1000000, false));
    pthread_join(thread, NULL);
    if (argc > 1) {
        if (pthread_create(&thread, NULL, race, NULL) != 0)
            abort();
        raced++;
        pthread_join(thread, NULL);
    }
    printf("%d %d %d %d %d %d\n", sum, released, signalled, fired, received, values[3]);
    rlk_right_release(right);
    rlk_item_release(timer);
    rlk_item_release(source);
    return 0;
}

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model.h"

/* What the parent of a child has made. */
struct heritage {
    rlk_loop *loop;
    rlk_item *source, *timer, *descriptor, *port;
    rlk_right *right;
    rlk_message *message;
    rlk_thread *thread;
};

static void on_item(rlk_item *item, void *context) {
    (void)item, (void)context;
}
static void on_descriptor(rlk_item *item, uint32_t readiness, void *context) {
    (void)item, (void)readiness, (void)context;
}
static void on_message(rlk_item *item, rlk_message *message, void *context) {
    (void)item, (void)message, (void)context;
}

/* In the child: the number of the first call that does not refuse; 0 if there is none. */
static int find_acceptance(const struct heritage *had) {
    uint64_t date = 0;
    rlk_message *answer = NULL;
    int nothing = 0;
    const int results[] = {
        rlk_loop_stop(had->loop),
        rlk_loop_wake_up(had->loop),
        rlk_loop_add_common_mode(had->loop, "panel"),
        rlk_loop_perform(had->loop, NULL, model_count, &nothing),
        rlk_item_set_label(had->source, "x"),
        rlk_item_set_label(had->source, NULL),
        rlk_item_set_keeps_running(had->source, false),
        rlk_source_signal(had->source),
        rlk_timer_set_fire_date(had->timer, 1),
        rlk_timer_fire_date(had->timer, &date),
        rlk_timer_set_tolerance(had->timer, 1),
        rlk_descriptor_set_interest(had->descriptor, RLK_WRITABLE),
        rlk_item_invalidate(had->source),
        rlk_item_invalidate_and_wait(had->source, 0),
        rlk_right_send(had->right, had->message, 0),
        rlk_right_request(had->right, had->message, 0, "asking", &answer),
        rlk_item_invalidate(had->port),
        rlk_thread_stop(had->thread, RLK_ENDING_NOW),
        rlk_thread_join(had->thread, 0),
    };
    if (answer || rlk_right_is_valid(had->right))
        return 99;
    for (int i = 0; i < (int)(sizeof results / sizeof *results); i++) {
        if (results[i] != -ECHILD)
            return i + 1;
    }
    return 0;
}

/** A thread that begins may hold a lock of the Swift runtime, which a child of this moment would never get. */
static void wait_until_it_sleeps(rlk_thread *thread) {
    rlk_loop *loop = rlk_thread_loop(thread);
    CHECK(loop != NULL);
    while (loop != NULL && !rlk_loop_is_waiting(loop))
        sched_yield();
}

static void make(struct heritage *ret_heritage, int descriptor) {
    rlk_timer_options timer = {.size = sizeof timer, .fire = on_item, .fire_date_ns = RLK_TIME_FOREVER};
    rlk_descriptor_options readable = {
        .size = sizeof readable, .ready = on_descriptor, .descriptor = descriptor, .interest = RLK_READABLE};
    ret_heritage->loop = rlk_loop_current();
    ret_heritage->source = model_keeper();
    CHECK_IS(rlk_timer_create(&timer, &ret_heritage->timer), 0);
    CHECK_IS(rlk_descriptor_create(&readable, &ret_heritage->descriptor), 0);
    CHECK_IS(rlk_loop_add(NULL, ret_heritage->timer, NULL), 1);
    CHECK_IS(rlk_loop_add(NULL, ret_heritage->descriptor, NULL), 1);
    CHECK_IS(rlk_port_create(
                 &(rlk_port_options){.size = sizeof(rlk_port_options), .receive = on_message}, &ret_heritage->port),
        0);
    CHECK_IS(rlk_loop_add(NULL, ret_heritage->port, NULL), 1);
    CHECK_IS(rlk_port_right(ret_heritage->port, &ret_heritage->right), 0);
    CHECK_IS(
        rlk_message_create(&(rlk_message_options){.size = sizeof(rlk_message_options)}, &ret_heritage->message), 0);
    CHECK_IS(rlk_thread_create(&(rlk_thread_options){.size = sizeof(rlk_thread_options)}, &ret_heritage->thread), 0);
    CHECK_IS(rlk_thread_start(ret_heritage->thread), 0);
    wait_until_it_sleeps(ret_heritage->thread);
}

static void check_child(pid_t child) {
    int status = -1;
    CHECK_IS(waitpid(child, &status, 0), child);
    CHECK_IS(status, 0);
}

static void test_children_refuse(void) {
    int ends[2];
    struct heritage had;
    CHECK_IS(pipe(ends), 0);
    make(&had, ends[0]);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(find_acceptance(&had));
    }
    check_child(child);
    CHECK(rlk_item_is_valid(had.source) && rlk_thread_is_running(had.thread));
    CHECK_IS(rlk_source_is_signalled(had.source), 0);
    CHECK_IS(rlk_thread_stop(had.thread, RLK_ENDING_NOW), 0);
    CHECK_IS(rlk_thread_join(had.thread, RLK_TIME_FOREVER), 0);
    rlk_thread_release(had.thread);
    CHECK_IS(rlk_port_pending_count(had.port), 0);
    rlk_message_release(had.message);
    rlk_right_release(had.right);
    rlk_item *items[] = {had.source, had.timer, had.descriptor, had.port};
    for (int i = 0; i < 4; i++) {
        CHECK_IS(rlk_item_invalidate(items[i]), 0);
        rlk_item_release(items[i]);
    }
    close(ends[0]);
    close(ends[1]);
}

static void divide(void *context) {
    *(pid_t *)context = fork();
    rlk_loop_stop(NULL);
}

/* The runs around a fork, by both functions, one inside the other. */
static void divide_in_a_nested_run(void *context) {
    CHECK_IS(rlk_loop_perform(NULL, "panel", divide, context), 0);
    int status = rlk_loop_run_in_mode(NULL, "panel", RLK_TIME_FOREVER, false);
    if (*(pid_t *)context == 0 && status != -ECHILD)
        _exit(2);
    rlk_loop_stop(NULL);
}

static void test_RLK_C_17_runs_around_a_fork(void) {
    pid_t child = -1;
    CHECK_IS(rlk_loop_perform(NULL, NULL, divide, &child), 0);
    int status = rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false);
    if (child == 0)
        _exit(status != -ECHILD);
    CHECK_IS(status, RLK_RUN_STOPPED);
    check_child(child);
    CHECK_IS(rlk_loop_perform(NULL, NULL, divide_in_a_nested_run, &child), 0);
    status = rlk_loop_run_until_stopped(NULL, NULL);
    if (child == 0)
        _exit(status != -ECHILD);
    CHECK_IS(status, RLK_RUN_STOPPED);
    check_child(child);
}

/* In a child, whose one thread is the main thread: the number of the step that fails; 0 if none does. */
static int run_the_main_loop(void) {
    if (!rlk_loop_is_current(rlk_loop_main()) || rlk_loop_is_empty(NULL, NULL) != 0)
        return 1;
    if (rlk_loop_run_in_mode(NULL, NULL, 0, false) != RLK_RUN_TIMED_OUT)
        return 2;
    if (rlk_loop_set_serves_main_queue(NULL, false) != 0 || rlk_loop_is_empty(NULL, NULL) != 1)
        return 3;
    if (rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false) != RLK_RUN_FINISHED)
        return 4;
    if (rlk_loop_set_serves_main_queue(rlk_loop_main(), true) != 0 || rlk_loop_is_empty(NULL, NULL) != 0)
        return 5;
    return 0;
}

static void test_RLK_C_18_the_main_loop_may_finish(void) {
    rlk_loop *ended = model_ended_loop(), *main_loop = rlk_loop_main();
    CHECK_IS(rlk_loop_set_serves_main_queue(NULL, false), -EINVAL);
    CHECK_IS(rlk_loop_set_serves_main_queue(ended, true), -EINVAL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        if (rlk_loop_set_serves_main_queue(main_loop, false) != -ECHILD)
            _exit(9);
        _exit(run_the_main_loop());
    }
    check_child(child);
    rlk_loop_release(ended);
}

const model_test *model_fork_tests(void) {
    static const model_test tests[] = {
        {"children refuse", test_children_refuse},
        {"RLK-C-17 runs around a fork", test_RLK_C_17_runs_around_a_fork},
        {"RLK-C-18 the main loop may finish", test_RLK_C_18_the_main_loop_may_finish},
        {NULL, NULL},
    };
    return tests;
}

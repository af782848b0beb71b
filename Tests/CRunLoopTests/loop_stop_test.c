/* What a pass still calls that is asked to stop. Stops and nesting: loop_test.c. */
#include "harness.h"

#include <sys/eventfd.h>

static int called;

static void count(rlc_post_node *node, bool ran) {
    (void)node;
    called += ran;
}

/** In a callout: what it queues behind the stop is for another pass. */
static void stop_and_queue(rlc_loop *loop) {
    static rlc_post_node posted, deferred;
    posted.post_fn = deferred.post_fn = count;
    CHECK_EQUAL(rlc_loop_stop(loop), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &posted), 0);
    CHECK_EQUAL(rlc_loop_defer(loop, &deferred), 0);
}

static rlc_loop *stopped;

static void stop_in_a_timer(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)timer, (void)deadline_ns, (void)context;
    stop_and_queue(loop);
}

static void stop_in_a_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)ready, (void)context;
    stop_and_queue(loop);
    rlc_watch_remove(watch);
}

static void stop_in_a_post(rlc_post_node *node, bool ran) {
    (void)node;
    if (ran)
        stop_and_queue(stopped);
}

static void test_RLC_LOOP_3_what_is_queued_behind_a_stop_waits(void) {
    for (int kind = 0; kind < 3; kind++) {
        int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        rlc_post_node post = {.post_fn = stop_in_a_post};
        rlc_timer *timer;
        rlc_watch *watch;
        called = 0;
        CHECK_EQUAL(rlc_loop_create(NULL, &stopped), 0);
        if (kind == 0) {
            CHECK_EQUAL(rlc_loop_add_timer(stopped, stop_in_a_timer, NULL, &timer), 0);
            CHECK_EQUAL(rlc_timer_arm(timer, 1, 0, 0), 0);
        } else if (kind == 1) {
            CHECK_EQUAL(rlc_loop_add_watch(stopped, fd, RLC_READABLE, stop_in_a_watch, NULL, &watch), 0);
        } else {
            CHECK_EQUAL(rlc_loop_post(stopped, &post), 0);
        }
        CHECK_EQUAL(rlc_loop_run(stopped, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
        CHECK_EQUAL(called, 0);
        CHECK_EQUAL(rlc_loop_run_once(stopped, 0), RLC_RUN_HANDLED);
        CHECK_EQUAL(called, 2);
        CHECK_EQUAL(rlc_loop_destroy(stopped), 0);
        close(fd);
    }
}

int main(void) {
    RUN(test_RLC_LOOP_3_what_is_queued_behind_a_stop_waits);
    return 0;
}

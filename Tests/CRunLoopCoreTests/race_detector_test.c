/* What a race detector is told of hand-overs: this program stands in for its runtime. */
#include "harness.h"
#include "post_queue.h"

#include <sys/wait.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif

#if defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)
int main(void) {
    puts("skipped 1: what a race detector is told: it sees this core's own atomics");
    return 0;
}
#else

enum { MOST = 32 };
static const void *handed_over[MOST];
/** Since the last look. */
static int released, acquired;
static rlc_loop *loop;

void __tsan_release(void *address);
void __tsan_acquire(void *address);

void __tsan_release(void *address) {
    CHECK(released < MOST);
    handed_over[released++] = address;
}

/** Counts what was handed over since the last look. */
void __tsan_acquire(void *address) {
    for (int i = 0; i < released; i++) {
        if (handed_over[i] == address) {
            acquired++;
            return;
        }
    }
}

static void look(void) {
    released = acquired = 0;
}

static void check_told(rlc_post_node *node, bool ran) {
    (void)node, (void)ran;
    CHECK(acquired > 0);
}

static void stop(rlc_post_node *node, bool ran) {
    (void)node, (void)ran;
    look();
    CHECK_EQUAL(rlc_loop_stop(loop), 0);
    CHECK_EQUAL(released, 1);
}

static void test_RLC_RACE_1_a_post_hands_over(void) {
    rlc_post_node node = {.post_fn = check_told};
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    look();
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    CHECK(released > 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, 0), RLC_RUN_HANDLED);
    look();
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0); /* its end, too */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_RACE_1_a_wake_hands_over(void) {
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    look();
    CHECK_EQUAL(rlc_loop_wake(loop), 0);
    CHECK_EQUAL(released, 1);
    (void)rlc_loop_run_once(loop, 0);
    CHECK(acquired > 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/** What was done before a stop comes before what follows the run. */
static void test_RLC_RACE_1_a_stop_hands_over(void) {
    rlc_post_node node = {.post_fn = stop};
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK(acquired > 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_RACE_1_a_bare_queue_hands_over(void) {
    rlc_post_queue queue = {0};
    rlc_post_node node = {.post_fn = check_told};
    look();
    CHECK(rlc_post_queue_push(&queue, &node) >= 0);
    CHECK_EQUAL(released, 1);
    CHECK(rlc_post_queue_take_all(&queue) == &node);
    CHECK_EQUAL(acquired, 1);
    CHECK(rlc_post_queue_push(&queue, &node) >= 0);
    CHECK(rlc_post_queue_close(&queue) == &node);
    CHECK_EQUAL(acquired, 2);
}

/** Where a detector is, calls take another way. */
static void test_RLC_LOOP_20_nothing_without_a_callout(void) {
    rlc_post_node node = {0};
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &node), -EINVAL);
    CHECK_EQUAL(rlc_loop_defer(loop, &node), -EINVAL);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_FORK_2_a_child_is_refused(void) {
    rlc_post_node node = {.post_fn = check_told};
    int status = -1;
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(
            rlc_loop_post(loop, &node) != -ECHILD || rlc_loop_wake(loop) != -ECHILD || rlc_loop_stop(loop) != -ECHILD);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

int main(void) {
    RUN(test_RLC_RACE_1_a_post_hands_over);
    RUN(test_RLC_RACE_1_a_wake_hands_over);
    RUN(test_RLC_RACE_1_a_stop_hands_over);
    RUN(test_RLC_RACE_1_a_bare_queue_hands_over);
    RUN(test_RLC_LOOP_20_nothing_without_a_callout);
    RUN(test_RLC_FORK_2_a_child_is_refused);
    return 0;
}
#endif

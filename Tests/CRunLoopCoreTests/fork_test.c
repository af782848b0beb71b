#include "harness.h"

#include <sys/syscall.h>
#include <sys/wait.h>

static void wait_for(pid_t child) {
    int status = 0;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), 0);
}

static void test_RLC_FORK_1_generation_is_stable(void) {
    uint32_t generation = rlc_fork_generation();
    CHECK(generation != 0);
    CHECK_EQUAL(rlc_fork_generation(), generation);
}

static void test_RLC_FORK_1_child_and_grandchild_differ(void) {
    uint32_t mine = rlc_fork_generation();
    pid_t child = fork();
    if (child == 0) {
        uint32_t theirs = rlc_fork_generation();
        CHECK(theirs != mine);
        CHECK_EQUAL(rlc_fork_generation(), theirs);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            uint32_t last = rlc_fork_generation();
            CHECK(last != mine && last != theirs);
            _exit(0);
        }
        wait_for(grandchild);
        CHECK_EQUAL(rlc_fork_generation(), theirs);
        _exit(0);
    }
    wait_for(child);
    CHECK_EQUAL(rlc_fork_generation(), mine);
}

/* The system call itself: no pthread_atfork handler runs, only the page tells. */
static void test_RLC_FORK_1_without_handlers(void) {
    uint32_t mine = rlc_fork_generation();
    pid_t child = (pid_t)syscall(SYS_clone, 17 /* SIGCHLD */, NULL, NULL, NULL, NULL);
    if (child == 0)
        _exit(rlc_fork_generation() == mine);
    wait_for(child);
}

static void test_RLC_FORK_2_child_leaves_ports_alone(void) {
    rlc_wakeup_port *wakeup;
    rlc_timer_port *timer;
    rlc_port_set *set;
    rlc_token token;
    int ends[2];
    make_pipe(ends);
    CHECK_EQUAL(rlc_wakeup_port_create(NULL, &wakeup), 0);
    CHECK_EQUAL(rlc_timer_port_create(NULL, RLC_CLOCK_MONOTONIC, &timer), 0);
    CHECK_EQUAL(rlc_port_set_create(NULL, &set), 0);
    CHECK_EQUAL(rlc_port_set_insert(set, ends[0], RLC_PORT_READINESS, RLC_READABLE, NULL, &token), 0);
    CHECK(rlc_wakeup_port_begin_wait(wakeup));
    pid_t child = fork();
    if (child == 0) {
        rlc_token other;
        CHECK_EQUAL(rlc_wakeup_port_signal(wakeup), -ECHILD);
        CHECK_EQUAL(rlc_wakeup_port_kick(wakeup), -ECHILD);
        CHECK_EQUAL(rlc_timer_port_want(timer, 1), -ECHILD);
        CHECK_EQUAL(rlc_port_set_insert(set, ends[1], RLC_PORT_READINESS, RLC_WRITABLE, NULL, &other), -ECHILD);
        CHECK_EQUAL(rlc_port_set_remove(set, token), 0);
        CHECK_EQUAL(rlc_port_set_wait(set, 0), -ECHILD);
        int before = open_descriptors();
        rlc_wakeup_port_release(wakeup);
        rlc_timer_port_destroy(timer);
        rlc_port_set_destroy(set);
        CHECK_EQUAL(open_descriptors(), before);
        _exit(0);
    }
    wait_for(child);
    uint64_t count;
    CHECK(read(rlc_wakeup_port_fd(wakeup), &count, sizeof count) < 0); /* the child wrote nothing */
    CHECK_EQUAL(rlc_timer_port_armed(timer), RLC_TIME_FOREVER);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 1); /* the child removed nothing */
    rlc_wakeup_port_release(wakeup);
    rlc_timer_port_destroy(timer);
    rlc_port_set_destroy(set);
    close(ends[0]), close(ends[1]);
}

static void never(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)loop, (void)watch, (void)ready, (void)context;
    CHECK(false);
}

static void never_posted(rlc_post_node *node, bool ran) {
    (void)node;
    CHECK(!ran);
}

static void test_RLC_FORK_3_loop_in_child(void) {
    rlc_loop *loop;
    rlc_watch *watch, *other;
    int ends[2];
    rlc_post_node node = {.post_fn = never_posted};
    make_pipe(ends);
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    CHECK_EQUAL(rlc_loop_add_watch(loop, ends[0], RLC_READABLE, never, NULL, &watch), 0);
    CHECK_EQUAL(rlc_loop_run(loop, 1), RLC_RUN_TIMED_OUT);
    pid_t child = fork();
    if (child == 0) {
        CHECK_EQUAL(rlc_loop_run(loop, 0), -ECHILD);
        CHECK_EQUAL(rlc_loop_run_once(loop, 0), -ECHILD);
        CHECK_EQUAL(rlc_loop_prepare(loop), -ECHILD);
        CHECK_EQUAL(rlc_loop_dispatch(loop), -ECHILD);
        CHECK_EQUAL(rlc_loop_post(loop, &node), -ECHILD);
        CHECK_EQUAL(rlc_loop_wake(loop), -ECHILD);
        CHECK_EQUAL(rlc_loop_stop(loop), -ECHILD);
        CHECK_EQUAL(rlc_loop_add_watch(loop, ends[1], RLC_WRITABLE, never, NULL, &other), -ECHILD);
        CHECK_EQUAL(rlc_watch_set_interest(watch, 0), -ECHILD);
        int before = open_descriptors();
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
        CHECK_EQUAL(open_descriptors(), before);
        CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0); /* a loop of its own */
        CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_FINISHED);
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
        _exit(0);
    }
    wait_for(child);
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(ends[0]), close(ends[1]);
}

int main(void) {
    RUN(test_RLC_FORK_1_generation_is_stable);
    RUN(test_RLC_FORK_1_child_and_grandchild_differ);
    RUN(test_RLC_FORK_1_without_handlers);
    RUN(test_RLC_FORK_2_child_leaves_ports_alone);
    RUN(test_RLC_FORK_3_loop_in_child);
    return 0;
}

#include "harness.h"
#include "wipes_pages.h"

#include <sys/mman.h>
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

/** The system call itself: no pthread_atfork handler runs. */
static pid_t fork_without_handlers(void) {
    return (pid_t)syscall(SYS_clone, 17 /* SIGCHLD */, NULL, NULL, NULL, NULL);
}

/* Only the page tells. */
static void test_RLC_FORK_1_without_handlers(void) {
    if (!wipes_pages_on_fork()) {
        printf("skipped 1: the kernel has no MADV_WIPEONFORK\n");
        return;
    }
    uint32_t mine = rlc_fork_generation();
    pid_t child = fork_without_handlers();
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
        CHECK_EQUAL(rlc_wakeup_port_interrupt(wakeup), -ECHILD);
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

/* ---- a callout that forks ---- */

static pid_t forked;
static int calls_here, answers_here;

static void begin_forking(void) {
    forked = -1;
    calls_here = answers_here = 0;
}

/** The first callout forks; in the child none follows. */
static void fork_in_callout(void) {
    calls_here++;
    if (forked < 0)
        forked = fork();
    else
        CHECK(forked > 0);
}

static void fork_in_post(rlc_post_node *node, bool ran) {
    (void)node;
    answers_here += !ran;
    fork_in_callout();
}

static void fork_in_timer(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop, (void)timer, (void)deadline_ns, (void)context;
    fork_in_callout();
}

static void fork_in_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)loop, (void)ready, (void)context;
    rlc_watch_remove(watch);
    fork_in_callout();
}

typedef struct job {
    rlc_post_node node; /* first */
    rlc_loop *loop;
} job;

static void run_inside_a_post(rlc_post_node *node, bool ran) {
    CHECK(ran);
    job *outer = (job *)node;
    int result = rlc_loop_run(outer->loop, 0);
    CHECK_EQUAL(result, forked == 0 ? -ECHILD : RLC_RUN_TIMED_OUT);
}

/** In the child the run answers -ECHILD, and so does all that follows; the parent's has gone on. */
static void check_both(rlc_loop *loop, int result, int expected, int expected_calls) {
    CHECK(forked >= 0);
    if (forked == 0) {
        CHECK_EQUAL(result, -ECHILD);
        CHECK_EQUAL(calls_here, 1);
        CHECK_EQUAL(rlc_loop_run(loop, 0), -ECHILD);
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
        CHECK_EQUAL(calls_here, 1);
        _exit(0);
    }
    wait_for(forked);
    CHECK_EQUAL(result, expected);
    CHECK_EQUAL(calls_here, expected_calls);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static rlc_loop *make_loop(void) {
    rlc_loop *loop;
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    begin_forking();
    return loop;
}

static void test_RLC_FORK_4_a_post_that_forks(void) {
    for (int way = 0; way < 3; way++) { /* to the end, one pass, from a host */
        rlc_loop *loop = make_loop();
        rlc_post_node posts[3] = {{.post_fn = fork_in_post}, {.post_fn = fork_in_post}, {.post_fn = fork_in_post}};
        for (int i = 0; i < 3; i++)
            CHECK_EQUAL(i < 2 ? rlc_loop_post(loop, &posts[i]) : rlc_loop_defer(loop, &posts[i]), 0);
        int result = way == 0   ? rlc_loop_run(loop, RLC_TIME_FOREVER)
                     : way == 1 ? rlc_loop_run_once(loop, RLC_TIME_FOREVER)
                                : rlc_loop_dispatch(loop);
        check_both(loop, result, way == 0 ? RLC_RUN_FINISHED : way == 1 ? RLC_RUN_HANDLED : 0, 3);
    }
}

static void test_RLC_FORK_4_the_last_of_all_posts_forks(void) {
    rlc_loop *loop = make_loop();
    rlc_post_node post = {.post_fn = fork_in_post};
    CHECK_EQUAL(rlc_loop_post(loop, &post), 0);
    int result = rlc_loop_run(loop, RLC_TIME_FOREVER);
    check_both(loop, result, RLC_RUN_FINISHED, 1);
}

static void test_RLC_FORK_4_a_timer_that_forks(void) {
    rlc_loop *loop = make_loop();
    rlc_timer *timers[2];
    rlc_post_node post = {.post_fn = fork_in_post};
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(rlc_loop_add_timer(loop, fork_in_timer, NULL, &timers[i]), 0);
        CHECK_EQUAL(rlc_timer_arm(timers[i], 1, 0, 0), 0);
    }
    CHECK_EQUAL(rlc_loop_post(loop, &post), 0);
    int result = rlc_loop_run(loop, RLC_TIME_FOREVER);
    check_both(loop, result, RLC_RUN_FINISHED, 3);
}

static void test_RLC_FORK_4_a_watch_that_forks(void) {
    for (int refused = 0; refused < 2; refused++) {
        rlc_loop *loop = make_loop();
        rlc_watch *watches[2];
        rlc_timer *timer;
        rlc_post_node post = {.post_fn = fork_in_post};
        int ends[2], more[2];
        make_pipe(ends), make_pipe(more);
        CHECK_EQUAL(rlc_loop_add_watch(loop, ends[1], RLC_WRITABLE, fork_in_watch, NULL, &watches[0]), 0);
        CHECK_EQUAL(rlc_loop_add_watch(loop, more[1], RLC_WRITABLE, fork_in_watch, NULL, &watches[1]), 0);
        if (refused)
            close(ends[1]), close(more[1]);
        CHECK_EQUAL(rlc_loop_add_timer(loop, fork_in_timer, NULL, &timer), 0);
        if (refused) /* they come before the timers, and other watches behind them */
            CHECK_EQUAL(rlc_timer_arm(timer, 1, 0, 0), 0);
        CHECK_EQUAL(rlc_loop_post(loop, &post), 0);
        int result = rlc_loop_run(loop, RLC_TIME_FOREVER);
        check_both(loop, result, RLC_RUN_FINISHED, refused ? 4 : 3);
        close(ends[0]), close(more[0]);
        if (!refused)
            close(ends[1]), close(more[1]);
    }
}

static void test_RLC_FORK_4_the_runs_around_it_end_too(void) {
    rlc_loop *loop = make_loop();
    job outer = {.node = {.post_fn = run_inside_a_post}, .loop = loop};
    rlc_post_node posts[2] = {{.post_fn = fork_in_post}, {.post_fn = fork_in_post}};
    CHECK_EQUAL(rlc_loop_post(loop, &outer.node), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &posts[0]), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &posts[1]), 0);
    int result = rlc_loop_run(loop, RLC_TIME_FOREVER);
    check_both(loop, result, RLC_RUN_FINISHED, 2);
}

static void test_RLC_FORK_4_a_post_that_forks_while_the_loop_ends(void) {
    rlc_loop *loop = make_loop();
    rlc_post_node posts[2] = {{.post_fn = fork_in_post}, {.post_fn = fork_in_post}};
    CHECK_EQUAL(rlc_loop_post(loop, &posts[0]), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &posts[1]), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    if (forked == 0)
        _exit(calls_here != 1);
    wait_for(forked);
    CHECK_EQUAL(answers_here, 2);
}

/* What was posted is the parent's to answer: destroy in a child frees it and calls nothing. */
static void test_RLC_FORK_3_destroyed_in_a_child(void) {
    rlc_loop *loop = make_loop();
    rlc_post_node posts[2] = {{.post_fn = fork_in_post}, {.post_fn = fork_in_post}};
    CHECK_EQUAL(rlc_loop_post(loop, &posts[0]), 0);
    CHECK_EQUAL(rlc_loop_defer(loop, &posts[1]), 0);
    forked = fork();
    if (forked == 0) {
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
        _exit(calls_here != 0);
    }
    wait_for(forked);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    CHECK_EQUAL(answers_here, 2);
}

int main(void) {
    RUN(test_RLC_FORK_1_generation_is_stable);
    RUN(test_RLC_FORK_1_child_and_grandchild_differ);
    RUN(test_RLC_FORK_1_without_handlers);
    RUN(test_RLC_FORK_2_child_leaves_ports_alone);
    RUN(test_RLC_FORK_3_loop_in_child);
    RUN(test_RLC_FORK_3_destroyed_in_a_child);
    RUN(test_RLC_FORK_4_a_post_that_forks);
    RUN(test_RLC_FORK_4_the_last_of_all_posts_forks);
    RUN(test_RLC_FORK_4_a_timer_that_forks);
    RUN(test_RLC_FORK_4_a_watch_that_forks);
    RUN(test_RLC_FORK_4_the_runs_around_it_end_too);
    RUN(test_RLC_FORK_4_a_post_that_forks_while_the_loop_ends);
    return 0;
}

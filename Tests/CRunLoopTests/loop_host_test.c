/* The small loop inside a host's poll(2) loop. */
#include "harness.h"

#include <crunloop/loop_hook.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

static spy kernel;
static int watch_calls, timer_calls, post_calls;

static void on_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)loop, (void)watch, (void)ready;
    uint64_t value;
    CHECK_EQUAL(read(*(int *)context, &value, sizeof value), 8);
    watch_calls++;
}

static void on_timer(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop, (void)timer, (void)context;
    CHECK(rlc_now(RLC_CLOCK_MONOTONIC) >= deadline_ns);
    timer_calls++;
}

static void on_post(rlc_post_node *node, bool ran) {
    (void)node;
    CHECK(ran);
    post_calls++;
}

static bool is_readable(rlc_loop *loop, int timeout_ms) {
    struct pollfd entry = {.fd = rlc_loop_fd(loop), .events = POLLIN};
    return poll(&entry, 1, timeout_ms) == 1;
}

static rlc_loop *create(void) {
    rlc_loop *loop;
    watch_calls = timer_calls = post_calls = 0;
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
    return loop;
}

static rlc_loop *make_loop(void) {
    spy_init(&kernel);
    return create();
}

static void dispatch_all(rlc_loop *loop) {
    int more, passes = 0;
    while ((more = rlc_loop_dispatch(loop)) > 0)
        CHECK(++passes < 100);
    CHECK_EQUAL(more, 0);
}

static void test_RLC_HOST_1_quiet_without_work(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, on_watch, &fd, &watch), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0); /* twice is allowed */
    CHECK(!is_readable(loop, 0));
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0); /* without work: no pass */
    CHECK_EQUAL(watch_calls, 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static void test_RLC_HOST_2_readable_whenever_there_is_work(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, on_watch, &fd, &watch), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    bump(fd);
    CHECK(is_readable(loop, 0));
    dispatch_all(loop);
    CHECK_EQUAL(watch_calls, 1);

    rlc_post_node node = {.post_fn = on_post};
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    CHECK(is_readable(loop, 0));
    dispatch_all(loop);
    CHECK_EQUAL(post_calls, 1);
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0); /* while the host is awake: prepare tells */
    CHECK_EQUAL(rlc_loop_prepare(loop), 1);
    dispatch_all(loop);
    CHECK_EQUAL(post_calls, 2);

    rlc_timer *timer;
    CHECK_EQUAL(rlc_loop_add_timer(loop, on_timer, NULL, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + 2000000, 0, 0), 0);
    for (int prepared = rlc_loop_prepare(loop); timer_calls == 0; prepared = rlc_loop_prepare(loop)) {
        CHECK(prepared == 1 || is_readable(loop, 2000));
        dispatch_all(loop);
    }
    CHECK_EQUAL(timer_calls, 1);
    CHECK_EQUAL(rlc_timer_arm(timer, 1, 0, 0), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 1); /* due already */
    dispatch_all(loop);
    CHECK_EQUAL(timer_calls, 2);

    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK_EQUAL(rlc_loop_wake(loop), 0);
    CHECK(is_readable(loop, 0));
    dispatch_all(loop);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK(!is_readable(loop, 0)); /* all of it is used up */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static void test_RLC_HOST_3_one_write_per_sleep(void) {
    rlc_loop *loop = make_loop();
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    for (int i = 0; i < 10; i++)
        CHECK_EQUAL(rlc_loop_wake(loop), 0);
    CHECK_EQUAL(count_of(&kernel.writes), 1);
    dispatch_all(loop);
    for (int i = 0; i < 10; i++)
        CHECK_EQUAL(rlc_loop_wake(loop), 0);
    CHECK_EQUAL(count_of(&kernel.writes), 1); /* the host is awake */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void run_inside(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)watch, (void)ready, (void)context;
    watch_calls++;
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
}

static void test_RLC_HOST_4_nested_runs_inside_a_dispatch(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, run_inside, &fd, &watch), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK(is_readable(loop, 0));
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
    CHECK_EQUAL(watch_calls, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

enum { ROUNDS = 5000 };

typedef struct ping {
    rlc_post_node node; /* first */
    atomic_int answered;
} ping;

static void answer(rlc_post_node *node, bool ran) {
    CHECK(ran);
    atomic_fetch_add(&((ping *)node)->answered, 1);
    post_calls++;
}

static void *ping_loop(void *context) {
    rlc_loop *loop = context;
    ping ping = {.node = {.post_fn = answer}};
    for (int i = 1; i <= ROUNDS; i++) {
        CHECK_EQUAL(rlc_loop_post(loop, &ping.node), 0);
        while (atomic_load(&ping.answered) != i)
            sched_yield();
    }
    return NULL;
}

static void test_RLC_HOST_5_no_post_is_lost(void) {
    rlc_loop *loop = make_loop();
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, ping_loop, loop), 0);
    while (post_calls < ROUNDS) {
        if (rlc_loop_prepare(loop) == 0)
            CHECK(is_readable(loop, 5000));
        dispatch_all(loop);
    }
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static bool host_sees(int host_fd) {
    struct epoll_event event;
    return rlc_kernel_default()->epoll_wait(NULL, host_fd, &event, 1, 0) == 1;
}

static void test_RLC_HOST_6_a_rebuild_is_counted(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), kept = dup(fd), host_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, run_inside, NULL, &watch), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK_EQUAL(epoll_ctl(host_fd, EPOLL_CTL_ADD, rlc_loop_fd(loop), &event), 0);
    close(fd); /* before its watch is gone, and a duplicate stays */
    rlc_watch_remove(watch);
    bump(kept);
    CHECK(host_sees(host_fd));
    CHECK_EQUAL(rlc_loop_rebuilds(loop), 0);
    dispatch_all(loop);
    CHECK_EQUAL(rlc_loop_rebuilds(loop), 1);
    CHECK_EQUAL(epoll_ctl(host_fd, EPOLL_CTL_ADD, rlc_loop_fd(loop), &event), 0); /* it had lost it */
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK(!host_sees(host_fd));
    CHECK_EQUAL(rlc_loop_wake(loop), 0);
    CHECK(host_sees(host_fd));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(kept), close(host_fd);
}

/* A wake writes nothing while the host is awake: prepare tells. */
static void test_RLC_HOST_7_a_wake_before_prepare_is_told(void) {
    rlc_loop *loop = make_loop();
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    dispatch_all(loop);
    CHECK_EQUAL(rlc_loop_wake(loop), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 1);
    CHECK(!is_readable(loop, 0));
    dispatch_all(loop);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK_EQUAL(count_of(&kernel.writes), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/** A job that has asked the run around it to stop, and is a host meanwhile. */
typedef struct host_job {
    rlc_post_node node; /* first */
    rlc_loop *loop;
} host_job;

static void stop_and_host(rlc_post_node *node, bool ran) {
    CHECK(ran);
    rlc_loop *loop = ((host_job *)node)->loop;
    CHECK_EQUAL(rlc_loop_stop(loop), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 1); /* the stop */
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK(!is_readable(loop, 0));
    CHECK_EQUAL(rlc_loop_wake(loop), 0);
    CHECK(is_readable(loop, 0));
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
}

static void test_RLC_HOST_8_a_host_inside_a_stopped_run_sleeps(void) {
    rlc_loop *loop = make_loop();
    host_job job = {{.post_fn = stop_and_host}, loop};
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* ---- RLC-HOST-9: stops that come while a host inside a run prepares or dispatches ---- */

static rlc_loop *make_virtual_loop(void) {
    spy_init_virtual(&kernel, 1000);
    return create();
}

static void stop_once(rlc_loop *loop, rlc_hook *hook, void *context) {
    (void)hook;
    if (++*(int *)context == 1)
        CHECK_EQUAL(rlc_loop_stop(loop), 0);
}

static void stop_by_timer(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)timer, (void)deadline_ns, (void)context;
    CHECK_EQUAL(rlc_loop_stop(loop), 0);
}

static void host_prepares(rlc_post_node *node, bool ran) {
    CHECK(ran);
    CHECK_EQUAL(rlc_loop_prepare(((host_job *)node)->loop), 1); /* the stop */
}

static void host_dispatches(rlc_post_node *node, bool ran) {
    CHECK(ran);
    CHECK_EQUAL(rlc_loop_dispatch(((host_job *)node)->loop), 0);
}

/** The result of a run in which a host is called once. */
static int run_around(rlc_loop *loop, void (*host)(rlc_post_node *, bool)) {
    host_job job = {{.post_fn = host}, loop};
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    return rlc_loop_run(loop, kernel.time_ns + 1000);
}

static void test_RLC_HOST_9_a_stop_in_a_prepare_callout(void) {
    rlc_loop *loop = make_virtual_loop();
    rlc_hook *hook;
    int prepared = -1; /* the second one is the host's */
    CHECK_EQUAL(rlc_loop_add_hook(loop, stop_once, NULL, &prepared, &hook), 0);
    CHECK_EQUAL(run_around(loop, host_prepares), RLC_RUN_STOPPED);
    CHECK_EQUAL(prepared, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_HOST_9_a_stop_in_a_check_callout(void) {
    rlc_loop *loop = make_virtual_loop();
    rlc_hook *hook;
    int checked = 0; /* the first one is the host's */
    CHECK_EQUAL(rlc_loop_add_hook(loop, NULL, stop_once, &checked, &hook), 0);
    CHECK_EQUAL(run_around(loop, host_dispatches), RLC_RUN_STOPPED);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void add_stopping_timer(rlc_post_node *node, bool ran) {
    rlc_loop *loop = ((host_job *)node)->loop;
    rlc_timer *timer, *later;
    CHECK_EQUAL(rlc_loop_add_timer(loop, stop_by_timer, NULL, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, 1, 0, 0), 0);
    CHECK_EQUAL(rlc_loop_add_timer(loop, on_timer, NULL, &later), 0); /* the run is not finished */
    CHECK_EQUAL(rlc_timer_arm(later, RLC_TIME_FOREVER - 1, 0, 0), 0);
    host_dispatches(node, ran);
}

static void test_RLC_HOST_9_a_stop_in_a_timer_callout(void) {
    rlc_loop *loop = make_virtual_loop();
    CHECK_EQUAL(run_around(loop, add_stopping_timer), RLC_RUN_STOPPED);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void add_due_timer(rlc_post_node *node, bool ran) {
    rlc_timer *timer;
    CHECK(ran);
    CHECK_EQUAL(rlc_loop_add_timer(((host_job *)node)->loop, stop_by_timer, NULL, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, 1, 0, 0), 0);
}

static void test_RLC_HOST_2_a_timer_that_a_dispatch_makes_due_is_told(void) {
    rlc_loop *loop = make_virtual_loop();
    host_job job = {{.post_fn = add_due_timer}, loop};
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_dispatch(loop), 1);
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* ---- hooks that end while a host prepares ---- */

static void remove_itself(rlc_loop *loop, rlc_hook *hook, void *context) {
    (void)loop, (void)context;
    rlc_hook_remove(hook);
}

static void test_a_hook_that_a_prepare_removes_is_freed_by_it(void) {
    rlc_loop *loop = make_loop();
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    long before = blocks_in_use();
    rlc_hook *hook;
    CHECK_EQUAL(rlc_loop_add_hook(loop, remove_itself, NULL, NULL, &hook), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK_EQUAL(blocks_in_use(), before);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

int main(void) {
    RUN(test_RLC_HOST_1_quiet_without_work);
    RUN(test_RLC_HOST_2_readable_whenever_there_is_work);
    RUN(test_RLC_HOST_3_one_write_per_sleep);
    RUN(test_RLC_HOST_4_nested_runs_inside_a_dispatch);
    RUN(test_RLC_HOST_5_no_post_is_lost);
    RUN(test_RLC_HOST_6_a_rebuild_is_counted);
    RUN(test_RLC_HOST_7_a_wake_before_prepare_is_told);
    RUN(test_RLC_HOST_8_a_host_inside_a_stopped_run_sleeps);
    RUN(test_RLC_HOST_9_a_stop_in_a_prepare_callout);
    RUN(test_RLC_HOST_9_a_stop_in_a_check_callout);
    RUN(test_RLC_HOST_9_a_stop_in_a_timer_callout);
    RUN(test_RLC_HOST_2_a_timer_that_a_dispatch_makes_due_is_told);
    RUN(test_a_hook_that_a_prepare_removes_is_freed_by_it);
    return 0;
}

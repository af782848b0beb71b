/* Passes and runs: results, posts, wakes, stops, nesting, what a pass costs. */
#include "harness.h"
#include "loop_internal.h"

#include <pthread.h>
#include <sys/eventfd.h>

static spy kernel;

static rlc_loop *make_loop(void) {
    rlc_loop *loop;
    spy_init_virtual(&kernel, 1000);
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
    return loop;
}

/** A post that counts, and goes on posting itself while `again` says so. */
typedef struct job {
    rlc_post_node node; /* first */
    rlc_loop *loop;
    int runs, refusals, again;
    void (*then)(struct job *job);
} job;

static void run_job(rlc_post_node *node, bool ran) {
    job *job = (struct job *)node;
    if (!ran) {
        job->refusals++;
        return;
    }
    job->runs++;
    if (job->again-- > 0) CHECK_EQUAL(rlc_loop_post(job->loop, node), 0);
    if (job->then != NULL) job->then(job);
}

static job make_job(rlc_loop *loop) {
    return (job){.node = {.post_fn = run_job}, .loop = loop};
}

static int calls;

static void count_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)loop, (void)watch, (void)ready, (void)context;
    calls++;
}

static rlc_watch *idle_watch(rlc_loop *loop, int fd) {
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, count_watch, NULL, &watch), 0);
    return watch;
}

static void test_RLC_LOOP_1_results(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    rlc_watch *watch = idle_watch(loop, fd);
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(rlc_loop_run(loop, 5000), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(kernel.time_ns, 5000);
    CHECK_EQUAL(rlc_loop_run_once(loop, 6000), RLC_RUN_TIMED_OUT);
    bump(fd);
    calls = 0;
    CHECK_EQUAL(rlc_loop_run_once(loop, 9000), RLC_RUN_HANDLED);
    CHECK_EQUAL(calls, 1);
    CHECK_EQUAL(kernel.time_ns, 6000);
    job job = make_job(loop);
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    rlc_watch_remove(watch);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED); /* a post is work to finish first */
    CHECK_EQUAL(job.runs, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    CHECK_EQUAL(rlc_loop_destroy(NULL), 0);
    close(fd);
}

static void test_RLC_LOOP_2_creation_fails_cleanly(void) {
    rlc_loop *loop = NULL;
    for (unsigned long k = 1; k <= 3; k++) {
        spy_init(&kernel);
        atomic_store(&kernel.fail_at, k);
        CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), -EMFILE);
    }
    unsigned long needed = allocations();
    spy_init(&kernel);
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
    needed = allocations() - needed;
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    loop = NULL;
    for (unsigned long k = 1; k <= needed; k++) {
        spy_init(&kernel);
        fail_allocation(k);
        CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), -ENOMEM);
        CHECK(loop == NULL);
    }
}

static void stop_loop(job *job) {
    CHECK_EQUAL(rlc_loop_stop(job->loop), 0);
}

static void test_RLC_LOOP_3_stop_ends_the_run_after_its_pass(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)idle_watch(loop, fd);
    CHECK_EQUAL(rlc_loop_stop(loop), 0); /* nothing runs: nothing happens */
    CHECK_EQUAL(rlc_loop_run(loop, 2000), RLC_RUN_TIMED_OUT);
    job first = make_job(loop), second = make_job(loop);
    first.then = stop_loop;
    CHECK_EQUAL(rlc_loop_post(loop, &first.node), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &second.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(second.runs, 1); /* the pass was completed */
    CHECK_EQUAL(rlc_loop_run(loop, 3000), RLC_RUN_TIMED_OUT); /* and the stop is used up */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static int inner_result;

static void run_inside_and_stop(job *job) {
    struct job inner = make_job(job->loop);
    inner.then = stop_loop;
    CHECK_EQUAL(rlc_loop_post(job->loop, &inner.node), 0);
    inner_result = rlc_loop_run(job->loop, RLC_TIME_FOREVER);
    CHECK_EQUAL(inner.runs, 1);
}

static void test_RLC_LOOP_4_stop_ends_the_innermost_run_only(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)idle_watch(loop, fd);
    job outer = make_job(loop), after = make_job(loop);
    outer.then = run_inside_and_stop;
    CHECK_EQUAL(rlc_loop_post(loop, &outer.node), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &after.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, 2000), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(inner_result, RLC_RUN_STOPPED);
    CHECK_EQUAL(after.runs, 1); /* taken by the outer pass, run by the inner one: once */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static void stop_then_run_inside(job *job) {
    CHECK_EQUAL(rlc_loop_stop(job->loop), 0); /* the outer one */
    inner_result = rlc_loop_run(job->loop, kernel.time_ns + 100);
}

static void test_RLC_LOOP_4_an_outer_stop_waits_for_the_inner_run(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)idle_watch(loop, fd);
    job outer = make_job(loop);
    outer.then = stop_then_run_inside;
    CHECK_EQUAL(rlc_loop_post(loop, &outer.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(inner_result, RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static void test_RLC_LOOP_5_a_wake_is_one_pass(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)idle_watch(loop, fd);
    CHECK_EQUAL(rlc_loop_wake(loop), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(rlc_loop_run_once(loop, 2000), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(count_of(&kernel.writes), 0); /* it was awake */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static void test_RLC_LOOP_6_work_queued_by_work_waits(void) {
    rlc_loop *loop = make_loop();
    job job = make_job(loop);
    job.again = 3;
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    for (int i = 1; i <= 4; i++) {
        CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
        CHECK_EQUAL(job.runs, i);
    }
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void count_timer(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop, (void)timer, (void)deadline_ns;
    ++*(int *)context;
}

static void test_RLC_LOOP_7_nothing_starves(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), fired = 0;
    (void)idle_watch(loop, fd);
    rlc_timer *timer;
    job forever = make_job(loop);
    forever.again = 1 << 30;
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &fired, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, 1, 1, 0), 0); /* always due */
    CHECK_EQUAL(rlc_loop_post(loop, &forever.node), 0);
    calls = 0;
    for (int i = 0; i < 200; i++) {
        CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
        spy_advance(&kernel, kernel.time_ns + 10);
    }
    CHECK_EQUAL(forever.runs, 200);
    CHECK_EQUAL(fired, 200);
    CHECK(calls >= 3); /* the kernel is looked at every 64 passes at the latest */
    spy_advance(&kernel, kernel.time_ns + 50000);
    calls = 0;
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(calls, 1); /* or after 50 us */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    CHECK_EQUAL(forever.refusals, 1);
    close(fd);
}

static void test_RLC_LOOP_8_posts_after_the_end(void) {
    rlc_loop *loop = make_loop();
    job left = make_job(loop);
    CHECK_EQUAL(rlc_loop_post(loop, &left.node), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    CHECK_EQUAL(left.runs, 0);
    CHECK_EQUAL(left.refusals, 1);
}

static job late;

static void post_late(rlc_post_node *node, bool ran) {
    (void)node;
    CHECK(!ran);
    CHECK_EQUAL(rlc_loop_post(late.loop, &late.node), -ESHUTDOWN);
    CHECK_EQUAL(rlc_loop_wake(late.loop), -ESHUTDOWN);
    CHECK_EQUAL(rlc_loop_destroy(late.loop), -EBUSY);
}

static void test_RLC_LOOP_8_posts_while_it_ends(void) {
    rlc_loop *loop = make_loop();
    rlc_post_node node = {.post_fn = post_late};
    late = make_job(loop);
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    CHECK_EQUAL(late.runs + late.refusals, 0); /* still its owner's */
}

static void try_to_destroy(job *job) {
    CHECK_EQUAL(rlc_loop_destroy(job->loop), -EBUSY);
}

static void test_RLC_LOOP_9_not_destroyed_from_a_callout(void) {
    rlc_loop *loop = make_loop();
    job job = make_job(loop);
    job.then = try_to_destroy;
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static int interruptions;

static int interrupted_wait(void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    if (interruptions-- > 0) return -EINTR;
    if (interruptions < -1) return -EBADF;
    return rlc_kernel_default()->epoll_wait(context, epoll_fd, events, capacity, deadline_ns);
}

static void test_RLC_LOOP_10_interruptions_and_errors(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)idle_watch(loop, fd);
    kernel.table.epoll_wait = interrupted_wait;
    interruptions = 3;
    calls = 0;
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(calls, 1);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), -EBADF);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

/* A poster that is preempted between its push and its wake must not hold up those who post after it, nor the loop. */

static rlc_post_node *push_silently;
static rlc_post_queue *silent_queue;

static uint64_t push_and_tell_time(void *context, rlc_clock clock) {
    (void)context, (void)clock;
    if (push_silently != NULL) CHECK(rlc_post_queue_push(silent_queue, push_silently) >= 0);
    push_silently = NULL;
    return kernel.time_ns;
}

static void test_RLC_LOOP_13_a_preempted_poster_delays_nobody(void) {
    rlc_loop *loop = make_loop();
    job silent = make_job(loop), second = make_job(loop);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0); /* asleep */
    CHECK_EQUAL(rlc_post_queue_push(&loop->posts, &silent.node), 1); /* ... and preempted */
    CHECK_EQUAL(rlc_loop_post(loop, &second.node), 0);
    CHECK_EQUAL(count_of(&kernel.writes), 1); /* the second one wakes for both */
    unsigned long waits = count_of(&kernel.waits);
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
    CHECK_EQUAL(silent.runs + second.runs, 2);
    CHECK_EQUAL(count_of(&kernel.waits), waits + 1); /* a host's pass always looks */

    rlc_timer *timer;
    int fired = 0;
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &fired, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, 100000, 0, 0), 0);
    kernel.table.now = push_and_tell_time; /* the clock is read between the first look at the queue and falling asleep */
    silent_queue = &loop->posts;
    push_silently = &silent.node;
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(silent.runs, 2);
    CHECK_EQUAL(fired, 0);
    CHECK_EQUAL(kernel.time_ns, 1000); /* it did not sleep */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* ---- what a pass costs ---- */

static void test_RLC_COST_1_a_pass_is_one_call_and_no_allocation(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK); /* readable for ever */
    (void)idle_watch(loop, fd);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    unsigned long blocks = allocations(), made = count_of(&kernel.calls);
    calls = 0;
    for (int i = 0; i < 100; i++) CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(calls, 100);
    CHECK_EQUAL(count_of(&kernel.calls), made + 100);
    CHECK_EQUAL(allocations(), blocks);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static void test_RLC_COST_2_a_post_to_itself_mostly_needs_no_call(void) {
    rlc_loop *loop = make_loop();
    job job = make_job(loop);
    job.again = 640;
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    unsigned long blocks = allocations(), made = count_of(&kernel.calls);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(job.runs, 641);
    CHECK(count_of(&kernel.calls) - made <= 11);
    CHECK_EQUAL(allocations(), blocks);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_COST_3_a_timer_pass_is_two_calls(void) {
    rlc_loop *loop = make_loop();
    int fired = 0;
    rlc_timer *timer;
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &fired, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, 2000, 1000, 0), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    unsigned long blocks = allocations(), made = count_of(&kernel.calls);
    for (int i = 0; i < 100; i++) CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(fired, 101);
    CHECK_EQUAL(kernel.time_ns, 102000); /* to the nanosecond */
    CHECK_EQUAL(count_of(&kernel.calls), made + 200);
    CHECK_EQUAL(allocations(), blocks);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* ---- other threads ---- */

enum { POSTERS = 3, POSTS = 4000 };

typedef struct poster {
    rlc_loop *loop;
    rlc_post_node nodes[POSTS];
} poster;

static int arrived;

static void arrive(rlc_post_node *node, bool ran) {
    (void)node;
    CHECK(ran);
    arrived++; /* plain: only the loop's thread comes here */
}

static void *post_all(void *context) {
    poster *poster = context;
    for (int i = 0; i < POSTS; i++) {
        poster->nodes[i].post_fn = arrive;
        CHECK_EQUAL(rlc_loop_post(poster->loop, &poster->nodes[i]), 0);
        if (i % 7 == 0) CHECK_EQUAL(rlc_loop_wake(poster->loop), 0);
        if (i % 64 == 0) sched_yield();
    }
    return NULL;
}

static void test_RLC_LOOP_11_posts_from_threads_are_never_lost(void) {
    static poster posters[POSTERS];
    pthread_t threads[POSTERS];
    rlc_loop *loop;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    spy_init(&kernel);
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
    (void)idle_watch(loop, fd);
    for (int i = 0; i < POSTERS; i++) {
        posters[i].loop = loop;
        CHECK_EQUAL(pthread_create(&threads[i], NULL, post_all, &posters[i]), 0);
    }
    uint64_t limit_ns = rlc_now(RLC_CLOCK_MONOTONIC) + UINT64_C(20000000000);
    while (arrived < POSTERS * POSTS) CHECK_EQUAL(rlc_loop_run_once(loop, limit_ns), RLC_RUN_HANDLED);
    for (int i = 0; i < POSTERS; i++) CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static atomic_bool enough;

static void *stop_from_thread(void *context) {
    while (!atomic_load(&enough)) {
        CHECK_EQUAL(rlc_loop_stop(context), 0);
        sched_yield();
    }
    return NULL;
}

static void test_RLC_LOOP_12_stops_from_a_thread(void) {
    rlc_loop *loop;
    pthread_t thread;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    (void)idle_watch(loop, fd);
    CHECK_EQUAL(pthread_create(&thread, NULL, stop_from_thread, loop), 0);
    for (int i = 0; i < 1000; i++) CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    atomic_store(&enough, true);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

int main(void) {
    RUN(test_RLC_LOOP_1_results);
    RUN(test_RLC_LOOP_2_creation_fails_cleanly);
    RUN(test_RLC_LOOP_3_stop_ends_the_run_after_its_pass);
    RUN(test_RLC_LOOP_4_stop_ends_the_innermost_run_only);
    RUN(test_RLC_LOOP_4_an_outer_stop_waits_for_the_inner_run);
    RUN(test_RLC_LOOP_5_a_wake_is_one_pass);
    RUN(test_RLC_LOOP_6_work_queued_by_work_waits);
    RUN(test_RLC_LOOP_7_nothing_starves);
    RUN(test_RLC_LOOP_8_posts_after_the_end);
    RUN(test_RLC_LOOP_8_posts_while_it_ends);
    RUN(test_RLC_LOOP_9_not_destroyed_from_a_callout);
    RUN(test_RLC_LOOP_10_interruptions_and_errors);
    RUN(test_RLC_COST_1_a_pass_is_one_call_and_no_allocation);
    RUN(test_RLC_COST_2_a_post_to_itself_mostly_needs_no_call);
    RUN(test_RLC_COST_3_a_timer_pass_is_two_calls);
    RUN(test_RLC_LOOP_11_posts_from_threads_are_never_lost);
    RUN(test_RLC_LOOP_12_stops_from_a_thread);
    RUN(test_RLC_LOOP_13_a_preempted_poster_delays_nobody);
    return 0;
}

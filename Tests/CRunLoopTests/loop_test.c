/* Passes and runs: results, posts, wakes, stops, nesting. Cost and other threads: loop_cost_test.c. */
#include "loops.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

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
    spy_init(&kernel);
    atomic_store(&kernel.fail_at, 1);
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), -EMFILE);
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

/* What it can be woken by is made with the first thing that it can sleep for. */
static void test_RLC_LOOP_2_the_first_member_fails_cleanly(void) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), fired = 0;
    for (unsigned long k = 1; k <= 2; k++) {
        rlc_loop *loop = make_loop();
        rlc_watch *watch = NULL;
        rlc_timer *timer = NULL;
        CHECK_EQUAL(count_of(&kernel.calls), 1);
        CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
        atomic_store(&kernel.fail_at, k);
        CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, count_watch, NULL, &watch), -EMFILE);
        CHECK(watch == NULL);
        atomic_store(&kernel.fail_at, 1);
        CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &fired, &timer), -EMFILE);
        CHECK(timer == NULL);
        atomic_store(&kernel.fail_at, 1);
        CHECK_EQUAL(rlc_loop_prepare(loop), -EMFILE);
        CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
        CHECK_EQUAL(rlc_loop_prepare(loop), 0);
        CHECK_EQUAL(rlc_loop_wake(loop), 0);
        CHECK_EQUAL(count_of(&kernel.writes), 1);
        unsigned long made = count_of(&kernel.calls);
        watch = idle_watch(loop, fd);
        CHECK_EQUAL(count_of(&kernel.calls), made); /* only once */
        CHECK_EQUAL(rlc_loop_run(loop, 2000), RLC_RUN_TIMED_OUT);
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    }
    close(fd);
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
    CHECK_EQUAL(second.runs, 1);                              /* the pass was completed */
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

static int runs_at_stop;

static void stop_from_a_post(job *job) {
    if (job->runs == 10) {
        rlc_loop_stop(job->loop);
        runs_at_stop = job->runs;
    }
}

/** Passes with nothing but posts are served in a row: each of them is a pass, after which a stop is looked for. */
static void test_RLC_LOOP_3_a_stop_among_posts(void) {
    rlc_loop *loop = make_loop();
    job job = make_job(loop);
    job.again = 1000;
    job.then = stop_from_a_post;
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(job.runs, runs_at_stop);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static int fired;

static void note_fired(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop, (void)timer, (void)deadline_ns, (void)context;
    fired++;
}

static void arm_one_that_is_due(job *job) {
    if (job->runs == 10) {
        rlc_timer *timer;
        CHECK_EQUAL(rlc_loop_add_timer(job->loop, note_fired, NULL, &timer), 0);
        CHECK_EQUAL(rlc_timer_arm(timer, 1, 0, 0), 0);
    }
    if (job->runs > 10)
        CHECK_EQUAL(fired, 1); /* in the very next pass, before its posts */
}

static void test_RLC_LOOP_7_a_timer_among_posts(void) {
    rlc_loop *loop = make_loop();
    job job = make_job(loop);
    job.again = 100;
    job.then = arm_one_that_is_due;
    fired = 0;
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(job.runs, 101);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static unsigned long controls_before;

static void add_a_watch(job *job) {
    if (job->runs == 10) {
        idle_watch(job->loop, 0);
        controls_before = count_of(&kernel.controls); /* the first watch's, for the wakeup port, are over */
    }
    if (job->runs == 11)
        CHECK(count_of(&kernel.controls) > controls_before);
    if (job->runs == 12)
        rlc_loop_stop(job->loop);
}

static void test_RLC_WATCH_1_a_watch_among_posts(void) {
    rlc_loop *loop = make_loop();
    job job = make_job(loop);
    job.again = 100;
    job.then = add_a_watch;
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
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

static job *other;

static void post_then_defer(job *job) {
    CHECK_EQUAL(rlc_loop_post(job->loop, &other[0].node), 0);
    CHECK_EQUAL(rlc_loop_defer(job->loop, &other[1].node), 0);
    CHECK_EQUAL(rlc_loop_defer(job->loop, &other[2].node), 0);
    CHECK_EQUAL(other[0].runs + other[1].runs + other[2].runs, 0);
}

static void runs_after_second(job *job) {
    CHECK_EQUAL(job[-1].runs, 1);
}

static void runs_last(job *job) {
    CHECK_EQUAL(job[2].runs, 1);
}

static void test_RLC_LOOP_14_deferred_nodes(void) {
    rlc_loop *loop = make_loop();
    job first = make_job(loop), others[3] = {make_job(loop), make_job(loop), make_job(loop)};
    other = others;
    first.then = post_then_defer;
    others[0].then = runs_last;
    others[2].then = runs_after_second;
    CHECK_EQUAL(rlc_loop_defer(loop, &first.node), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(others[1].runs, 0); /* work queued by work waits */
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(others[0].runs + others[1].runs + others[2].runs, 3);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(rlc_loop_defer(loop, &first.node), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 1); /* a host must not sleep */
    CHECK_EQUAL(rlc_loop_defer(loop, &others[1].node), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    CHECK_EQUAL(first.refusals + others[1].refusals, 2);
    CHECK_EQUAL(count_of(&kernel.writes), 0);
}

static job late;

static void post_late(rlc_post_node *node, bool ran) {
    (void)node;
    CHECK(!ran);
    CHECK_EQUAL(rlc_loop_post(late.loop, &late.node), -ESHUTDOWN);
    CHECK_EQUAL(rlc_loop_defer(late.loop, &late.node), -ESHUTDOWN);
    CHECK_EQUAL(rlc_loop_wake(late.loop), -ESHUTDOWN);
    CHECK_EQUAL(rlc_loop_stop(late.loop), -ESHUTDOWN);
    CHECK_EQUAL(rlc_loop_run(late.loop, RLC_TIME_FOREVER), -ESHUTDOWN);
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

static void *end_with_a_post(void *loop) {
    rlc_post_node node = {.post_fn = post_late};
    late = make_job(loop);
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    return NULL;
}

enum { STACK = 1 << 20 };

/** Maps a stack within a few MiB of an address, on the side that `step` says; MAP_FAILED if nothing is free there. */
static void *stack_beside(const void *place, ptrdiff_t step) {
    for (int i = 1; i <= 5; i++) {
        uintptr_t wanted = ((uintptr_t)place & ~(uintptr_t)(STACK - 1)) + (uintptr_t)(i * step);
        void *stack = mmap((void *)wanted, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack == MAP_FAILED || (uintptr_t)stack == wanted)
            return stack;
        CHECK_EQUAL(munmap(stack, STACK), 0);
    }
    return MAP_FAILED;
}

static void test_RLC_LOOP_9_not_destroyed_on_a_stack_beside_it(void) {
    const ptrdiff_t steps[] = {-2 * (ptrdiff_t)STACK, 2 * (ptrdiff_t)STACK};
    for (int i = 0; i < 2; i++) {
        rlc_loop *loop = make_loop();
        void *stack = stack_beside(loop, steps[i]);
        if (stack == MAP_FAILED) {
            printf("skipped 1: no memory is free beside the heap\n");
            CHECK_EQUAL(rlc_loop_destroy(loop), 0);
            continue;
        }
        pthread_attr_t attributes;
        pthread_t thread;
        CHECK_EQUAL(pthread_attr_init(&attributes), 0);
        CHECK_EQUAL(pthread_attr_setstack(&attributes, stack, STACK), 0);
        CHECK_EQUAL(pthread_create(&thread, &attributes, end_with_a_post, loop), 0);
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
        CHECK_EQUAL(pthread_attr_destroy(&attributes), 0);
        CHECK_EQUAL(munmap(stack, STACK), 0);
    }
}

static int interruptions;

static int interrupted_wait(
    void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    if (interruptions-- > 0)
        return -EINTR;
    if (interruptions < -1)
        return -EBADF;
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

int main(void) {
    RUN(test_RLC_LOOP_1_results);
    RUN(test_RLC_LOOP_2_creation_fails_cleanly);
    RUN(test_RLC_LOOP_2_the_first_member_fails_cleanly);
    RUN(test_RLC_LOOP_3_stop_ends_the_run_after_its_pass);
    RUN(test_RLC_LOOP_3_a_stop_among_posts);
    RUN(test_RLC_LOOP_7_a_timer_among_posts);
    RUN(test_RLC_WATCH_1_a_watch_among_posts);
    RUN(test_RLC_LOOP_4_stop_ends_the_innermost_run_only);
    RUN(test_RLC_LOOP_4_an_outer_stop_waits_for_the_inner_run);
    RUN(test_RLC_LOOP_5_a_wake_is_one_pass);
    RUN(test_RLC_LOOP_6_work_queued_by_work_waits);
    RUN(test_RLC_LOOP_7_nothing_starves);
    RUN(test_RLC_LOOP_14_deferred_nodes);
    RUN(test_RLC_LOOP_8_posts_after_the_end);
    RUN(test_RLC_LOOP_8_posts_while_it_ends);
    RUN(test_RLC_LOOP_9_not_destroyed_from_a_callout);
    RUN(test_RLC_LOOP_9_not_destroyed_on_a_stack_beside_it);
    RUN(test_RLC_LOOP_10_interruptions_and_errors);
    return 0;
}

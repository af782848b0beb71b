/* What a pass of the small loop costs, and what other threads do to it. */
#include "loop_internal.h"
#include "loops.h"

#include <pthread.h>
#include <sys/eventfd.h>

/* ---- what a pass costs ---- */

static void test_RLC_COST_1_a_pass_is_one_call_and_no_allocation(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK); /* readable for ever */
    (void)idle_watch(loop, fd);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    unsigned long blocks = allocations(), made = count_of(&kernel.calls);
    calls = 0;
    for (int i = 0; i < 100; i++)
        CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
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
    unsigned long looks = count_of(&kernel.calls) - made;
    CHECK(looks >= 9 && looks <= 11);
    CHECK_EQUAL(allocations(), blocks);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static int passes;
static uint64_t pass_ns;

/** A post of `pass_ns` that comes again until there have been enough. */
static void run_and_come_back(rlc_post_node *node, bool ran) {
    job *job = (struct job *)node;
    CHECK(ran);
    spy_advance(&kernel, kernel.time_ns + pass_ns);
    if (--passes > 0)
        CHECK_EQUAL(rlc_loop_defer(job->loop, node), 0);
    else
        CHECK_EQUAL(rlc_loop_stop(job->loop), 0);
}

/** How often the kernel is looked at in `count` passes of `ns` each, none of which has a timer. */
static unsigned long looks_in(rlc_loop *loop, int count, uint64_t ns) {
    job job = make_job(loop);
    job.node.post_fn = run_and_come_back;
    passes = count;
    pass_ns = ns;
    unsigned long waits = count_of(&kernel.waits);
    CHECK_EQUAL(rlc_loop_defer(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(passes, 0);
    return count_of(&kernel.waits) - waits;
}

static void test_RLC_COST_2_posts_do_not_starve_descriptors(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK); /* readable for ever */
    (void)idle_watch(loop, fd);
    calls = 0;
    unsigned long looks = looks_in(loop, 6500, 1);
    CHECK(looks >= 100 && looks <= 110); /* every 64 passes */
    CHECK(calls >= 100);
    looks = looks_in(loop, 10000, 5000);
    CHECK(looks >= 10000 / 17 - 4); /* 50 us are over after ten: the clock is read at the eighth, then the sixteenth */
    looks = looks_in(loop, 1000, 60000);
    CHECK(looks >= 1000 - 16); /* the first long one may come unexpected */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static int polled_passes, longest_row;
static unsigned long looks_of_row;

/** Short for long; then a few that are too long to leave out looks, then middling ones, of which three are that. */
static void run_and_be_middling(rlc_post_node *node, bool ran) {
    if (count_of(&kernel.waits) != looks_of_row)
        polled_passes = passes;
    looks_of_row = count_of(&kernel.waits);
    pass_ns = passes > 60 ? 1 : passes > 40 ? 60000 : 20000;
    if (passes <= 40 && polled_passes - passes > longest_row)
        longest_row = polled_passes - passes;
    run_and_come_back(node, ran);
}

static void test_RLC_COST_2_what_was_short_once_is_forgotten(void) {
    rlc_loop *loop = make_loop();
    job job = make_job(loop);
    job.node.post_fn = run_and_be_middling;
    passes = 640;
    longest_row = 0;
    CHECK_EQUAL(rlc_loop_defer(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK(longest_row >= 1 && longest_row <= 4);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_COST_2_nor_do_they_outlive_a_run(void) {
    for (int i = 0; i < 16; i++) { /* wherever the run is among the looks that it leaves out */
        rlc_loop *loop = make_loop();
        (void)looks_in(loop, 640 + i, 1);
        spy_advance(&kernel, kernel.time_ns + 1000000);
        job job = make_job(loop);
        CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
        unsigned long looks = count_of(&kernel.waits);
        CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
        CHECK_EQUAL(count_of(&kernel.waits), looks + 1);
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    }
}

static rlc_timer *pacemaker;
static int passes_since_poll, longest_gap, passes_with_timer;
static unsigned long waits_before;

/** Has a timer that is near in the first passes after a look: the clock is read in each of them. */
static void watch_the_gap(job *job) {
    if (count_of(&kernel.waits) != waits_before)
        passes_since_poll = 0;
    waits_before = count_of(&kernel.waits);
    if (++passes_since_poll > longest_gap)
        longest_gap = passes_since_poll;
    bool has_timer = passes_since_poll < passes_with_timer;
    CHECK_EQUAL(rlc_timer_arm(pacemaker, has_timer ? kernel.time_ns + 1000 : RLC_TIME_FOREVER, 0, 0), 0);
    if (passes_since_poll == 1)
        passes_with_timer++;
    if (job->again == 0)
        CHECK_EQUAL(rlc_loop_stop(job->loop), 0);
}

static void test_RLC_COST_2_also_when_timers_come_and_go(void) {
    rlc_loop *loop = make_loop();
    job job = make_job(loop);
    job.then = watch_the_gap;
    job.again = 64 * 70;
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, NULL, &pacemaker), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK(passes_with_timer > 60);
    CHECK(longest_gap <= 65); /* the pass that looks, and 64 that do not */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static int rounds;

/** What a server does with a connection: one run, for ever. */
static void come_and_go(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)watch, (void)ready;
    rlc_watch *guest;
    rlc_timer *timer;
    CHECK_EQUAL(rlc_loop_add_watch(loop, *(int *)context, RLC_WRITABLE, count_watch, NULL, &guest), 0);
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, NULL, &timer), 0);
    rlc_watch_remove(guest);
    rlc_timer_remove(timer);
    if (--rounds == 0)
        CHECK_EQUAL(rlc_loop_stop(loop), 0);
}

static void run_rounds(rlc_loop *loop, int count) {
    rounds = count;
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
}

static void test_RLC_LOOP_15_a_long_run_does_not_grow(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), guest_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, come_and_go, &guest_fd, &watch), 0);
    run_rounds(loop, 2);
    unsigned long blocks = allocations();
    run_rounds(loop, 1000);
    CHECK_EQUAL(allocations(), blocks);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd), close(guest_fd);
}

static void test_RLC_COST_3_a_timer_pass_is_two_calls(void) {
    rlc_loop *loop = make_loop();
    int fired = 0;
    rlc_timer *timer;
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &fired, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, 2000, 1000, 0), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    unsigned long blocks = allocations(), made = count_of(&kernel.calls);
    for (int i = 0; i < 100; i++)
        CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(fired, 101);
    CHECK_EQUAL(kernel.time_ns, 102000); /* to the nanosecond */
    CHECK_EQUAL(count_of(&kernel.calls), made + 200);
    CHECK_EQUAL(allocations(), blocks);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static const uint64_t far_off = UINT64_C(1000000000000);

static rlc_loop *make_loop_with_timer(int *fired, uint64_t deadline_ns) {
    rlc_loop *loop = make_loop();
    rlc_timer *timer;
    kernel.table.now = count_and_tell_time;
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, fired, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, deadline_ns, 0, 0), 0);
    return loop;
}

static void test_RLC_COST_4_a_timer_that_is_not_due_is_one_look_at_the_clock(void) {
    int fired = 0;
    rlc_loop *loop = make_loop_with_timer(&fired, far_off);
    clock_reads = 0;
    for (int i = 0; i < 100; i++)
        CHECK_EQUAL(rlc_loop_run_once(loop, 0), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(clock_reads, 100);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/** How often the clock is read while a post comes again 640 times. */
static unsigned long clock_reads_of_posts(rlc_loop *loop, unsigned long *ret_looks) {
    job job = make_job(loop);
    job.node.post_fn = run_and_come_back;
    unsigned long waits = count_of(&kernel.waits);
    clock_reads = 0, passes = 640, pass_ns = 1;
    CHECK_EQUAL(rlc_loop_defer(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    *ret_looks = count_of(&kernel.waits) - waits;
    return clock_reads;
}

static void test_RLC_COST_4_posts_do_not_look_at_it(void) {
    int fired = 0;
    unsigned long looks, looks_without;
    rlc_loop *loop = make_loop_with_timer(&fired, far_off);
    unsigned long reads = clock_reads_of_posts(loop, &looks);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    loop = make_loop_with_timer(&fired, RLC_TIME_FOREVER);
    CHECK_EQUAL(reads, clock_reads_of_posts(loop, &looks_without) + looks);
    CHECK_EQUAL(looks, looks_without);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static int passes_when_fired;

static void note_passes(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop, (void)timer, (void)deadline_ns, (void)context;
    passes_when_fired = passes;
}

/** Short, so that the loop looks at little; the last 40 take a millisecond each. */
static void run_and_grow_long(rlc_post_node *node, bool ran) {
    pass_ns = passes > 40 ? 1 : 1000000;
    run_and_come_back(node, ran);
}

static int passes_when_due(int short_passes) {
    rlc_loop *loop = make_loop();
    job job = make_job(loop);
    rlc_timer *timer;
    CHECK_EQUAL(rlc_loop_add_timer(loop, note_passes, NULL, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, 4500000, 0, 0), 0);
    job.node.post_fn = run_and_grow_long;
    passes = short_passes + 40;
    CHECK_EQUAL(rlc_loop_defer(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    return passes_when_fired;
}

static void test_RLC_COST_4_posts_that_grow_long_delay_a_timer_by_one_of_them(void) {
    for (int i = 0; i < 64; i++)                       /* wherever the loop is among the looks that it leaves out */
        CHECK_EQUAL(passes_when_due(640 + i), 40 - 5); /* four of them end before its date, the fifth behind it */
}

/* ---- tolerance: the end of a wait instead of the timer's descriptor ---- */

enum { MILLISECOND = 1000000 };

static rlc_timer *arm_repeating(rlc_loop *loop, int *fired, uint64_t tolerance_ns) {
    rlc_timer *timer;
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, fired, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, kernel.time_ns + MILLISECOND, MILLISECOND, tolerance_ns), 0);
    return timer;
}

/** How often the timer's descriptor is set while one timer fires 100 times. */
static unsigned long sets_in_100(uint64_t tolerance_ns) {
    rlc_loop *loop = make_loop();
    int fired = 0;
    uint64_t began_ns = kernel.time_ns;
    (void)arm_repeating(loop, &fired, tolerance_ns);
    unsigned long sets = count_of(&kernel.sets), waits = count_of(&kernel.waits);
    for (int i = 1; i <= 100; i++) {
        while (fired < i)
            CHECK(rlc_loop_run_once(loop, RLC_TIME_FOREVER) == RLC_RUN_HANDLED);
        CHECK(kernel.time_ns >= began_ns + (uint64_t)i * MILLISECOND);
        CHECK(kernel.time_ns <= began_ns + (uint64_t)i * MILLISECOND + tolerance_ns);
    }
    CHECK_EQUAL(count_of(&kernel.waits), waits + 100);
    sets = count_of(&kernel.sets) - sets;
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    return sets;
}

static void test_RLC_COST_5_a_tolerant_timer_needs_no_call_of_its_own(void) {
    CHECK_EQUAL(sets_in_100(500000), 0);
    CHECK_EQUAL(sets_in_100(120000), 0);
    CHECK_EQUAL(sets_in_100(100000), 100); /* a wait may end 50 us late, and not before the timer's date */
    CHECK_EQUAL(sets_in_100(0), 100);
}

static void test_RLC_COST_5_nor_more_than_one_among_other_events(void) {
    rlc_loop *loop = make_loop();
    int fired = 0, fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK); /* readable for ever */
    (void)idle_watch(loop, fd);
    (void)arm_repeating(loop, &fired, 500000);
    unsigned long sets = count_of(&kernel.sets);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(count_of(&kernel.sets), sets);
    unsigned long made = count_of(&kernel.calls);
    for (int i = 0; i < 100; i++)
        CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(count_of(&kernel.sets), sets + 1);
    CHECK_EQUAL(count_of(&kernel.calls), made + 101);
    CHECK_EQUAL(fired, 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static void test_RLC_COST_5_an_exact_timer_and_a_host_have_the_descriptor(void) {
    rlc_loop *loop = make_loop();
    int fired = 0, exact_fired = 0;
    rlc_timer *exact, *tolerant = arm_repeating(loop, &fired, 500000);
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &exact_fired, &exact), 0);
    uint64_t began_ns = kernel.time_ns;
    CHECK_EQUAL(rlc_timer_arm(exact, began_ns + 1200000, 0, 0), 0);
    unsigned long sets = count_of(&kernel.sets);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(kernel.time_ns, began_ns + 1200000);
    CHECK_EQUAL(fired + exact_fired, 2);
    CHECK_EQUAL(count_of(&kernel.sets), sets + 1);
    CHECK_EQUAL(rlc_timer_arm(tolerant, kernel.time_ns + MILLISECOND, 0, 500000), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0); /* a host waits for the descriptor alone */
    CHECK_EQUAL(count_of(&kernel.sets), sets + 2);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_COST_5_the_end_of_a_run_comes_first(void) {
    rlc_loop *loop = make_loop();
    int fired = 0;
    uint64_t began_ns = kernel.time_ns;
    (void)arm_repeating(loop, &fired, 500000);
    CHECK_EQUAL(rlc_loop_run(loop, began_ns + 1000), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(kernel.time_ns, began_ns + 1000);
    CHECK_EQUAL(rlc_loop_run(loop, began_ns + 1600000), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(fired, 1);
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
        if (i % 7 == 0)
            CHECK_EQUAL(rlc_loop_wake(poster->loop), 0);
        if (i % 64 == 0)
            sched_yield();
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
    while (arrived < POSTERS * POSTS)
        CHECK_EQUAL(rlc_loop_run_once(loop, limit_ns), RLC_RUN_HANDLED);
    for (int i = 0; i < POSTERS; i++)
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
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
    for (int i = 0; i < 1000; i++)
        CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    atomic_store(&enough, true);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

/* A poster that is preempted between its push and its wake must not hold up those who post after it, nor the loop. */

static rlc_post_node *push_silently;
static rlc_post_queue *silent_queue;

static uint64_t push_and_tell_time(void *context, rlc_clock clock) {
    (void)context, (void)clock;
    if (push_silently != NULL)
        CHECK(rlc_post_queue_push(silent_queue, push_silently) >= 0);
    push_silently = NULL;
    return kernel.time_ns;
}

static void test_RLC_LOOP_13_a_preempted_poster_delays_nobody(void) {
    rlc_loop *loop = make_loop();
    job silent = make_job(loop), second = make_job(loop);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);                          /* asleep */
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
    kernel.table.now =
        push_and_tell_time; /* the clock is read between the first look at the queue and falling asleep */
    silent_queue = &loop->posts;
    push_silently = &silent.node;
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(silent.runs, 2);
    CHECK_EQUAL(fired, 0);
    CHECK_EQUAL(kernel.time_ns, 1000); /* it did not sleep */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

int main(void) {
    RUN(test_RLC_COST_1_a_pass_is_one_call_and_no_allocation);
    RUN(test_RLC_COST_2_a_post_to_itself_mostly_needs_no_call);
    RUN(test_RLC_COST_2_posts_do_not_starve_descriptors);
    RUN(test_RLC_COST_2_what_was_short_once_is_forgotten);
    RUN(test_RLC_COST_2_nor_do_they_outlive_a_run);
    RUN(test_RLC_COST_2_also_when_timers_come_and_go);
    RUN(test_RLC_LOOP_15_a_long_run_does_not_grow);
    RUN(test_RLC_COST_3_a_timer_pass_is_two_calls);
    RUN(test_RLC_COST_4_a_timer_that_is_not_due_is_one_look_at_the_clock);
    RUN(test_RLC_COST_4_posts_do_not_look_at_it);
    RUN(test_RLC_COST_4_posts_that_grow_long_delay_a_timer_by_one_of_them);
    RUN(test_RLC_COST_5_a_tolerant_timer_needs_no_call_of_its_own);
    RUN(test_RLC_COST_5_nor_more_than_one_among_other_events);
    RUN(test_RLC_COST_5_an_exact_timer_and_a_host_have_the_descriptor);
    RUN(test_RLC_COST_5_the_end_of_a_run_comes_first);
    RUN(test_RLC_LOOP_11_posts_from_threads_are_never_lost);
    RUN(test_RLC_LOOP_12_stops_from_a_thread);
    RUN(test_RLC_LOOP_13_a_preempted_poster_delays_nobody);
    return 0;
}

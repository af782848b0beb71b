/**
 * What all adapters promise, as cases that run in each host. A test of an adapter is a program: it describes its host
 * by a table of functions, and calls run_adapter_cases.
 */
#ifndef ADAPTERS_H
#define ADAPTERS_H

#include "child.h"
#include "harness.h"

#include <pthread.h>
#include <sys/eventfd.h>

typedef struct host_ops {
    const char *name;
    void (*open)(void);                 /**< Creates the host. */
    void (*close)(void);                /**< Ends it, and what it has of its own. */
    void (*attach)(rlc_loop *loop);     /**< By the adapter. */
    void (*detach)(void);               /**< May be called while nothing is attached. */
    void (*turn)(bool may_wait);        /**< One iteration. */
    void (*add_load)(void (*fn)(void)); /**< Something of the host's own that is ready in each iteration. */
    void (*remove_load)(void);
    void (*after)(int ms, void (*fn)(void)); /**< A timer of the host's own. */
    void (*forked)(void);    /**< What the host asks of a child of fork(2) before anything else; or NULL. */
    int (*fails_with)(void); /**< Iterates without waiting, often enough; 0, or what the loop has failed with. */
    bool nests;              /**< It may be iterated inside its own callbacks. */
    bool can_be_left;        /**< Its library may be left by longjmp(3) out of a callback, and leaves nothing behind. */
    int turns_of_a_hop;      /**< Iterations in which a post is served beside the load. */
    int idle_turns;          /**< Iterations until a host's timer that is the only thing that happens. */
} host_ops;

static spy kernel;
static rlc_loop *loop;
static const host_ops *host;
static int calls, loads, fired;
static atomic_int turns;

static void turn(bool may_wait) {
    atomic_fetch_add(&turns, 1);
    host->turn(may_wait);
}

static void begin(void) {
    spy_init(&kernel);
    calls = loads = fired = 0;
    atomic_store(&turns, 0);
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
    host->open();
    host->attach(loop);
}

static void end(void) {
    host->detach();
    host->close();
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void take_bytes(rlc_loop *of, rlc_watch *watch, uint32_t ready, void *context) {
    (void)of, (void)watch, (void)ready;
    uint64_t value;
    CHECK_EQUAL(read(*(int *)context, &value, sizeof value), 8);
    calls++;
}

static void ignore_watch(rlc_loop *of, rlc_watch *watch, uint32_t ready, void *context) {
    (void)of, (void)watch, (void)ready, (void)context;
}

static void count_tick(rlc_loop *of, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)of, (void)timer, (void)context;
    CHECK(rlc_now(RLC_CLOCK_MONOTONIC) >= deadline_ns);
    calls++;
}

static void count_post(rlc_post_node *node, bool ran) {
    (void)node;
    CHECK(ran);
    calls++;
}

static void count_load(void) {
    loads++;
}

static void note_fired(void) {
    fired++;
}

static int make_counter(unsigned value) {
    int fd = eventfd(value, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(fd >= 0);
    return fd;
}

/** Iterates until the condition holds. An iteration that may wait ends by an event: there is no time limit here. */
#define TURN_UNTIL(condition)                                                                                          \
    while (!(condition))                                                                                               \
    turn(true)

/* ---- RLC-ADAPT-1: what the loop has is served ---- */

static void test_RLC_ADAPT_1_everything_is_served(void) {
    begin();
    int fd = make_counter(1);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, take_bytes, &fd, &watch), 0);
    TURN_UNTIL(calls == 1);
    bump(fd);
    TURN_UNTIL(calls == 2);
    rlc_timer *timer;
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_tick, NULL, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + 2000000, 0, 0), 0);
    TURN_UNTIL(calls == 3);
    CHECK_EQUAL(rlc_timer_arm(timer, 1, 0, 0), 0); /* due already */
    TURN_UNTIL(calls == 4);
    rlc_post_node nodes[2] = {{.post_fn = count_post}, {.post_fn = count_post}};
    CHECK_EQUAL(rlc_loop_post(loop, &nodes[0]), 0);
    CHECK_EQUAL(rlc_loop_defer(loop, &nodes[1]), 0);
    TURN_UNTIL(calls == 6);
    end();
    close(fd);
}

/** More events than a pass fetches: an edge would tell of the first ones alone. */
enum { MANY = 3 * 64 + 8 };

static void test_RLC_ADAPT_1_more_events_than_a_pass_fetches(void) {
    static int fds[MANY];
    begin();
    for (int i = 0; i < MANY; i++) {
        rlc_watch *watch;
        fds[i] = make_counter(0);
        CHECK_EQUAL(rlc_loop_add_watch(loop, fds[i], RLC_READABLE, take_bytes, &fds[i], &watch), 0);
    }
    turn(false);
    CHECK_EQUAL(calls, 0);
    for (int i = 0; i < MANY; i++)
        bump(fds[i]);
    TURN_UNTIL(calls == MANY);
    end();
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
}

/* ---- RLC-ADAPT-2: nesting ---- */

static rlc_timer *inner_timer;

/** The host runs inside a callout; the descriptor stays readable, and is not called meanwhile. */
static void run_host_inside(rlc_loop *of, rlc_watch *watch, uint32_t ready, void *context) {
    (void)watch, (void)ready;
    rlc_post_node node = {.post_fn = count_post};
    CHECK_EQUAL(calls++, 0);
    CHECK_EQUAL(rlc_loop_post(of, &node), 0);
    TURN_UNTIL(calls == 2);
    CHECK_EQUAL(rlc_timer_arm(inner_timer, rlc_now(RLC_CLOCK_MONOTONIC) + 1000000, 0, 0), 0);
    TURN_UNTIL(calls == 3);
    unsigned long passes = count_of(&kernel.waits);
    atomic_store(&turns, 0);
    fired = 0;
    host->after(10, note_fired);
    TURN_UNTIL(fired == 1);
    CHECK(atomic_load(&turns) <= host->idle_turns + 1); /* it does not spin on what is readable still... */
    CHECK_EQUAL(count_of(&kernel.waits) - passes, 0);   /* ... and the loop makes no pass */
    uint64_t value;
    CHECK_EQUAL(read(*(int *)context, &value, sizeof value), 8);
}

static void test_RLC_ADAPT_2_the_host_inside_a_callout(void) {
    if (!host->nests)
        return;
    begin();
    int fd = make_counter(1);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_tick, NULL, &inner_timer), 0);
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, run_host_inside, &fd, &watch), 0);
    TURN_UNTIL(calls == 3);
    CHECK_EQUAL(rlc_loop_defer(loop, &(rlc_post_node){.post_fn = count_post}), 0);
    TURN_UNTIL(calls == 4);
    end();
    close(fd);
}

static void run_loop_inside(void) {
    rlc_post_node node = {.post_fn = count_post};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(calls, 1);
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_FINISHED);
    fired++;
}

static void test_RLC_ADAPT_2_the_loop_inside_a_callback_of_the_host(void) {
    begin();
    host->after(1, run_loop_inside);
    TURN_UNTIL(fired == 1);
    rlc_post_node node = {.post_fn = count_post};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    TURN_UNTIL(calls == 2);
    end();
}

/* ---- RLC-ADAPT-3: the host's own load ---- */

static rlc_post_node endless_node;
static bool is_endless;

static void post_again(rlc_post_node *node, bool ran) {
    calls++;
    if (ran && is_endless)
        CHECK_EQUAL(rlc_loop_post(loop, node), 0);
}

static void test_RLC_ADAPT_3_an_endless_loop_lets_the_host_run(void) {
    begin();
    host->add_load(count_load);
    is_endless = true;
    endless_node = (rlc_post_node){.post_fn = post_again};
    CHECK_EQUAL(rlc_loop_post(loop, &endless_node), 0);
    unsigned long passes = count_of(&kernel.waits);
    TURN_UNTIL(loads >= 100);
    CHECK(count_of(&kernel.waits) - passes <= (unsigned long)atomic_load(&turns)); /* one pass an iteration */
    CHECK(atomic_load(&turns) <= 100 * host->turns_of_a_hop);
    CHECK(calls * host->turns_of_a_hop >= 100); /* nor does the host starve the loop */
    host->remove_load();
    int before = calls;
    is_endless = false;
    TURN_UNTIL(calls == before + 1);
    end();
}

/** One pass serves all that waits. */
static void test_RLC_ADAPT_3_one_pass_an_iteration_for_all_there_is(void) {
    begin();
    int fd = make_counter(1);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, ignore_watch, NULL, &watch), 0);
    is_endless = true;
    endless_node = (rlc_post_node){.post_fn = post_again};
    CHECK_EQUAL(rlc_loop_post(loop, &endless_node), 0);
    turn(false);
    unsigned long passes = count_of(&kernel.waits);
    atomic_store(&turns, 0);
    TURN_UNTIL(atomic_load(&turns) == 50);
    CHECK(count_of(&kernel.waits) - passes <= 50);
    int before = calls;
    is_endless = false;
    TURN_UNTIL(calls == before + 1);
    end();
    close(fd);
}

enum { HOPS = 300 };

typedef struct hop {
    rlc_post_node node; /* first */
    atomic_int answered;
} hop;

static void answer_hop(rlc_post_node *node, bool ran) {
    hop *hop = (struct hop *)node;
    CHECK(ran);
    calls++;
    atomic_fetch_add(&hop->answered, 1);
}

static void *send_hops(void *context) {
    hop hop = {.node = {.post_fn = answer_hop}};
    for (int i = 1; i <= HOPS; i++) {
        CHECK_EQUAL(rlc_loop_post(context, &hop.node), 0);
        while (atomic_load(&hop.answered) != i)
            sched_yield();
    }
    return NULL;
}

static void serve_hops(void) {
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, send_hops, loop), 0);
    TURN_UNTIL(calls == HOPS);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

static void test_RLC_ADAPT_3_hops_beside_the_load(void) {
    begin();
    host->add_load(count_load);
    serve_hops();
    host->remove_load();
    end();
}

enum { ENOUGH_TURNS = 10 };

static void *post_node(void *node) {
    CHECK_EQUAL(rlc_loop_post(loop, node), 0);
    return NULL;
}

static void post_by_thread(rlc_post_node *node) {
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, post_node, node), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

/** In a fixed number of iterations: the thread has posted before them. */
static void test_RLC_ADAPT_3_a_post_is_served_soon_beside_the_load(void) {
    begin();
    host->add_load(count_load);
    rlc_post_node node = {.post_fn = count_post};
    for (int i = 1; i <= 20; i++) {
        post_by_thread(&node);
        atomic_store(&turns, 0);
        TURN_UNTIL(calls == i);
        CHECK(atomic_load(&turns) <= host->turns_of_a_hop);
    }
    host->remove_load();
    end();
}

/** What its own thread gives the loop, without an iteration that sleeps. */
static void test_RLC_ADAPT_3_a_host_that_never_sleeps(void) {
    begin();
    rlc_timer *timer;
    rlc_post_node node = {.post_fn = count_post};
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_tick, NULL, &timer), 0);
    for (int i = 0; i < ENOUGH_TURNS; i++)
        turn(false);
    CHECK_EQUAL(rlc_loop_defer(loop, &node), 0);
    for (int i = 0; i < ENOUGH_TURNS; i++)
        turn(false);
    CHECK_EQUAL(calls, 1);
    CHECK_EQUAL(rlc_timer_arm(timer, 1, 0, 0), 0);
    for (int i = 0; i < ENOUGH_TURNS; i++)
        turn(false);
    CHECK_EQUAL(calls, 2);
    end();
}

/* ---- RLC-ADAPT-4: quiet ---- */

static int fail_to_wait(void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    (void)context, (void)epoll_fd, (void)events, (void)capacity, (void)deadline_ns;
    return -EIO;
}

/** Its descriptor stays readable. For hosts whose iteration does not return the error. */
static inline void test_RLC_ADAPT_4_a_loop_that_has_failed_ends_no_sleep(void) {
    begin();
    int fd = make_counter(0);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, take_bytes, &fd, &watch), 0);
    turn(false);
    kernel.table.epoll_wait = fail_to_wait;
    bump(fd);
    for (int i = 0; i < 5; i++)
        turn(false);
    host->after(20, note_fired);
    atomic_store(&turns, 0);
    TURN_UNTIL(fired == 1);
    CHECK(atomic_load(&turns) <= host->idle_turns);
    CHECK_EQUAL(calls, 0);
    end();
    close(fd);
}

static void test_RLC_ADAPT_4_idle_without_a_pass(void) {
    begin();
    int fd = make_counter(0);
    rlc_watch *watch;
    rlc_timer *timer;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, take_bytes, &fd, &watch), 0);
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_tick, NULL, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + 3600000000000, 0, 0), 0);
    rlc_post_node node = {.post_fn = count_post};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    TURN_UNTIL(calls == 1);
    bump(fd); /* the descriptor ends an iteration, and no other one */
    TURN_UNTIL(calls == 2);
    turn(false);
    host->after(20, note_fired);
    unsigned long passes = count_of(&kernel.waits), sets = count_of(&kernel.sets);
    atomic_store(&turns, 0);
    TURN_UNTIL(fired == 1);
    CHECK(atomic_load(&turns) <= host->idle_turns);
    CHECK_EQUAL(count_of(&kernel.waits) - passes, 0);
    CHECK(count_of(&kernel.sets) - sets <= 1); /* the date, once */
    end();
    close(fd);
}

/* ---- RLC-ADAPT-5: other threads, while the host sleeps ---- */

static void test_RLC_ADAPT_5_no_post_is_lost(void) {
    begin();
    serve_hops();
    CHECK(count_of(&kernel.waits) <= 2 * HOPS + 2);
    end();
}

typedef struct change {
    rlc_post_node node; /* first */
    int fd;
} change;

/** Runs on the loop's thread, posted by another one: from now on there is more to wait for. */
static void make_change(rlc_post_node *node, bool ran) {
    change *change = (struct change *)node;
    rlc_watch *watch;
    rlc_timer *timer;
    CHECK(ran);
    CHECK_EQUAL(rlc_loop_add_watch(loop, change->fd, RLC_READABLE, take_bytes, &change->fd, &watch), 0);
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_tick, NULL, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + 1000000, 0, 0), 0);
}

static void test_RLC_ADAPT_5_changes_while_the_host_sleeps(void) {
    begin();
    change change = {.node = {.post_fn = make_change}, .fd = make_counter(1)};
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, post_node, &change), 0);
    TURN_UNTIL(calls == 2);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    end();
    close(change.fd);
}

/* ---- RLC-ADAPT-6: rebuilds ---- */

static void test_RLC_ADAPT_6_after_a_rebuild(void) {
    begin();
    int fd = make_counter(0), kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, ignore_watch, NULL, &watch), 0);
    turn(false);
    close(fd); /* before its watch is gone, and a duplicate stays */
    rlc_watch_remove(watch);
    bump(kept);
    TURN_UNTIL(rlc_loop_rebuilds(loop) == 1);
    serve_hops();
    end();
    close(kept);
}

/* ---- RLC-ADAPT-7: detaching ---- */

static void detach_inside(rlc_post_node *node, bool ran) {
    count_post(node, ran);
    host->detach();
}

static void test_RLC_ADAPT_7_detached_in_a_callout_and_attached_again(void) {
    begin();
    rlc_post_node nodes[2] = {{.post_fn = detach_inside}, {.post_fn = count_post}};
    CHECK_EQUAL(rlc_loop_post(loop, &nodes[0]), 0);
    TURN_UNTIL(calls == 1);
    CHECK_EQUAL(rlc_loop_post(loop, &nodes[1]), 0);
    for (int i = 0; i < 5; i++)
        turn(false);
    CHECK_EQUAL(calls, 1);
    host->attach(loop);
    TURN_UNTIL(calls == 2);
    end();
}

/** The host has run in a callout, and may have put something off, when the callout detaches. */
static void turn_and_detach(rlc_post_node *node, bool ran) {
    count_post(node, ran);
    CHECK_EQUAL(rlc_loop_defer(loop, &endless_node), 0);
    turn(true);
    CHECK(calls >= 2);
    host->detach();
}

static void test_RLC_ADAPT_7_detached_in_a_callout_in_which_the_host_ran(void) {
    if (!host->nests)
        return;
    begin();
    is_endless = true;
    endless_node = (rlc_post_node){.post_fn = post_again};
    rlc_post_node node = {.post_fn = turn_and_detach};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    turn(true);
    int before = calls;
    for (int i = 0; i < 5; i++)
        turn(false);
    CHECK_EQUAL(calls, before);
    is_endless = false;
    end();
}

/** The pass of the host that the callout makes ends the adapter, beneath the one around it. */
static void detach_in_a_pass_inside(rlc_post_node *node, bool ran) {
    rlc_post_node inner = {.post_fn = detach_inside};
    count_post(node, ran);
    CHECK_EQUAL(rlc_loop_post(loop, &inner), 0);
    TURN_UNTIL(calls == 2);
}

static void test_RLC_ADAPT_7_detached_in_a_pass_inside_of_another_one(void) {
    if (!host->nests)
        return;
    begin();
    rlc_post_node nodes[2] = {{.post_fn = detach_in_a_pass_inside}, {.post_fn = count_post}};
    CHECK_EQUAL(rlc_loop_post(loop, &nodes[0]), 0);
    TURN_UNTIL(calls == 2);
    CHECK_EQUAL(rlc_loop_post(loop, &nodes[1]), 0);
    for (int i = 0; i < 5; i++)
        turn(false);
    CHECK_EQUAL(calls, 2);
    host->attach(loop);
    TURN_UNTIL(calls == 3);
    end();
}

static void detach_while_preparing(rlc_loop *its_loop, rlc_hook *hook, void *node) {
    (void)its_loop;
    calls++;
    CHECK_EQUAL(rlc_loop_defer(loop, (rlc_post_node *)node), 0); /* there is work, beside */
    rlc_hook_remove(hook);
    host->detach();
}

static void test_RLC_ADAPT_7_detached_in_a_prepare_hook_and_attached_again(void) {
    begin();
    rlc_hook *hook;
    rlc_post_node node = {.post_fn = count_post};
    CHECK_EQUAL(rlc_loop_add_hook(loop, detach_while_preparing, NULL, &node, &hook), 0);
    for (int i = 0; i < 5; i++)
        turn(false); /* one that may wait would: the host has nothing else */
    CHECK_EQUAL(calls, 1);
    host->attach(loop);
    TURN_UNTIL(calls == 2);
    end();
}

static void attach_again_while_preparing(rlc_loop *its_loop, rlc_hook *hook, void *node) {
    (void)its_loop;
    calls++;
    rlc_hook_remove(hook);
    host->detach();
    host->attach(loop);
    CHECK_EQUAL(rlc_loop_defer(loop, (rlc_post_node *)node), 0);
}

/** Nothing else ends the sleep of this iteration. */
static void test_RLC_ADAPT_7_attached_again_in_a_prepare_hook(void) {
    begin();
    rlc_hook *hook;
    rlc_post_node node = {.post_fn = count_post};
    for (int i = 0; i < 3; i++)
        turn(false); /* what a host does at its beginning is behind it */
    CHECK_EQUAL(rlc_loop_add_hook(loop, attach_again_while_preparing, NULL, &node, &hook), 0);
    TURN_UNTIL(calls == 2);
    end();
}

static void attach_again_inside(rlc_post_node *node, bool ran) {
    count_post(node, ran);
    host->detach();
    host->attach(loop);
}

static void test_RLC_ADAPT_7_attached_again_in_the_callout(void) {
    begin();
    rlc_post_node node = {.post_fn = attach_again_inside};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    TURN_UNTIL(calls == 1);
    calls = 0;
    serve_hops();
    end();
}

/* ---- RLC-ADAPT-8: a child of fork(2) ---- */

static void test_RLC_ADAPT_8_a_child_detaches_and_the_parent_goes_on(void) {
    begin();
    turn(false);
    pid_t child = fork_with_limit();
    if (child == 0) {
        if (host->forked != NULL)
            host->forked();
        host->detach();
        _exit(7);
    }
    CHECK_EQUAL(status_of(child), 7);
    serve_hops();
    end();
}

static pid_t forked;

static inline void fork_inside(rlc_post_node *node, bool ran) {
    count_post(node, ran);
    forked = fork_with_limit();
}

#include "failure_cases.h"
#include "left_cases.h"
#include "main_queue_cases.h"
#include "stack_cases.h"

static void run_adapter_cases(const host_ops *ops) {
    host = ops;
    RUN(test_RLC_ADAPT_1_everything_is_served);
    RUN(test_RLC_ADAPT_1_more_events_than_a_pass_fetches);
    RUN(test_RLC_ADAPT_2_the_host_inside_a_callout);
    RUN(test_RLC_ADAPT_2_the_loop_inside_a_callback_of_the_host);
    RUN(test_RLC_ADAPT_3_an_endless_loop_lets_the_host_run);
    RUN(test_RLC_ADAPT_3_one_pass_an_iteration_for_all_there_is);
    RUN(test_RLC_ADAPT_3_hops_beside_the_load);
    RUN(test_RLC_ADAPT_3_a_post_is_served_soon_beside_the_load);
    RUN(test_RLC_ADAPT_3_a_host_that_never_sleeps);
    RUN(test_RLC_ADAPT_4_idle_without_a_pass);
    RUN(test_RLC_ADAPT_5_no_post_is_lost);
    RUN(test_RLC_ADAPT_5_changes_while_the_host_sleeps);
    RUN(test_RLC_ADAPT_6_after_a_rebuild);
    RUN(test_RLC_ADAPT_7_detached_in_a_callout_and_attached_again);
    RUN(test_RLC_ADAPT_7_detached_in_a_prepare_hook_and_attached_again);
    RUN(test_RLC_ADAPT_7_attached_again_in_a_prepare_hook);
    RUN(test_RLC_ADAPT_7_detached_in_a_callout_in_which_the_host_ran);
    RUN(test_RLC_ADAPT_7_detached_in_a_pass_inside_of_another_one);
    RUN(test_RLC_ADAPT_7_attached_again_in_the_callout);
    RUN(test_RLC_ADAPT_7_detached_in_a_callout_by_another_stack);
    RUN(test_RLC_ADAPT_7_detached_while_a_callout_waits_on_another_stack);
    RUN(test_RLC_ADAPT_8_a_child_detaches_and_the_parent_goes_on);
    run_failure_cases();
    RUN(test_RLC_ADAPT_11_a_callout_is_left);
    RUN(test_RLC_ADAPT_11_detached_further_down_than_what_was_left);
    RUN(test_RLC_ADAPT_11_a_preparation_is_left);
    RUN(test_RLC_ADAPT_11_a_pass_inside_of_another_one_is_left);
    RUN(test_RLC_ADAPT_11_detached_in_a_pass_at_another_depth);
    run_main_queue_cases();
}

#endif

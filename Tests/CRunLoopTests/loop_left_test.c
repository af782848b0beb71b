/* Callouts that are left by longjmp(3), which is all that an exception is for the loop. */
#include "loops.h"

#include <crunloop/loop_hook.h>
#include <crunloop/loop_state.h>
#include <setjmp.h>
#include <sys/eventfd.h>

enum { LEFT = 99 };

/** Where the callouts that leave lead, the innermost run_or_leave's first. */
static jmp_buf *target;
static rlc_watch *served;

__attribute__((noinline)) static int run_or_leave(rlc_loop *loop, uint64_t deadline_ns) {
    jmp_buf here;
    jmp_buf *volatile outer = target;
    target = &here;
    int result = setjmp(here) == 0 ? rlc_loop_run(loop, deadline_ns) : LEFT;
    target = outer;
    return result;
}

static uint32_t depth_of(const rlc_loop *loop) {
    rlc_loop_statistics figures = {.size = sizeof figures};
    CHECK_EQUAL(rlc_loop_read_statistics(loop, &figures), 0);
    return figures.depth;
}

static void leave(void) {
    longjmp(*target, 1);
}

static void leave_by_timer(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop, (void)timer, (void)deadline_ns;
    if (++*(int *)context == 1)
        leave();
}

static void leave_by_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)loop, (void)watch, (void)ready;
    if (++*(int *)context == 1)
        leave();
}

static void leave_by_post(rlc_post_node *node, bool ran) {
    (void)node;
    if (ran)
        leave();
}

static void leave_by_hook(rlc_loop *loop, rlc_hook *hook, void *context) {
    (void)loop, (void)hook;
    if (++*(int *)context == 1)
        leave();
}

/* Nothing is lost, and nothing but the callout itself has happened. */
static void test_RLC_LEFT_1_a_timer(void) {
    rlc_loop *loop = make_loop();
    rlc_timer *timer, *other;
    int fired = 0, others = 0;
    CHECK_EQUAL(rlc_loop_add_timer(loop, leave_by_timer, &fired, &timer), 0);
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &others, &other), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, 2000, 100, 0), 0);
    CHECK_EQUAL(rlc_timer_arm(other, 2000, 0, 0), 0);
    CHECK_EQUAL(run_or_leave(loop, RLC_TIME_FOREVER), LEFT);
    CHECK_EQUAL(others, 0);
    CHECK_EQUAL(run_or_leave(loop, 2250), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(fired, 3); /* 2000, 2100, 2200 */
    CHECK_EQUAL(others, 1);
    CHECK_EQUAL(depth_of(loop), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_LEFT_1_a_watch(void) {
    rlc_loop *loop = make_loop();
    rlc_watch *watch;
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), heard = 0;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, leave_by_watch, &heard, &watch), 0);
    CHECK_EQUAL(run_or_leave(loop, RLC_TIME_FOREVER), LEFT);
    CHECK_EQUAL(rlc_loop_run_once(loop, 3000), RLC_RUN_HANDLED);
    CHECK_EQUAL(heard, 2);
    CHECK_EQUAL(rlc_loop_stop(loop), 0); /* nothing runs */
    CHECK_EQUAL(rlc_loop_run_once(loop, 3000), RLC_RUN_HANDLED);
    rlc_watch_remove(watch);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

/* Those behind it are called by the next run. */
static void test_RLC_LEFT_1_a_post(void) {
    rlc_loop *loop = make_loop();
    job before = make_job(loop), behind = make_job(loop), deferred = make_job(loop);
    rlc_post_node leaving = {.post_fn = leave_by_post};
    CHECK_EQUAL(rlc_loop_post(loop, &before.node), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &leaving), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &behind.node), 0);
    CHECK_EQUAL(run_or_leave(loop, RLC_TIME_FOREVER), LEFT);
    CHECK_EQUAL(rlc_loop_defer(loop, &deferred.node), 0);
    CHECK_EQUAL(run_or_leave(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK(before.runs == 1 && behind.runs == 1 && deferred.runs == 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_LEFT_1_a_hook(void) {
    rlc_loop *loop = make_loop();
    rlc_hook *prepare, *check;
    int prepared = 0, checked = 0;
    CHECK_EQUAL(rlc_loop_add_hook(loop, leave_by_hook, NULL, &prepared, &prepare), 0);
    CHECK_EQUAL(rlc_loop_add_hook(loop, NULL, leave_by_hook, &checked, &check), 0);
    CHECK_EQUAL(run_or_leave(loop, 2000), LEFT);
    CHECK_EQUAL(run_or_leave(loop, 2000), LEFT);
    CHECK_EQUAL(run_or_leave(loop, 3000), RLC_RUN_TIMED_OUT);
    CHECK(prepared >= 3 && checked >= 2);
    long blocks = blocks_in_use();
    rlc_hook_remove(prepare);
    rlc_hook_remove(check);
    CHECK_EQUAL(blocks_in_use(), blocks - 2);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* What the run's callouts have removed is given back. */
static void test_RLC_LEFT_1_its_end_frees(void) {
    rlc_loop *loop = make_loop();
    rlc_timer *timer;
    int fired = 0;
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(rlc_loop_add_timer(loop, leave_by_timer, &fired, &timer), 0);
        CHECK_EQUAL(rlc_timer_arm(timer, 0, 0, 0), 0);
        fired = 0;
        CHECK_EQUAL(run_or_leave(loop, RLC_TIME_FOREVER), LEFT);
        rlc_timer_remove(timer);
    }
    CHECK_EQUAL(rlc_loop_destroy(loop), 0); /* nothing runs */
}

/* ---- runs inside of runs ---- */

static int inner_result;

static void run_inside(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)ready, (void)context;
    calls++;
    if (calls == 1) {
        served = watch;
        inner_result = run_or_leave(loop, RLC_TIME_FOREVER);
    }
}

/* The run around it goes on, and the watch in whose callout it was is heard again. */
static void test_RLC_LEFT_2_an_inner_run(void) {
    rlc_loop *loop = make_loop();
    rlc_watch *watch;
    rlc_timer *timer;
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), fired = 0;
    calls = 0;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, run_inside, NULL, &watch), 0);
    CHECK_EQUAL(rlc_loop_add_timer(loop, leave_by_timer, &fired, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, 2000, 0, 0), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, 3000), RLC_RUN_HANDLED);
    CHECK_EQUAL(inner_result, LEFT);
    CHECK_EQUAL(calls, 1); /* not by the inner run, which had nothing but the timer */
    CHECK_EQUAL(depth_of(loop), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, 3000), RLC_RUN_HANDLED);
    CHECK_EQUAL(calls, 2);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static bool stops_before, stops_inside, runs_again;

static void stop_and_leave(rlc_post_node *node, bool ran) {
    rlc_loop *loop = ((job *)node)->loop;
    if (!ran)
        return;
    if (stops_inside)
        CHECK_EQUAL(rlc_loop_stop(loop), 0);
    leave();
}

static void nest(job *outer) {
    job inner = {.node = {.post_fn = stop_and_leave}, .loop = outer->loop};
    if (stops_before)
        CHECK_EQUAL(rlc_loop_stop(outer->loop), 0);
    CHECK_EQUAL(rlc_loop_post(outer->loop, &inner.node), 0);
    CHECK_EQUAL(run_or_leave(outer->loop, RLC_TIME_FOREVER), LEFT);
    if (runs_again)
        CHECK_EQUAL(run_or_leave(outer->loop, 0), RLC_RUN_TIMED_OUT);
}

/* One that was asked of the outer run is kept. One that the inner run has not obeyed is for the run that goes on. */
static void test_RLC_LEFT_3_stops(void) {
    for (int which = 0; which < 4; which++) {
        rlc_loop *loop = make_loop();
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        rlc_watch *watch = idle_watch(loop, fd);
        job outer = make_job(loop);
        outer.then = nest;
        stops_before = which == 1, stops_inside = which >= 2, runs_again = which == 3;
        CHECK_EQUAL(rlc_loop_post(loop, &outer.node), 0);
        CHECK_EQUAL(rlc_loop_run(loop, 4000), which == 0 ? RLC_RUN_TIMED_OUT : RLC_RUN_STOPPED);
        CHECK_EQUAL(rlc_loop_run(loop, 5000), RLC_RUN_TIMED_OUT);
        rlc_watch_remove(watch);
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
        close(fd);
    }
}

enum { COUNTERS = 3 };

/* Watches of as many eventfds, of which the first one is readable; the callout gets their descriptors. */
static void watch_counters(rlc_loop *loop, rlc_watch_fn called, int *fds, rlc_watch **ret_watches) {
    calls = 0;
    for (int i = 0; i < COUNTERS; i++) {
        fds[i] = eventfd(i == 0, EFD_CLOEXEC | EFD_NONBLOCK);
        CHECK_EQUAL(rlc_loop_add_watch(loop, fds[i], RLC_READABLE, called, fds, &ret_watches[i]), 0);
    }
}

static void destroy_and_close(rlc_loop *loop, const int *fds) {
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    for (int i = 0; i < COUNTERS; i++)
        close(fds[i]);
}

static void nest_until_the_third(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)watch, (void)ready;
    int *fd = context;
    if (++calls == 3)
        leave();
    bump(fd[calls]);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), LEFT);
}

/* All of several, one in the other, each in a watch's callout: all are heard afterwards. */
static void test_RLC_LEFT_4_several_runs(void) {
    rlc_loop *loop = make_loop();
    rlc_watch *watches[COUNTERS];
    int fds[COUNTERS];
    watch_counters(loop, nest_until_the_third, fds, watches);
    CHECK_EQUAL(run_or_leave(loop, RLC_TIME_FOREVER), LEFT);
    CHECK_EQUAL(calls, 3);
    CHECK_EQUAL(depth_of(loop), 3); /* nothing has looked yet */
    for (int i = 0; i < 3; i++) {
        rlc_watch *heard;
        rlc_watch_remove(watches[i]);
        CHECK_EQUAL(rlc_loop_add_watch(loop, fds[i], RLC_READABLE, count_watch, NULL, &heard), 0);
    }
    calls = 0;
    CHECK_EQUAL(rlc_loop_run_once(loop, 2000), RLC_RUN_HANDLED);
    CHECK_EQUAL(calls, 3);
    destroy_and_close(loop, fds);
}

/* Several, and the watches are the same as before. */
static void nest_once_each(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)watch, (void)ready;
    int *fds = context;
    if (++calls > 3)
        return;
    if (calls == 3)
        leave();
    bump(fds[calls]);
    (void)rlc_loop_run(loop, RLC_TIME_FOREVER);
}

static void test_RLC_LEFT_4_watches_that_stay(void) {
    rlc_loop *loop = make_loop();
    rlc_watch *watches[COUNTERS];
    int fds[COUNTERS];
    watch_counters(loop, nest_once_each, fds, watches);
    CHECK_EQUAL(run_or_leave(loop, RLC_TIME_FOREVER), LEFT);
    CHECK_EQUAL(rlc_loop_run_once(loop, 2000), RLC_RUN_HANDLED);
    CHECK_EQUAL(calls, 6);
    CHECK_EQUAL(depth_of(loop), 0);
    destroy_and_close(loop, fds);
}

/* ---- where the next run begins ---- */

__attribute__((noinline)) static int run_further_down(rlc_loop *loop, uint64_t deadline_ns) {
    char deep[4096];
    memset(deep, 0x5a, sizeof deep);
    __asm__ volatile("" : : "r"(deep) : "memory");
    return rlc_loop_run(loop, deadline_ns);
}

/* What lies in the place of the run that was left does not matter. */
static void test_RLC_LEFT_5_a_run_further_down(void) {
    rlc_loop *loop = make_loop();
    rlc_watch *watch;
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), heard = 0;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, leave_by_watch, &heard, &watch), 0);
    CHECK_EQUAL(run_or_leave(loop, RLC_TIME_FOREVER), LEFT);
    CHECK_EQUAL(rlc_loop_stop(loop), 0);
    CHECK_EQUAL(run_further_down(loop, 0), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(heard, 2); /* it was not left out as one whose callout is on the stack */
    CHECK_EQUAL(depth_of(loop), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

__attribute__((noinline)) static int dispatch_or_leave(rlc_loop *loop) {
    jmp_buf here;
    target = &here;
    return setjmp(here) == 0 ? rlc_loop_dispatch(loop) : LEFT;
}

__attribute__((noinline)) static int prepare_or_leave(rlc_loop *loop) {
    jmp_buf here;
    target = &here;
    return setjmp(here) == 0 ? rlc_loop_prepare(loop) : LEFT;
}

static void test_RLC_LEFT_8_in_a_host(void) {
    rlc_loop *loop = make_loop();
    rlc_timer *timer;
    rlc_hook *hook;
    int fired = 0, prepared = 0;
    CHECK_EQUAL(rlc_loop_add_timer(loop, leave_by_timer, &fired, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, 0, 1000, 0), 0);
    CHECK_EQUAL(dispatch_or_leave(loop), LEFT);
    CHECK_EQUAL(rlc_loop_add_hook(loop, leave_by_hook, NULL, &prepared, &hook), 0);
    CHECK_EQUAL(prepare_or_leave(loop), LEFT);
    CHECK(rlc_loop_prepare(loop) >= 0);
    kernel.time_ns = 5000;
    CHECK_EQUAL(dispatch_or_leave(loop), 0);
    CHECK_EQUAL(fired, 2);
    CHECK_EQUAL(depth_of(loop), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static rlc_post_node leaver = {.post_fn = leave_by_post};

static void run_and_leave_once(rlc_loop *loop, rlc_hook *hook, void *context) {
    (void)hook;
    if (++*(int *)context > 1)
        return; /* of the run inside */
    CHECK_EQUAL(rlc_loop_post(loop, &leaver), 0);
    CHECK_EQUAL(run_or_leave(loop, RLC_TIME_FOREVER), LEFT);
    CHECK_EQUAL(depth_of(loop), 2); /* nothing has looked yet */
}

/* The callout comes back to the host, without the run that it has begun. */
static void test_RLC_LEFT_8_inside_of_a_callout_of_a_host(void) {
    rlc_loop *loop = make_loop();
    rlc_hook *hook;
    int prepared = 0, checked = 0;
    CHECK_EQUAL(rlc_loop_add_hook(loop, run_and_leave_once, NULL, &prepared, &hook), 0);
    CHECK(rlc_loop_prepare(loop) >= 0);
    CHECK(prepared >= 2);
    CHECK_EQUAL(depth_of(loop), 0);
    rlc_hook_remove(hook);
    CHECK_EQUAL(rlc_loop_add_hook(loop, NULL, run_and_leave_once, &checked, &hook), 0);
    CHECK(rlc_loop_dispatch(loop) >= 0);
    CHECK_EQUAL(checked, 1);
    CHECK_EQUAL(depth_of(loop), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* Without memory for it an inner run does not begin. */
static void fail_to_nest(job *outer) {
    fail_allocation(1);
    CHECK_EQUAL(rlc_loop_run(outer->loop, 0), -ENOMEM);
    CHECK_EQUAL(rlc_loop_run(outer->loop, 0), RLC_RUN_TIMED_OUT);
}

static void test_RLC_LEFT_7_no_memory(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)idle_watch(loop, fd);
    job outer = make_job(loop);
    outer.then = fail_to_nest;
    CHECK_EQUAL(rlc_loop_post(loop, &outer.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, 4000), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(outer.runs, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

int main(void) {
    RUN(test_RLC_LEFT_1_a_timer);
    RUN(test_RLC_LEFT_1_a_watch);
    RUN(test_RLC_LEFT_1_a_post);
    RUN(test_RLC_LEFT_1_a_hook);
    RUN(test_RLC_LEFT_1_its_end_frees);
    RUN(test_RLC_LEFT_2_an_inner_run);
    RUN(test_RLC_LEFT_3_stops);
    RUN(test_RLC_LEFT_4_several_runs);
    RUN(test_RLC_LEFT_4_watches_that_stay);
    RUN(test_RLC_LEFT_5_a_run_further_down);
    RUN(test_RLC_LEFT_8_in_a_host);
    RUN(test_RLC_LEFT_8_inside_of_a_callout_of_a_host);
    RUN(test_RLC_LEFT_7_no_memory);
    return 0;
}

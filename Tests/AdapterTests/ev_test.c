/* <crunloop/adapters/ev.h> in a struct ev_loop. */
#include "adapters.h"

#include <crunloop/adapters/ev.h>

static struct ev_loop *ev;
static rlc_ev_host *attached;
static ev_io load;
static ev_timer timer;
static int load_fd;
static void (*load_fn)(void), (*timer_fn)(void);

static void open_host(void) {
    ev = ev_loop_new(EVFLAG_AUTO);
    CHECK(ev != NULL);
}

static void close_host(void) {
    ev_timer_stop(ev, &timer);
    ev_loop_destroy(ev);
}

static void attach(rlc_loop *of) {
    CHECK_EQUAL(rlc_ev_attach(of, ev, &attached), 0);
}

static void detach(void) {
    rlc_ev_detach(attached);
    attached = NULL;
}

static void turn_host(bool may_wait) {
    ev_run(ev, may_wait ? EVRUN_ONCE : EVRUN_NOWAIT);
}

static void call_load(struct ev_loop *of, ev_io *io, int events) {
    (void)of, (void)io, (void)events;
    load_fn();
}

static void add_load(void (*fn)(void)) {
    load_fn = fn;
    load_fd = make_counter(1);
    ev_io_init(&load, call_load, load_fd, EV_READ);
    ev_io_start(ev, &load);
}

static void remove_load(void) {
    ev_io_stop(ev, &load);
    close(load_fd);
}

static void call_timer(struct ev_loop *of, ev_timer *fired_timer, int events) {
    (void)of, (void)fired_timer, (void)events;
    timer_fn();
}

static void after(int ms, void (*fn)(void)) {
    timer_fn = fn;
    ev_now_update(ev);
    ev_timer_init(&timer, call_timer, ms / 1000.0, 0);
    ev_timer_start(ev, &timer);
}

static void test_RLC_ADAPT_7_what_attaching_fails_with(void) {
    begin();
    rlc_ev_host *other = NULL;
    fail_allocation(1);
    CHECK_EQUAL(rlc_ev_attach(loop, ev, &other), -ENOMEM);
    CHECK(other == NULL);
    CHECK_EQUAL(rlc_ev_status(attached), 0);
    end();
}

/** Nothing of the adapter is active any more. */
static void test_RLC_ADAPT_7_ev_run_returns_when_it_is_detached(void) {
    begin();
    rlc_post_node node = {.post_fn = detach_inside};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    ev_run(ev, 0);
    CHECK_EQUAL(calls, 1);
    end();
}

/** What the loop has failed with. */
static int fails_with(void) {
    for (int i = 0; i < 3; i++)
        turn_host(false);
    return rlc_ev_status(attached);
}

int main(void) {
    static const host_ops ops = {"ev", open_host, close_host, attach, detach, turn_host, add_load, remove_load, after,
        .nests = true, .can_be_left = true, .fails_with = fails_with, .turns_of_a_hop = 2, .idle_turns = 2};
    run_adapter_cases(&ops);
    RUN(test_RLC_ADAPT_4_a_loop_that_has_failed_ends_no_sleep);
    RUN(test_RLC_ADAPT_7_ev_run_returns_when_it_is_detached);
    RUN(test_RLC_ADAPT_7_what_attaching_fails_with);
    return 0;
}

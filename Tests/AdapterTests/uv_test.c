/* <crunloop/adapters/uv.h> in a uv_loop_t. */
#include "adapters.h"

#include <crunloop/adapters/uv.h>

static uv_loop_t uv;
static rlc_uv_host *attached;
static uv_poll_t load;
static uv_timer_t timer;
static int load_fd;
static void (*load_fn)(void), (*timer_fn)(void);

static void open_host(void) {
    CHECK_EQUAL(uv_loop_init(&uv), 0);
    CHECK_EQUAL(uv_timer_init(&uv, &timer), 0);
}

static void close_host(void) {
    uv_close((uv_handle_t *)&timer, NULL);
    while (uv_run(&uv, UV_RUN_NOWAIT) != 0) {
    }
    CHECK_EQUAL(uv_loop_close(&uv), 0);
}

static void attach(rlc_loop *of) {
    CHECK_EQUAL(rlc_uv_attach(of, &uv, &attached), 0);
}

static void detach(void) {
    rlc_uv_detach(attached);
    attached = NULL;
}

static void turn_host(bool may_wait) {
    uv_run(&uv, may_wait ? UV_RUN_ONCE : UV_RUN_NOWAIT);
}

static void call_load(uv_poll_t *poll, int status, int events) {
    (void)poll, (void)events;
    CHECK_EQUAL(status, 0);
    load_fn();
}

static void add_load(void (*fn)(void)) {
    load_fn = fn;
    load_fd = make_counter(1);
    CHECK_EQUAL(uv_poll_init(&uv, &load, load_fd), 0);
    CHECK_EQUAL(uv_poll_start(&load, UV_READABLE, call_load), 0);
}

static void remove_load(void) {
    uv_close((uv_handle_t *)&load, NULL);
    turn_host(false);
    close(load_fd);
}

static void call_timer(uv_timer_t *of) {
    (void)of;
    timer_fn();
}

static void after(int ms, void (*fn)(void)) {
    timer_fn = fn;
    uv_update_time(&uv);
    CHECK_EQUAL(uv_timer_start(&timer, call_timer, (uint64_t)ms, 0), 0);
}

static void note_fork(void) {
    CHECK_EQUAL(uv_loop_fork(&uv), 0);
}

static void test_RLC_ADAPT_7_what_attaching_fails_with(void) {
    begin();
    rlc_uv_host *other = NULL;
    fail_allocation(1);
    CHECK_EQUAL(rlc_uv_attach(loop, &uv, &other), -ENOMEM);
    CHECK_EQUAL(rlc_uv_attach(loop, &uv, &other), UV_EEXIST); /* a descriptor has one handle */
    CHECK(other == NULL);
    CHECK_EQUAL(rlc_uv_status(attached), 0);
    end();
}

static void count_foreign(uv_poll_t *poll, int status, int events) {
    (void)poll, (void)events;
    CHECK_EQUAL(status, 0);
    loads++;
}

/** The program polls a file of its own that has the number of the failed loop by now. */
static void test_RLC_ADAPT_7_a_failed_loop_leaves_its_number_alone(void) {
    begin();
    turn(false);
    int fd = make_counter(1), number = rlc_loop_fd(loop);
    rlc_watch *watch;
    uv_poll_t foreign;
    take_number_of_loop(fd);
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, take_bytes, &fd, &watch), 0);
    CHECK_EQUAL(host->fails_with(), -EBADF);
    CHECK_EQUAL(uv_poll_init(&uv, &foreign, number), 0);
    CHECK_EQUAL(uv_poll_start(&foreign, UV_READABLE, count_foreign), 0);
    for (int i = 1; i <= 5; i++) {
        turn(false);
        CHECK_EQUAL(loads, i);
    }
    uv_close((uv_handle_t *)&foreign, NULL);
    turn(false);
    CHECK_EQUAL(calls, 0);
    end();
    close(number), close(fd);
}

/** Nothing of the adapter is active any more. */
static void test_RLC_ADAPT_7_uv_run_returns_when_it_is_detached(void) {
    begin();
    rlc_post_node node = {.post_fn = detach_inside};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    CHECK_EQUAL(uv_run(&uv, UV_RUN_DEFAULT), 0);
    CHECK_EQUAL(calls, 1);
    end();
}

/** What libuv opens for the process, once: before the first case counts descriptors. */
static void warm_up(void) {
    open_host();
    close_host();
}

/** What the loop has failed with. */
static int fails_with(void) {
    for (int i = 0; i < 3; i++)
        turn_host(false);
    return rlc_uv_status(attached);
}

int main(void) {
    static const host_ops ops = {"uv", open_host, close_host, attach, detach, turn_host, add_load, remove_load, after,
        .forked = note_fork, .nests = false, .fails_with = fails_with, .turns_of_a_hop = 2, .idle_turns = 2};
    warm_up();
    run_adapter_cases(&ops);
    RUN(test_RLC_ADAPT_4_a_loop_that_has_failed_ends_no_sleep);
    RUN(test_RLC_ADAPT_7_uv_run_returns_when_it_is_detached);
    RUN(test_RLC_ADAPT_7_what_attaching_fails_with);
    RUN(test_RLC_ADAPT_7_a_failed_loop_leaves_its_number_alone);
    return 0;
}

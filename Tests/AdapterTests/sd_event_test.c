/* <crunloop/adapters/sd_event.h> in an sd_event. */
#include "adapters.h"

#include <crunloop/adapters/sd_event.h>
#include <sys/resource.h>
#include <time.h>

static sd_event *event;
static rlc_sd_event_host *attached;
static sd_event_source *load;
static int load_fd;
static void (*load_fn)(void), (*timer_fn)(void);

static void open_host(void) {
    CHECK_EQUAL(sd_event_new(&event), 0);
}

static void close_host(void) {
    CHECK(sd_event_unref(event) == NULL);
}

static void attach(rlc_loop *of) {
    CHECK_EQUAL(rlc_sd_event_attach(of, event, &attached), 0);
}

static void detach(void) {
    rlc_sd_event_detach(attached);
    attached = NULL;
}

static void turn_host(bool may_wait) {
    CHECK(sd_event_run(event, may_wait ? UINT64_MAX : 0) >= 0);
}

static int call_load(sd_event_source *source, int fd, uint32_t events, void *userdata) {
    (void)source, (void)fd, (void)events, (void)userdata;
    load_fn();
    return 0;
}

static void add_load(void (*fn)(void)) {
    load_fn = fn;
    load_fd = make_counter(1);
    CHECK(sd_event_add_io(event, &load, load_fd, EPOLLIN, call_load, NULL) >= 0);
}

static void remove_load(void) {
    CHECK(sd_event_source_disable_unref(load) == NULL);
    close(load_fd);
}

static int call_timer(sd_event_source *source, uint64_t us, void *userdata) {
    (void)source, (void)us, (void)userdata;
    timer_fn();
    return 0;
}

static void after(int ms, void (*fn)(void)) {
    timer_fn = fn;
    CHECK(sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, (uint64_t)ms * 1000, 1, call_timer, NULL) >= 0);
}

static void test_RLC_ADAPT_7_what_attaching_fails_with(void) {
    begin();
    rlc_sd_event_host *other = NULL;
    CHECK_EQUAL(rlc_sd_event_attach(loop, event, &other), -EEXIST); /* a descriptor has one source */
    fail_allocation(1);
    CHECK_EQUAL(rlc_sd_event_attach(loop, event, &other), -ENOMEM);
    CHECK(other == NULL);
    CHECK_EQUAL(rlc_sd_event_status(attached), 0);
    end();
}

/** The timer needs one, after the descriptor has its source. */
static void test_RLC_ADAPT_7_there_is_no_descriptor_for_the_timer(void) {
    begin();
    detach();
    struct rlimit usual, none;
    rlc_sd_event_host *other = NULL;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = (struct rlimit){0, usual.rlim_max};
    close_host(), open_host(); /* one without a timerfd */
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    int status = rlc_sd_event_attach(loop, event, &other);
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &usual), 0);
    CHECK_EQUAL(status, -EMFILE);
    CHECK(other == NULL);
    attach(loop); /* its descriptor has no source */
    serve_hops();
    end();
}

static void run_inside(rlc_post_node *node, bool ran) {
    count_post(node, ran);
    CHECK_EQUAL(sd_event_run(event, 0), -EBUSY);
}

static void test_RLC_ADAPT_2_the_host_refuses_to_run_inside(void) {
    begin();
    rlc_post_node node = {.post_fn = run_inside};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    TURN_UNTIL(calls == 1);
    CHECK_EQUAL(rlc_sd_event_status(attached), 0);
    end();
}

/** What the loop has failed with, or the host, which a child of fork(2) cannot iterate. */
static int fails_with(void) {
    for (int i = 0; i < 3; i++) {
        int status = sd_event_run(event, 0);
        if (status < 0)
            return status;
    }
    return rlc_sd_event_status(attached);
}

int main(void) {
    static const host_ops ops = {"sd_event", open_host, close_host, attach, detach, turn_host, add_load, remove_load,
        after, .nests = false, .fails_with = fails_with, .turns_of_a_hop = 3, .idle_turns = 1};
    run_adapter_cases(&ops);
    RUN(test_RLC_ADAPT_4_a_loop_that_has_failed_ends_no_sleep);
    RUN(test_RLC_ADAPT_2_the_host_refuses_to_run_inside);
    RUN(test_RLC_ADAPT_7_what_attaching_fails_with);
    RUN(test_RLC_ADAPT_7_there_is_no_descriptor_for_the_timer);
    return 0;
}

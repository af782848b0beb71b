#include "harness.h"

#include <poll.h>

static spy kernel;

static void test_RLC_TIMER_1_a_later_deadline_costs_no_call(void) {
    rlc_timer_port *port;
    spy_init_virtual(&kernel, 1000);
    CHECK_EQUAL(rlc_timer_port_create(&kernel.table, RLC_CLOCK_MONOTONIC, &port), 0);
    CHECK(rlc_timer_port_armed(port) == RLC_TIME_FOREVER);
    CHECK_EQUAL(rlc_timer_port_want(port, RLC_TIME_FOREVER), 0);
    CHECK_EQUAL(rlc_timer_port_want(port, 5000), 1);
    CHECK_EQUAL(rlc_timer_port_want(port, 5000), 0);
    CHECK_EQUAL(rlc_timer_port_want(port, 9000), 0);
    CHECK_EQUAL(rlc_timer_port_armed(port), 5000);
    CHECK_EQUAL(rlc_timer_port_want(port, 4000), 1);
    CHECK_EQUAL(count_of(&kernel.sets), 2);
    rlc_timer_port_note_expiry(port);
    CHECK(rlc_timer_port_armed(port) == RLC_TIME_FOREVER);
    CHECK_EQUAL(rlc_timer_port_disarm(port), 0);
    CHECK_EQUAL(count_of(&kernel.sets), 2);
    CHECK_EQUAL(rlc_timer_port_want(port, 9000), 1);
    CHECK_EQUAL(rlc_timer_port_disarm(port), 0);
    CHECK_EQUAL(count_of(&kernel.sets), 4);
    rlc_timer_port_destroy(port);
    rlc_timer_port_destroy(NULL);
}

static int set_status;

static int set_fails(void *context, int fd, uint64_t deadline_ns) {
    (void)context, (void)fd, (void)deadline_ns;
    return set_status;
}

static void test_RLC_TIMER_1_what_could_not_be_set_is_not_set(void) {
    rlc_timer_port *port;
    spy_init_virtual(&kernel, 1000);
    kernel.table.timerfd_set = set_fails;
    CHECK_EQUAL(rlc_timer_port_create(&kernel.table, RLC_CLOCK_MONOTONIC, &port), 0);
    set_status = -EINVAL;
    CHECK_EQUAL(rlc_timer_port_want(port, 5000), -EINVAL);
    CHECK(rlc_timer_port_armed(port) == RLC_TIME_FOREVER);
    set_status = 0;
    CHECK_EQUAL(rlc_timer_port_want(port, 5000), 1);
    set_status = -EINVAL;
    CHECK_EQUAL(rlc_timer_port_disarm(port), -EINVAL);
    CHECK_EQUAL(rlc_timer_port_armed(port), 5000);
    rlc_timer_port_destroy(port);
}

static void test_RLC_TIMER_2_never_early(void) {
    rlc_timer_port *port;
    CHECK_EQUAL(rlc_timer_port_create(NULL, RLC_CLOCK_MONOTONIC, &port), 0);
    for (int i = 0; i < 5; i++) {
        uint64_t deadline = rlc_now(RLC_CLOCK_MONOTONIC) + 500000 + (uint64_t)i;
        CHECK_EQUAL(rlc_timer_port_want(port, deadline), 1);
        struct pollfd entry = {.fd = rlc_timer_port_fd(port), .events = POLLIN};
        CHECK_EQUAL(poll(&entry, 1, 2000), 1);
        CHECK(rlc_now(RLC_CLOCK_MONOTONIC) >= deadline);
        rlc_timer_port_note_expiry(port);
    }
    rlc_timer_port_destroy(port);
}

static void test_all_clocks(void) {
    for (int clock = RLC_CLOCK_MONOTONIC; clock <= RLC_CLOCK_REALTIME; clock++) {
        rlc_timer_port *port;
        CHECK_EQUAL(rlc_timer_port_create(NULL, (rlc_clock)clock, &port), 0);
        CHECK_EQUAL(rlc_timer_port_want(port, rlc_now((rlc_clock)clock) + 1000), 1);
        struct pollfd entry = {.fd = rlc_timer_port_fd(port), .events = POLLIN};
        CHECK_EQUAL(poll(&entry, 1, 2000), 1);
        rlc_timer_port_destroy(port);
    }
}

static void test_creation_fails_cleanly(void) {
    rlc_timer_port *port = NULL;
    spy_init(&kernel);
    atomic_store(&kernel.fail_at, 1);
    CHECK_EQUAL(rlc_timer_port_create(&kernel.table, RLC_CLOCK_MONOTONIC, &port), -EMFILE);
    fail_allocation(1);
    CHECK_EQUAL(rlc_timer_port_create(&kernel.table, RLC_CLOCK_MONOTONIC, &port), -ENOMEM);
    CHECK(port == NULL);
}

static int timerfd_at_zero(void *context, rlc_clock clock) {
    (void)context, (void)clock;
    return 0;
}

static int closed_fd;

static int note_close(void *context, int fd) {
    (void)context;
    closed_fd = fd;
    return 0;
}

/* The table of a host may have it. */
static void test_the_descriptor_0_is_closed(void) {
    rlc_timer_port *port;
    spy_init(&kernel);
    kernel.table.timerfd_create = timerfd_at_zero;
    kernel.table.close = note_close;
    CHECK_EQUAL(rlc_timer_port_create(&kernel.table, RLC_CLOCK_MONOTONIC, &port), 0);
    closed_fd = -1;
    rlc_timer_port_destroy(port);
    CHECK_EQUAL(closed_fd, 0);
}

int main(void) {
    RUN(test_RLC_TIMER_1_a_later_deadline_costs_no_call);
    RUN(test_RLC_TIMER_1_what_could_not_be_set_is_not_set);
    RUN(test_RLC_TIMER_2_never_early);
    RUN(test_all_clocks);
    RUN(test_creation_fails_cleanly);
    RUN(test_the_descriptor_0_is_closed);
    return 0;
}

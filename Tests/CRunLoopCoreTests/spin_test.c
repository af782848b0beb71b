/* Spinning before a sleep, under a clock of the test's own that moves by a step at each reading. */
#include "harness.h"

#include <sys/eventfd.h>

static spy kernel;
static uint64_t now, step, readings;
static void (*at_reading)(uint64_t reading); /* another thread's doing */

static uint64_t tick(void *context, rlc_clock clock) {
    (void)context, (void)clock;
    now += step;
    readings++;
    if (at_reading != NULL)
        at_reading(readings);
    return now;
}

static void set_clock(uint64_t by_ns, void (*reading_fn)(uint64_t reading)) {
    kernel.table.now = tick;
    now = 1000000;
    step = by_ns;
    readings = 0;
    at_reading = reading_fn;
}

static rlc_wakeup_port *make_port(void) {
    rlc_wakeup_port *port;
    spy_init(&kernel);
    CHECK_EQUAL(rlc_wakeup_port_create(&kernel.table, &port), 0);
    set_clock(1000, NULL);
    return port;
}

static rlc_wakeup_port *watched;

static void signal_at_fifth(uint64_t reading) {
    if (reading == 5)
        CHECK_EQUAL(rlc_wakeup_port_signal(watched), 0); /* no write */
}

static bool spin(rlc_spin *spin, rlc_wakeup_port *port) {
    return rlc_spin_until_posted(spin, port, NULL, RLC_TIME_FOREVER);
}

/** How many of `count` waits, in which nothing is posted, have spun. */
static int spins_in_vain(rlc_spin *spinning, rlc_wakeup_port *port, int count) {
    int spins = 0;
    for (int i = 0; i < count; i++) {
        readings = 0;
        CHECK(!spin(spinning, port));
        spins += readings > 0;
    }
    return spins;
}

static void test_RLC_SPIN_1_it_learns(void) {
    rlc_wakeup_port *port = make_port();
    rlc_spin spinning = {0};
    rlc_spin_set(&spinning, RLC_SPIN_USUAL_NS);
    CHECK_EQUAL(spins_in_vain(&spinning, port, 64 + 128 + 256 + 512 + 4096), 8); /* ever fewer, down to one in 1024 */
    watched = port;
    at_reading = signal_at_fifth;
    while (readings = 0, !spin(&spinning, port)) {
    }
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_POSTED);
    CHECK_EQUAL(count_of(&kernel.writes), 0);
    at_reading = NULL;
    CHECK_EQUAL(spins_in_vain(&spinning, port, 63), 4); /* what the one success has earned */
    for (int i = 0; i < 100; i++) {
        at_reading = signal_at_fifth;
        readings = 0;
        (void)spin(&spinning, port);
        (void)rlc_wakeup_port_take(port);
    }
    at_reading = NULL;
    CHECK_EQUAL(spins_in_vain(&spinning, port, 63), 16); /* it forgets soon */
    rlc_wakeup_port_release(port);
}

static void signal_after_the_limit(uint64_t reading) {
    if (reading != 3)
        return;
    now += UINT64_C(4000000); /* this thread lost the processor */
    CHECK_EQUAL(rlc_wakeup_port_signal(watched), 0);
}

static void test_RLC_SPIN_1_what_was_there_or_came_late_teaches_nothing(void) {
    rlc_wakeup_port *port = make_port();
    rlc_spin spinning = {0};
    watched = port;
    rlc_spin_set(&spinning, RLC_SPIN_USUAL_NS);
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(rlc_wakeup_port_interrupt(port), 0);
        CHECK(spin(&spinning, port));
        CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_INTERRUPTED);
    }
    CHECK_EQUAL(readings, 0);
    at_reading = signal_after_the_limit;
    while (readings = 0, !spin(&spinning, port)) {
    }
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_POSTED);
    at_reading = NULL;
    CHECK_EQUAL(spins_in_vain(&spinning, port, 63), 0);
    rlc_wakeup_port_release(port);
}

static uint64_t longest_spin(rlc_spin *spinning, rlc_wakeup_port *port, uint64_t deadline_ns) {
    spinning->credit = 1;
    uint64_t begin_ns = now;
    CHECK(!rlc_spin_until_posted(spinning, port, NULL, deadline_ns));
    return now - begin_ns;
}

static void test_RLC_SPIN_2_limit_deadline_and_a_clock_that_stands(void) {
    rlc_wakeup_port *port = make_port();
    rlc_spin spinning = {0};
    rlc_spin_set(&spinning, 20000);
    step = 100;
    CHECK(longest_spin(&spinning, port, RLC_TIME_FOREVER) <= 20100 + step);
    CHECK(longest_spin(&spinning, port, RLC_TIME_FOREVER) >= 20000);
    CHECK(longest_spin(&spinning, port, now + 3000) <= 3000 + step);
    CHECK(longest_spin(&spinning, port, now) <= 2 * step);
    rlc_spin_set(&spinning, UINT64_C(1000000000));
    CHECK(longest_spin(&spinning, port, RLC_TIME_FOREVER) <= RLC_SPIN_MAX_NS + 2 * step);
    step = 0;
    CHECK_EQUAL(longest_spin(&spinning, port, RLC_TIME_FOREVER), 0);
    rlc_wakeup_port_release(port);
}

static void test_RLC_SPIN_3_off_costs_nothing(void) {
    rlc_wakeup_port *port = make_port();
    rlc_spin spinning = {0};
    CHECK_EQUAL(spins_in_vain(&spinning, port, 640), 0);
    rlc_spin_set(&spinning, RLC_SPIN_USUAL_NS);
    rlc_spin_set(&spinning, 0);
    CHECK_EQUAL(spins_in_vain(&spinning, port, 640), 0);
    unsigned long made = count_of(&kernel.calls);
    rlc_spin_set(&spinning, RLC_SPIN_USUAL_NS);
    CHECK(spins_in_vain(&spinning, port, 640) > 0);
    CHECK_EQUAL(count_of(&kernel.calls), made);
    rlc_wakeup_port_release(port);
}

/* ---- in a loop ---- */

static rlc_loop *loop;
static int runs, fired;

static void run_node(rlc_post_node *node, bool ran) {
    (void)node;
    runs += ran;
}

static rlc_post_node node = {.post_fn = run_node};

static void post_at_fifth(uint64_t reading) {
    if (reading == 5)
        CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
}

static void stop_at_fifth(uint64_t reading) {
    if (reading == 5)
        CHECK_EQUAL(rlc_loop_stop(loop), 0);
}

static void ignore_watch(rlc_loop *of, rlc_watch *watch, uint32_t ready, void *context) {
    (void)of, (void)watch, (void)ready, (void)context;
}

static void fire(rlc_loop *of, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)of, (void)timer, (void)context;
    CHECK(now >= deadline_ns);
    CHECK(now <= deadline_ns + 1000); /* the spin has ended for it */
    fired++;
}

static int waits;

/** Sleeps by its own clock. */
static int wait_and_tell_time(
    void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    (void)context;
    waits += deadline_ns != 0;
    if (deadline_ns != 0 && kernel.timer_ns < deadline_ns)
        deadline_ns = kernel.timer_ns;
    CHECK(deadline_ns != RLC_TIME_FOREVER); /* it would sleep for ever */
    if (deadline_ns > now)
        now = deadline_ns;
    return rlc_kernel_default()->epoll_wait(NULL, epoll_fd, events, capacity, 0);
}

static int set_timer(void *context, int fd, uint64_t deadline_ns) {
    (void)context, (void)fd;
    kernel.timer_ns = deadline_ns;
    return 0;
}

static void test_RLC_SPIN_4_a_loop_spins_before_it_sleeps(void) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_watch *watch;
    rlc_timer *timer;
    spy_init(&kernel);
    kernel.table.epoll_wait = wait_and_tell_time;
    kernel.table.timerfd_set = set_timer;
    set_clock(100, NULL);
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, ignore_watch, NULL, &watch), 0);
    rlc_loop_set_spin(loop, RLC_SPIN_USUAL_NS);
    while (runs < 20) {
        uint64_t limit_ns = now + 100000;
        readings = 0;
        at_reading = post_at_fifth;
        (void)rlc_loop_run_once(loop, limit_ns);
    }
    waits = 0;
    readings = 0;
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    readings = 0;
    at_reading = stop_at_fifth;
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(waits, 0); /* neither has slept */
    CHECK_EQUAL(count_of(&kernel.writes), 0);

    at_reading = NULL;
    CHECK_EQUAL(rlc_loop_add_timer(loop, fire, NULL, &timer), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_EQUAL(rlc_timer_arm(timer, now + 5000, 0, 0), 0); /* within a spin */
        CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    }
    CHECK_EQUAL(fired, 10);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

int main(void) {
    RUN(test_RLC_SPIN_1_it_learns);
    RUN(test_RLC_SPIN_1_what_was_there_or_came_late_teaches_nothing);
    RUN(test_RLC_SPIN_2_limit_deadline_and_a_clock_that_stands);
    RUN(test_RLC_SPIN_3_off_costs_nothing);
    RUN(test_RLC_SPIN_4_a_loop_spins_before_it_sleeps);
    return 0;
}

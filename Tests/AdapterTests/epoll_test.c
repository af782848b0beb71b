/* <crunloop/adapters/epoll.h> in a loop of epoll_wait(2). */
#include "adapters.h"

#include <crunloop/adapters/epoll.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/timerfd.h>

static int epoll_fd, load_fd, timer_fd;
static rlc_epoll_host *attached;
static void (*load_fn)(void), (*timer_fn)(void);

static void open_host(void) {
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &timer_fd};
    CHECK_EQUAL(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &event), 0);
}

static void close_host(void) {
    close(epoll_fd), close(timer_fd);
}

static void attach(rlc_loop *of) {
    CHECK_EQUAL(rlc_epoll_attach(of, epoll_fd, &attached), 0);
}

static void detach(void) {
    rlc_epoll_detach(attached);
    attached = NULL;
}

static void serve(void *of) {
    uint64_t value;
    if (of == &load_fd) {
        load_fn();
    } else {
        CHECK_EQUAL(read(timer_fd, &value, sizeof value), 8);
        timer_fn();
    }
}

static void turn_host(bool may_wait) {
    struct epoll_event events[8];
    int timeout_ms = may_wait ? -1 : 0;
    int count = attached != NULL ? rlc_epoll_wait(attached, events, 8, timeout_ms)
                                 : epoll_wait(epoll_fd, events, 8, timeout_ms);
    CHECK(count >= 0);
    for (int i = 0; i < count; i++)
        serve(events[i].data.ptr);
}

static void add_load(void (*fn)(void)) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &load_fd};
    load_fn = fn;
    load_fd = make_counter(1);
    CHECK_EQUAL(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, load_fd, &event), 0);
}

static void remove_load(void) {
    close(load_fd);
}

static void after(int ms, void (*fn)(void)) {
    struct itimerspec date = {.it_value.tv_nsec = ms * 1000000};
    timer_fn = fn;
    CHECK_EQUAL(timerfd_settime(timer_fd, 0, &date, NULL), 0);
}

/* A host that looks at its set without the adapter is told once, and does not spin; nothing is lost. */
static void test_RLC_ADAPT_4_a_host_that_never_dispatches(void) {
    begin();
    rlc_post_node node = {.post_fn = count_post};
    struct epoll_event events[8];
    turn(false);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    CHECK_EQUAL(epoll_wait(epoll_fd, events, 8, -1), 1);
    for (int i = 0; i < 100; i++)
        CHECK_EQUAL(epoll_wait(epoll_fd, events + 1, 7, 0), 0);
    CHECK_EQUAL(rlc_epoll_take(attached, events, 1), 0);
    CHECK_EQUAL(calls, 0);
    TURN_UNTIL(calls == 1);

    int fd = make_counter(0);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, take_bytes, &fd, &watch), 0);
    turn(false);
    bump(fd);
    CHECK_EQUAL(epoll_wait(epoll_fd, events, 8, -1), 1);
    CHECK_EQUAL(epoll_wait(epoll_fd, events + 1, 7, 0), 0);
    CHECK_EQUAL(rlc_epoll_take(attached, events, 1), 0);
    TURN_UNTIL(calls == 2);
    end();
    close(fd);
}

/** The events of the program stay in their order, wherever the loop's was. */
static void test_RLC_ADAPT_4_the_loops_event_is_taken_out_of_a_batch(void) {
    begin();
    for (int place = 0; place < 4; place++) {
        struct epoll_event batch[3], events[4];
        for (int i = 0; i < 3; i++)
            batch[i] = (struct epoll_event){.events = EPOLLIN, .data.ptr = &batch[i]};
        for (int i = 0, j = 0; i < 4; i++)
            events[i] = i == place ? (struct epoll_event){.events = EPOLLIN, .data.ptr = attached} : batch[j++];
        CHECK_EQUAL(rlc_epoll_take(attached, events, 4), 3);
        for (int i = 0; i < 3; i++)
            CHECK(events[i].data.ptr == &batch[i]);
        CHECK_EQUAL(rlc_epoll_take(attached, events, 3), 3);
        turn(false); /* it is armed again */
    }
    serve_hops();
    end();
}

static void test_RLC_ADAPT_4_a_wait_has_a_limit(void) {
    begin();
    struct epoll_event events[8];
    uint64_t began_ns = rlc_now(RLC_CLOCK_MONOTONIC);
    CHECK_EQUAL(rlc_epoll_wait(attached, events, 8, 3), 0);
    CHECK(rlc_now(RLC_CLOCK_MONOTONIC) - began_ns >= 2000000);
    end();
}

static void note_alarm(int number) {
    (void)number;
    fired++;
}

/** The timer goes on until one of its signals has come in a wait. */
static void test_RLC_ADAPT_7_a_signal_interrupts_a_wait(void) {
    begin();
    struct epoll_event events[8];
    struct sigaction action = {.sa_handler = note_alarm}, before;
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    CHECK_EQUAL(sigaction(SIGALRM, &action, &before), 0);
    CHECK_EQUAL(setitimer(ITIMER_REAL, &often, NULL), 0);
    int count = rlc_epoll_wait(attached, events, 8, -1);
    CHECK_EQUAL(setitimer(ITIMER_REAL, &never, NULL), 0);
    CHECK_EQUAL(sigaction(SIGALRM, &before, NULL), 0);
    CHECK_EQUAL(count, -EINTR);
    CHECK(fired > 0);
    serve_hops(); /* it goes on */
    end();
}

static void test_RLC_ADAPT_8_a_child_of_fork_is_refused(void) {
    begin();
    pid_t child = fork_with_limit();
    if (child == 0) {
        struct epoll_event events[8];
        _exit(rlc_epoll_wait(attached, events, 8, -1) == -ECHILD ? 7 : 1);
    }
    CHECK_EQUAL(status_of(child), 7);
    end();
}

/* The set is the parent's too. */
static void test_RLC_ADAPT_8_a_child_leaves_the_set_alone(void) {
    begin();
    pid_t child = fork_with_limit();
    if (child == 0) {
        detach();
        _exit(7);
    }
    CHECK_EQUAL(status_of(child), 7);
    rlc_epoll_host *other = NULL;
    CHECK_EQUAL(rlc_epoll_attach(loop, epoll_fd, &other), -EEXIST);
    end();
}

/* An edge is told once: nobody would tell the program of it again. */
static void test_RLC_ADAPT_8_a_failing_pass_keeps_the_events_of_the_program(void) {
    begin();
    int fd = make_counter(1);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = &fd}, events[8];
    CHECK_EQUAL(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event), 0);
    rlc_post_node node = {.post_fn = fork_inside};
    CHECK_EQUAL(rlc_loop_defer(loop, &node), 0);
    int count = rlc_epoll_wait(attached, events, 8, -1);
    if (forked == 0)
        _exit(count == 1 && rlc_epoll_wait(attached, events, 8, -1) == -ECHILD ? 7 : 1);
    CHECK_EQUAL(count, 1);
    CHECK_EQUAL(status_of(forked), 7);
    end();
    close(fd);
}

static void test_RLC_ADAPT_7_what_attaching_fails_with(void) {
    begin();
    rlc_epoll_host *other = NULL;
    CHECK_EQUAL(rlc_epoll_attach(loop, epoll_fd, &other), -EEXIST);
    CHECK_EQUAL(rlc_epoll_attach(loop, timer_fd, &other), -EINVAL);
    fail_allocation(1);
    CHECK_EQUAL(rlc_epoll_attach(loop, epoll_fd, &other), -ENOMEM);
    CHECK(other == NULL);
    end();
}

/** What the loop has failed with. */
static int fails_with(void) {
    struct epoll_event events[8];
    int count = 0;
    for (int i = 0; i < 3 && count >= 0; i++)
        count = rlc_epoll_wait(attached, events, 8, 0);
    return count < 0 ? count : 0;
}

int main(void) {
    static const host_ops ops = {"epoll", open_host, close_host, attach, detach, turn_host, add_load, remove_load,
        after, .nests = true, .can_be_left = true, .fails_with = fails_with, .turns_of_a_hop = 2, .idle_turns = 1};
    run_adapter_cases(&ops);
    RUN(test_RLC_ADAPT_4_a_host_that_never_dispatches);
    RUN(test_RLC_ADAPT_4_the_loops_event_is_taken_out_of_a_batch);
    RUN(test_RLC_ADAPT_4_a_wait_has_a_limit);
    RUN(test_RLC_ADAPT_7_a_signal_interrupts_a_wait);
    RUN(test_RLC_ADAPT_8_a_child_of_fork_is_refused);
    RUN(test_RLC_ADAPT_8_a_child_leaves_the_set_alone);
    RUN(test_RLC_ADAPT_8_a_failing_pass_keeps_the_events_of_the_program);
    RUN(test_RLC_ADAPT_7_what_attaching_fails_with);
    return 0;
}

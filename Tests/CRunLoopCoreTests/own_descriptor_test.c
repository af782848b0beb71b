/* Other code closes the loop's own epoll instance or eventfd, or puts another file there: at each moment. */
#include "harness.h"

#include <poll.h>
#include <sys/eventfd.h>

enum { MS = 1000000 };

typedef enum loss { CLOSED, DEVICE, COUNTER } loss;

static rlc_loop *loop;
static int taken, ready_calls, timer_calls, post_calls, nothing, counter;
static int (*own_number)(void);
static loss kind;

static int epoll_number(void) {
    return rlc_loop_fd(loop);
}

/** Made with the first watch, behind the epoll instance. */
static int eventfd_of_the_loop;

static int eventfd_number(void) {
    return eventfd_of_the_loop;
}

static void lose(void) {
    int number = own_number();
    if (kind == CLOSED) {
        CHECK_EQUAL(close(number), 0);
        return;
    }
    CHECK_EQUAL(dup2(kind == DEVICE ? nothing : counter, number), number);
    taken = number;
}

static bool is_readable(int fd) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, 0) == 1 && entry.revents == POLLIN;
}

static void note_ready(rlc_loop *from, rlc_watch *watch, uint32_t ready, void *context) {
    (void)from, (void)watch, (void)context;
    CHECK_EQUAL(ready, RLC_READABLE);
    ready_calls++;
    rlc_loop_stop(loop);
}

static void note_timer(rlc_loop *from, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)from, (void)timer, (void)deadline_ns, (void)context;
    timer_calls++;
    rlc_loop_stop(loop);
}

static void note_post(rlc_post_node *node, bool is_called) {
    (void)node;
    post_calls += is_called;
}

static void lose_in_a_post(rlc_post_node *node, bool is_called) {
    (void)node;
    if (is_called)
        lose();
}

/** What the loop has to go on with: a ready descriptor, a timer, a post to a sleeper. */
static void check_the_loop_works(int fd, rlc_watch *watch, rlc_timer *timer) {
    rlc_post_node node = {.post_fn = note_post};
    ready_calls = timer_calls = post_calls = 0;
    CHECK_EQUAL(rlc_watch_set_interest(watch, RLC_READABLE), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(ready_calls, 1);
    CHECK_EQUAL(rlc_watch_set_interest(watch, 0), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + MS, 0, 0), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(timer_calls, 1);
    while (rlc_loop_prepare(loop) == 1)
        CHECK(rlc_loop_dispatch(loop) >= 0);
    CHECK(!is_readable(rlc_loop_fd(loop)));
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    CHECK(is_readable(rlc_loop_fd(loop)));
    CHECK(rlc_loop_dispatch(loop) >= 0);
    CHECK_EQUAL(post_calls, 1);
    (void)fd;
}

static void run_empty_pass(void) {
    CHECK_EQUAL(rlc_loop_run(loop, rlc_now(RLC_CLOCK_MONOTONIC) + MS / 10), RLC_RUN_TIMED_OUT);
}

static void sleep_and_wake(void) {
    while (rlc_loop_prepare(loop) == 1)
        CHECK(rlc_loop_dispatch(loop) >= 0);
    lose();
    CHECK_EQUAL(rlc_loop_wake(loop), 0);
    CHECK(own_number == epoll_number || is_readable(rlc_loop_fd(loop)));
    CHECK(rlc_loop_dispatch(loop) >= 0);
}

enum { BEFORE_THE_FIRST_RUN, BETWEEN_RUNS, IN_A_CALLOUT, ASLEEP, MOMENTS };

static void lose_at(int moment) {
    rlc_post_node node = {.post_fn = lose_in_a_post};
    if (moment != BEFORE_THE_FIRST_RUN)
        run_empty_pass();
    if (moment == IN_A_CALLOUT) {
        CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
        run_empty_pass();
    } else if (moment == ASLEEP) {
        sleep_and_wake();
    } else {
        lose();
    }
}

static void try_moment(int moment) {
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_watch *watch;
    rlc_timer *timer;
    taken = -1;
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    eventfd_of_the_loop = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* the next free number */
    (void)close(eventfd_of_the_loop);
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, 0, note_ready, NULL, &watch), 0);
    CHECK_EQUAL(rlc_loop_add_timer(loop, note_timer, NULL, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + UINT64_C(3600000) * MS, 0, 0), 0);
    lose_at(moment);
    check_the_loop_works(fd, watch, timer);
    check_the_loop_works(fd, watch, timer);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    if (taken >= 0)
        CHECK_EQUAL(close(taken), 0);
    (void)close(fd);
}

static void try_all(int (*number)(void)) {
    nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    counter = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    own_number = number;
    /* A counter in the place of a counter is not noticed. */
    loss last = number == eventfd_number ? DEVICE : COUNTER;
    for (int moment = 0; moment < MOMENTS; moment++) {
        for (kind = CLOSED; kind <= last; kind++)
            try_moment(moment);
    }
    uint64_t count;
    CHECK_EQUAL(read(counter, &count, sizeof count), -1); /* nobody has written to it */
    (void)close(nothing), (void)close(counter);
}

static void test_RLC_KERNEL_6_a_lost_epoll_instance_is_made_anew(void) {
    try_all(epoll_number);
}

static void test_RLC_KERNEL_7_a_lost_eventfd_is_made_anew(void) {
    try_all(eventfd_number);
}

/** The program's file has got the number of a descriptor that it had closed: it is watched, and never written to. */
static void test_RLC_KERNEL_7_a_number_that_is_the_programs_by_now(void) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_watch *watch, *other;
    uint64_t count;
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    eventfd_of_the_loop = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    (void)close(eventfd_of_the_loop);
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, note_ready, NULL, &other), 0);
    run_empty_pass();
    CHECK_EQUAL(close(eventfd_of_the_loop), 0);
    int mine = fcntl(fd, F_DUPFD_CLOEXEC, eventfd_of_the_loop);
    CHECK_EQUAL(mine, eventfd_of_the_loop);
    CHECK_EQUAL(rlc_loop_add_watch(loop, mine, RLC_READABLE, note_ready, NULL, &watch), 0);
    while (rlc_loop_prepare(loop) == 1)
        CHECK(rlc_loop_dispatch(loop) >= 0);
    CHECK_EQUAL(rlc_loop_wake(loop), 0);
    CHECK(is_readable(rlc_loop_fd(loop)));
    CHECK_EQUAL(read(fd, &count, sizeof count), -1); /* nobody has written to it */
    ready_calls = 0;
    bump(fd);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK(ready_calls >= 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    (void)close(mine), (void)close(fd);
}

/** The epoll instance first, which an added watch notices, and its number is another file's; then the eventfd. */
static void test_RLC_KERNEL_7_after_a_lost_epoll_instance(void) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), device = open("/dev/null", O_RDONLY | O_CLOEXEC);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    eventfd_of_the_loop = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    (void)close(eventfd_of_the_loop);
    int epoll_fd = rlc_loop_fd(loop);
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, note_ready, NULL, &watch), 0);
    run_empty_pass();
    int other = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    CHECK_EQUAL(dup2(device, epoll_fd), epoll_fd);
    CHECK_EQUAL(rlc_loop_add_watch(loop, other, RLC_READABLE, note_ready, NULL, &watch), 0);
    while (rlc_loop_prepare(loop) == 1)
        CHECK(rlc_loop_dispatch(loop) >= 0);
    CHECK(rlc_loop_fd(loop) != epoll_fd);
    CHECK_EQUAL(close(eventfd_of_the_loop), 0);
    CHECK_EQUAL(rlc_loop_wake(loop), 0);
    CHECK(is_readable(rlc_loop_fd(loop)));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    (void)close(epoll_fd), (void)close(other), (void)close(device), (void)close(fd);
}

/** The program's file has the epoll instance's number, and the watch of it is the first call that notices it. */
static void test_RLC_KERNEL_6_a_number_of_the_instance_that_is_the_programs_by_now(void) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_watch *watch, *other;
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, 0, note_ready, NULL, &other), 0);
    run_empty_pass();
    int mine = rlc_loop_fd(loop);
    CHECK_EQUAL(dup2(fd, mine), mine);
    CHECK_EQUAL(rlc_loop_add_watch(loop, mine, RLC_READABLE, note_ready, NULL, &watch), 0);
    CHECK(rlc_loop_fd(loop) != mine);
    ready_calls = 0;
    bump(fd);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(ready_calls, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    (void)close(mine), (void)close(fd);
}

static bool refuses;

static int refuse_to_add(void *context, int epoll_fd, int operation, int fd, struct epoll_event *event) {
    (void)context;
    if (refuses && operation == EPOLL_CTL_ADD)
        return -ENOMEM;
    return rlc_kernel_default()->epoll_control(NULL, epoll_fd, operation, fd, event);
}

/** The eventfd is lost while the loop sleeps. The next sleep cannot register the new one; the one after it can. */
static void test_RLC_KERNEL_7_a_renewal_that_fails_is_tried_again(void) {
    rlc_kernel kernel = rlc_kernel_copy();
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_watch *watch;
    rlc_timer *timer;
    kernel.epoll_control = refuse_to_add;
    CHECK_EQUAL(rlc_loop_create(&kernel, &loop), 0);
    eventfd_of_the_loop = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    (void)close(eventfd_of_the_loop);
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, 0, note_ready, NULL, &watch), 0);
    CHECK_EQUAL(rlc_loop_add_timer(loop, note_timer, NULL, &timer), 0);
    run_empty_pass();
    own_number = eventfd_number;
    kind = CLOSED;
    sleep_and_wake();
    refuses = true;
    CHECK_EQUAL(rlc_loop_run(loop, rlc_now(RLC_CLOCK_MONOTONIC) + MS / 10), -ENOMEM);
    refuses = false;
    check_the_loop_works(fd, watch, timer);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    (void)close(fd);
}

/** A hint of the program's own has no wakeup port, whatever its interest is. */
static void test_RLC_COUNTER_7_a_hints_interest_means_nothing(void) {
    rlc_port_set *set;
    rlc_token token;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), other = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK_EQUAL(rlc_port_set_create(NULL, &set), 0);
    CHECK_EQUAL(rlc_port_set_insert(set, fd, RLC_PORT_HINT, RLC_READABLE | RLC_PRIORITY, NULL, &token), 0);
    CHECK_EQUAL(close(rlc_port_set_fd(set)), 0);
    CHECK_EQUAL(rlc_port_set_insert(set, other, RLC_PORT_READINESS, RLC_READABLE, NULL, &token), 0);
    rlc_port_set_destroy(set);
    (void)close(other), (void)close(fd);
}

int main(void) {
    RUN(test_RLC_KERNEL_6_a_lost_epoll_instance_is_made_anew);
    RUN(test_RLC_KERNEL_7_a_lost_eventfd_is_made_anew);
    RUN(test_RLC_KERNEL_7_a_number_that_is_the_programs_by_now);
    RUN(test_RLC_KERNEL_6_a_number_of_the_instance_that_is_the_programs_by_now);
    RUN(test_RLC_KERNEL_7_after_a_lost_epoll_instance);
    RUN(test_RLC_KERNEL_7_a_renewal_that_fails_is_tried_again);
    RUN(test_RLC_COUNTER_7_a_hints_interest_means_nothing);
    return 0;
}

#include "harness.h"

#include <crunloop_kit/pass_checks.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>

static spy kernel;

static rlc_wakeup_port *make_port(void) {
    rlc_wakeup_port *port;
    spy_init(&kernel);
    CHECK_EQUAL(rlc_wakeup_port_create(&kernel.table, &port), 0);
    return port;
}

static void test_RLC_WAKE_1_no_write_while_awake(void) {
    rlc_wakeup_port *port = make_port();
    CHECK_EQUAL(rlc_wakeup_port_signal(port), 0);
    CHECK_EQUAL(rlc_wakeup_port_signal(port), 0);
    CHECK_EQUAL(rlc_wakeup_port_interrupt(port), 0);
    CHECK_EQUAL(count_of(&kernel.writes), 0);
    CHECK(!rlc_wakeup_port_begin_wait(port)); /* posted: do not block */
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_POSTED);
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_NONE);
    rlc_wakeup_port_release(port);
}

static void test_RLC_WAKE_2_one_write_while_asleep(void) {
    rlc_wakeup_port *port = make_port();
    CHECK(rlc_wakeup_port_begin_wait(port));
    CHECK(rlc_wakeup_port_is_asleep(port));
    CHECK(rlc_wakeup_port_begin_wait(port)); /* twice is allowed: a host may prepare again */
    CHECK_EQUAL(rlc_wakeup_port_signal(port), 1);
    CHECK(!rlc_wakeup_port_is_asleep(port));
    CHECK_EQUAL(rlc_wakeup_port_signal(port), 0);
    CHECK_EQUAL(rlc_wakeup_port_interrupt(port), 0);
    CHECK_EQUAL(count_of(&kernel.writes), 1);
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_POSTED);
    rlc_wakeup_port_release(port);
}

static void test_RLC_WAKE_3_interrupt_is_weaker_than_a_wake(void) {
    rlc_wakeup_port *port = make_port();
    CHECK(rlc_wakeup_port_begin_wait(port));
    CHECK_EQUAL(rlc_wakeup_port_interrupt(port), 1);
    CHECK_EQUAL(rlc_wakeup_port_interrupt(port), 0);
    CHECK(!rlc_wakeup_port_begin_wait(port));
    CHECK_EQUAL(rlc_wakeup_port_signal(port), 0); /* the waker has written */
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_POSTED);
    CHECK_EQUAL(rlc_wakeup_port_signal(port), 0);
    CHECK_EQUAL(rlc_wakeup_port_interrupt(port), 0);
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_POSTED); /* never weakened */
    CHECK_EQUAL(rlc_wakeup_port_interrupt(port), 0);
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_INTERRUPTED);
    CHECK_EQUAL(count_of(&kernel.writes), 1);
    rlc_wakeup_port_release(port);
}

static void test_RLC_WAKE_10_quiet_if_take_has_nothing_to_do(void) {
    rlc_wakeup_port *port = make_port();
    CHECK(rlc_kit_is_quiet(port));
    CHECK_EQUAL(rlc_wakeup_port_interrupt(port), 0);
    CHECK(!rlc_kit_is_quiet(port));
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_INTERRUPTED);
    CHECK(rlc_kit_is_quiet(port));
    CHECK_EQUAL(rlc_wakeup_port_signal(port), 0);
    CHECK(!rlc_kit_is_quiet(port));
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_POSTED);
    CHECK(rlc_wakeup_port_begin_wait(port));
    CHECK(!rlc_kit_is_quiet(port)); /* take ends the wait */
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_NONE);
    CHECK(rlc_kit_is_quiet(port));
    rlc_wakeup_port_close(port);
    CHECK(!rlc_kit_is_quiet(port));
    rlc_wakeup_port_release(port);
}

static void note_loss(void *told, rlc_lost lost) {
    CHECK_EQUAL(lost, RLC_LOST_WAKEUP);
    ++*(int *)told;
}

static void test_an_eventfd_that_is_lost_before_a_set_watches_it_is_replaced(void) {
    rlc_wakeup_port *port = make_port();
    rlc_port_set *set;
    int told = 0;
    CHECK_EQUAL(rlc_port_set_create(&kernel.table, &set), 0);
    rlc_kit_set_lost_fn(port, note_loss, &told);
    close(rlc_wakeup_port_fd(port)); /* by other code */
    CHECK_EQUAL(rlc_kit_watch_wakeup(set, port), 0);
    CHECK_EQUAL(told, 1);
    uint64_t one = 1;
    CHECK_EQUAL(write(rlc_wakeup_port_fd(port), &one, sizeof one), sizeof one);
    struct pollfd entry = {.fd = rlc_port_set_fd(set), .events = POLLIN};
    CHECK_EQUAL(poll(&entry, 1, 0), 1);
    rlc_port_set_destroy(set);
    rlc_wakeup_port_release(port);
}

static void test_RLC_WAKE_4_closed(void) {
    rlc_wakeup_port *port = make_port();
    CHECK(rlc_wakeup_port_begin_wait(port));
    rlc_wakeup_port_close(port);
    CHECK_EQUAL(rlc_wakeup_port_signal(port), -ESHUTDOWN);
    CHECK_EQUAL(rlc_wakeup_port_interrupt(port), -ESHUTDOWN);
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_NONE);
    CHECK(!rlc_wakeup_port_begin_wait(port));
    CHECK_EQUAL(rlc_wakeup_port_signal(port), -ESHUTDOWN);
    CHECK_EQUAL(count_of(&kernel.writes), 0);
    rlc_wakeup_port_release(port);
}

static void test_RLC_WAKE_5_the_descriptor_lives_with_the_last_reference(void) {
    rlc_wakeup_port *port = make_port();
    int fd = rlc_wakeup_port_fd(port);
    CHECK(rlc_wakeup_port_retain(port) == port);
    rlc_wakeup_port_close(port);
    rlc_wakeup_port_release(port);
    CHECK(fcntl(fd, F_GETFD) >= 0);
    rlc_wakeup_port_release(port);
    CHECK(fcntl(fd, F_GETFD) < 0);
    rlc_wakeup_port_release(NULL);
}

static void test_RLC_WAKE_9_the_descriptor_goes_with_the_end(void) {
    rlc_wakeup_port *port = make_port();
    int fd = rlc_wakeup_port_fd(port);
    CHECK(rlc_wakeup_port_retain(port) == port);
    CHECK(rlc_wakeup_port_begin_wait(port));
    rlc_wakeup_port_end(port);
    CHECK(fcntl(fd, F_GETFD) < 0);
    CHECK_EQUAL(rlc_wakeup_port_fd(port), -1);
    unsigned long writes = count_of(&kernel.writes);
    CHECK_EQUAL(rlc_wakeup_port_signal(port), -ESHUTDOWN);
    CHECK_EQUAL(rlc_wakeup_port_interrupt(port), -ESHUTDOWN);
    CHECK_EQUAL(count_of(&kernel.writes), writes);
    rlc_wakeup_port_release(port);
    rlc_wakeup_port_release(port);
}

static rlc_wakeup_port *ending;

/** The loop ends while its waker is about to write: the number is not free before it has. */
static int64_t end_before_writing(void *context, int fd, const void *buffer, size_t size) {
    rlc_wakeup_port_end(ending);
    CHECK(fcntl(fd, F_GETFD) >= 0);
    return rlc_kernel_default()->write(context, fd, buffer, size);
}

static void test_RLC_WAKE_9_a_writer_that_is_late_closes_it(void) {
    ending = make_port();
    int fd = rlc_wakeup_port_fd(ending);
    kernel.table.write = end_before_writing;
    CHECK(rlc_wakeup_port_begin_wait(ending));
    CHECK_EQUAL(rlc_wakeup_port_signal(ending), 1);
    CHECK(fcntl(fd, F_GETFD) < 0);
    CHECK_EQUAL(rlc_wakeup_port_signal(ending), -ESHUTDOWN);
    rlc_wakeup_port_release(ending);
}

static int64_t interrupted_then_full(void *context, int fd, const void *buffer, size_t size) {
    (void)context, (void)fd, (void)buffer, (void)size;
    static int calls;
    errno = EIO;
    return calls++ == 0 ? -EINTR : -EAGAIN;
}

static void test_RLC_WAKE_6_full_counts_as_woken_and_errno_is_kept(void) {
    rlc_wakeup_port *port = make_port();
    kernel.table.write = interrupted_then_full;
    CHECK(rlc_wakeup_port_begin_wait(port));
    errno = 77;
    CHECK_EQUAL(rlc_wakeup_port_signal(port), 1);
    CHECK_EQUAL(errno, 77);
    rlc_wakeup_port_release(port);
}

static void test_creation_fails_cleanly(void) {
    rlc_wakeup_port *port = NULL;
    spy_init(&kernel);
    atomic_store(&kernel.fail_at, 1);
    CHECK_EQUAL(rlc_wakeup_port_create(&kernel.table, &port), -EMFILE);
    fail_allocation(1);
    CHECK_EQUAL(rlc_wakeup_port_create(&kernel.table, &port), -ENOMEM);
    CHECK(port == NULL);
}

static rlc_wakeup_port *signalled_port;

static void on_signal(int number) {
    (void)number;
    (void)rlc_wakeup_port_signal(signalled_port);
}

static void test_RLC_WAKE_7_from_a_signal_handler(void) {
    rlc_wakeup_port *port = signalled_port = make_port();
    struct sigaction action = {.sa_handler = on_signal}, before;
    CHECK_EQUAL(sigaction(SIGUSR1, &action, &before), 0);
    CHECK(rlc_wakeup_port_begin_wait(port));
    CHECK_EQUAL(raise(SIGUSR1), 0);
    struct pollfd entry = {.fd = rlc_wakeup_port_fd(port), .events = POLLIN};
    CHECK_EQUAL(poll(&entry, 1, 0), 1);
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_POSTED);
    CHECK_EQUAL(sigaction(SIGUSR1, &before, NULL), 0);
    rlc_wakeup_port_release(port);
}

/* ---- no wake is lost ---- */

enum { WAKERS = 3, ROUNDS = 20000 };

static int make_epoll(const rlc_wakeup_port *port) {
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    CHECK_EQUAL(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, rlc_wakeup_port_fd(port), &event), 0);
    return epoll_fd;
}

/** Sleeps until woken; five seconds would be a lost wake. */
static rlc_wake sleep_once(rlc_wakeup_port *port, int epoll_fd) {
    struct epoll_event event;
    if (rlc_wakeup_port_begin_wait(port))
        CHECK_EQUAL(epoll_wait(epoll_fd, &event, 1, 5000), 1);
    return rlc_wakeup_port_take(port);
}

/* Ping-pong over plain memory: the port alone orders it, as the thread sanitizer checks. */
typedef struct rally {
    rlc_wakeup_port *there, *back;
    unsigned long ball;
} rally;

static void *return_balls(void *context) {
    rally *rally = context;
    int epoll_fd = make_epoll(rally->there);
    for (unsigned long i = 1; i <= ROUNDS; i++) {
        while (sleep_once(rally->there, epoll_fd) != RLC_WAKE_POSTED) {
        }
        CHECK_EQUAL(rally->ball, 2 * i - 1);
        rally->ball++;
        CHECK(rlc_wakeup_port_signal(rally->back) >= 0);
    }
    close(epoll_fd);
    return NULL;
}

static void test_RLC_WAKE_8_a_wake_carries_memory_with_it(void) {
    rally rally = {.there = make_port(), .back = make_port()};
    pthread_t thread;
    int epoll_fd = make_epoll(rally.back);
    CHECK_EQUAL(pthread_create(&thread, NULL, return_balls, &rally), 0);
    for (unsigned long i = 1; i <= ROUNDS; i++) {
        rally.ball++;
        CHECK(rlc_wakeup_port_signal(rally.there) >= 0);
        while (sleep_once(rally.back, epoll_fd) != RLC_WAKE_POSTED) {
        }
        CHECK_EQUAL(rally.ball, 2 * i);
    }
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    rlc_wakeup_port_release(rally.there);
    rlc_wakeup_port_release(rally.back);
    close(epoll_fd);
}

static rlc_wakeup_port *crowded_port;
static atomic_ulong published[WAKERS];

static void *publish(void *context) {
    atomic_ulong *mine = context;
    for (unsigned long i = 1; i <= ROUNDS; i++) {
        atomic_store(mine, i);
        CHECK((i % 2 != 0 ? rlc_wakeup_port_signal : rlc_wakeup_port_interrupt)(crowded_port) >= 0);
        if (i % 256 == 0)
            sched_yield();
    }
    rlc_wakeup_port_release(crowded_port);
    return NULL;
}

static void test_RLC_WAKE_8_no_wake_is_lost_in_a_crowd(void) {
    pthread_t threads[WAKERS];
    rlc_wakeup_port *port = crowded_port = make_port();
    int epoll_fd = make_epoll(port);
    for (int i = 0; i < WAKERS; i++) {
        (void)rlc_wakeup_port_retain(port);
        CHECK_EQUAL(pthread_create(&threads[i], NULL, publish, &published[i]), 0);
    }
    for (unsigned long seen = 0; seen < (unsigned long)WAKERS * ROUNDS;) {
        (void)sleep_once(port, epoll_fd);
        seen = 0;
        for (int i = 0; i < WAKERS; i++)
            seen += atomic_load(&published[i]);
    }
    for (int i = 0; i < WAKERS; i++)
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    rlc_wakeup_port_release(port);
    close(epoll_fd);
}

int main(void) {
    RUN(test_RLC_WAKE_1_no_write_while_awake);
    RUN(test_RLC_WAKE_2_one_write_while_asleep);
    RUN(test_RLC_WAKE_3_interrupt_is_weaker_than_a_wake);
    RUN(test_RLC_WAKE_10_quiet_if_take_has_nothing_to_do);
    RUN(test_an_eventfd_that_is_lost_before_a_set_watches_it_is_replaced);
    RUN(test_RLC_WAKE_4_closed);
    RUN(test_RLC_WAKE_5_the_descriptor_lives_with_the_last_reference);
    RUN(test_RLC_WAKE_9_the_descriptor_goes_with_the_end);
    RUN(test_RLC_WAKE_9_a_writer_that_is_late_closes_it);
    RUN(test_RLC_WAKE_6_full_counts_as_woken_and_errno_is_kept);
    RUN(test_creation_fails_cleanly);
    RUN(test_RLC_WAKE_7_from_a_signal_handler);
    RUN(test_RLC_WAKE_8_a_wake_carries_memory_with_it);
    RUN(test_RLC_WAKE_8_no_wake_is_lost_in_a_crowd);
    return 0;
}

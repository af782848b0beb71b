#include "harness.h"

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
    CHECK_EQUAL(rlc_wakeup_port_kick(port), 0);
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
    CHECK_EQUAL(rlc_wakeup_port_kick(port), 0);
    CHECK_EQUAL(count_of(&kernel.writes), 1);
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_POSTED);
    rlc_wakeup_port_release(port);
}

static void test_RLC_WAKE_3_kick_is_weaker_than_a_wake(void) {
    rlc_wakeup_port *port = make_port();
    CHECK(rlc_wakeup_port_begin_wait(port));
    CHECK_EQUAL(rlc_wakeup_port_kick(port), 1);
    CHECK_EQUAL(rlc_wakeup_port_kick(port), 0);
    CHECK(!rlc_wakeup_port_begin_wait(port));
    CHECK_EQUAL(rlc_wakeup_port_signal(port), 0); /* the kicker has written */
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_POSTED);
    CHECK_EQUAL(rlc_wakeup_port_signal(port), 0);
    CHECK_EQUAL(rlc_wakeup_port_kick(port), 0);
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_POSTED); /* never weakened */
    CHECK_EQUAL(rlc_wakeup_port_kick(port), 0);
    CHECK_EQUAL(rlc_wakeup_port_take(port), RLC_WAKE_KICKED);
    CHECK_EQUAL(count_of(&kernel.writes), 1);
    rlc_wakeup_port_release(port);
}

static void test_RLC_WAKE_4_closed(void) {
    rlc_wakeup_port *port = make_port();
    CHECK(rlc_wakeup_port_begin_wait(port));
    rlc_wakeup_port_close(port);
    CHECK_EQUAL(rlc_wakeup_port_signal(port), -ESHUTDOWN);
    CHECK_EQUAL(rlc_wakeup_port_kick(port), -ESHUTDOWN);
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

/* ---- no wake is lost: each waker publishes a number, then signals; the owner sleeps unless it has seen the last ---- */

enum { WAKERS = 3, ROUNDS = 20000 };

typedef struct shared {
    rlc_wakeup_port *port;
    unsigned long plain[WAKERS]; /* no atomics: the port alone orders them, as TSan checks */
    atomic_ulong acknowledged[WAKERS];
} shared;

typedef struct waker {
    shared *shared;
    int index;
} waker;

static void *wake_and_wait(void *context) {
    waker *waker = context;
    shared *shared = waker->shared;
    for (unsigned long i = 1; i <= ROUNDS; i++) {
        shared->plain[waker->index] = i;
        CHECK(rlc_wakeup_port_signal(shared->port) >= 0);
        while (atomic_load(&shared->acknowledged[waker->index]) != i) sched_yield();
    }
    rlc_wakeup_port_release(shared->port);
    return NULL;
}

static bool acknowledge(shared *shared, unsigned long seen[]) {
    bool all = true;
    for (int i = 0; i < WAKERS; i++) {
        seen[i] = shared->plain[i];
        atomic_store(&shared->acknowledged[i], seen[i]);
        all = all && seen[i] == ROUNDS;
    }
    return all;
}

static void test_RLC_WAKE_8_no_wake_is_lost(void) {
    /* Only a waker that was acknowledged writes again, and it does so before it signals. The owner may read plain[] after
     * a take that got a wake: but another waker may be writing just then, so the numbers travel in turns of one. */
    for (int only = 0; only < WAKERS; only++) {
        shared shared = {.port = make_port()};
        waker wakers[WAKERS];
        pthread_t thread;
        int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event event = {.events = EPOLLIN | EPOLLET};
        CHECK_EQUAL(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, rlc_wakeup_port_fd(shared.port), &event), 0);
        unsigned long seen[WAKERS] = {0};
        for (int i = 0; i < WAKERS; i++) {
            wakers[i] = (waker){.shared = &shared, .index = i};
            if (i != only) shared.plain[i] = ROUNDS;
        }
        (void)rlc_wakeup_port_retain(shared.port);
        CHECK_EQUAL(pthread_create(&thread, NULL, wake_and_wait, &wakers[only]), 0);
        for (bool done = false; !done;) {
            if (rlc_wakeup_port_begin_wait(shared.port)) CHECK(epoll_wait(epoll_fd, &event, 1, 5000) == 1);
            if (rlc_wakeup_port_take(shared.port) == RLC_WAKE_POSTED) done = acknowledge(&shared, seen);
        }
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
        CHECK(count_of(&kernel.writes) <= ROUNDS);
        rlc_wakeup_port_release(shared.port);
        close(epoll_fd);
    }
}

/* Several wakers at once; here the payload is atomic, the question is only whether the owner ever sleeps too long. */
static atomic_ulong published[WAKERS];

static void *publish(void *context) {
    waker *waker = context;
    for (unsigned long i = 1; i <= ROUNDS; i++) {
        atomic_store(&published[waker->index], i);
        CHECK((i & 1 ? rlc_wakeup_port_signal : rlc_wakeup_port_kick)(waker->shared->port) >= 0);
        if ((i & 255) == 0) sched_yield();
    }
    rlc_wakeup_port_release(waker->shared->port);
    return NULL;
}

static void test_RLC_WAKE_8_no_wake_is_lost_by_many(void) {
    shared shared = {.port = make_port()};
    waker wakers[WAKERS];
    pthread_t threads[WAKERS];
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    CHECK_EQUAL(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, rlc_wakeup_port_fd(shared.port), &event), 0);
    for (int i = 0; i < WAKERS; i++) {
        wakers[i] = (waker){.shared = &shared, .index = i};
        (void)rlc_wakeup_port_retain(shared.port);
        CHECK_EQUAL(pthread_create(&threads[i], NULL, publish, &wakers[i]), 0);
    }
    for (unsigned long seen = 0; seen < (unsigned long)WAKERS * ROUNDS;) {
        if (rlc_wakeup_port_begin_wait(shared.port)) CHECK(epoll_wait(epoll_fd, &event, 1, 5000) == 1);
        (void)rlc_wakeup_port_take(shared.port);
        seen = 0;
        for (int i = 0; i < WAKERS; i++) seen += atomic_load(&published[i]);
    }
    for (int i = 0; i < WAKERS; i++) CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    rlc_wakeup_port_release(shared.port);
    close(epoll_fd);
}

int main(void) {
    RUN(test_RLC_WAKE_1_no_write_while_awake);
    RUN(test_RLC_WAKE_2_one_write_while_asleep);
    RUN(test_RLC_WAKE_3_kick_is_weaker_than_a_wake);
    RUN(test_RLC_WAKE_4_closed);
    RUN(test_RLC_WAKE_5_the_descriptor_lives_with_the_last_reference);
    RUN(test_RLC_WAKE_6_full_counts_as_woken_and_errno_is_kept);
    RUN(test_creation_fails_cleanly);
    RUN(test_RLC_WAKE_7_from_a_signal_handler);
    RUN(test_RLC_WAKE_8_no_wake_is_lost);
    RUN(test_RLC_WAKE_8_no_wake_is_lost_by_many);
    return 0;
}

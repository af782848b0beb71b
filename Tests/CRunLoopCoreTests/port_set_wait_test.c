/* Waiting, batches that grow, and other threads meanwhile. */
#include "port_sets.h"

#include <pthread.h>

static void test_RLC_PORT_8_many_members_and_a_batch_that_grows(void) {
    enum { COUNT = 150 };
    rlc_port_set *set = make_set();
    int fds[COUNT];
    rlc_token tokens[COUNT];
    for (int i = 0; i < COUNT; i++) {
        fds[i] = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        CHECK_EQUAL(rlc_port_set_insert(set, fds[i], RLC_PORT_COUNTER, RLC_READABLE, &tags[i], &tokens[i]), 0);
    }
    unsigned long waits = count_of(&kernel.waits), blocks = allocations();
    for (int i = 0; i < COUNT; i++)
        CHECK(next_context(set) == &tags[i]);        /* in the order in which they became ready */
    CHECK_EQUAL(count_of(&kernel.waits), waits + 2); /* 128 + 22 */
    CHECK_EQUAL(allocations(), blocks);
    for (int i = 0; i < COUNT; i += 2)
        CHECK_EQUAL(rlc_port_set_remove(set, tokens[i]), 0);
    CHECK_EQUAL(rlc_port_set_count(set), COUNT / 2);
    for (int i = COUNT - 1; i >= 0; i--)
        bump(fds[i]);
    for (int i = COUNT - 1; i >= 0; i -= 2)
        CHECK(next_context(set) == &tags[i]);
    CHECK(next_context(set) == NULL);
    rlc_port_set_destroy(set);
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
}

static void test_RLC_TAKE_4_one_call_per_wait_and_no_allocation(void) {
    rlc_port_set *set = make_set();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)add(set, fd, RLC_PORT_COUNTER, RLC_READABLE, 0);
    unsigned long blocks = 0, calls = 0;
    for (int i = -2; i < 100; i++) {
        if (i == 0) { /* with the second event it has learned what the counter is */
            blocks = allocations();
            calls = count_of(&kernel.calls);
        }
        bump(fd);
        CHECK_EQUAL(rlc_port_set_wait(set, RLC_TIME_FOREVER), 1);
        CHECK_EQUAL(next_ready(set), RLC_READABLE);
    }
    bool asks_again = rlc_kernel_default()->counter_empties(NULL, fd) == 0; /* kernels before 6.7 */
    CHECK_EQUAL(count_of(&kernel.calls), calls + (asks_again ? 300 : 200)); /* the wait and the eight bytes */
    CHECK_EQUAL(allocations(), blocks);
    close(fd);
    rlc_port_set_destroy(set);
}

/* ---- members come and go, under a lock, while the owner sleeps without it ---- */

enum { CHURN = 3000 };

typedef struct churn {
    rlc_port_set *set;
    pthread_mutex_t lock;
    int wake_fd, seen_fd;
    atomic_bool done;
} churn;

static void *come_and_go(void *context) {
    churn *churn = context;
    for (int i = 0; i < CHURN; i++) {
        int fds[20];
        rlc_token tokens[20];
        int count = i % 100 == 0 ? 20 : 2; /* now and then enough for a larger batch */
        for (int j = 0; j < count; j++) {
            fds[j] = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
            (void)pthread_mutex_lock(&churn->lock);
            tokens[j] = watch(churn->set, fds[j], 1);
            (void)pthread_mutex_unlock(&churn->lock);
        }
        for (int j = 0; j < count; j++) {
            (void)pthread_mutex_lock(&churn->lock);
            CHECK_EQUAL(rlc_port_set_remove(churn->set, tokens[j]), 0);
            (void)pthread_mutex_unlock(&churn->lock);
            close(fds[j]);
        }
    }
    atomic_store(&churn->done, true);
    bump(churn->wake_fd);
    return NULL;
}

static void test_RLC_SET_1_other_threads_change_a_set_that_sleeps(void) {
    churn churn = {
        .set = make_set(), .lock = PTHREAD_MUTEX_INITIALIZER, .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    (void)add(churn.set, churn.wake_fd, RLC_PORT_HINT, RLC_READABLE, 0);
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, come_and_go, &churn), 0);
    while (!atomic_load(&churn.done)) {
        int count = rlc_port_set_wait(churn.set, RLC_TIME_FOREVER);
        CHECK(count >= 0 || count == -EINTR);
        rlc_port_event event;
        bool taken;
        do {
            (void)pthread_mutex_lock(&churn.lock);
            taken = rlc_port_set_take(churn.set, &event);
            (void)pthread_mutex_unlock(&churn.lock);
        } while (taken);
    }
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK_EQUAL(rlc_port_set_rebuilds(churn.set), 0);
    CHECK_EQUAL(rlc_port_set_count(churn.set), 0);
    rlc_port_set_destroy(churn.set);
    close(churn.wake_fd);
}

int main(void) {
    RUN(test_RLC_PORT_8_many_members_and_a_batch_that_grows);
    RUN(test_RLC_TAKE_4_one_call_per_wait_and_no_allocation);
    RUN(test_RLC_SET_1_other_threads_change_a_set_that_sleeps);
    return 0;
}

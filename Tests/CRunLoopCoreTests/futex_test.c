#include "asleep.h"
#include "harness.h"

#include <crunloop/clock.h>
#include <crunloop_kit/futex.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

static _Atomic uint32_t word;

static void *opens(void *unused) {
    (void)unused;
    atomic_store(&word, 1);
    rlc_futex_wake(&word, 1);
    return NULL;
}

static void test_RLC_FUTEX_1_sleeps_while_the_word_is_as_expected(void) {
    atomic_store(&word, 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, opens, NULL) == 0);
    while (atomic_load(&word) == 0)
        rlc_futex_wait(&word, 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

enum { SLEEPERS = 3 };

static _Atomic pid_t sleepers[SLEEPERS];
static _Atomic int woken;

static void *sleeps_once(void *place) {
    atomic_store((_Atomic pid_t *)place, own_thread());
    rlc_futex_wait(&word, atomic_load(&word));
    atomic_fetch_add(&woken, 1);
    return NULL;
}

/* The word stays as it is: nobody comes back by itself. */
static void test_RLC_FUTEX_1_as_many_are_woken_as_are_asked_for(void) {
    pthread_t threads[SLEEPERS];
    atomic_store(&woken, 0);
    for (int i = 0; i < SLEEPERS; i++) {
        CHECK(pthread_create(&threads[i], NULL, sleeps_once, &sleepers[i]) == 0);
        while (atomic_load(&sleepers[i]) == 0)
            (void)sched_yield();
        await_sleep(atomic_load(&sleepers[i]));
    }
    rlc_futex_wake(&word, SLEEPERS - 1);
    while (atomic_load(&woken) < SLEEPERS - 1)
        (void)sched_yield();
    int asleep = 0;
    for (int i = 0; i < SLEEPERS; i++)
        asleep += is_asleep(atomic_load(&sleepers[i]));
    CHECK(asleep >= 1); /* or who was woken is not quite gone */
    rlc_futex_wake(&word, 1);
    for (int i = 0; i < SLEEPERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void test_RLC_FUTEX_2_returns_at_once_otherwise_and_keeps_errno(void) {
    errno = 77;
    rlc_futex_wait(&word, atomic_load(&word) + 1);
    rlc_futex_wake(&word, 1);
    rlc_futex_wake((const char *)&word + 1, 1); /* which the kernel refuses: it is not aligned */
    CHECK(errno == 77);
}

static void test_RLC_FUTEX_3_does_not_wait_beyond_the_deadline(void) {
    uint32_t value = atomic_load(&word);
    uint64_t deadline = rlc_now(RLC_CLOCK_MONOTONIC) + 2000000;
    do
        rlc_futex_wait_until(&word, value, deadline);
    while (rlc_now(RLC_CLOCK_MONOTONIC) < deadline);
    errno = 77;
    rlc_futex_wait_until(&word, value, 0);
    rlc_futex_wait_until(&word, value + 1, RLC_TIME_FOREVER);
    CHECK(errno == 77);
}

int main(void) {
    RUN(test_RLC_FUTEX_1_sleeps_while_the_word_is_as_expected);
    RUN(test_RLC_FUTEX_1_as_many_are_woken_as_are_asked_for);
    RUN(test_RLC_FUTEX_2_returns_at_once_otherwise_and_keeps_errno);
    RUN(test_RLC_FUTEX_3_does_not_wait_beyond_the_deadline);
    return 0;
}

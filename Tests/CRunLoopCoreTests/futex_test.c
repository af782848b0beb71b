#include "harness.h"

#include <crunloop/clock.h>
#include <crunloop/futex.h>
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

static void test_RLC_FUTEX_2_returns_at_once_otherwise_and_keeps_errno(void) {
    errno = 77;
    rlc_futex_wait(&word, atomic_load(&word) + 1);
    rlc_futex_wake(&word, 1);
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
    RUN(test_RLC_FUTEX_2_returns_at_once_otherwise_and_keeps_errno);
    RUN(test_RLC_FUTEX_3_does_not_wait_beyond_the_deadline);
    return 0;
}

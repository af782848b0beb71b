#include "harness.h"

#include <crunloop/thread.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static void test_RLC_THREAD_1_a_name_of_fifteen_bytes(void) {
    char name[16];
    CHECK(rlc_thread_set_name("fifteen letters") == 0);
    CHECK(pthread_getname_np(pthread_self(), name, sizeof name) == 0 && strcmp(name, "fifteen letters") == 0);
    CHECK(rlc_thread_set_name("sixteen letters!") == -ERANGE);
}

/* The frequent side stores and loads without a barrier; if both sides read 0, a store was overtaken. */
static _Atomic int announced, watched;
static _Atomic int round_begun, round_ended;
static int seen_by_frequent[2000];

static void *frequent(void *unused) {
    (void)unused;
    for (int round = 1; round <= 2000; round++) {
        while (atomic_load(&round_begun) < round) {
        }
        atomic_store_explicit(&announced, 1, memory_order_release);
        seen_by_frequent[round - 1] = atomic_load_explicit(&watched, memory_order_acquire);
        atomic_store(&round_ended, round);
    }
    return NULL;
}

static void test_RLC_THREAD_2_one_of_the_two_sees_the_others_store(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, frequent, NULL) == 0);
    for (int round = 1; round <= 2000; round++) {
        atomic_store(&announced, 0);
        atomic_store(&watched, 0);
        atomic_store(&round_begun, round);
        atomic_store_explicit(&watched, 1, memory_order_relaxed);
        rlc_thread_barrier();
        int seen = atomic_load_explicit(&announced, memory_order_relaxed);
        while (atomic_load(&round_ended) < round) {
        }
        CHECK(seen || seen_by_frequent[round - 1]);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    errno = 77;
    rlc_thread_barrier();
    CHECK(errno == 77);
}

int main(void) {
    RUN(test_RLC_THREAD_1_a_name_of_fifteen_bytes);
    RUN(test_RLC_THREAD_2_one_of_the_two_sees_the_others_store);
    return 0;
}

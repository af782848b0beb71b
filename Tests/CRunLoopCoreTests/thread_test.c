#include "harness.h"

#include <crunloop_kit/thread.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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
        rlc_thread_light_barrier();
        seen_by_frequent[round - 1] = atomic_load_explicit(&watched, memory_order_acquire);
        atomic_store(&round_ended, round);
    }
    return NULL;
}

static void test_RLC_THREAD_2_one_of_the_two_sees_the_others_store(void) {
    pthread_t thread;
    CHECK(rlc_thread_has_barrier());
    CHECK(pthread_create(&thread, NULL, frequent, NULL) == 0);
    for (int round = 1; round <= 2000; round++) {
        atomic_store(&announced, 0);
        atomic_store(&watched, 0);
        atomic_store(&round_begun, round);
        atomic_store_explicit(&watched, 1, memory_order_relaxed);
        CHECK(rlc_thread_barrier() == 0);
        int seen = atomic_load_explicit(&announced, memory_order_relaxed);
        while (atomic_load(&round_ended) < round) {
        }
        CHECK(seen || seen_by_frequent[round - 1]);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    errno = 77;
    CHECK(rlc_thread_barrier() == 0 && rlc_thread_has_barrier());
    CHECK(errno == 77);
}

/** From now on membarrier(2) answers `error` in this process. False if the kernel filters no calls. */
static bool refuse_barriers(int error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    int status = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    CHECK(status == 0 || errno == EINVAL);
    return status == 0;
}

static void test_RLC_THREAD_3_a_barrier_that_is_refused_is_told(void) {
    static const int errors[] = {ENOSYS, EPERM};
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            if (!refuse_barriers(errors[i]))
                _exit(77);
            errno = 77;
            CHECK(!rlc_thread_has_barrier());
            CHECK_EQUAL(rlc_thread_barrier(), -errors[i]);
            CHECK(errno == 77);
            _exit(0);
        }
        int status = 0;
        CHECK_EQUAL(waitpid(child, &status, 0), child);
        CHECK(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77) {
            printf("skipped 1: the kernel has no filters of system calls\n");
            return;
        }
        CHECK_EQUAL(WEXITSTATUS(status), 0);
    }
}

static void *keep_pointer(void *other) {
    CHECK(rlc_thread_kernel() == NULL);
    rlc_thread_set_kernel(other);
    CHECK(rlc_thread_kernel() == other);
    return NULL;
}

static void test_each_thread_keeps_a_pointer_of_its_own(void) {
    int own, other;
    pthread_t thread;
    rlc_thread_set_kernel(&own);
    CHECK(pthread_create(&thread, NULL, keep_pointer, &other) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(rlc_thread_kernel() == &own);
    rlc_thread_set_kernel(NULL);
    CHECK(rlc_thread_kernel() == NULL);
}

int main(void) {
    RUN(test_RLC_THREAD_1_a_name_of_fifteen_bytes);
    RUN(test_RLC_THREAD_2_one_of_the_two_sees_the_others_store);
    RUN(test_RLC_THREAD_3_a_barrier_that_is_refused_is_told);
    RUN(test_each_thread_keeps_a_pointer_of_its_own);
    return 0;
}

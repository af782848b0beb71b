/**
 * The little that the tests of the core share: CHECK, a kernel that counts, fails and keeps its own time, an allocator
 * that counts and fails. A test is a program: main() lists its cases, exit status 0 is success.
 */
#ifndef HARNESS_H
#define HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <crunloop/crunloop.h>
#include <crunloop_kit/crunloop_kit.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))
#define CHECK_EQUAL(left, right)                                                                                       \
    check_equal(__FILE__, __LINE__, #left " == " #right, (long long)(left), (long long)(right))
/** Runs a case; it must leave no descriptor and no block of memory behind. Names carry the number of the promise where there is one. */
#define RUN(test) run_case(#test, test)
/**
 * As RUN, beside a library's threads, which open and close files when they like: of the process's descriptors only
 * those of epoll and timerfd are counted. All that the loop itself has opened, a spy counts.
 */
#define RUN_BESIDE_THREADS(test) run_case_beside_threads(#test, test)

_Noreturn void check_failed(const char *file, int line, const char *condition);
void check_equal(const char *file, int line, const char *text, long long left, long long right);
void run_case(const char *name, void (*test)(void));
void run_case_beside_threads(const char *name, void (*test)(void));
int open_descriptors(void);

/* ---- allocation ---- */

/** malloc, calloc and realloc so far, in the whole program. */
unsigned long allocations(void);
/** What was allocated and not freed, by the program itself. */
long blocks_in_use(void);
/** The k-th allocation from now answers NULL (1 = the next); 0 = none. */
void fail_allocation(unsigned long k);

/* ---- kernel ---- */

/** The default table, watched. Counters are atomic: other threads write. */
typedef struct spy {
    rlc_kernel table; /* first: hand out &spy->table */
    atomic_ulong calls, waits, controls, writes, reads, polls, sets, questions;
    atomic_long descriptors; /* created and not closed */
    atomic_ulong fail_at;    /* the k-th creating or controlling call from now fails with fail_with; 0 = none */
    int fail_with;
    unsigned fail_more; /* how many calls after that one fail, too */
    int hidden_flags;   /* status flags that descriptors seem to lack */
    bool keeps_time;    /* virtual: a wait that would block moves `time_ns` instead */
    uint64_t time_ns;
    int timer_fd;
    uint64_t timer_ns;
} spy;

void spy_init(spy *spy);
/** Virtual time from `start_ns`; at most one timerfd, which is an eventfd written when its time comes. */
void spy_init_virtual(spy *spy, uint64_t start_ns);
void spy_advance(spy *spy, uint64_t to_ns);

/** The next creating or controlling call answers `error`. */
static inline void fail_next(spy *spy, int error) {
    spy->fail_with = error;
    atomic_store(&spy->fail_at, 1);
}

static inline unsigned long count_of(atomic_ulong *counter) {
    return atomic_load(counter);
}

/* ---- small change ---- */

static inline void write_all(int fd, const void *bytes, size_t size) {
    CHECK_EQUAL(write(fd, bytes, size), (ssize_t)size);
}

static inline void bump(int fd) {
    uint64_t one = 1;
    write_all(fd, &one, sizeof one);
}

static inline void make_pipe(int ends[2]) {
    CHECK_EQUAL(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
}

#endif

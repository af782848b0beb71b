/** What the tests of rlc_loop share: a loop in virtual time, and callouts that count. */
#ifndef LOOPS_H
#define LOOPS_H

#include "harness.h"

static spy kernel;

static inline rlc_loop *make_loop(void) {
    rlc_loop *loop;
    spy_init_virtual(&kernel, 1000);
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
    return loop;
}

/** A post that counts, and goes on posting itself while `again` says so. */
typedef struct job {
    rlc_post_node node; /* first */
    rlc_loop *loop;
    int runs, refusals, again;
    void (*then)(struct job *job);
} job;

static inline void run_job(rlc_post_node *node, bool ran) {
    job *job = (struct job *)node;
    if (!ran) {
        job->refusals++;
        return;
    }
    job->runs++;
    if (job->again-- > 0)
        CHECK_EQUAL(rlc_loop_post(job->loop, node), 0);
    if (job->then != NULL)
        job->then(job);
}

static inline job make_job(rlc_loop *loop) {
    return (job){.node = {.post_fn = run_job}, .loop = loop};
}

static int calls;

static inline void count_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)loop, (void)watch, (void)ready, (void)context;
    calls++;
}

static inline rlc_watch *idle_watch(rlc_loop *loop, int fd) {
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, count_watch, NULL, &watch), 0);
    return watch;
}

static inline void count_timer(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop, (void)timer, (void)deadline_ns;
    ++*(int *)context;
}

static unsigned long clock_reads;

/** The kernel's `now`, for tests of what reads the clock. */
static inline uint64_t count_and_tell_time(void *context, rlc_clock clock) {
    (void)context, (void)clock;
    clock_reads++;
    return kernel.time_ns;
}

#endif

/* A host that is compiled with ThreadSanitizer, of a library that is not. With an argument: it has a race of its own. */
#include <crunloop/crunloop.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 1000 };

typedef struct job {
    rlc_post_node node; /* first */
    int value;
} job;

static rlc_loop *loop;
static int sum, refused, told, raced; /* plain, all of them */

static void count(rlc_post_node *node, bool ran) {
    job *self = (job *)node;
    *(ran ? &sum : &refused) += self->value;
    free(self);
    if (sum == JOBS)
        rlc_loop_stop(loop);
}

static job *make_job(void) {
    job *made = malloc(sizeof *made);
    if (made == NULL)
        abort();
    *made = (job){.node = {.post_fn = count}, .value = 1};
    return made;
}

static void *post_jobs(void *unused) {
    for (int i = 0; i < JOBS; i++) {
        if (rlc_loop_post(loop, &make_job()->node) != 0)
            abort();
    }
    return unused;
}

static void *tell_and_wake(void *unused) {
    told = 1;
    rlc_loop_wake(loop);
    return unused;
}

static void *tell_and_stop(void *unused) {
    told = 2;
    rlc_loop_stop(loop);
    return unused;
}

static void *leave_jobs(void *unused) {
    rlc_loop_post(loop, &make_job()->node);
    return unused;
}

static void *race(void *unused) {
    raced = 1;
    return unused;
}

static void never(rlc_loop *of, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)of, (void)timer, (void)deadline_ns, (void)context;
}

/* Without a join before it has run: what it hands over comes by the loop alone. */
static pthread_t start(void *(*body)(void *), void *context) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, context) != 0)
        abort();
    return thread;
}

int main(int argc, char **argv) {
    rlc_timer *timer;
    (void)argv;
    if (rlc_loop_create(NULL, &loop) != 0 || rlc_loop_add_timer(loop, never, NULL, &timer) != 0)
        return 2;
    rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + UINT64_C(3600000000000), 0, 0);
    pthread_t thread = start(post_jobs, NULL);
    rlc_loop_run(loop, RLC_TIME_FOREVER);
    int was_sum = sum;
    pthread_t waker = start(tell_and_wake, NULL);
    rlc_loop_run_once(loop, RLC_TIME_FOREVER);
    int woken = told;
    pthread_join(thread, NULL);
    pthread_join(waker, NULL);
    while (told != 2) { /* a stop before the run has begun stops nothing */
        pthread_t stopper = start(tell_and_stop, NULL);
        rlc_loop_run(loop, rlc_now(RLC_CLOCK_MONOTONIC) + 1000000000);
        pthread_join(stopper, NULL);
    }
    thread = start(leave_jobs, NULL);
    pthread_join(thread, NULL);
    rlc_loop_destroy(loop);
    if (argc > 1) {
        thread = start(race, NULL);
        raced++;
        pthread_join(thread, NULL);
    }
    printf("%d %d %d %d\n", was_sum, woken, told, refused);
    return 0;
}

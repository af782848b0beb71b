/** wake_rtt, post, post_queued, self_post: from thread to thread, and from a callback to its own loop. */
#include "subject.h"

#ifdef HAS_WAKE
static struct {
    loop near_loop, far_loop;
    waker near, far;
    sem_t is_ready;
    uint64_t sent_at;
    uint32_t *samples;
    size_t sampled, wanted;
    int64_t placement, spin_us, pending;
    atomic_bool is_over;
} rtt;

#ifndef HAS_SPIN
static void loop_spin(loop *of, uint64_t limit_ns) {
    (void)of, (void)limit_ns;
}
#endif

static void rtt_far_woken(waker *woken) {
    (void)woken;
    if (rtt.is_over)
        loop_stop(&rtt.far_loop);
    else
        waker_wake(&rtt.near);
}

static void rtt_near_woken(waker *woken) {
    (void)woken;
    uint64_t now = bench_now();
    rtt.samples[rtt.sampled++] = (uint32_t)(now - rtt.sent_at);
    if (rtt.sampled == rtt.wanted) {
        loop_stop(&rtt.near_loop);
        return;
    }
    rtt.sent_at = now;
    waker_wake(&rtt.far);
}

static void *rtt_far_thread(void *unused) {
    bench_pin(rtt.placement, 1);
    loop_open(&rtt.far_loop);
    loop_hold(&rtt.far_loop);
    timer_pend(&rtt.far_loop, rtt.pending);
    loop_spin(&rtt.far_loop, (uint64_t)rtt.spin_us * 1000);
    waker_open(&rtt.far_loop, &rtt.far, rtt_far_woken);
    sem_post(&rtt.is_ready);
    loop_run(&rtt.far_loop);
    waker_close(&rtt.far);
    loop_close(&rtt.far_loop);
    return unused;
}

/** Two loops on two threads; each wake is answered by a wake. */
static void run_wake_rtt(const bench_args *args, bench_result *result) {
    pthread_t thread;
    rtt.wanted = (size_t)args->count;
    rtt.samples = require_memory(rtt.wanted, sizeof *rtt.samples);
    rtt.placement = args->placement;
    rtt.spin_us = args->spin_us;
    rtt.pending = args->pending;
    bench_pin(args->placement, 0);
    sem_init(&rtt.is_ready, 0, 0);
    loop_open(&rtt.near_loop);
    loop_hold(&rtt.near_loop);
    timer_pend(&rtt.near_loop, rtt.pending);
    loop_spin(&rtt.near_loop, (uint64_t)args->spin_us * 1000);
    waker_open(&rtt.near_loop, &rtt.near, rtt_near_woken);
    require(pthread_create(&thread, NULL, rtt_far_thread, NULL) == 0, "pthread_create");
    sem_wait(&rtt.is_ready);

    bench_begin(result);
    rtt.sent_at = bench_now();
    waker_wake(&rtt.far);
    loop_run(&rtt.near_loop);
    bench_end(result);

    rtt.is_over = true;
    waker_wake(&rtt.far);
    pthread_join(thread, NULL);
    waker_close(&rtt.near);
    loop_close(&rtt.near_loop);
    result->operations = rtt.wanted;
    result->samples = rtt.samples;
    result->sample_count = rtt.sampled;
}
#endif

#ifdef POSTS_BY_WAKER
/** For libraries without a queue of their own: a list behind a mutex, and one wake when it stops being empty. */
typedef struct message {
    struct message *next;
} message;

static struct {
    pthread_mutex_t lock;
    message *first, **end;
    waker waker;
} inbox = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void message_arrived(message *arrived);

static void inbox_woken(waker *woken) {
    (void)woken;
    pthread_mutex_lock(&inbox.lock);
    message *next = inbox.first;
    inbox.first = NULL;
    inbox.end = &inbox.first;
    pthread_mutex_unlock(&inbox.lock);
    while (next != NULL) {
        message *arrived = next;
        next = next->next;
        message_arrived(arrived);
    }
}

static void inbox_open(loop *of) {
    inbox.end = &inbox.first;
    waker_open(of, &inbox.waker, inbox_woken);
}

static void inbox_close(void) {
    waker_close(&inbox.waker);
}

static void post(loop *to, message *posted) {
    (void)to;
    posted->next = NULL;
    pthread_mutex_lock(&inbox.lock);
    bool was_empty = inbox.first == NULL;
    *inbox.end = posted;
    inbox.end = &posted->next;
    pthread_mutex_unlock(&inbox.lock);
    if (was_empty)
        waker_wake(&inbox.waker);
}
#define HAS_POST 1
#elif defined HAS_POST
static void inbox_open(loop *of) {
    (void)of;
}
static void inbox_close(void) {}
#endif

#ifdef HAS_POST
static struct {
    loop loop;
    size_t arrived, wanted, total, producers;
    sem_t go, posted;
    int64_t placement;
    bool is_held;
} posting;

typedef struct producer {
    pthread_t thread;
    message *messages;
    size_t count;
} producer;

static void let_producers_go(void) {
    for (size_t i = 0; i < posting.producers; i++)
        sem_post(&posting.go);
}

/** The first message of a loop that is to be held waits for all others. */
static void hold_until_posted(void) {
    posting.is_held = false;
    posting.arrived = 0;
    posting.wanted = posting.total;
    let_producers_go();
    for (size_t i = 0; i < posting.producers; i++)
        sem_wait(&posting.posted);
}

static __attribute__((noinline, cold)) void wanted_arrived(void) {
    if (posting.is_held)
        hold_until_posted();
    else
        loop_stop(&posting.loop);
}

static void message_arrived(message *arrived) {
    (void)arrived;
    if (++posting.arrived == posting.wanted)
        wanted_arrived();
}

static void *produce(void *argument) {
    producer *self = argument;
    bench_pin(posting.placement, 1);
    sem_wait(&posting.go);
    for (size_t i = 0; i < self->count; i++)
        post(&posting.loop, &self->messages[i]);
    sem_post(&posting.posted);
    return NULL;
}

/** size producers post count messages to a running loop; until all ran. If active, it is in a callout until all are posted. */
static void run_post(const bench_args *args, bench_result *result) {
    size_t producers = (size_t)args->size;
    producer *all = require_memory(producers, sizeof *all);
    posting.total = (size_t)args->count / producers * producers;
    posting.producers = producers;
    posting.placement = args->placement;
    posting.is_held = args->active == 1;
    posting.wanted = posting.is_held ? 1 : posting.total;
    message holder = {0};
    bench_pin(args->placement, 0);
    sem_init(&posting.go, 0, 0);
    sem_init(&posting.posted, 0, 0);
    loop_open(&posting.loop);
    loop_hold(&posting.loop);
    inbox_open(&posting.loop);
    if (posting.is_held)
        post(&posting.loop, &holder);
    for (size_t i = 0; i < producers; i++) {
        all[i].count = posting.total / producers;
        all[i].messages = require_memory(all[i].count, sizeof(message));
        require(pthread_create(&all[i].thread, NULL, produce, &all[i]) == 0, "pthread_create");
    }

    bench_begin(result);
    if (!posting.is_held)
        let_producers_go();
    loop_run(&posting.loop);
    bench_end(result);

    for (size_t i = 0; i < producers; i++)
        pthread_join(all[i].thread, NULL);
    inbox_close();
    loop_close(&posting.loop);
    result->operations = posting.total;
}

/** size messages are posted to a loop that does not run yet; then it runs them. */
static void run_post_queued(const bench_args *args, bench_result *result) {
    message *messages = require_memory((size_t)args->size, sizeof(message));
    posting.wanted = (size_t)args->size;
    loop_open(&posting.loop);
    loop_hold(&posting.loop);
    inbox_open(&posting.loop);

    bench_begin(result);
    for (size_t i = 0; i < posting.wanted; i++)
        post(&posting.loop, &messages[i]);
    loop_run(&posting.loop);
    bench_end(result);

    inbox_close();
    loop_close(&posting.loop);
    result->operations = posting.wanted;
}
#endif

#ifdef HAS_DEFER
static struct {
    loop loop;
    deferred deferred;
    size_t count, wanted;
} deferring;

static void deferred_called(deferred *called) {
    if (++deferring.count == deferring.wanted)
        loop_stop(&deferring.loop);
    else
        defer_again(called);
}

static struct {
    loop loop;
    deferred one, other;
    size_t count, wanted;
} alternating;

static void alternate_called(deferred *called) {
    if (++alternating.count == alternating.wanted)
        loop_stop(&alternating.loop);
    else
        defer_again(called == &alternating.one ? &alternating.other : &alternating.one);
}

/** Two callbacks, each of which queues the other. */
static void run_self_post2(const bench_args *args, bench_result *result) {
    alternating.wanted = (size_t)args->count;
    loop_open(&alternating.loop);
    loop_hold(&alternating.loop);
    defer_open(&alternating.loop, &alternating.one, alternate_called);
    defer_open(&alternating.loop, &alternating.other, alternate_called);

    bench_begin(result);
    defer_again(&alternating.one);
    loop_run(&alternating.loop);
    bench_end(result);

    defer_close(&alternating.one);
    defer_close(&alternating.other);
    loop_close(&alternating.loop);
    result->operations = alternating.wanted;
}

/** A callback queues the next one on its own loop. */
static void run_self_post(const bench_args *args, bench_result *result) {
    deferring.wanted = (size_t)args->count;
    loop_open(&deferring.loop);
    loop_hold(&deferring.loop);
    timer_pend(&deferring.loop, args->pending);
    defer_open(&deferring.loop, &deferring.deferred, deferred_called);

    bench_begin(result);
    defer_again(&deferring.deferred);
    loop_run(&deferring.loop);
    bench_end(result);

    defer_close(&deferring.deferred);
    loop_close(&deferring.loop);
    result->operations = deferring.wanted;
}
#endif

/** startup, iter, mode_switch, mode_event, mode_addrm, mem_loop, mem_timer. */
#include "subject.h"

#ifdef HAS_PASS
static void *startup_thread(void *unused) {
    loop of;
    loop_open(&of);
    loop_settle(&of);
    loop_close(&of);
    return unused;
}

/** Made, run empty, destroyed; with the thread it needs, if a library ties a loop to a thread. */
static void run_startup(const bench_args *args, bench_result *result) {
    startup_thread(NULL); /* what a library does once */
    bench_begin(result);
    for (int64_t i = 0; i < args->count; i++) {
#ifdef LOOP_PER_THREAD
        pthread_t thread;
        require(pthread_create(&thread, NULL, startup_thread, NULL) == 0, "pthread_create");
        bench_join(thread);
#else
        startup_thread(NULL);
#endif
    }
    bench_end(result);
    result->operations = (uint64_t)args->count;
}

/** A pass that does not wait, with `size` observers of it. A descriptor is watched: nobody can know without the kernel. */
static void run_iter(const bench_args *args, bench_result *result) {
    loop of;
    watch idle = {0};
    watch_hook = never_readable;
    loop_open(&of);
    loop_hold(&of);
    watch_add(&of, &idle, bench_counter());
    timer_pend(&of, args->pending);
    observers_open(&of, args->size);
    loop_pass(&of);

    bench_begin(result);
    for (int64_t i = 0; i < args->count; i++)
        loop_pass(&of);
    bench_end(result);

    observers_close(&of);
    watch_remove(&of, &idle);
    loop_close(&of);
    result->operations = (uint64_t)args->count;
}
#endif

#ifdef HAS_MODES
/** `size` counters (eventfds) in the default mode, 4 of them in another; an event in this one, then in that one. */
static void run_mode_switch(const bench_args *args, bench_result *result) {
    enum { IN_OTHER = 4 };
    static const uint64_t one = 1;
    loop of;
    loop_open(&of);
    modes_open(&of, 2);
    counter *counters = require_memory((size_t)args->size, sizeof(counter));
    int written = -1;
    for (int64_t i = 0; i < args->size; i++) {
        int fd = bench_counter();
        counter_add(&of, &counters[i], fd, i < IN_OTHER ? 2 : 1);
        written = i == 1 ? fd : written;
    }

    bench_begin(result);
    for (int64_t i = 0; i < args->count; i++) {
        require(bench_write(written, &one, sizeof one) == sizeof one, "write");
        modes_run_once(&of, (int)(i & 1));
    }
    bench_end(result);

    loop_close(&of);
    result->operations = (uint64_t)args->count;
}

/** An event in the default mode on a counter that is in `size` modes. */
static void run_mode_event(const bench_args *args, bench_result *result) {
    static const uint64_t one = 1;
    loop of;
    counter only;
    int fd = bench_counter();
    loop_open(&of);
    modes_open(&of, (int)args->size);
    counter_add(&of, &only, fd, (int)args->size);

    bench_begin(result);
    for (int64_t i = 0; i < args->count; i++) {
        require(bench_write(fd, &one, sizeof one) == sizeof one, "write");
        modes_run_once(&of, 0);
    }
    bench_end(result);

    loop_close(&of);
    result->operations = (uint64_t)args->count;
}

/** A counter is added to `size` modes, which exist, and removed. */
static void run_mode_addrm(const bench_args *args, bench_result *result) {
    enum { LEAST_MODES = 8 };
    loop of;
    counter stays, extra;
    int fd = bench_counter(), modes_made = (int)args->size < LEAST_MODES ? LEAST_MODES : (int)args->size;
    loop_open(&of);
    modes_open(&of, modes_made);
    counter_add(&of, &stays, bench_counter(), modes_made);

    bench_begin(result);
    for (int64_t i = 0; i < args->count; i++) {
        counter_add(&of, &extra, fd, (int)args->size);
        counter_remove(&of, &extra, (int)args->size);
    }
    bench_end(result);

    loop_close(&of);
    result->operations = (uint64_t)args->count;
}
#endif

#ifdef HAS_PASS
#ifdef LOOP_PER_THREAD
static pthread_barrier_t is_open, is_measured;

static void *memory_thread(void *argument) {
    loop *of = argument;
    loop_open(of);
    loop_settle(of);
    pthread_barrier_wait(&is_open);
    pthread_barrier_wait(&is_measured);
    loop_close(of);
    return NULL;
}
#endif

/** Memory and descriptors of `size` loops, each of which has made an empty pass. */
static void run_mem_loop(const bench_args *args, bench_result *result) {
    startup_thread(NULL);
#ifdef LOOP_PER_THREAD
    pthread_t *threads = require_memory((size_t)args->size, sizeof *threads);
    pthread_barrier_init(&is_open, NULL, (unsigned)args->size + 1);
    pthread_barrier_init(&is_measured, NULL, (unsigned)args->size + 1);
#endif
    bench_usage before = bench_usage_now();
    loop *loops = require_memory((size_t)args->size, sizeof(loop));
    for (int64_t i = 0; i < args->size; i++) {
#ifdef LOOP_PER_THREAD
        require(pthread_create(&threads[i], NULL, memory_thread, &loops[i]) == 0, "pthread_create");
#else
        loop_open(&loops[i]);
        loop_settle(&loops[i]);
#endif
    }
#ifdef LOOP_PER_THREAD
    pthread_barrier_wait(&is_open);
#endif
    bench_usage_per_item(before, args->size, result);
#ifdef LOOP_PER_THREAD
    pthread_barrier_wait(&is_measured);
    for (int64_t i = 0; i < args->size; i++)
        pthread_join(threads[i], NULL);
#endif
}
#endif

#ifdef HAS_TIMERS
/** Memory of `size` timers, armed. */
static void run_mem_timer(const bench_args *args, bench_result *result) {
    loop of;
    loop_open(&of);
    loop_settle(&of);
    bench_usage before = bench_usage_now();
    timer *timers = require_memory((size_t)args->size, sizeof(timer));
    for (int64_t i = 0; i < args->size; i++) {
        timer_open(&of, &timers[i]);
        timer_start(&of, &timers[i], 60ull * SECOND_NS + (uint64_t)i * MILLISECOND_NS);
    }
    loop_settle(&of);
    bench_usage_per_item(before, args->size, result);
}
#endif

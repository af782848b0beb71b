/** timer_ic, timer_rearm, timer_fire, timer_firewin, timer_late, timer_drift. The process ends with them: what they made is left. */
#include "subject.h"

#ifdef HAS_TIMERS
static struct {
    loop loop;
    timer *timers;
    size_t fired, wanted;
    uint64_t due_at;
    uint32_t *samples;
} timing;

#ifdef TIMERS_ARE_REUSED
static void timer_open_for_cancel(loop *of, timer *opened) {
    timer_open(of, opened);
}
static void timer_close_after_cancel(loop *of, timer *closed) {
    timer_close(of, closed);
}
static void timer_insert(loop *of, timer *started, uint64_t delay_ns) {
    timer_start(of, started, delay_ns);
}
static void timer_cancel(loop *of, timer *stopped) {
    timer_stop(of, stopped);
}
#else
/* Their timers are objects for one use: made, and thrown away, each time. */
static void timer_open_for_cancel(loop *of, timer *opened) {
    (void)of, (void)opened;
}
static void timer_close_after_cancel(loop *of, timer *closed) {
    (void)of, (void)closed;
}
static void timer_insert(loop *of, timer *started, uint64_t delay_ns) {
    timer_open(of, started);
    timer_start(of, started, delay_ns);
}
static void timer_cancel(loop *of, timer *stopped) {
    timer_close(of, stopped);
}
#endif

/** Idle timeouts lie a minute to an hour ahead: none fires while they are measured. */
static uint64_t far_delay(void) {
    return 60ull * SECOND_NS + random_below(3540000) * MILLISECOND_NS;
}

/** size timers that are armed, far ahead. */
static void timing_open(int64_t size) {
    timing.timers = require_memory((size_t)size + 1, sizeof(timer));
    loop_open(&timing.loop);
    for (int64_t i = 0; i < size; i++) {
        timer_open(&timing.loop, &timing.timers[i]);
#ifdef ADDS_TIMERS_IN_ORDER
        timer_start(
            &timing.loop, &timing.timers[i], 60ull * SECOND_NS + (uint64_t)i * 3540 * SECOND_NS / (uint64_t)size);
#else
        timer_start(&timing.loop, &timing.timers[i], far_delay());
#endif
    }
}

/** With `size` timers pending, one more is started and cancelled. */
static void run_timer_ic(const bench_args *args, bench_result *result) {
    timing_open(args->size);
    timer *extra = &timing.timers[args->size];
    timer_open_for_cancel(&timing.loop, extra);

    bench_begin(result);
    for (int64_t i = 0; i < args->count; i++) {
        timer_insert(&timing.loop, extra, far_delay());
        timer_cancel(&timing.loop, extra);
    }
    bench_end(result);

    timer_close_after_cancel(&timing.loop, extra);
    result->operations = (uint64_t)args->count;
}

/** One of `size` idle timeouts is pushed out, again and again; each ends up later than all others. */
static void run_timer_rearm(const bench_args *args, bench_result *result) {
    timing_open(args->size);

    bench_begin(result);
    for (int64_t i = 0; i < args->count; i++) {
        timer *pushed = &timing.timers[random_below((uint64_t)args->size)];
        timer_start(&timing.loop, pushed, 3600ull * SECOND_NS + (uint64_t)i * MILLISECOND_NS);
    }
    bench_end(result);

    result->operations = (uint64_t)args->count;
}

static void fire_called(timer *called) {
    (void)called;
    if (++timing.fired == timing.wanted)
        loop_stop(&timing.loop);
}

/** size timers with dates in random order, all due; one run fires them. */
static void run_timer_fire(const bench_args *args, bench_result *result) {
    timing.timers = require_memory((size_t)args->size, sizeof(timer));
    timing.wanted = (size_t)args->size;
    timer_hook = fire_called;
    loop_open(&timing.loop);
#ifdef HAS_PAUSE
    loop_pause(&timing.loop);
#endif
    for (int64_t i = 0; i < args->size; i++) {
        timer_open(&timing.loop, &timing.timers[i]);
        timer_start(&timing.loop, &timing.timers[i], random_below(1000) * MILLISECOND_NS / 250);
    }
    usleep(6000);

    bench_begin(result);
    loop_run(&timing.loop);
    bench_end(result);

    result->operations = (uint64_t)args->size;
}

/** size timers with random dates within window_ms, which begin when all are armed; the processor's time counts. */
static void run_timer_firewin(const bench_args *args, bench_result *result) {
    uint64_t window_ns = (uint64_t)args->window_ms * MILLISECOND_NS, start_ns = SECOND_NS / 2;
    timing.timers = require_memory((size_t)args->size, sizeof(timer));
    timing.wanted = (size_t)args->size;
    timer_hook = fire_called;
    timer_tolerance_ns = (uint64_t)args->tolerance_us * 1000;
    loop_open(&timing.loop);
    for (int64_t i = 0; i < args->size; i++) {
        timer *opened = &timing.timers[i];
        timer_open(&timing.loop, opened);
#ifdef ADDS_TIMERS_IN_ORDER
        timer_start(&timing.loop, opened, start_ns + window_ns / (uint64_t)args->size * (uint64_t)i);
#else
        timer_start(&timing.loop, opened, start_ns + random_below(window_ns));
#endif
    }

    bench_begin(result);
    loop_run(&timing.loop);
    bench_end(result);

    result->operations = (uint64_t)args->size;
}

static void late_start(timer *again, uint64_t now) {
    loop_refresh(&timing.loop, now);
    timing.due_at = now + MILLISECOND_NS;
    timer_start(&timing.loop, again, MILLISECOND_NS);
}

static void late_called(timer *called) {
    uint64_t now = bench_now();
    timing.samples[timing.fired] = now > timing.due_at ? (uint32_t)(now - timing.due_at) : 0;
    if (++timing.fired == timing.wanted)
        loop_stop(&timing.loop);
    else
        late_start(called, now);
}

/** A one-shot timer of one millisecond, armed again by its callback: how late it is. */
static void run_timer_late(const bench_args *args, bench_result *result) {
    timing.timers = require_memory(1, sizeof(timer));
    timing.wanted = (size_t)args->count;
    timing.samples = require_memory(timing.wanted, sizeof *timing.samples);
    timer_hook = late_called;
    loop_open(&timing.loop);
    timer_open(&timing.loop, timing.timers);

    bench_begin(result);
    late_start(timing.timers, bench_now());
    loop_run(&timing.loop);
    bench_end(result);

    result->operations = timing.wanted;
    result->samples = timing.samples;
    result->sample_count = timing.fired;
}
#endif

#ifdef HAS_REPEATING_TIMERS
/** A timer that repeats every millisecond: how late its last date is. */
static void run_timer_drift(const bench_args *args, bench_result *result) {
    timing.timers = require_memory(1, sizeof(timer));
    timing.wanted = (size_t)args->count;
    timing.samples = require_memory(1, sizeof *timing.samples);
    timer_hook = fire_called;
    loop_open(&timing.loop);
    timer_open(&timing.loop, timing.timers);

    bench_begin(result);
    uint64_t now = bench_now(), due_at = now + timing.wanted * MILLISECOND_NS;
    loop_refresh(&timing.loop, now);
    timer_repeat(&timing.loop, timing.timers, MILLISECOND_NS);
    loop_run(&timing.loop);
    now = bench_now();
    bench_end(result);

    timing.samples[0] = now > due_at ? (uint32_t)(now - due_at) : 0;
    result->operations = timing.wanted;
    result->samples = timing.samples;
    result->sample_count = 1;
}
#endif

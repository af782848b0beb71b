/** fd_dispatch, echo, port_rtt, fd_addrm. */
#include "subject.h"

#ifdef HAS_WATCHES
static struct {
    loop loop;
    watch *watches;
    int (*ends)[2];
    size_t size, fired, written, wanted;
} pipes;

static void pipes_open(int64_t size) {
    pipes.size = (size_t)size;
    pipes.watches = require_memory(pipes.size, sizeof(watch));
    pipes.ends = require_memory(pipes.size, sizeof *pipes.ends);
    loop_open(&pipes.loop);
    for (size_t i = 0; i < pipes.size; i++) {
        require(pipe2(pipes.ends[i], O_CLOEXEC | O_NONBLOCK) == 0, "pipe2");
        watch_add(&pipes.loop, &pipes.watches[i], pipes.ends[i][0]);
    }
}

static void pipes_close(void) {
    for (size_t i = 0; i < pipes.size; i++)
        watch_remove(&pipes.loop, &pipes.watches[i]);
    loop_close(&pipes.loop);
}

static void pipes_write(size_t index) {
    pipes.written++;
    require(bench_write(pipes.ends[index][1], "e", 1) == 1, "write");
}

static void pipe_readable(watch *called) {
    char byte;
    size_t index = (size_t)(called - pipes.watches);
    require(bench_read(pipes.ends[index][0], &byte, 1) == 1, "read");
    if (pipes.written < pipes.wanted)
        pipes_write(index + 1 == pipes.size ? 0 : index + 1);
    if (++pipes.fired == pipes.wanted)
        loop_stop(&pipes.loop);
}

/** The classic one: `size` pipes, `active` of them hold a byte, which is passed on to the next; `count` writes in all. */
static void run_fd_dispatch(const bench_args *args, bench_result *result) {
    watch_hook = pipe_readable;
    pipes_open(args->size);
    timer_pend(&pipes.loop, args->pending);
    pipes.wanted = (size_t)args->count;
    loop_settle(&pipes.loop); /* some add their descriptors with the next wait */

    bench_begin(result);
    for (int64_t i = 0; i < args->active; i++)
        pipes_write((size_t)(i * args->size / args->active));
    loop_run(&pipes.loop);
    bench_end(result);

    pipes_close();
    result->operations = pipes.wanted;
}

#ifndef WATCHES_COUNTERS
static void watch_add_counter(loop *of, watch *added, int fd) {
    watch_add(of, added, fd);
}
#endif

static void never_readable(watch *called) {
    (void)called;
    require(false, "a counter that nobody wrote to");
}

/** With `size` counters (eventfds) watched, one more is added and removed; with `active` a pass follows each. */
static void run_fd_addrm(const bench_args *args, bench_result *result) {
    loop of;
    watch *watches = require_memory((size_t)args->size + 1, sizeof(watch)), *extra = &watches[args->size];
    int fd = bench_counter();
    watch_hook = never_readable;
    loop_open(&of);
    for (int64_t i = 0; i < args->size; i++)
        watch_add_counter(&of, &watches[i], bench_counter());
    loop_settle(&of);

    bench_begin(result);
    for (int64_t i = 0; i < args->count; i++) {
        watch_add_counter(&of, extra, fd);
        if (args->active != 0)
            loop_settle(&of);
        watch_remove(&of, extra);
        if (args->active != 0)
            loop_settle(&of);
    }
    bench_end(result);

    for (int64_t i = 0; i < args->size; i++)
        watch_remove(&of, &watches[i]);
    loop_close(&of);
    result->operations = (uint64_t)args->count;
}

enum { NEAR, FAR, MOST_TEXT = 64 };

static struct {
    loop near_loop, far_loop;
    watch near, far;
    int reading[2], writing[2]; /* of each side */
    size_t size;
    sem_t is_ready;
    uint64_t sent_at;
    uint32_t *samples;
    size_t sampled, wanted;
    int64_t placement;
} echo;

static void echo_write(int side, const char *text) {
    require(bench_write(echo.writing[side], text, echo.size) == (ssize_t)echo.size, "write");
}

static void echo_readable(watch *called) {
    static const char asked[MOST_TEXT] = "e";
    char text[MOST_TEXT];
    bool is_near = called == &echo.near;
    require(bench_read(echo.reading[is_near ? NEAR : FAR], text, echo.size) == (ssize_t)echo.size, "read");
    if (!is_near) {
        if (text[0] == 'q')
            loop_stop(&echo.far_loop);
        else
            echo_write(FAR, text);
        return;
    }
    uint64_t now = bench_now();
    echo.samples[echo.sampled++] = (uint32_t)(now - echo.sent_at);
    if (echo.sampled == echo.wanted) {
        loop_stop(&echo.near_loop);
        return;
    }
    echo.sent_at = now;
    echo_write(NEAR, asked);
}

static void *echo_far_thread(void *unused) {
    bench_pin(echo.placement, 1);
    loop_open(&echo.far_loop);
    watch_add(&echo.far_loop, &echo.far, echo.reading[FAR]);
    sem_post(&echo.is_ready);
    loop_run(&echo.far_loop);
    watch_remove(&echo.far_loop, &echo.far);
    loop_close(&echo.far_loop);
    return unused;
}

/** `size` bytes there and back between two loops on two threads, whose descriptors are open. */
static void run_echoes(const bench_args *args, size_t size, bench_result *result) {
    static const char asked[MOST_TEXT] = "e", last[MOST_TEXT] = "q";
    pthread_t thread;
    echo.size = size;
    echo.wanted = (size_t)args->count;
    echo.samples = require_memory(echo.wanted, sizeof *echo.samples);
    echo.placement = args->placement;
    watch_hook = echo_readable;
    bench_pin(args->placement, 0);
    sem_init(&echo.is_ready, 0, 0);
    loop_open(&echo.near_loop);
    watch_add(&echo.near_loop, &echo.near, echo.reading[NEAR]);
    require(pthread_create(&thread, NULL, echo_far_thread, NULL) == 0, "pthread_create");
    sem_wait(&echo.is_ready);

    bench_begin(result);
    echo.sent_at = bench_now();
    echo_write(NEAR, asked);
    loop_run(&echo.near_loop);
    bench_end(result);

    echo_write(NEAR, last);
    pthread_join(thread, NULL);
    watch_remove(&echo.near_loop, &echo.near);
    loop_close(&echo.near_loop);
    result->operations = echo.wanted;
    result->samples = echo.samples;
    result->sample_count = echo.sampled;
}

/** One byte, over a socket pair. */
static void run_echo(const bench_args *args, bench_result *result) {
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, echo.reading) == 0, "socketpair");
    memcpy(echo.writing, echo.reading, sizeof echo.writing);
    run_echoes(args, 1, result);
}

/** A message of `size` bytes, over two pipes. */
static void run_port_rtt(const bench_args *args, bench_result *result) {
    int there[2], back[2];
    require(pipe2(there, O_CLOEXEC | O_NONBLOCK) == 0 && pipe2(back, O_CLOEXEC | O_NONBLOCK) == 0, "pipe2");
    echo.reading[FAR] = there[0];
    echo.writing[NEAR] = there[1];
    echo.reading[NEAR] = back[0];
    echo.writing[FAR] = back[1];
    run_echoes(args, (size_t)args->size, result);
}

/** Memory of `size` watches. */
static void run_mem_fd(const bench_args *args, bench_result *result) {
    loop of;
    int *numbers = require_memory((size_t)args->size, sizeof *numbers);
    for (int64_t i = 0; i < args->size; i++)
        require((numbers[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) >= 0, "eventfd");
    loop_open(&of);
    loop_settle(&of);
    bench_usage before = bench_usage_now();
    watch *watches = require_memory((size_t)args->size, sizeof(watch));
    for (int64_t i = 0; i < args->size; i++)
        watch_add_counter(&of, &watches[i], numbers[i]);
    loop_settle(&of);
    bench_usage_per_item(before, args->size, result);
}
#endif

/**
 * The main dispatch queue in a loop that is in a host. A part of adapters.h. Without libdispatch there are no cases, which
 * run.sh says.
 */
#ifndef MAIN_QUEUE_CASES_H
#define MAIN_QUEUE_CASES_H

#include <crunloop/adapters/dispatch_guest.h>
#include <limits.h>

extern struct dispatch_queue_s _dispatch_main_q __attribute__((weak));
extern void dispatch_async_f(struct dispatch_queue_s *queue, void *context, void (*fn)(void *)) __attribute__((weak));

static rlc_watch *main_guest;

static void begin_with_main_queue(void) {
    begin();
    CHECK_EQUAL(rlc_dispatch_guest_attach(loop, &main_guest), 0);
}

static void queue_on_main(void *context, void (*fn)(void *)) {
    dispatch_async_f(&_dispatch_main_q, context, fn);
}

/** Waits until the thread has queued a function on the main queue. */
static void queue_from_thread(void *(*body)(void *)) {
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, body, NULL), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

static void count_function(void *context) {
    CHECK(rlc_is_main_thread());
    calls++;
    if (context != NULL)
        atomic_fetch_add((atomic_int *)context, 1);
}

static void *queue_one(void *unused) {
    queue_on_main(NULL, count_function);
    return unused;
}

static void *queue_hops(void *unused) {
    atomic_int answered = 0;
    for (int i = 1; i <= HOPS; i++) {
        queue_on_main(&answered, count_function);
        while (atomic_load(&answered) != i)
            sched_yield();
    }
    return unused;
}

static void serve_main_hops(void) {
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, queue_hops, NULL), 0);
    TURN_UNTIL(calls == HOPS);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

static void test_RLC_ADAPT_9_no_function_of_the_main_queue_is_lost(void) {
    begin_with_main_queue();
    serve_main_hops();
    CHECK(count_of(&kernel.waits) <= 2 * HOPS + 2);
    end();
}

static void test_RLC_ADAPT_9_the_main_queue_beside_the_load(void) {
    begin_with_main_queue();
    host->add_load(count_load);
    serve_main_hops();
    host->remove_load();
    end();
}

static void test_RLC_ADAPT_9_an_idle_main_queue_wakes_nobody(void) {
    begin_with_main_queue();
    queue_from_thread(queue_one);
    TURN_UNTIL(calls == 1);
    turn(false);
    host->after(20, note_fired);
    unsigned long passes = count_of(&kernel.waits);
    atomic_store(&turns, 0);
    TURN_UNTIL(fired == 1);
    CHECK(atomic_load(&turns) <= host->idle_turns);
    CHECK_EQUAL(count_of(&kernel.waits) - passes, 0);
    end();
}

/** What another thread queues waits for the function to return, and the host sleeps meanwhile. */
static void run_host_inside_function(void *unused) {
    (void)unused;
    queue_from_thread(queue_one);
    unsigned long passes = count_of(&kernel.waits);
    atomic_store(&turns, 0);
    host->after(10, note_fired);
    TURN_UNTIL(fired == 1);
    CHECK(atomic_load(&turns) <= host->idle_turns + 1);
    CHECK(count_of(&kernel.waits) - passes <= 1); /* which finds that the handle is to be left alone */
    CHECK_EQUAL(calls, 0);
}

static void test_RLC_ADAPT_9_the_host_inside_a_function_of_the_main_queue(void) {
    if (!host->nests)
        return;
    begin_with_main_queue();
    queue_on_main(NULL, run_host_inside_function);
    TURN_UNTIL(calls == 1);
    CHECK_EQUAL(fired, 1);
    end();
}

/** The same for the loop. */
static void run_loop_inside_function(void *unused) {
    (void)unused;
    queue_from_thread(queue_one);
    unsigned long passes = count_of(&kernel.waits);
    CHECK_EQUAL(rlc_loop_run(loop, rlc_time_add(rlc_now(RLC_CLOCK_MONOTONIC), 5000000)), RLC_RUN_TIMED_OUT);
    CHECK(count_of(&kernel.waits) - passes <= 3);
    CHECK_EQUAL(calls, 0);
    fired++;
}

static void test_RLC_ADAPT_9_the_loop_inside_a_function_of_the_main_queue(void) {
    begin_with_main_queue();
    queue_on_main(NULL, run_loop_inside_function);
    TURN_UNTIL(calls == 1);
    CHECK_EQUAL(fired, 1);
    end();
}

static void leave_main_queue(void *unused) {
    (void)unused;
    rlc_watch_remove(main_guest);
    fired++;
}

static void test_RLC_ADAPT_9_a_function_takes_the_queue_out(void) {
    begin_with_main_queue();
    queue_on_main(NULL, leave_main_queue);
    TURN_UNTIL(fired == 1);
    queue_from_thread(queue_one);
    for (int i = 0; i < 5; i++)
        turn(false);
    CHECK_EQUAL(calls, 0);
    CHECK_EQUAL(rlc_dispatch_guest_attach(loop, &main_guest), 0);
    TURN_UNTIL(calls == 1);
    end();
}

static void *attach_elsewhere(void *unused) {
    rlc_watch *other = NULL;
    CHECK_EQUAL(rlc_dispatch_guest_attach(loop, &other), -EPERM);
    CHECK(other == NULL);
    return unused;
}

static void test_RLC_ADAPT_9_another_thread_is_refused(void) {
    begin();
    queue_from_thread(attach_elsewhere);
    end();
}

static atomic_int refusals;
static int (*real_control)(void *context, int epoll_fd, int operation, int fd, struct epoll_event *event);

static int refuse_handle(void *context, int epoll_fd, int operation, int fd, struct epoll_event *event) {
    if (operation == EPOLL_CTL_ADD && fd == rlc_main_queue_fd() && atomic_load(&refusals) > 0) {
        atomic_fetch_sub(&refusals, 1);
        return -ENOSPC;
    }
    return real_control(context, epoll_fd, operation, fd, event);
}

static void begin_with_refused_handle(int times) {
    begin();
    real_control = kernel.table.epoll_control;
    kernel.table.epoll_control = refuse_handle;
    atomic_store(&refusals, times);
    CHECK_EQUAL(rlc_dispatch_guest_attach(loop, &main_guest), 0);
}

static void test_RLC_ADAPT_10_a_refused_handle_is_tried_again(void) {
    begin_with_refused_handle(3);
    for (int i = 0; i < 8; i++)
        turn(false);
    CHECK_EQUAL(atomic_load(&refusals), 0);
    queue_from_thread(queue_one);
    TURN_UNTIL(calls == 1);
    end();
}

static void test_RLC_ADAPT_10_the_queue_of_a_refused_handle_is_served(void) {
    begin_with_refused_handle(INT_MAX);
    for (int i = 1; i <= 3; i++) {
        queue_from_thread(queue_one);
        for (int left = ENOUGH_TURNS; left > 0 && calls < i; left--)
            turn(false);
        CHECK_EQUAL(calls, i);
    }
    CHECK(atomic_load(&refusals) > 0);
    end();
}

/** The program has closed it by mistake: the loop sleeps, and tells nobody more than once. */
static void test_RLC_ADAPT_10_a_refused_handle_that_was_closed_is_left_alone(void) {
    begin_with_refused_handle(1);
    host->after(20, note_fired); /* a host that needs a descriptor for it opens that now */
    int handle = rlc_main_queue_fd(), kept = fcntl(handle, F_DUPFD_CLOEXEC, 0);
    CHECK(kept >= 0);
    CHECK_EQUAL(close(handle), 0);
    for (int i = 0; i < 5; i++)
        turn(false);
    unsigned long passes = count_of(&kernel.waits);
    atomic_store(&turns, 0);
    TURN_UNTIL(fired == 1);
    CHECK(atomic_load(&turns) <= host->idle_turns);
    CHECK_EQUAL(count_of(&kernel.waits) - passes, 0);
    CHECK_EQUAL(dup3(kept, handle, O_CLOEXEC), handle);
    close(kept);
    end();
}

static void run_main_queue_cases(void) {
    if (rlc_main_queue_fd() < 0)
        return;
    RUN(test_RLC_ADAPT_9_no_function_of_the_main_queue_is_lost);
    RUN(test_RLC_ADAPT_9_the_main_queue_beside_the_load);
    RUN(test_RLC_ADAPT_9_an_idle_main_queue_wakes_nobody);
    RUN(test_RLC_ADAPT_9_the_host_inside_a_function_of_the_main_queue);
    RUN(test_RLC_ADAPT_9_the_loop_inside_a_function_of_the_main_queue);
    RUN(test_RLC_ADAPT_9_a_function_takes_the_queue_out);
    RUN(test_RLC_ADAPT_9_another_thread_is_refused);
    RUN(test_RLC_ADAPT_10_a_refused_handle_is_tried_again);
    RUN(test_RLC_ADAPT_10_the_queue_of_a_refused_handle_is_served);
    RUN(test_RLC_ADAPT_10_a_refused_handle_that_was_closed_is_left_alone);
}

#endif

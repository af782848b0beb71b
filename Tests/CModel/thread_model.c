#include <semaphore.h>

#include "model.h"

struct set_up {
    int called, released, status;
    rlk_loop *loop;
};

static int set_up(rlk_loop *loop, void *context) {
    struct set_up *set_up = context;
    CHECK(rlk_loop_is_current(loop));
    set_up->loop = loop;
    set_up->called++;
    return set_up->status;
}
static void released(void *context) {
    ++((struct set_up *)context)->released;
}

static void join_itself(void *thread) {
    CHECK_IS(rlk_thread_join(thread, RLK_TIME_FOREVER), -EDEADLK);
}

static void test_threads(void) {
    int performed = 0, dropped = 0;
    struct set_up is = {.called = 0};
    rlk_thread *thread = NULL;
    rlk_thread_options options = {
        .size = sizeof options, .name = "model", .set_up = set_up, .context = &is, .release = released};
    rlk_work work = {.size = sizeof work, .perform = model_count, .context = &performed};
    CHECK_IS(rlk_thread_create(&options, &thread), 0);
    CHECK(rlk_thread_loop(thread) == NULL && !rlk_thread_is_running(thread));
    CHECK_IS(rlk_thread_perform(thread, &work), -ESRCH);
    CHECK_IS(rlk_thread_join(thread, RLK_TIME_FOREVER), 0);
    CHECK_IS(rlk_thread_start(thread), 0);
    CHECK_IS(is.called, 1);
    CHECK(rlk_thread_loop(thread) == is.loop && rlk_thread_is_running(thread));
    CHECK_IS(rlk_thread_start(thread), -EALREADY);
    CHECK_IS(rlk_thread_join(thread, 0), -ETIMEDOUT);
    CHECK_IS(rlk_loop_perform_and_wait(is.loop, NULL, RLK_TIME_FOREVER, join_itself, thread), 0);
    CHECK_IS(rlk_thread_perform(thread, &work), 0);
    CHECK_IS(rlk_thread_stop(thread, RLK_ENDING_AFTER_DUE_WORK), 0);
    work.release = model_count;
    work.context = &dropped;
    CHECK_IS(rlk_thread_perform(thread, &work), -ESHUTDOWN);
    CHECK_IS(dropped, 0);
    CHECK_IS(rlk_thread_join(thread, RLK_TIME_FOREVER), 0);
    CHECK_IS(performed, 1);
    CHECK(!rlk_thread_is_running(thread));
    CHECK_IS(is.released, 1);
    rlk_thread_release(thread);
}

static void test_work_before_the_stop(void) {
    int performed = 0;
    rlk_thread *thread = NULL;
    rlk_thread_options options = {.size = sizeof options};
    rlk_work work = {.size = sizeof work, .perform = model_count, .context = &performed, .release = model_count};
    CHECK_IS(rlk_thread_create(&options, &thread), 0);
    CHECK_IS(rlk_thread_start(thread), 0);
    CHECK_IS(rlk_thread_perform(thread, &work), 0);
    CHECK_IS(rlk_thread_stop(thread, RLK_ENDING_AFTER_DUE_WORK), 0);
    CHECK_IS(rlk_thread_join(thread, RLK_TIME_FOREVER), 0);
    CHECK_IS(performed, 2);
    rlk_thread_release(thread);
}

static void test_stop_now(void) {
    rlk_thread *thread = NULL;
    CHECK_IS(rlk_thread_create(&(rlk_thread_options){.size = sizeof(rlk_thread_options)}, &thread), 0);
    CHECK_IS(rlk_thread_stop(thread, RLK_ENDING_NOW), 0);
    CHECK_IS(rlk_thread_start(thread), 0);
    CHECK(rlk_thread_is_running(thread));
    CHECK_IS(rlk_thread_stop(thread, RLK_ENDING_NOW), 0);
    CHECK_IS(rlk_thread_join(thread, RLK_TIME_FOREVER), 0);
    CHECK(!rlk_thread_is_running(thread));
    rlk_thread_release(thread);
}

/* Before or after the beginning of its run. */
static void test_RLK_RESIDENT_14_a_stop_directly_after_the_start(void) {
    for (int i = 0; i < 40; i++) {
        rlk_thread *thread = NULL;
        CHECK_IS(rlk_thread_create(&(rlk_thread_options){.size = sizeof(rlk_thread_options)}, &thread), 0);
        CHECK_IS(rlk_thread_start(thread), 0);
        CHECK_IS(rlk_loop_stop(rlk_thread_loop(thread)), 0);
        int status = rlk_thread_join(thread, UINT64_C(30000000000));
        CHECK_IS(status, 0);
        rlk_thread_release(thread);
        if (status != 0)
            return;
    }
}

/* A thread whose source stops it, and gives it work before and after that. */
struct stopper {
    rlk_thread *thread;
    rlk_work before, after;
};

static void stop_between(rlk_item *source, void *context) {
    struct stopper *stopper = context;
    (void)source;
    CHECK_IS(rlk_loop_perform_work(NULL, &stopper->before), 0);
    CHECK_IS(rlk_thread_stop(stopper->thread, RLK_ENDING_NOW), 0);
    CHECK_IS(rlk_loop_perform_work(NULL, &stopper->after), 0);
}

static int add_a_stopper(rlk_loop *loop, void *context) {
    rlk_item *source = NULL;
    rlk_source_options options = {.size = sizeof options, .perform = stop_between, .context = context};
    CHECK_IS(rlk_source_create(&options, &source), 0);
    CHECK_IS(rlk_loop_add(loop, source, NULL), 1);
    CHECK_IS(rlk_source_signal(source), 0);
    rlk_item_release(source);
    return 0;
}

/* What waits is released without having been called, which would count, too. */
static void test_RLK_RESIDENT_31_stop_now_in_a_callout(void) {
    int before = 0, after = 0;
    struct stopper stopper = {.before = {.size = sizeof(rlk_work), .perform = model_count, .context = &before},
        .after = {.size = sizeof(rlk_work), .perform = model_count, .context = &after}};
    stopper.before.release = stopper.after.release = model_count;
    rlk_thread_options options = {.size = sizeof options, .set_up = add_a_stopper, .context = &stopper};
    CHECK_IS(rlk_thread_create(&options, &stopper.thread), 0);
    CHECK_IS(rlk_thread_start(stopper.thread), 0);
    CHECK_IS(rlk_thread_join(stopper.thread, RLK_TIME_FOREVER), 0);
    CHECK_IS(before, 1);
    CHECK_IS(after, 1);
    rlk_thread_release(stopper.thread);
}

static sem_t is_over;

static void ignore(rlk_item *source, void *context) {
    (void)source, (void)context;
}
static void tell(void *context) {
    (void)context;
    sem_post(&is_over);
}

/* Its source's context is released when the loop ends. */
static int add_a_source(rlk_loop *loop, void *context) {
    rlk_item *source = NULL;
    rlk_source_options options = {.size = sizeof options, .perform = ignore, .release = tell};
    (void)context;
    CHECK_IS(rlk_source_create(&options, &source), 0);
    CHECK_IS(rlk_loop_add(loop, source, NULL), 1);
    rlk_item_release(source);
    return 0;
}

static void test_the_last_release_stops_it(void) {
    int performed = 0;
    rlk_thread *thread = NULL;
    rlk_thread_options options = {.size = sizeof options, .set_up = add_a_source};
    rlk_work work = {.size = sizeof work, .perform = model_count, .context = &performed};
    CHECK_IS(sem_init(&is_over, 0, 0), 0);
    CHECK_IS(rlk_thread_create(&options, &thread), 0);
    CHECK_IS(rlk_thread_start(thread), 0);
    rlk_loop *loop = rlk_loop_retain(rlk_thread_loop(thread));
    CHECK_IS(rlk_thread_perform(thread, &work), 0);
    rlk_thread_release(thread);
    while (sem_wait(&is_over) != 0) {
    }
    CHECK_IS(performed, 1);
    CHECK(!rlk_loop_is_current(loop));
    rlk_loop_release(loop);
}

static void test_RLK_C_2_bad_threads(void) {
    static const char *const two[] = {"one", "two"};
    struct set_up is = {.status = -ENOSPC};
    rlk_thread *thread = NULL;
    rlk_work work = {.size = sizeof work, .perform = model_count, .context = &is, .release = released};
    rlk_thread_options options = {.size = sizeof options, .set_up = set_up, .context = &is, .release = released};
    CHECK_IS(rlk_thread_create(NULL, &thread), -EINVAL);
    CHECK_IS(rlk_thread_create(&options, NULL), -EINVAL);
    options.name = NO_MODE;
    CHECK_IS(rlk_thread_create(&options, &thread), -EINVAL);
    options.name = NULL;
    options.size--;
    CHECK_IS(rlk_thread_create(&options, &thread), -EINVAL);
    CHECK(thread == NULL);
    CHECK_IS(is.released, 0);
    options.size++;
    CHECK_IS(rlk_thread_create(&options, &thread), 0);
    CHECK_IS(rlk_thread_stop(thread, (rlk_ending)5), -EINVAL);
    CHECK_IS(rlk_thread_perform(thread, NULL), -EINVAL);
    work.modes = two, work.mode_count = 2;
    CHECK_IS(rlk_thread_perform(thread, &work), -EINVAL);
    CHECK_IS(rlk_thread_start(thread), -ENOSPC);
    CHECK_IS(rlk_thread_join(thread, RLK_TIME_FOREVER), 0);
    rlk_thread_release(thread);
    CHECK_IS(is.called, 1);
    CHECK_IS(is.released, 1);
    options.stack_size = 1;
    CHECK_IS(rlk_thread_create(&options, &thread), 0);
    CHECK_IS(rlk_thread_start(thread), -EINVAL);
    rlk_thread_release(thread);
    CHECK_IS(is.called, 1);
    CHECK_IS(is.released, 2);
    CHECK_IS(rlk_thread_start(NULL), -EINVAL);
    CHECK_IS(rlk_thread_stop(NULL, RLK_ENDING_NOW), -EINVAL);
    CHECK_IS(rlk_thread_join(NULL, 0), -EINVAL);
    CHECK(rlk_thread_loop(NULL) == NULL && !rlk_thread_is_running(NULL));
    rlk_thread_release(NULL);
}

static void test_RLK_C_15_a_thread_without_descriptors(void) {
    struct set_up is = {.called = 0};
    rlk_thread *thread = NULL;
    rlk_thread_options options = {.size = sizeof options, .set_up = set_up, .context = &is, .release = released};
    CHECK_IS(rlk_thread_create(&options, &thread), 0);
    model_begin_shortage();
    CHECK_IS(rlk_thread_start(thread), -EMFILE);
    model_end_shortage();
    CHECK_IS(rlk_thread_join(thread, RLK_TIME_FOREVER), 0);
    CHECK_IS(rlk_thread_start(thread), -EALREADY);
    rlk_thread_release(thread);
    CHECK(is.called == 0 && is.released == 1);
}

/* ---- threads that are cancelled while they sleep in their loop ---- */

enum { FOREVER, LIMITED, UNTIL_STOPPED, NESTED, KINDS };

struct sleeper {
    int kind, released;
    rlk_loop *loop;
};

static void never(rlk_item *timer, void *context) {
    (void)timer, (void)context;
    CHECK(!"a timer of tomorrow fires");
}
static void release_sleeper(void *context) {
    ++((struct sleeper *)context)->released;
}
static uint64_t in_an_hour(void) {
    return rlk_now(RLK_CLOCK_MONOTONIC) + UINT64_C(3600000000000);
}

static void run_inside(void *context) {
    (void)context;
    rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false);
    CHECK(!"a run inside goes on");
}

static void *sleep_in_loop(void *context) {
    struct sleeper *self = context;
    rlk_item *timer = NULL;
    rlk_timer_options options = {.size = sizeof options,
        .fire = never,
        .context = self,
        .release = release_sleeper,
        .fire_date_ns = in_an_hour()};
    self->loop = rlk_loop_retain(rlk_loop_current());
    CHECK_IS(rlk_timer_create(&options, &timer), 0);
    CHECK_IS(rlk_loop_add(NULL, timer, RLK_MODE_COMMON), 1);
    rlk_item_release(timer);
    if (self->kind == NESTED)
        CHECK_IS(rlk_loop_perform(NULL, NULL, run_inside, NULL), 0);
    if (self->kind == UNTIL_STOPPED)
        rlk_loop_run_until_stopped(NULL, NULL);
    else
        rlk_loop_run_in_mode(NULL, NULL, self->kind == LIMITED ? in_an_hour() : RLK_TIME_FOREVER, false);
    CHECK(!"a cancelled thread goes on");
    return NULL;
}

#ifndef __has_feature
#define __has_feature(name) 0
#endif

/* AddressSanitizer takes the stack of a cancelled thread for one that is still in use. ThreadSanitizer misses the ends of the
 * functions that the cancellation unwinds. */
static bool may_cancel(void) {
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) || defined(__SANITIZE_THREAD__) ||               \
    __has_feature(thread_sanitizer)
    printf("skipped 1: RLK-C-21: sanitizers know no cancelled threads\n");
    return false;
#else
    return true;
#endif
}

static void test_RLK_C_21_a_sleeping_thread_is_cancelled(void) {
    if (!may_cancel())
        return;
    for (int i = 0; i < 5 * KINDS; i++) {
        struct sleeper self = {.kind = i % KINDS};
        pthread_t thread;
        void *result = NULL;
        CHECK_IS(pthread_create(&thread, NULL, sleep_in_loop, &self), 0);
        CHECK_IS(pthread_cancel(thread), 0);
        CHECK_IS(pthread_join(thread, &result), 0);
        CHECK(result == PTHREAD_CANCELED);
        CHECK_IS(self.released, 1);
        CHECK(rlk_loop_has_ended(self.loop));
        CHECK_IS(rlk_loop_wake_up(self.loop), -ESHUTDOWN);
        rlk_loop_release(self.loop);
    }
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_FINISHED); /* this thread's loop is as it was */
}

const model_test *model_thread_tests(void) {
    static const model_test tests[] = {
        {"threads", test_threads},
        {"work before the stop", test_work_before_the_stop},
        {"stop now", test_stop_now},
        {"RLK-RESIDENT-14 a stop directly after the start", test_RLK_RESIDENT_14_a_stop_directly_after_the_start},
        {"RLK-RESIDENT-31 stop now in a callout", test_RLK_RESIDENT_31_stop_now_in_a_callout},
        {"the last release stops it", test_the_last_release_stops_it},
        {"RLK-C-15 a thread without descriptors", test_RLK_C_15_a_thread_without_descriptors},
        {"RLK-C-2 bad threads", test_RLK_C_2_bad_threads},
        {"RLK-C-21 a sleeping thread is cancelled", test_RLK_C_21_a_sleeping_thread_is_cancelled},
        {NULL, NULL},
    };
    return tests;
}

#include <fcntl.h>
#include <semaphore.h>
#include <unistd.h>

#include "model.h"

/* Each option of a structure does what it says, alone too, and each function takes all that it is given. */

/* ---- sources ---- */

struct hooks {
    int scheduled, cancelled;
};

static void no_perform(rlk_item *item, void *context) {
    (void)item, (void)context;
}
static void schedule(rlk_loop *loop, const char *mode, void *context) {
    CHECK(loop == rlk_loop_current() && strcmp(mode, "panel") == 0);
    ((struct hooks *)context)->scheduled++;
}
static void cancel(rlk_loop *loop, const char *mode, void *context) {
    CHECK(loop == rlk_loop_current() && strcmp(mode, "panel") == 0);
    ((struct hooks *)context)->cancelled++;
}

static void test_either_hook_alone(void) {
    for (int has_cancel = 0; has_cancel < 2; has_cancel++) {
        struct hooks hooks = {.scheduled = 0};
        rlk_item *source = NULL;
        rlk_source_options options = {.size = sizeof options, .perform = no_perform, .context = &hooks};
        options.schedule = has_cancel ? NULL : schedule;
        options.cancel = has_cancel ? cancel : NULL;
        CHECK_IS(rlk_source_create(&options, &source), 0);
        CHECK_IS(rlk_loop_add(NULL, source, "panel"), 1);
        CHECK_IS(hooks.scheduled, !has_cancel);
        CHECK_IS(hooks.cancelled, 0);
        CHECK_IS(rlk_loop_remove(NULL, source, "panel"), 1);
        CHECK_IS(hooks.scheduled, !has_cancel);
        CHECK_IS(hooks.cancelled, has_cancel);
        rlk_item_release(source);
    }
}

struct line {
    char text[8];
    int count;
};

static void write_a(rlk_item *source, void *context) {
    struct line *line = context;
    (void)source;
    line->text[line->count++] = 'a';
}
static void write_b(rlk_item *source, void *context) {
    struct line *line = context;
    (void)source;
    line->text[line->count++] = 'b';
}

static void test_the_order_of_sources(void) {
    struct line line = {.count = 0};
    const rlk_source_fn functions[] = {write_b, write_a};
    rlk_item *sources[2];
    for (int i = 0; i < 2; i++) {
        rlk_source_options options = {.size = sizeof options, .perform = functions[i], .context = &line};
        options.order = i == 0 ? 2 : -1;
        CHECK_IS(rlk_source_create(&options, &sources[i]), 0);
        CHECK_IS(rlk_loop_add(NULL, sources[i], NULL), 1);
        CHECK_IS(rlk_source_signal(sources[i]), 0);
    }
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(strcmp(line.text, "ab"), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_IS(rlk_item_invalidate(sources[i]), 0);
        rlk_item_release(sources[i]);
    }
}

/* ---- descriptors ---- */

static void count_ready(rlk_item *source, uint32_t readiness, void *context) {
    (void)source;
    CHECK_IS(readiness, RLK_READABLE);
    ++*(int *)context;
}

/* Whether a run calls the source. Nothing else happens in the mode. */
static bool is_called(const int *calls) {
    int before = *calls;
    int result = rlk_loop_run_in_mode(NULL, NULL, 0, true);
    CHECK_IS(result, *calls > before ? RLK_RUN_HANDLED_SOURCE : RLK_RUN_TIMED_OUT);
    return *calls > before;
}

/* The bytes stay in the pipe. */
static void test_triggers(void) {
    static const struct {
        rlk_trigger trigger;
        bool without_news, with_news;
    } wanted[] = {
        {RLK_TRIGGER_LEVEL, true, true}, {RLK_TRIGGER_EDGE, false, true}, {RLK_TRIGGER_ONE_SHOT, false, false}};
    for (int i = 0; i < 3; i++) {
        int ends[2], calls = 0;
        rlk_item *source = NULL;
        CHECK_IS(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        rlk_descriptor_options options = {.size = sizeof options, .ready = count_ready, .context = &calls};
        options.descriptor = ends[0], options.interest = RLK_READABLE, options.trigger = wanted[i].trigger;
        CHECK_IS(rlk_descriptor_create(&options, &source), 0);
        CHECK_IS(rlk_loop_add(NULL, source, NULL), 1);
        CHECK(!is_called(&calls));
        CHECK_IS(write(ends[1], "x", 1), 1);
        CHECK(is_called(&calls));
        CHECK_IS(is_called(&calls), wanted[i].without_news);
        CHECK_IS(write(ends[1], "x", 1), 1);
        CHECK_IS(is_called(&calls), wanted[i].with_news);
        CHECK_IS(rlk_descriptor_set_interest(source, RLK_READABLE), 0);
        CHECK(is_called(&calls));
        CHECK_IS(rlk_item_invalidate(source), 0);
        rlk_item_release(source);
        CHECK(fcntl(ends[0], F_GETFD) >= 0); /* it is borrowed */
        close(ends[0]), close(ends[1]);
    }
}

/* ---- lists of modes ---- */

static int perform_after_zero(rlk_loop *loop, const rlk_work *work) {
    return rlk_loop_perform_after(loop, 0, 0, work, NULL);
}

/* Work waits for whichever of its modes runs first, and runs once. */
static void test_each_function_takes_several_modes(void) {
    static int (*const functions[])(rlk_loop *, const rlk_work *) = {
        rlk_loop_perform_work, rlk_loop_enqueue_work, rlk_loop_perform_as_source, perform_after_zero};
    static const char *const modes[] = {"one", "two", "three"};
    for (int i = 0; i < 4; i++)
        for (int first = 0; first < 3; first++) {
            int performed = 0;
            rlk_work work = {.size = sizeof work, .perform = model_count, .context = &performed};
            work.modes = modes, work.mode_count = 3;
            CHECK_IS(functions[i](NULL, &work), 0);
            rlk_loop_run_in_mode(NULL, NULL, 0, false);
            CHECK_IS(performed, 0);
            rlk_loop_run_in_mode(NULL, modes[first], 0, false);
            CHECK_IS(performed, 1);
            for (int later = 0; later < 3; later++)
                CHECK_IS(rlk_loop_run_in_mode(NULL, modes[later], 0, false), RLK_RUN_FINISHED);
            CHECK_IS(performed, 1);
        }
}

/* ---- threads ---- */

static void read_name(void *context) {
    CHECK_IS(pthread_getname_np(pthread_self(), context, 16), 0);
}

static void test_the_name_of_a_thread_and_the_mode_of_its_work(void) {
    int performed = 0, dropped = 0;
    char name[16] = "";
    const char *elsewhere = "elsewhere";
    rlk_thread *thread = NULL;
    rlk_thread_options options = {.size = sizeof options, .name = "option-model"};
    rlk_work work = {.size = sizeof work, .perform = model_count, .context = &dropped, .release = model_count};
    CHECK_IS(rlk_thread_create(&options, &thread), 0);
    CHECK_IS(rlk_thread_start(thread), 0);
    CHECK_IS(rlk_loop_perform_and_wait(rlk_thread_loop(thread), NULL, RLK_TIME_FOREVER, read_name, name), 0);
    CHECK_IS(strcmp(name, "option-model"), 0);
    work.modes = &elsewhere, work.mode_count = 1;
    CHECK_IS(rlk_thread_perform(thread, &work), 0);
    work = (rlk_work){.size = sizeof work, .perform = model_count, .context = &performed};
    CHECK_IS(rlk_thread_perform(thread, &work), 0);
    CHECK_IS(rlk_thread_stop(thread, RLK_ENDING_AFTER_DUE_WORK), 0);
    CHECK_IS(rlk_thread_join(thread, RLK_TIME_FOREVER), 0);
    CHECK_IS(performed, 1);
    CHECK_IS(dropped, 1); /* released alone: its mode has not run */
    rlk_thread_release(thread);
}

static int measure_stack(rlk_loop *loop, void *context) {
    pthread_attr_t attributes;
    void *address;
    (void)loop;
    CHECK_IS(pthread_getattr_np(pthread_self(), &attributes), 0);
    CHECK_IS(pthread_attr_getstack(&attributes, &address, context), 0);
    return pthread_attr_destroy(&attributes);
}

/* Less than the system's default, and more. */
static void test_the_stack_of_a_thread(void) {
    static const size_t sizes[] = {1 << 20, 64 << 20}, beside = 4 << 20; /* thread-local variables are on it */
    for (int i = 0; i < 2; i++) {
        size_t measured = 0;
        rlk_thread *thread = NULL;
        rlk_thread_options options = {.size = sizeof options, .set_up = measure_stack, .context = &measured};
        options.stack_size = sizes[i];
        CHECK_IS(rlk_thread_create(&options, &thread), 0);
        CHECK_IS(rlk_thread_start(thread), 0);
        CHECK(measured >= sizes[i] && measured < sizes[i] + beside);
        CHECK_IS(rlk_thread_stop(thread, RLK_ENDING_NOW), 0);
        CHECK_IS(rlk_thread_join(thread, RLK_TIME_FOREVER), 0);
        rlk_thread_release(thread);
    }
}

/* ---- time limits ---- */

struct stay {
    rlk_item *source;
    sem_t has_begun, may_end;
};

static void no_work(void *context) {
    (void)context;
}
static void await(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) {
    }
}

/* Not for ever: a wait without a limit shall end, too. */
static void stay(rlk_item *source, void *context) {
    struct stay *stay = context;
    struct timespec latest;
    (void)source;
    sem_post(&stay->has_begun);
    clock_gettime(CLOCK_REALTIME, &latest);
    latest.tv_sec += 60;
    while (sem_timedwait(&stay->may_end, &latest) != 0 && errno == EINTR) {
    }
}

static int add_stay(rlk_loop *loop, void *context) {
    struct stay *stay = context;
    CHECK_IS(rlk_loop_add(loop, stay->source, NULL), 1);
    CHECK_IS(rlk_source_signal(stay->source), 0);
    return 0;
}

static void test_a_wait_for_a_callout_has_a_limit(void) {
    struct stay is = {.source = NULL};
    rlk_thread *thread = NULL;
    sem_init(&is.has_begun, 0, 0), sem_init(&is.may_end, 0, 0);
    rlk_source_options source = {.size = sizeof source, .perform = stay, .context = &is};
    rlk_thread_options options = {.size = sizeof options, .set_up = add_stay, .context = &is};
    CHECK_IS(rlk_source_create(&source, &is.source), 0);
    CHECK_IS(rlk_thread_create(&options, &thread), 0);
    CHECK_IS(rlk_thread_start(thread), 0);
    await(&is.has_begun);
    CHECK_IS(rlk_item_invalidate_and_wait(is.source, 0), -ETIMEDOUT);
    CHECK_IS(rlk_item_invalidate_and_wait(is.source, 1), -ETIMEDOUT);
    CHECK_IS(rlk_thread_join(thread, 1), -ETIMEDOUT);
    CHECK_IS(rlk_loop_perform_and_wait(rlk_thread_loop(thread), NULL, 1, no_work, NULL), -ETIMEDOUT);
    sem_post(&is.may_end);
    CHECK_IS(rlk_item_invalidate_and_wait(is.source, RLK_TIME_FOREVER), 0);
    CHECK_IS(rlk_thread_stop(thread, RLK_ENDING_NOW), 0);
    CHECK_IS(rlk_thread_join(thread, RLK_TIME_FOREVER), 0);
    rlk_thread_release(thread);
    rlk_item_release(is.source);
    sem_destroy(&is.has_begun), sem_destroy(&is.may_end);
}

struct question {
    rlk_loop *loop;
    int status;
};

enum { TOO_LATE_S = 20 };

static void *ask_in_panel(void *context) {
    struct question *question = context;
    question->status =
        rlk_loop_perform_and_wait(question->loop, "panel", TOO_LATE_S * UINT64_C(1000000000), model_stop, NULL);
    return NULL;
}

/* The loop runs that mode alone. */
static void test_a_wait_for_work_has_a_mode(void) {
    struct question question = {.loop = rlk_loop_current(), .status = 1};
    rlk_item *keeper = model_keeper();
    pthread_t thread;
    uint64_t latest_ns = rlk_now(RLK_CLOCK_MONOTONIC) + TOO_LATE_S * UINT64_C(1000000000);
    CHECK_IS(rlk_loop_add(NULL, keeper, "panel"), 1);
    CHECK_IS(pthread_create(&thread, NULL, ask_in_panel, &question), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, "panel", latest_ns, false), RLK_RUN_STOPPED);
    CHECK_IS(pthread_join(thread, NULL), 0);
    CHECK_IS(question.status, 0);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
}

const model_test *model_option_tests(void) {
    static const model_test tests[] = {
        {"either hook alone", test_either_hook_alone},
        {"the order of sources", test_the_order_of_sources},
        {"triggers", test_triggers},
        {"each function takes several modes", test_each_function_takes_several_modes},
        {"the name of a thread, and the mode of its work", test_the_name_of_a_thread_and_the_mode_of_its_work},
        {"the stack of a thread", test_the_stack_of_a_thread},
        {"a wait for work has a mode", test_a_wait_for_work_has_a_mode},
        {"a wait for a callout has a limit", test_a_wait_for_a_callout_has_a_limit},
        {NULL, NULL},
    };
    return tests;
}

#include "model.h"

#include <stdatomic.h>
#include <sys/resource.h>

static atomic_int failures;
static char words[512];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void model_fail(const char *file, int line, const char *text, long long got, long long wanted) {
    pthread_mutex_lock(&lock);
    if (atomic_fetch_add(&failures, 1) == 0)
        snprintf(words, sizeof words, "%s:%d: %s: %lld, not %lld", file, line, text, got, wanted);
    pthread_mutex_unlock(&lock);
}

struct call {
    void (*run)(void *);
    void *context;
};

static void *call(void *context) {
    struct call *call = context;
    call->run(call->context);
    return NULL;
}

void model_on_thread(void (*run)(void *), void *context) {
    pthread_t thread;
    struct call what = {run, context};
    int status = pthread_create(&thread, NULL, call, &what);
    CHECK_IS(status, 0);
    if (status == 0)
        pthread_join(thread, NULL);
}

void model_count(void *context) {
    ++*(int *)context;
}

void model_stop(void *context) {
    (void)context;
    CHECK_IS(rlk_loop_stop(NULL), 0);
}

static void take_loop(void *context) {
    *(rlk_loop **)context = rlk_loop_retain(rlk_loop_current());
}

rlk_loop *model_ended_loop(void) {
    rlk_loop *loop = NULL;
    model_on_thread(take_loop, &loop);
    CHECK(rlk_loop_has_ended(loop));
    return loop;
}

static rlim_t limit;

static void set_limit(rlim_t count) {
    struct rlimit now;
    CHECK_IS(getrlimit(RLIMIT_NOFILE, &now), 0);
    limit = now.rlim_cur;
    now.rlim_cur = count;
    CHECK_IS(setrlimit(RLIMIT_NOFILE, &now), 0);
}

void model_begin_shortage(void) {
    set_limit(0);
}

void model_end_shortage(void) {
    set_limit(limit);
}

static void ignore(rlk_item *source, void *context) {
    (void)source, (void)context;
}

rlk_item *model_keeper(void) {
    rlk_item *keeper = NULL;
    rlk_source_options options = {.size = sizeof options, .perform = ignore};
    CHECK_IS(rlk_source_create(&options, &keeper), 0);
    CHECK_IS(rlk_loop_add(NULL, keeper, NULL), 1);
    return keeper;
}

struct rlk_loop *model_current_loop(void) {
    return rlk_loop_current();
}

static void run_test(void *context) {
    ((const model_test *)context)->run();
}

int model_run(const model_test *test, char *ret_words, size_t size) {
    atomic_store(&failures, 0);
    words[0] = 0;
    model_on_thread(run_test, (void *)test);
    snprintf(ret_words, size, "%s", words);
    return atomic_load(&failures);
}

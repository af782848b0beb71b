/* Tests of <runloopkit/runloopkit.h> as C hosts use it; XCTest runs them (RunLoopKitCTests). */
#ifndef MODEL_TESTS_H
#define MODEL_TESTS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct model_test {
    const char *name;
    void (*run)(void);
} model_test;

/* A list of tests, which ends with one without a name. */
const model_test *model_loop_tests(void);
const model_test *model_item_tests(void);
const model_test *model_context_tests(void);
const model_test *model_timer_tests(void);
const model_test *model_perform_tests(void);
const model_test *model_source_tests(void);
const model_test *model_host_tests(void);
const model_test *model_thread_tests(void);
const model_test *model_fork_tests(void);
const model_test *model_diagnostics_tests(void);
const model_test *model_size_tests(void);
const model_test *model_option_tests(void);
const model_test *model_message_tests(void);
const model_test *model_port_tests(void);
const model_test *model_guest_tests(void);
const model_test *model_left_tests(void); /* in C++ */
const model_test *model_left_host_tests(void);

/* rlk_loop_current, for Swift, which sees no functions of <runloopkit/...> here. */
struct rlk_loop *model_current_loop(void);

/* Runs this thread's loop; whether model_leave, in a callout of the run, has left it. */
int model_run_until_left(void);
/* The same of a host's preparation, and an observer. */
int model_prepare_until_left(void);
void model_leave(void);

/* Runs a test on a thread of its own, which ends before the return. The number of failures; the first one in words. */
int model_run(const model_test *test, char *ret_words, size_t size);

#ifdef __cplusplus
}
#endif

#endif

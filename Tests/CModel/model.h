/* What the tests of the C face share. A test runs on a new thread, and so with a new loop. */
#ifndef MODEL_H
#define MODEL_H

#include <errno.h>
#include <pthread.h>
#include <runloopkit/runloopkit.h>
#include <stdio.h>
#include <string.h>

#include "model_tests.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counts failures; the first one is told. */
void model_fail(const char *file, int line, const char *text, long long got, long long wanted);

#define CHECK(condition) ((condition) ? (void)0 : model_fail(__FILE__, __LINE__, #condition, 0, 1))
#define CHECK_IS(got, wanted)                                                                                          \
    do {                                                                                                               \
        long long got_ = (long long)(got), wanted_ = (long long)(wanted);                                              \
        if (got_ != wanted_)                                                                                           \
            model_fail(__FILE__, __LINE__, #got, got_, wanted_);                                                       \
    } while (0)

/* No UTF-8. */
#define NO_MODE "\xff"

/* Runs a function on a new thread and waits for the thread's end. */
void model_on_thread(void (*run)(void *), void *context);
/* A context that counts: as a release function, and as work. */
void model_count(void *context);
/* As work and as a timer's: stops the calling thread's loop. */
void model_stop(void *context);
/* A loop whose thread has ended; the caller releases it. */
rlk_loop *model_ended_loop(void);
/* From now on the process gets no new descriptor; the caller ends that before the test does. */
void model_begin_shortage(void);
void model_end_shortage(void);
/* A source that does nothing, in the default mode of this thread's loop. The caller invalidates and releases it. */
rlk_item *model_keeper(void);

#ifdef __cplusplus
}
#endif

#endif

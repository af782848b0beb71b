/**
 * A scripted model: the functions of <runloopkit/host.h> and <runloopkit/loop.h> that <crunloop/adapters/model_guest.h>
 * calls. Each test decides what they answer, so that every failure comes exactly where the test wants it. Nothing of
 * the real model is linked.
 */
#ifndef SCRIPTED_MODEL_H
#define SCRIPTED_MODEL_H

#include "harness.h"

#include <runloopkit/host.h>

/** One function of the model. */
typedef struct script {
    int status;         /**< The answer of every call. */
    void (*once)(void); /**< Runs inside of the next call, and only there. */
    int calls;
} script;

struct rlk_loop {
    int references;
    const char *mode; /**< Every call must name it. */
    int descriptor;   /**< Or -errno. */
    uint64_t generation;
    script prepare, work, cancel;
};

static struct rlk_loop model;

/** More calls than any test makes: the guest goes round in circles. */
enum { TOO_MANY = 1000 };

static void check_call(const rlk_loop *loop, const char *mode) {
    CHECK(loop == &model);
    CHECK(model.references > 1); /* the guest's own, beside that of the test */
    CHECK_EQUAL(mode == NULL, model.mode == NULL);
    CHECK(mode == NULL || strcmp(mode, model.mode) == 0);
}

static int play(script *script) {
    void (*once)(void) = script->once;
    script->once = NULL;
    CHECK(++script->calls < TOO_MANY);
    if (once != NULL)
        once();
    return script->status;
}

/** Takes what makes the descriptor readable. */
static void drain(void) {
    uint64_t taken;
    (void)rlc_kernel_default()->read(NULL, model.descriptor, &taken, sizeof taken);
}

/* ---- what the guest calls ---- */

rlk_loop *rlk_loop_current(void) {
    return &model;
}

rlk_loop *rlk_loop_retain(rlk_loop *loop) {
    CHECK(loop == &model);
    model.references++;
    return loop;
}

void rlk_loop_release(rlk_loop *loop) {
    CHECK(loop == &model && model.references > 1);
    model.references--;
}

int rlk_loop_host_descriptor(rlk_loop *loop, const char *mode, uint64_t *ret_generation) {
    check_call(loop, mode);
    if (model.descriptor >= 0)
        *ret_generation = model.generation;
    return model.descriptor;
}

int rlk_loop_prepare_to_wait(rlk_loop *loop, const char *mode) {
    check_call(loop, mode);
    return play(&model.prepare);
}

/** A busy model leaves its descriptor readable. */
int rlk_loop_run_pending_work(rlk_loop *loop, const char *mode) {
    check_call(loop, mode);
    if (model.work.status != -EBUSY)
        drain();
    return play(&model.work);
}

int rlk_loop_cancel_wait(rlk_loop *loop, const char *mode) {
    check_call(loop, mode);
    return play(&model.cancel);
}

#endif

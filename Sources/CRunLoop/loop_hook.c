/* Hooks: callouts before and after the poll of a pass. */
#include "loop_internal.h"
#include "memory.h"

#include <crunloop/loop_hook.h>
#include <errno.h>

struct rlc_hook {
    rlc_loop *loop;
    rlc_prepare_fn prepare_fn;
    rlc_check_fn check_fn;
    void *context;
    bool is_prepared; /**< The pass will call the check callout. */
    bool is_removed;  /**< The memory is kept, because a walk over the list may still reach the hook. */
    TAILQ_ENTRY(rlc_hook) link;
};

/* ---- adding, removing ---- */

int rlc_loop_add_hook(
    rlc_loop *loop, rlc_prepare_fn prepare_fn, rlc_check_fn check_fn, void *context, rlc_hook **ret_hook) {
    RLC_REQUIRE(loop);
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    if (prepare_fn == NULL && check_fn == NULL)
        return -EINVAL;
    int status = rlc_loop_ensure_wakeup(loop); /* a hook is something to sleep for */
    if (status < 0)
        return status;
    rlc_hook *hook = rlc_memory_zeroed(rlc_memory_of(loop->kernel), sizeof *hook);
    if (hook == NULL)
        return -ENOMEM;
    hook->loop = loop;
    hook->prepare_fn = prepare_fn;
    hook->check_fn = check_fn;
    hook->context = context;
    TAILQ_INSERT_TAIL(&loop->hooks, hook, link);
    loop->hook_count++;
    loop->has_prelude = true;
    rlc_loop_end_blind_skips(loop);
    *ret_hook = hook;
    return 0;
}

static void free_hook(rlc_hook *hook) {
    rlc_loop *loop = hook->loop;
    TAILQ_REMOVE(&loop->hooks, hook, link);
    rlc_memory_free(rlc_memory_of(loop->kernel), hook);
}

void rlc_hook_remove(rlc_hook *hook) {
    if (hook == NULL || hook->is_removed)
        return;
    hook->loop->hook_count--;
    hook->is_removed = true;
    hook->is_prepared = false;
    if (hook->loop->hook_depth == 0)
        free_hook(hook);
}

static void free_hooks(rlc_loop *loop, bool also_live) {
    for (rlc_hook *hook = TAILQ_FIRST(&loop->hooks), *next; hook != NULL; hook = next) {
        next = TAILQ_NEXT(hook, link);
        if (also_live || hook->is_removed)
            free_hook(hook);
    }
}

void rlc_loop_free_hooks(rlc_loop *loop) {
    free_hooks(loop, true);
}

/* ---- calling ---- */

__attribute__((noinline)) /* Stack traces and profiles tell the kinds of callouts apart by these names. */
static void
rlc_calling_out_to_a_prepare_hook(rlc_hook *hook) {
    if (hook->prepare_fn != NULL)
        hook->prepare_fn(hook->loop, hook, hook->context);
    hook->is_prepared = !hook->is_removed; /* even if a nested run has checked it */
}

__attribute__((noinline)) static void rlc_calling_out_to_a_check_hook(rlc_hook *hook) {
    hook->is_prepared = false;
    if (hook->check_fn != NULL)
        hook->check_fn(hook->loop, hook, hook->context);
    __asm__ volatile(""); /* no tail call, so that stack traces show this frame */
}

void rlc_loop_begin_hooks(rlc_loop *loop) {
    loop->hook_depth++;
}

void rlc_loop_end_hooks(rlc_loop *loop) {
    if (--loop->hook_depth == 0)
        free_hooks(loop, false);
}

/* A walk that makes callouts ends at the hook that was the last one when it began: that hook stays in the list. */

/**
 * Calls the prepare callouts of all hooks; with `again`, only of those that were checked since they were prepared.
 * Returns false in a child of fork(2).
 */
static bool call_prepares(rlc_loop *loop, rlc_hook *last, bool again) {
    for (rlc_hook *hook = TAILQ_FIRST(&loop->hooks); hook != NULL; hook = TAILQ_NEXT(hook, link)) {
        if (!hook->is_removed && !(again && hook->is_prepared))
            rlc_calling_out_to_a_prepare_hook(hook);
        if (rlc_loop_is_forked(loop))
            return false;
        if (hook == last)
            break;
    }
    return true;
}

/** True if all hooks up to `last` are prepared; if `last` is NULL, all hooks of the list. */
static bool are_prepared(const rlc_loop *loop, const rlc_hook *last) {
    for (const rlc_hook *hook = TAILQ_FIRST(&loop->hooks); hook != NULL; hook = TAILQ_NEXT(hook, link)) {
        if (!hook->is_removed && !hook->is_prepared)
            return false;
        if (hook == last)
            break;
    }
    return true;
}

/**
 * Prepares all hooks. If a run inside of a prepare callout has checked some of them, prepares these once more. Returns
 * whether all are prepared, or -ECHILD.
 */
static int prepare_all(rlc_loop *loop) {
    rlc_hook *last = TAILQ_LAST(&loop->hooks, rlc_hooks);
    if (!call_prepares(loop, last, false))
        return -ECHILD;
    if (!are_prepared(loop, last) && !call_prepares(loop, last, true))
        return -ECHILD;
    return are_prepared(loop, NULL); /* false also if a hook was added meanwhile: it is not prepared */
}

int rlc_loop_call_prepares(rlc_loop *loop) {
    bool had_woken = loop->has_woken;
    loop->has_woken = false;
    int status = prepare_all(loop);
    if (status > 0 && loop->has_woken)
        status = 0; /* a nested run has taken a wake that was meant for this pass */
    loop->has_woken |= had_woken;
    return status;
}

/** Calls the check callouts of the prepared hooks. Returns false in a child of fork(2). */
static bool call_checks(rlc_loop *loop) {
    rlc_hook *last = TAILQ_LAST(&loop->hooks, rlc_hooks);
    for (rlc_hook *hook = TAILQ_FIRST(&loop->hooks); hook != NULL; hook = TAILQ_NEXT(hook, link)) {
        if (hook->is_prepared)
            rlc_calling_out_to_a_check_hook(hook);
        if (rlc_loop_is_forked(loop))
            return false;
        if (hook == last)
            break;
    }
    return true;
}

int rlc_loop_pass_with_hooks(rlc_loop *loop, uint64_t deadline_ns, rlc_outcome *outcome) {
    rlc_loop_begin_hooks(loop);
    /* A run inside of a prepare or check callout may take a wake that was meant for this pass. */
    bool had_woken = loop->has_woken;
    loop->has_woken = false;
    /* A pass that serves the rest of a batch does not poll, so it calls no prepare callouts. */
    int status = rlc_port_set_holds_batch(loop->set) ? 1 : rlc_loop_call_prepares(loop);
    if (status >= 0) {
        /* A prepare callout may have removed the last watch, timer or hook: then there is nothing to sleep for. */
        bool may_sleep = status > 0 && !rlc_loop_is_finished(loop);
        rlc_loop_demand_poll(loop);
        loop->is_prepared = true;
        status = rlc_loop_pass(loop, may_sleep ? deadline_ns : 0, outcome);
        loop->is_prepared = false; /* the pass may have left it set, if the last hook was removed */
    }
    if (status == 0 && !call_checks(loop))
        status = -ECHILD;
    outcome->woken |= loop->has_woken;
    loop->has_woken |= had_woken;
    rlc_loop_end_hooks(loop);
    return status;
}

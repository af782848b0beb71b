/**
 * <crunloop/loop_hook.h>: callouts before and after each poll of an rlc_loop, as libuv's prepare and check handles and
 * libev's ev_prepare and ev_check. With a hook, a library that has its own event loop can be a guest in this one. The
 * prepare callout turns what the library waits for into watches and a timer. The check callout serves what is ready.
 *
 * A pass of a loop with hooks has this order: the prepare callouts, the poll or sleep, the callouts of timers, watches
 * and posts, the check callouts. A loop with hooks leaves out no poll: each pass calls the hooks, even if posts never
 * end [RLC-HOOK-1, RLC-HOOK-5]. A loop without hooks pays nothing for them. In a child of fork(2) no hook is called
 * [RLC-HOOK-7].
 */
#ifndef CRUNLOOP_LOOP_HOOK_H
#define CRUNLOOP_LOOP_HOOK_H

#include <crunloop/loop.h>

RLC_BEGIN_DECLS

/** A hook of a loop, which owns it: see rlc_loop_add_hook. */
typedef struct rlc_hook rlc_hook;

/**
 * The prepare callout of a hook, which the loop calls before it polls the kernel. What the callout changes counts for
 * this poll: a watch is registered, a timer ends the sleep, and a post or a deferred node keeps the loop awake
 * [RLC-HOOK-2]. The callout may call every function of the loop but rlc_loop_destroy.
 *
 * @param loop    The loop.
 * @param hook    The hook. If the callout removes it, the pointer is valid until the callout returns.
 * @param context As given to rlc_loop_add_hook.
 *
 * Thread: [loop].  Re-entry: the callout may run the loop, or have its host run it. The inner run calls all hooks, this
 * one too, so the callout must not nest without end. If inner runs have checked hooks that the pass had prepared, the
 * pass prepares these once more. If inner runs then check some of them again, or if an inner run has used up a wake,
 * the pass does not sleep, and rlc_loop_prepare returns 1 [RLC-HOOK-8]. The pass does not sleep, and rlc_loop_prepare
 * returns 1, also if a prepare callout has added a hook: only the next pass prepares that hook [RLC-HOOK-9].
 */
typedef void (*rlc_prepare_fn)(rlc_loop *loop, rlc_hook *hook, void *context);

/**
 * The check callout of a hook, which the loop calls at the end of the pass. A pass checks only the hooks that it has
 * prepared: not one that was added later, and not one that a nested run has checked [RLC-HOOK-4]. The callout may call
 * every function of the loop but rlc_loop_destroy.
 *
 * @param loop    The loop.
 * @param hook    The hook. If the callout removes it, the pointer is valid until the callout returns.
 * @param context As given to rlc_loop_add_hook.
 *
 * Thread: [loop].  Re-entry: the callout may run the loop. The inner run calls all hooks, this one too.
 */
typedef void (*rlc_check_fn)(rlc_loop *loop, rlc_hook *hook, void *context);

/**
 * Adds a hook. A loop that has a hook is not finished [RLC-HOOK-3]. The loop calls hooks in the order of adding, and a
 * new one from the next pass on. The calls of hooks alone do not end rlc_loop_run_once.
 *
 * A host needs no other calls for hooks: rlc_loop_prepare calls the prepare callouts, and so does rlc_loop_dispatch,
 * whose pass ends with the check callouts. So a prepare callout may be called twice before one check callout
 * [RLC-HOOK-6].
 *
 * @code{.c}
 * #include <crunloop/crunloop.h>
 * #include <stdio.h>
 *
 * static void check(rlc_loop *loop, rlc_hook *hook, void *context) {
 *     (void)loop, (void)context;
 *     puts("a pass ends");
 *     rlc_hook_remove(hook);
 * }
 *
 * int main(void) {
 *     rlc_loop *loop;
 *     rlc_hook *hook;
 *     if (rlc_loop_create(NULL, &loop) < 0 || rlc_loop_add_hook(loop, NULL, check, NULL, &hook) < 0)
 *         return 1;
 *     rlc_loop_run(loop, 0); // one pass
 *     return rlc_loop_destroy(loop);
 * }
 * @endcode
 *
 * @param loop       The loop.
 * @param prepare_fn Called before each poll; NULL: none.
 * @param check_fn   Called at the end of the pass; NULL: none.
 * @param context    For both. The caller owns it, and keeps it until the hook is removed.
 * @param ret_hook   The hook, which the loop owns; valid until rlc_hook_remove or rlc_loop_destroy.
 * @return 0; -EINVAL (both functions are NULL), -ENOMEM; if nothing was added to the loop before, also -EMFILE,
 *         -ENFILE, -ENOSPC. If it fails, no hook was added.
 *
 * Thread: [loop].  Cost: one allocation; two system calls at once if nothing was added to the loop before. From then on
 * each pass polls the kernel, and calls O(hooks) functions.
 */
RLC_API int rlc_loop_add_hook(
    rlc_loop *loop, rlc_prepare_fn prepare_fn, rlc_check_fn check_fn, void *context, rlc_hook **ret_hook);

/**
 * Removes a hook. Neither of its callouts is called afterwards [RLC-HOOK-3].
 *
 * The pointer is invalid afterwards; if a hook's callout makes the call, the pointer is valid until the callout
 * returns. In a child of fork(2) the call only frees memory.
 *
 * @param hook The hook; NULL is allowed.
 *
 * Thread: [loop].  Cost: no system call.
 */
RLC_API void rlc_hook_remove(rlc_hook *hook);

RLC_END_DECLS
#endif

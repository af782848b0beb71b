/*
 * Nested runs, and runs that a C++ exception, another unwinding or longjmp(3) out of a callout has left. Nothing
 * notifies the loop of that. It finds out when an outer run continues, or when a run begins at the same place on the
 * stack or further up. When a run begins further down, the loop finds out only if other data has overwritten the mark
 * of the run that was left.
 */
#include "loop_internal.h"
#include "memory.h"

#include <crunloop_kit/stack.h>
#include <errno.h>

void rlc_loop_leave(rlc_loop *loop, bool is_run) {
    rlc_loop_end_blind_skips(loop); /* events may be left, and the next run may begin much later */
    rlc_outer_run *outer = loop->outer;
    uint64_t stop = atomic_exchange(&loop->stop, outer == NULL ? 0 : outer->stop);
    if (outer == NULL) {
        loop->at = 0;
        rlc_loop_free_removed(loop);
        return;
    }
    if (!is_run)
        atomic_fetch_or(&loop->stop, stop & 1);
    loop->hook_depth = outer->hook_depth;
    loop->at = outer->at;
    loop->callee = outer->callee;
    loop->outer = outer->outer;
    rlc_memory_free(rlc_memory_of(loop->kernel), outer);
}

/**
 * Ends the innermost run, which was left: its callout has ended. A stop that the run has not obeyed is passed on to the
 * run around it, if there is one.
 */
static void end_left(rlc_loop *loop) {
    uintptr_t callee = loop->callee;
    loop->callee = 0;
    loop->hook_depth = 0;
    loop->trusts_batch = false;
    if ((callee & RLC_CALLEE_IS_TIMER) != 0)
        rlc_loop_end_timer(loop, (rlc_timer *)(callee & ~(uintptr_t)RLC_CALLEE_IS_TIMER));
    else if (callee != 0)
        rlc_loop_end_watch(loop, (rlc_watch *)callee);
    rlc_loop_leave(loop, false);
}

void rlc_loop_end_inner(rlc_loop *loop, const rlc_outer_run *outer) {
    while (loop->outer != outer)
        end_left(loop);
}

bool rlc_loop_is_running(rlc_loop *loop, uintptr_t here) {
    while (loop->at != 0 && rlc_kit_is_left(loop->at, here))
        end_left(loop);
    return loop->at != 0;
}

int rlc_loop_nest(rlc_loop *loop, uintptr_t here, bool is_run) {
    bool is_inside = rlc_loop_is_running(loop, here + (uintptr_t)RLC_KIT_BETWEEN_RUNS);
    rlc_outer_run *outer = NULL;
    if (is_inside) {
        outer = rlc_memory_new(rlc_memory_of(loop->kernel), sizeof *outer);
        if (outer == NULL)
            return -ENOMEM;
        if (loop->callee != 0 && (loop->callee & RLC_CALLEE_IS_TIMER) == 0)
            rlc_loop_mute(loop, (rlc_watch *)loop->callee);
        *outer = (rlc_outer_run){loop->outer, loop->at, loop->callee, atomic_load(&loop->stop), loop->hook_depth};
        loop->outer = outer;
        loop->callee = 0;
    }
    if (is_run) {
        uint64_t stop = atomic_exchange(&loop->stop, ++loop->last_serial << 1);
        if (is_inside)
            outer->stop = stop;
    }
    return 0;
}

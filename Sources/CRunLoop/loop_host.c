/* The calls of a host, which sleeps for the loop. */
#include "loop_internal.h"

#include <errno.h>

int rlc_loop_fd(const rlc_loop *loop) {
    RLC_REQUIRE(loop);
    return rlc_port_set_fd(loop->set);
}

RLC_ON_STACK static int call_prepares(rlc_loop *loop) {
    volatile uintptr_t mark;
    if (loop->at != 0 && rlc_loop_nest(loop, (uintptr_t)&mark, false) < 0)
        return -ENOMEM;
    rlc_loop_enter(loop, &mark); /* so that no callout can destroy the loop */
    const rlc_outer_run *outer = loop->outer;
    rlc_loop_begin_hooks(loop);
    int status = rlc_loop_call_prepares(loop);
    rlc_loop_end_hooks(loop);
    rlc_loop_end_inner(loop, outer);
    rlc_loop_leave(loop, false);
    return status;
}

int rlc_loop_prepare(rlc_loop *loop) {
    RLC_REQUIRE(loop);
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    int prepared = loop->hook_count > 0 ? call_prepares(loop) : 1;
    if (prepared < 0)
        return prepared;
    uint64_t rebuilds = rlc_port_set_rebuilds(loop->set);
    rlc_loop_flush_watches(loop);
    if (loop->set->hidden != RLC_NONE_HIDDEN)
        rlc_port_set_poll_ended(loop->set); /* as a wait of the loop would */
    if (rlc_port_set_rebuilds(loop->set) != rebuilds)
        return 1; /* the host has to watch the new instance: see rlc_loop_rebuilds */
    if (prepared == 0 || rlc_loop_has_work(loop) || rlc_loop_has_due_timer(loop))
        return 1;
    int status = rlc_loop_ensure_wakeup(loop);
    loop->has_moved_timers = true; /* reading the first date may have moved timers in the heap */
    if (status == 0)
        status = rlc_loop_get_ready_to_sleep(loop, NULL);
    return status < 0 ? status : status == 0;
}

RLC_ON_STACK int rlc_loop_dispatch(rlc_loop *loop) {
    RLC_REQUIRE(loop);
    volatile uintptr_t mark;
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    if (loop->at != 0 && rlc_loop_nest(loop, (uintptr_t)&mark, false) < 0)
        return -ENOMEM;
    rlc_loop_enter(loop, &mark);
    const rlc_outer_run *outer = loop->outer;
    rlc_outcome outcome = {false, false};
    rlc_loop_demand_poll(loop); /* without a poll the host's descriptor would stay readable */
    int status = rlc_loop_pass(loop, 0, &outcome);
    rlc_loop_end_inner(loop, outer);
    rlc_loop_leave(loop, false);
    return status < 0 ? status : rlc_loop_has_work(loop) || rlc_loop_has_due_timer(loop);
}

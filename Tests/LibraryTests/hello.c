/* A host of the installed library, in what C11 and C++17 have in common: a timer, and whether all versions are one. */
#include <crunloop/crunloop.h>
#include <stdio.h>

static void tick(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)timer, (void)deadline_ns;
    ++*(int *)context;
    rlc_loop_stop(loop);
}

int main(void) {
    int ticks = 0;
    rlc_loop *loop;
    rlc_timer *timer;
    if (rlc_loop_create(NULL, &loop) < 0 || rlc_loop_add_timer(loop, tick, &ticks, &timer) < 0)
        return 1;
    rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC), 0, 0);
    int result = rlc_loop_run(loop, RLC_TIME_FOREVER);
    rlc_loop_destroy(loop);
    printf("%d.%d.%d\n", RLC_VERSION_MAJOR, RLC_VERSION_MINOR, RLC_VERSION_PATCH);
    return result == RLC_RUN_STOPPED && ticks == 1 && rlc_version() == RLC_VERSION ? 0 : 1;
}

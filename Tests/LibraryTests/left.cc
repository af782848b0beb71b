// A host in C++ whose callouts throw: exceptions pass through the library, and the loop goes on.
#include <crunloop/crunloop.h>

#include <cstdio>

namespace {

int thrown, caught, fired;

void fire(rlc_loop *, rlc_timer *, uint64_t, void *) {
    if (++fired <= 2)
        throw ++thrown;
}

void post(rlc_post_node *node, bool ran) {
    (void)node;
    if (ran)
        throw ++thrown;
}

int run(rlc_loop *loop, int (*function)(rlc_loop *, uint64_t), uint64_t deadline_ns) {
    try {
        return function(loop, deadline_ns);
    } catch (int) {
        caught++;
        return 0;
    }
}

int dispatch(rlc_loop *loop, uint64_t) { return rlc_loop_dispatch(loop); }

} // namespace

int main() {
    rlc_loop *loop;
    rlc_timer *timer;
    rlc_post_node node = {};
    node.post_fn = post;
    if (rlc_loop_create(nullptr, &loop) < 0 || rlc_loop_add_timer(loop, fire, nullptr, &timer) < 0)
        return 1;
    rlc_timer_arm(timer, 0, 1000, 0);
    while (fired < 3)
        (void)run(loop, rlc_loop_run_once, RLC_TIME_FOREVER);
    rlc_timer_remove(timer);
    rlc_loop_post(loop, &node);
    (void)run(loop, dispatch, 0);
    int finished = run(loop, rlc_loop_run, RLC_TIME_FOREVER), destroyed = rlc_loop_destroy(loop);
    std::printf("thrown %d, caught %d, finished %d, destroyed %d\n", thrown, caught, finished == RLC_RUN_FINISHED, destroyed == 0);
    return thrown == 3 && caught == 3 && finished == RLC_RUN_FINISHED && destroyed == 0 ? 0 : 1;
}

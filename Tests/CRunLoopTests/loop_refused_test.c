/* What a loop does not take: calls without a callout. */
#include "harness.h"

static void test_RLC_LOOP_20_nothing_without_a_callout(void) {
    rlc_loop *loop;
    rlc_watch *watch = NULL;
    rlc_timer *timer = NULL;
    rlc_hook *hook = NULL;
    rlc_post_node node = {0};
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    CHECK_EQUAL(rlc_loop_add_watch(loop, STDIN_FILENO, RLC_READABLE, NULL, NULL, &watch), -EINVAL);
    CHECK_EQUAL(rlc_loop_add_timer(loop, NULL, NULL, &timer), -EINVAL);
    CHECK_EQUAL(rlc_loop_add_hook(loop, NULL, NULL, NULL, &hook), -EINVAL);
    CHECK_EQUAL(rlc_loop_post(loop, &node), -EINVAL);
    CHECK_EQUAL(rlc_loop_defer(loop, &node), -EINVAL);
    CHECK(watch == NULL && timer == NULL && hook == NULL);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED); /* nothing was added */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

int main(void) {
    RUN(test_RLC_LOOP_20_nothing_without_a_callout);
    return 0;
}

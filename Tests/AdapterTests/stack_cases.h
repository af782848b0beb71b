/**
 * Calls of an adapter on several stacks, as in coroutines. Included by adapters.h, whose cases these are: a call on
 * another stack goes on, and the adapter is freed when it returns.
 */
#include <ucontext.h>

static ucontext_t own_stack, other_stack;

/** Returns when the step has returned, or goes back to the own stack. */
static void run_on_other_stack(void (*step)(void)) {
    static char room[1 << 20];
    CHECK_EQUAL(getcontext(&other_stack), 0);
    other_stack.uc_stack.ss_sp = room;
    other_stack.uc_stack.ss_size = sizeof room;
    other_stack.uc_link = &own_stack;
    makecontext(&other_stack, step, 0);
    CHECK_EQUAL(swapcontext(&own_stack, &other_stack), 0);
}

static void detach_on_other_stack(rlc_post_node *node, bool ran) {
    count_post(node, ran);
    run_on_other_stack(host->detach);
}

static void test_RLC_ADAPT_7_detached_in_a_callout_by_another_stack(void) {
    begin();
    rlc_post_node node = {.post_fn = detach_on_other_stack};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    TURN_UNTIL(calls == 1);
    end();
}

static void go_back_to_own_stack(rlc_post_node *node, bool ran) {
    count_post(node, ran);
    CHECK_EQUAL(swapcontext(&other_stack, &own_stack), 0);
}

static void turn_until_called(void) {
    TURN_UNTIL(calls == 1);
}

static void test_RLC_ADAPT_7_detached_while_a_callout_waits_on_another_stack(void) {
    begin();
    rlc_post_node node = {.post_fn = go_back_to_own_stack};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    run_on_other_stack(turn_until_called);
    CHECK_EQUAL(calls, 1);
    host->detach();
    CHECK_EQUAL(swapcontext(&own_stack, &other_stack), 0);
    end();
}

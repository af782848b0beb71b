/**
 * Callouts that are left by longjmp(3), through a host whose library can be left. Included by adapters.h, whose cases
 * these are.
 */
#include <setjmp.h>

static jmp_buf outside;

static void leave_host(rlc_post_node *node, bool ran) {
    count_post(node, ran);
    longjmp(outside, 1);
}

/** The next iteration, or that after it, calls something that leaves it. */
static void turn_and_leave(void) {
    if (setjmp(outside) == 0)
        for (;;)
            turn(true);
}

/** It goes on, and when it is detached nothing of it is left. */
static void test_RLC_ADAPT_11_a_callout_is_left(void) {
    if (!host->can_be_left)
        return;
    long before = blocks_in_use();
    begin();
    for (int i = 1; i <= 3; i++) {
        rlc_post_node node = {.post_fn = leave_host};
        CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
        turn_and_leave();
        CHECK_EQUAL(calls, i);
    }
    calls = 0;
    serve_hops();
    end();
    CHECK_EQUAL(blocks_in_use(), before);
}

/** Other data now lies where the frames of the left call were. */
static __attribute__((noinline)) void call_further_down(void (*step)(void)) {
    volatile char room[1 << 17];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
    step();
}

static void test_RLC_ADAPT_11_detached_further_down_than_what_was_left(void) {
    if (!host->can_be_left)
        return;
    long before = blocks_in_use();
    begin();
    rlc_post_node node = {.post_fn = leave_host};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    turn_and_leave();
    CHECK_EQUAL(calls, 1);
    call_further_down(host->detach);
    end();
    CHECK_EQUAL(blocks_in_use(), before);
}

static void turn_once(void) {
    turn(true);
}

/** Above or below the one that was left: the adapter is not freed under it. */
static void test_RLC_ADAPT_11_detached_in_a_pass_at_another_depth(void) {
    if (!host->can_be_left)
        return;
    for (int is_deeper = 0; is_deeper < 2; is_deeper++) {
        long before = blocks_in_use();
        begin();
        rlc_post_node nodes[2] = {{.post_fn = leave_host}, {.post_fn = detach_inside}};
        CHECK_EQUAL(rlc_loop_post(loop, &nodes[0]), 0);
        if (is_deeper)
            turn_and_leave();
        else
            call_further_down(turn_and_leave);
        CHECK_EQUAL(calls, 1);
        CHECK_EQUAL(rlc_loop_post(loop, &nodes[1]), 0);
        while (calls < 2)
            is_deeper ? call_further_down(turn_once) : turn_once();
        end();
        CHECK_EQUAL(blocks_in_use(), before);
    }
}

static void leave_preparation(rlc_loop *its_loop, rlc_hook *hook, void *context) {
    (void)its_loop, (void)context;
    calls++;
    rlc_hook_remove(hook);
    longjmp(outside, 1);
}

static void test_RLC_ADAPT_11_a_preparation_is_left(void) {
    rlc_hook *hook;
    if (!host->can_be_left)
        return;
    long before = blocks_in_use();
    begin();
    CHECK_EQUAL(rlc_loop_add_hook(loop, leave_preparation, NULL, NULL, &hook), 0);
    turn_and_leave();
    CHECK_EQUAL(calls, 1);
    calls = 0;
    serve_hops();
    end();
    CHECK_EQUAL(blocks_in_use(), before);
}

/** The adapter is not freed under the pass around the one that was left. */
static void leave_inside_and_detach(rlc_post_node *node, bool ran) {
    count_post(node, ran);
    rlc_post_node inner = {.post_fn = leave_host};
    CHECK_EQUAL(rlc_loop_post(loop, &inner), 0);
    turn_and_leave();
    host->detach();
}

static void test_RLC_ADAPT_11_a_pass_inside_of_another_one_is_left(void) {
    if (!host->can_be_left || !host->nests)
        return;
    long before = blocks_in_use();
    begin();
    rlc_post_node node = {.post_fn = leave_inside_and_detach};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    TURN_UNTIL(calls == 2);
    end();
    CHECK_EQUAL(blocks_in_use(), before);
}

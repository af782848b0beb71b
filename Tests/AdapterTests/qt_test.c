/* <crunloop/adapters/qt.h>: with Qt's dispatcher on GLib, and with its own if the environment has QT_NO_GLIB. */
#include "adapters.h"

#include "qt_host.h"

static unsigned long passes(void) {
    return count_of(&kernel.waits) + (unsigned long)calls;
}

/** A pass is posted, and would come when the adapter is gone. */
static void post_a_pass_and_detach(rlc_post_node *node, bool ran) {
    rlc_post_node *other = node + 1;
    count_post(node, ran);
    CHECK_EQUAL(rlc_loop_defer(loop, other), 0);
    qt_tell_awake();
    host->detach();
}

static void test_RLC_ADAPT_7_no_pass_outlives_the_adapter(void) {
    begin();
    int before = qt_late_passes();
    rlc_post_node nodes[2] = {{.post_fn = post_a_pass_and_detach}, {.post_fn = count_post}};
    CHECK_EQUAL(rlc_loop_post(loop, &nodes[0]), 0);
    TURN_UNTIL(calls == 1);
    for (int i = 0; i < 5; i++)
        turn(false);
    CHECK_EQUAL(calls, 1);
    CHECK_EQUAL(qt_late_passes(), before);
    host->attach(loop);
    TURN_UNTIL(calls == 2);
    end();
}

static void test_RLC_ADAPT_7_a_thread_without_a_dispatcher_is_refused(void) {
    begin();
    CHECK_EQUAL(qt_attach_elsewhere(loop), -EINVAL);
    end();
}

int main(void) {
    static const host_ops ops = {"qt", qt_nothing, qt_nothing, qt_attach, qt_detach, qt_turn, qt_add_load,
        qt_remove_load, qt_after, .nests = true, .fails_with = qt_fails_with, .turns_of_a_hop = 3, .idle_turns = 3};
    qt_begin(passes);
    qt_turn(false); /* what it opens once */
    run_adapter_cases(&ops);
    RUN(test_RLC_ADAPT_4_a_loop_that_has_failed_ends_no_sleep);
    RUN(test_RLC_ADAPT_7_no_pass_outlives_the_adapter);
    RUN(test_RLC_ADAPT_7_a_thread_without_a_dispatcher_is_refused);
    qt_end();
    return 0;
}

/* <crunloop/adapters/qt.h>: with Qt's dispatcher on GLib, and with its own if the environment has QT_NO_GLIB. */
#include "adapters.h"

#include "qt_host.h"

#include <dlfcn.h>

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

static int listeners_left;

static void detach_and_look(rlc_loop *of, rlc_watch *watch, uint32_t ready, void *context) {
    take_bytes(of, watch, ready, context);
    host->detach();
    listeners_left = qt_listeners();
}

static void detach_in_a_post_and_look(rlc_post_node *node, bool ran) {
    detach_inside(node, ran);
    listeners_left = qt_listeners();
}

/** What is detached in a callout hears nothing of Qt, although its objects live until that has returned. */
static void test_RLC_ADAPT_7_what_is_detached_hears_nothing(void) {
    int before = qt_listeners();
    begin();
    int fd = make_counter(0);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, detach_and_look, &fd, &watch), 0);
    turn(false);
    CHECK(qt_listeners() > before);
    bump(fd);
    TURN_UNTIL(calls == 1);
    CHECK_EQUAL(listeners_left, before);
    host->attach(loop);
    rlc_post_node node = {.post_fn = detach_in_a_post_and_look};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    TURN_UNTIL(calls == 2);
    CHECK_EQUAL(listeners_left, before);
    end();
    close(fd);
}

static void test_RLC_ADAPT_7_a_thread_without_a_dispatcher_is_refused(void) {
    begin();
    CHECK_EQUAL(qt_attach_elsewhere(loop), -EINVAL);
    end();
}

typedef int iteration_fn(void *context, int may_block);

/** As GLib's own loops do, such as that of a GTK dialogue: Qt tells nobody of it. After a pass of an event, and after others. */
static void test_RLC_ADAPT_1_others_iterate_the_context_of_qt(void) {
    iteration_fn *iterate = NULL;
    *(void **)&iterate = dlsym(RTLD_DEFAULT, "g_main_context_iteration"); /* of the GLib that Qt has */
    if (getenv("QT_NO_GLIB") != NULL || iterate == NULL)
        return;
    begin();
    int fd = make_counter(0);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, take_bytes, &fd, &watch), 0);
    for (int i = 0; i < 4; i++) {
        is_endless = i % 2 == 1; /* posted in a callout: an event makes the pass that follows */
        endless_node = (rlc_post_node){.post_fn = post_again};
        CHECK_EQUAL(rlc_loop_post(loop, &endless_node), 0);
        int before = calls, wanted = is_endless ? 3 : 1;
        while (calls < before + wanted) {
            turn(false);
            is_endless = is_endless && calls < before + 2;
        }
        before = calls;
        bump(fd);
        for (int turns_left = 10; turns_left > 0 && calls == before; turns_left--)
            iterate(NULL, 0);
        CHECK_EQUAL(calls, before + 1);
    }
    end();
    close(fd);
}

int main(void) {
    static const host_ops ops = {"qt", qt_nothing, qt_nothing, qt_attach, qt_detach, qt_turn, qt_add_load,
        qt_remove_load, qt_after, .nests = true, .fails_with = qt_fails_with, .turns_of_a_hop = 3, .idle_turns = 3};
    qt_begin(passes);
    qt_turn(false); /* what it opens once */
    run_adapter_cases(&ops);
    RUN(test_RLC_ADAPT_1_others_iterate_the_context_of_qt);
    RUN(test_RLC_ADAPT_4_a_loop_that_has_failed_ends_no_sleep);
    RUN(test_RLC_ADAPT_7_no_pass_outlives_the_adapter);
    RUN(test_RLC_ADAPT_7_what_is_detached_hears_nothing);
    RUN(test_RLC_ADAPT_7_a_thread_without_a_dispatcher_is_refused);
    qt_end();
    return 0;
}

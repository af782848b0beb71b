/* <crunloop/adapters/qt.h>: with Qt's dispatcher on GLib, and with its own if the environment has QT_NO_GLIB. */
#include "adapters.h"

#include "qt_host.h"

static unsigned long passes(void) {
    return count_of(&kernel.waits) + (unsigned long)calls;
}

int main(void) {
    static const host_ops ops = {"qt", qt_nothing, qt_nothing, qt_attach, qt_detach, qt_turn, qt_add_load,
        qt_remove_load, qt_after, .nests = true, .turns_of_a_hop = 3, .idle_turns = 3};
    qt_begin(passes);
    qt_turn(false); /* what it opens once */
    run_adapter_cases(&ops);
    RUN(test_RLC_ADAPT_4_a_loop_that_has_failed_ends_no_sleep);
    qt_end();
    return 0;
}

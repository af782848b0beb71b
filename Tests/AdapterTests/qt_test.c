/* <crunloop/adapters/qt.h>: with the dispatcher on GLib. */
#include "adapters.h"

#include "qt_host.h"

int main(void) {
    static const host_ops ops = {"qt", qt_nothing, qt_nothing, qt_attach, qt_detach, qt_turn, qt_add_load,
        qt_remove_load, qt_after, .nests = true, .turns_of_a_hop = 3, .idle_turns = 3};
    qt_begin();
    qt_turn(false); /* what it opens once */
    run_adapter_cases(&ops);
    qt_end();
    return 0;
}

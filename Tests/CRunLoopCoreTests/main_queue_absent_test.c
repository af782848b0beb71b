/* This program has no libdispatch. */
#include "harness.h"

static void test_RLC_MAIN_2_without_libdispatch(void) {
    CHECK_EQUAL(rlc_main_queue_fd(), -ENOSYS);
    CHECK(!rlc_main_queue_take(NULL));
    rlc_main_queue_drain();
}

int main(void) {
    RUN(test_RLC_MAIN_2_without_libdispatch);
    return 0;
}

/* This program has no libdispatch, unless a sanitizer's runtime brings it. */
#include "harness.h"

extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));

static void test_RLC_MAIN_2_without_libdispatch(void) {
    if (_dispatch_get_main_queue_handle_4CF != NULL)
        return;
    CHECK_EQUAL(rlc_main_queue_fd(), -ENOSYS);
    CHECK(!rlc_main_queue_take(NULL));
    rlc_main_queue_drain();
}

int main(void) {
    RUN(test_RLC_MAIN_2_without_libdispatch);
    return 0;
}

/* A stand-in for libdispatch; the real one is exercised by the Swift tests, its absence by main_queue_absent_test. */
#include "harness.h"

#include <sys/eventfd.h>

int _dispatch_get_main_queue_handle_4CF(void);
void _dispatch_main_queue_callback_4CF(void *message);

static int handle = -1, drained;

int _dispatch_get_main_queue_handle_4CF(void) {
    return handle;
}

void _dispatch_main_queue_callback_4CF(void *message) {
    CHECK(message == NULL);
    drained++;
}

static void test_RLC_MAIN_1_take_consumes_the_signal(void) {
    handle = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK_EQUAL(rlc_main_queue_fd(), handle);
    CHECK(!rlc_main_queue_take(NULL));
    bump(handle), bump(handle);
    CHECK(rlc_main_queue_take(NULL));
    CHECK(!rlc_main_queue_take(rlc_kernel_default()));
    rlc_main_queue_drain();
    CHECK_EQUAL(drained, 1);
    close(handle);
}

int main(void) {
    RUN(test_RLC_MAIN_1_take_consumes_the_signal);
    return 0;
}

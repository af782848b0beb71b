/* A stand-in for libdispatch; the real one is exercised by the Swift tests, its absence by main_queue_absent_test. */
#include "harness.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

int _dispatch_get_main_queue_handle_4CF(void);
void _dispatch_main_queue_callback_4CF(void *message);

static int handle = -1, drained, questions;

int _dispatch_get_main_queue_handle_4CF(void) {
    questions++;
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

static int interruptions;

static int64_t read_interrupted(void *context, int fd, void *buffer, size_t size) {
    if (interruptions-- > 0)
        return -EINTR;
    return rlc_kernel_default()->read(context, fd, buffer, size);
}

static void test_RLC_MAIN_1_an_interrupted_read_loses_no_signal(void) {
    rlc_kernel kernel = *rlc_kernel_default();
    kernel.read = read_interrupted;
    handle = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    interruptions = 2;
    CHECK(rlc_main_queue_take(&kernel));
    CHECK(!rlc_main_queue_take(&kernel));
    close(handle);
}

/* libdispatch ends the process if it gets no descriptor for its handle: it is not asked for one then. */
static void test_RLC_MAIN_3_without_a_descriptor_for_the_handle(void) {
    struct rlimit limit, none;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    int next = dup(0);
    close(next);
    none.rlim_cur = (rlim_t)next;
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    int status = rlc_main_queue_fd();
    bool is_taken = rlc_main_queue_take(NULL);
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK_EQUAL(status, -EMFILE);
    CHECK_EQUAL(strcmp(rlc_failed_call(), "eventfd"), 0);
    CHECK(!is_taken);
    CHECK_EQUAL(questions, 0);
}

/* As libdispatch does with the main thread: it closes the handle, and has -1 for whoever asks. */
static void test_RLC_MAIN_4_an_ended_handle_is_no_queue(void) {
    handle = -1;
    CHECK_EQUAL(rlc_main_queue_fd(), -ENOSYS);
    CHECK(!rlc_main_queue_take(NULL));
}

int main(void) {
    RUN(test_RLC_MAIN_3_without_a_descriptor_for_the_handle);
    RUN(test_RLC_MAIN_1_take_consumes_the_signal);
    RUN(test_RLC_MAIN_4_an_ended_handle_is_no_queue);
    RUN(test_RLC_MAIN_1_an_interrupted_read_loses_no_signal);
    return 0;
}

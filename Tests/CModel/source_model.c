#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model.h"

struct seen {
    uint32_t readiness;
    int called, released;
    rlk_signal_info info;
};

static void ready(rlk_item *source, uint32_t readiness, void *context) {
    struct seen *seen = context;
    CHECK(rlk_item_is_valid(source));
    seen->readiness = readiness;
    seen->called++;
}
static void counted(rlk_item *source, void *context) {
    CHECK(rlk_item_is_valid(source));
    ((struct seen *)context)->called++;
}
static void received(rlk_item *source, const rlk_signal_info *info, void *context) {
    struct seen *seen = context;
    CHECK(rlk_item_is_valid(source));
    seen->info = *info;
    seen->called++;
}
static void released(void *context) {
    ++((struct seen *)context)->released;
}

static void test_descriptors(void) {
    int ends[2];
    char byte;
    struct seen seen = {.called = 0};
    rlk_item *source = NULL;
    CHECK_IS(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    rlk_descriptor_options options = {.size = sizeof options,
        .ready = ready,
        .context = &seen,
        .release = released,
        .descriptor = ends[0],
        .interest = RLK_READABLE,
        .trigger = RLK_TRIGGER_ONE_SHOT,
        .owns_descriptor = true};
    CHECK_IS(rlk_descriptor_create(&options, &source), 0);
    CHECK_IS(rlk_loop_add(NULL, source, NULL), 1);
    CHECK_IS(write(ends[1], "x", 1), 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
    CHECK_IS(seen.readiness, RLK_READABLE);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, true), RLK_RUN_TIMED_OUT);
    CHECK_IS(rlk_descriptor_set_interest(source, RLK_READABLE), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
    CHECK_IS(seen.called, 2);
    CHECK_IS(read(ends[0], &byte, 1), 1);
    CHECK_IS(rlk_item_invalidate(source), 0);
    CHECK_IS(seen.released, 1);
    CHECK_IS(fcntl(ends[0], F_GETFD), -1);
    CHECK_IS(rlk_descriptor_set_interest(source, RLK_READABLE), -ENOENT);
    rlk_item_release(source);
    close(ends[1]);
}

static void test_an_interest_that_is_changed(void) {
    static const uint32_t interests[] = {RLK_WRITABLE, RLK_READABLE, RLK_READABLE | RLK_WRITABLE};
    int ends[2];
    struct seen seen = {.called = 0};
    rlk_item *source = NULL;
    CHECK_IS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    rlk_descriptor_options options = {
        .size = sizeof options, .ready = ready, .context = &seen, .descriptor = ends[0], .interest = RLK_READABLE};
    CHECK_IS(rlk_descriptor_create(&options, &source), 0);
    CHECK_IS(rlk_loop_add(NULL, source, NULL), 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, 0, true), RLK_RUN_TIMED_OUT); /* it is writable alone */
    for (int i = 0; i < 3; i++) {
        CHECK_IS(rlk_descriptor_set_interest(source, interests[i]), 0);
        if (i == 1)
            CHECK_IS(write(ends[1], "x", 1), 1);
        CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
        CHECK_IS(seen.readiness, interests[i]);
        CHECK_IS(seen.called, i + 1);
    }
    CHECK_IS(rlk_item_invalidate(source), 0);
    rlk_item_release(source);
    close(ends[0]), close(ends[1]);
}

static void test_counters(void) {
    struct seen seen = {.called = 0};
    rlk_item *source = NULL;
    uint64_t value;
    int counter = eventfd(3, EFD_CLOEXEC | EFD_NONBLOCK);
    rlk_counter_options options = {
        .size = sizeof options, .ready = counted, .context = &seen, .release = released, .descriptor = counter};
    CHECK_IS(rlk_counter_create(&options, &source), 0);
    CHECK_IS(rlk_loop_add(NULL, source, NULL), 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
    CHECK_IS(seen.called, 1);
    CHECK_IS(read(counter, &value, sizeof value), -1);
    CHECK_IS(rlk_item_invalidate(source), 0);
    CHECK_IS(seen.released, 1);
    rlk_item_release(source);
    CHECK(fcntl(counter, F_GETFD) >= 0);
    close(counter);
}

static void test_signals(void) {
    const int numbers[] = {SIGRTMIN + 3};
    struct seen seen = {.called = 0};
    rlk_item *source = NULL;
    rlk_signal_options options = {.size = sizeof options,
        .receive = received,
        .context = &seen,
        .release = released,
        .signals = numbers,
        .signal_count = 1};
    CHECK_IS(rlk_signals_block(numbers, 1), 0);
    CHECK_IS(rlk_signal_create(&options, &source), 0);
    CHECK_IS(rlk_loop_add(NULL, source, NULL), 1);
    CHECK_IS(pthread_sigqueue(pthread_self(), numbers[0], (union sigval){.sival_int = 42}), 0);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
    CHECK_IS(seen.called, 1);
    CHECK_IS(seen.info.size, sizeof seen.info);
    CHECK_IS(seen.info.signal, numbers[0]);
    CHECK_IS(seen.info.value, 42);
    CHECK_IS(seen.info.process_id, getpid());
    CHECK_IS(seen.info.user_id, getuid());
    CHECK_IS(seen.info.code, SI_QUEUE);
    CHECK_IS(seen.info.status, 0); /* of no child */
    CHECK_IS(rlk_item_invalidate(source), 0);
    CHECK_IS(seen.released, 1);
    rlk_item_release(source);
}

static rlk_item *watch(int descriptor, bool always_ready, int wanted) {
    rlk_item *source = NULL;
    rlk_descriptor_options options = {.size = sizeof options, .ready = ready, .descriptor = descriptor};
    options.always_ready = always_ready;
    CHECK_IS(rlk_descriptor_create(&options, &source), wanted);
    return source;
}

static void refuse_to_add(int descriptor, int wanted) {
    rlk_item *source = watch(descriptor, false, 0);
    CHECK_IS(rlk_loop_add(NULL, source, NULL), wanted);
    CHECK_IS(rlk_loop_contains(NULL, source, NULL), 0);
    rlk_item_release(source);
}

/* A descriptor that nobody else will open meanwhile. */
enum { CLOSED = 100000 };

static void test_what_cannot_be_watched(void) {
    int loop = rlk_loop_host_descriptor(NULL, NULL, NULL), circle = epoll_create1(EPOLL_CLOEXEC);
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC), folder = open("/", O_RDONLY | O_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    CHECK_IS(epoll_ctl(circle, EPOLL_CTL_ADD, loop, &event), 0);
    refuse_to_add(CLOSED, -EBADF);
    refuse_to_add(file, -EPERM);
    refuse_to_add(loop, -EINVAL);
    refuse_to_add(circle, -ELOOP);
    watch(CLOSED, true, -EBADF);
    watch(folder, true, -EISDIR);
    rlk_item_release(watch(file, true, 0));
    close(circle), close(file), close(folder);
}

/* An interest of a number that is a file's of another kind by now. */
static void test_a_descriptor_that_was_closed(void) {
    int ends[2], file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    CHECK_IS(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    rlk_item *source = watch(ends[0], false, 0);
    CHECK_IS(rlk_loop_add(NULL, source, NULL), 1);
    CHECK_IS(dup3(file, ends[0], O_CLOEXEC), ends[0]);
    CHECK_IS(rlk_descriptor_set_interest(source, RLK_READABLE), -EBADF);
    CHECK_IS(rlk_item_invalidate(source), 0);
    rlk_item_release(source);
    close(ends[0]), close(ends[1]), close(file);
}

static void test_RLK_C_15_sources_without_descriptors(void) {
    const int number = SIGRTMIN + 3;
    struct seen seen = {.called = 0};
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC), counter = eventfd(0, EFD_CLOEXEC);
    rlk_item *none = NULL, *source = watch(counter, false, 0);
    rlk_signal_options signal = {.size = sizeof signal, .receive = received, .context = &seen, .release = released};
    signal.signals = &number, signal.signal_count = 1;
    model_begin_shortage();
    watch(file, true, -EMFILE);
    CHECK_IS(rlk_signal_create(&signal, &none), -EMFILE);
    CHECK_IS(rlk_loop_add(NULL, source, NULL), -EMFILE);
    CHECK_IS(rlk_loop_add(NULL, source, RLK_MODE_COMMON), -EMFILE);
    model_end_shortage();
    CHECK(none == NULL && seen.released == 0);
    CHECK_IS(rlk_loop_contains(NULL, source, NULL), 0);
    CHECK_IS(rlk_loop_add(NULL, source, NULL), 1);
    CHECK_IS(rlk_item_invalidate(source), 0);
    rlk_item_release(source);
    close(file), close(counter);
}

static void test_RLK_C_1_bad_sources(void) {
    const int kill_signal = SIGKILL, number = SIGRTMIN + 3;
    struct seen seen = {.called = 0};
    rlk_item *source = NULL, *keeper = model_keeper();
    rlk_descriptor_options descriptor = {
        .size = sizeof descriptor, .ready = ready, .context = &seen, .release = released, .descriptor = -1};
    CHECK_IS(rlk_descriptor_create(NULL, &source), -EINVAL);
    CHECK_IS(rlk_descriptor_create(&descriptor, NULL), -EINVAL);
    CHECK_IS(rlk_descriptor_create(&descriptor, &source), -EBADF);
    descriptor.trigger = (rlk_trigger)9;
    CHECK_IS(rlk_descriptor_create(&descriptor, &source), -EINVAL);
    CHECK_IS(rlk_descriptor_create(&(rlk_descriptor_options){.size = sizeof descriptor}, &source), -EINVAL);
    CHECK_IS(rlk_descriptor_set_interest(NULL, 1), -EINVAL);
    CHECK_IS(rlk_descriptor_set_interest(keeper, 1), -EINVAL);
    rlk_counter_options counter = {
        .size = sizeof counter, .ready = counted, .context = &seen, .release = released, .descriptor = -1};
    CHECK_IS(rlk_counter_create(&counter, &source), -EBADF);
    CHECK_IS(rlk_counter_create(&counter, NULL), -EINVAL);
    CHECK_IS(rlk_counter_create(NULL, &source), -EINVAL);
    counter.ready = NULL;
    CHECK_IS(rlk_counter_create(&counter, &source), -EINVAL);
    rlk_signal_options signal = {.size = sizeof signal, .receive = received, .context = &seen, .release = released};
    CHECK_IS(rlk_signal_create(NULL, &source), -EINVAL);
    CHECK_IS(rlk_signal_create(&signal, &source), -EINVAL);
    signal.signals = &kill_signal, signal.signal_count = 1;
    CHECK_IS(rlk_signal_create(&signal, &source), -EINVAL);
    signal.signals = &number;
    CHECK_IS(rlk_signal_create(&signal, NULL), -EINVAL);
    signal.receive = NULL;
    CHECK_IS(rlk_signal_create(&signal, &source), -EINVAL);
    CHECK_IS(rlk_signals_block(NULL, 1), -EINVAL);
    CHECK_IS(rlk_signals_block(&kill_signal, 1), -EINVAL);
    CHECK_IS(rlk_signals_block(&number, 0), -EINVAL);
    CHECK(source == NULL);
    CHECK_IS(seen.released, 0);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
}

const model_test *model_source_tests(void) {
    static const model_test tests[] = {
        {"descriptors", test_descriptors},
        {"an interest that is changed", test_an_interest_that_is_changed},
        {"counters", test_counters},
        {"signals", test_signals},
        {"what cannot be watched", test_what_cannot_be_watched},
        {"a descriptor that was closed", test_a_descriptor_that_was_closed},
        {"RLK-C-15 sources without descriptors", test_RLK_C_15_sources_without_descriptors},
        {"RLK-C-1 bad sources", test_RLK_C_1_bad_sources},
        {NULL, NULL},
    };
    return tests;
}

// Callouts that are left: runs, items, stops.
#include <runloopkit/runloopkit.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "left.h"

using namespace left;

namespace {

// ---- the outermost run

/// It is rearmed as by a callout that returns, and those that were collected with it are due as before.
void test_RLK_LEFT_1_a_timer() {
    int fired = 0, others = 1;
    rlk_item *timer = make_timer(1000, &fired), *other = make_timer(0, &others);
    CHECK_IS(rlk_loop_add(nullptr, timer, nullptr), 1);
    CHECK_IS(rlk_loop_add(nullptr, other, nullptr), 1);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(fired, 1);
    while (fired < 3 || others < 2) {
        int result = rlk_loop_run_in_mode(nullptr, nullptr, rlk_now(RLK_CLOCK_MONOTONIC) + 2000000, false);
        CHECK_IS(result, RLK_RUN_TIMED_OUT);
        if (result != RLK_RUN_TIMED_OUT)
            break;
    }
    CHECK_IS(others, 2);
    CHECK(!is_in_a_run());
    end(timer);
    CHECK(!rlk_item_is_valid(other));
    rlk_item_release(other);
    CHECK_IS(pass(), RLK_RUN_FINISHED);
}

/// One that fires once has fired.
void test_RLK_LEFT_1_a_timer_that_fires_once() {
    int fired = 0;
    rlk_item *timer = make_timer(0, &fired);
    CHECK_IS(rlk_loop_add(nullptr, timer, nullptr), 1);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(pass(), RLK_RUN_FINISHED);
    CHECK(!rlk_item_is_valid(timer));
    CHECK_IS(fired, 1);
    rlk_item_release(timer);
}

void test_RLK_LEFT_1_a_source() {
    int performed = 0, others = 1;
    rlk_item *source = make_source(&performed), *other = make_source(&others);
    CHECK_IS(rlk_loop_add(nullptr, source, nullptr), 1);
    CHECK_IS(rlk_loop_add(nullptr, other, nullptr), 1);
    CHECK_IS(rlk_source_signal(source), 0);
    CHECK_IS(rlk_source_signal(other), 0);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(performed, 1);
    CHECK_IS(others, 2);
    CHECK_IS(rlk_source_signal(source), 0);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(performed, 2);
    CHECK_IS(rlk_item_invalidate_and_wait(source, RLK_TIME_FOREVER), 0);
    rlk_item_release(source);
    end(other);
}

void test_RLK_LEFT_1_an_observer() {
    int called = 0;
    rlk_item *observer = make_observer(RLK_BEFORE_SOURCES, &called), *keeper = model_keeper();
    CHECK_IS(rlk_loop_add(nullptr, observer, nullptr), 1);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(called, 2);
    end(observer);
    end(keeper);
}

/// Those behind it are not lost, and keep their order.
void test_RLK_LEFT_1_a_block() {
    static char order[8];
    order[0] = 0;
    rlk_item *keeper = model_keeper();
    rlk_perform_fn note = [](void *word) { strcat(order, static_cast<const char *>(word)); };
    int left = 0;
    CHECK_IS(rlk_loop_perform(nullptr, nullptr, leave_in_turn, &left), 0);
    CHECK_IS(rlk_loop_perform(nullptr, nullptr, note, const_cast<char *>("a")), 0);
    CHECK_IS(rlk_loop_perform(nullptr, nullptr, note, const_cast<char *>("b")), 0);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(rlk_loop_perform(nullptr, nullptr, note, const_cast<char *>("c")), 0);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK(strcmp(order, "abc") == 0);
    CHECK_IS(left, 1);
    end(keeper);
}

char idle_order[8];

int idle(const char *word) {
    rlk_work work{};
    work.size = sizeof work;
    work.perform = [](void *context) { strcat(idle_order, static_cast<const char *>(context)); };
    work.context = const_cast<char *>(word);
    return rlk_loop_perform_when_idle(waited_for, &work);
}

/// What an idle block queues waits for the next time. What is queued after it was left does not.
void test_RLK_LEFT_1_an_idle_block() {
    int left = 0;
    rlk_item *keeper = model_keeper();
    rlk_work work{};
    work.size = sizeof work;
    work.perform = leave_in_turn;
    work.context = &left;
    waited_for = rlk_loop_current();
    idle_order[0] = 0;
    CHECK_IS(rlk_loop_perform_when_idle(nullptr, &work), 0);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(idle("a"), 0);
    model_on_thread([](void *) { CHECK_IS(idle("b"), 0); }, nullptr);
    work.perform = model_stop;
    CHECK_IS(rlk_loop_perform_when_idle(nullptr, &work), 0);
    CHECK_IS(rlk_loop_run_in_mode(nullptr, nullptr, RLK_TIME_FOREVER, false), RLK_RUN_STOPPED);
    CHECK(strcmp(idle_order, "ab") == 0);
    end(keeper);
}

void test_RLK_LEFT_2_a_descriptor() {
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), heard = 0;
    rlk_item *source = make_descriptor(fd, leave_by_descriptor, &heard, false);
    CHECK_IS(rlk_loop_add(nullptr, source, nullptr), 1);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(heard, 2);
    end(source);
    close(fd);
}

void run_and_leave(rlk_item *, uint32_t, void *context) {
    int *heard = static_cast<int *>(context);
    if (++*heard > 1)
        return;
    CHECK_IS(pass("panel"), RLK_RUN_FINISHED);
    CHECK_IS(rlk_loop_run_in_mode(nullptr, nullptr, 0, false), RLK_RUN_TIMED_OUT);
    leave();
}

/// Also if a run of its callout has left it out.
void test_RLK_LEFT_2_a_descriptor_that_was_left_out() {
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), heard = 0;
    rlk_item *source = make_descriptor(fd, run_and_leave, &heard, false);
    CHECK_IS(rlk_loop_add(nullptr, source, nullptr), 1);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(heard, 1);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(heard, 2);
    end(source);
    close(fd);
}

/// It is closed when the source is invalidated, as if the callout had returned.
void test_RLK_LEFT_2_an_owned_descriptor() {
    int ends[2], heard = 0;
    CHECK_IS(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    CHECK_IS(write(ends[1], "x", 1), 1);
    rlk_item *source = make_descriptor(ends[0], leave_by_descriptor, &heard, true);
    CHECK_IS(rlk_loop_add(nullptr, source, nullptr), 1);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    end(source);
    pollfd other_end = {ends[1], 0, 0};
    CHECK_IS(poll(&other_end, 1, 0), 1);
    CHECK_IS(other_end.revents & POLLERR, POLLERR);
    close(ends[1]);
}

/// The item that kept its mode is gone with it.
void test_RLK_LEFT_3_a_run_until_stopped() {
    CHECK_IS(rlk_loop_perform(nullptr, nullptr, leave_at_once, nullptr), 0);
    CHECK_IS(attempt([] { return rlk_loop_run_until_stopped(nullptr, nullptr); }), LEFT);
    CHECK_IS(rlk_loop_run_in_mode(nullptr, nullptr, RLK_TIME_FOREVER, false), RLK_RUN_FINISHED);
    CHECK_IS(rlk_loop_is_empty(nullptr, nullptr), 1);
}

/// A stop outside of runs does nothing, also if the last run was left.
void test_RLK_LEFT_3_stops() {
    rlk_item *keeper = model_keeper();
    CHECK_IS(rlk_loop_perform(nullptr, nullptr, leave_at_once, nullptr), 0);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(rlk_loop_stop(nullptr), 0);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK(!is_in_a_run());
    end(keeper);
}

// ---- runs inside of runs

int inner_result, heard_inside;

void run_panel(rlk_item *, uint32_t, void *) {
    if (++heard_inside == 1)
        inner_result = run_or_leave("panel");
}

/// The run around it goes on in its mode, and hears of the source again.
void test_RLK_LEFT_4_an_inner_run_in_another_mode() {
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), left = 0;
    heard_inside = 0;
    rlk_item *source = make_descriptor(fd, run_panel, nullptr, false), *timer = make_timer(0, &left);
    CHECK_IS(rlk_loop_add(nullptr, source, nullptr), 1);
    CHECK_IS(rlk_loop_add(nullptr, source, "panel"), 1);
    CHECK_IS(rlk_loop_add(nullptr, timer, "panel"), 1);
    rlk_item_release(timer);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(inner_result, LEFT);
    CHECK_IS(heard_inside, 1);
    CHECK_IS(pass("panel"), RLK_RUN_TIMED_OUT);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(heard_inside, 3);
    CHECK(!is_in_a_run());
    end(source);
    CHECK_IS(pass(), RLK_RUN_FINISHED);
    CHECK_IS(pass("panel"), RLK_RUN_FINISHED);
    close(fd);
}

char mode_behind[64];

void note_mode(void *) { rlk_loop_copy_current_mode(nullptr, mode_behind, sizeof mode_behind); }

void leave_a_panel() {
    CHECK_IS(rlk_loop_perform(nullptr, "panel", leave_at_once, nullptr), 0);
    CHECK_IS(run_or_leave("panel"), LEFT);
    rlk_work work{};
    work.size = sizeof work;
    work.perform = note_mode;
    CHECK_IS(rlk_loop_enqueue_work(nullptr, &work), 0);
}

void check_mode_behind(rlk_item *item) {
    mode_behind[0] = 0;
    CHECK_IS(rlk_loop_add(nullptr, item, nullptr), 1);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK(strcmp(mode_behind, RLK_MODE_DEFAULT) == 0);
    end(item);
}

/// Whatever kind of callout has begun the run that was left: what follows in the pass belongs to the outer one again.
void test_RLK_LEFT_4_what_follows_in_the_pass() {
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    rlk_item *item = nullptr, *keeper = model_keeper();
    rlk_counter_options counter{};
    counter.size = sizeof counter;
    counter.ready = [](rlk_item *, void *) { leave_a_panel(); };
    counter.descriptor = fd;
    CHECK_IS(rlk_counter_create(&counter, &item), 0);
    check_mode_behind(item);
    rlk_timer_options timer{};
    timer.size = sizeof timer;
    timer.fire = [](rlk_item *, void *) { leave_a_panel(); };
    CHECK_IS(rlk_timer_create(&timer, &item), 0);
    check_mode_behind(item);
    rlk_source_options source{};
    source.size = sizeof source;
    source.perform = [](rlk_item *, void *) { leave_a_panel(); };
    CHECK_IS(rlk_source_create(&source, &item), 0);
    CHECK_IS(rlk_source_signal(item), 0);
    check_mode_behind(item);
    rlk_observer_options observer{};
    observer.size = sizeof observer;
    observer.observe = [](rlk_item *, uint32_t, void *) { leave_a_panel(); };
    observer.activities = RLK_BEFORE_TIMERS;
    CHECK_IS(rlk_observer_create(&observer, &item), 0);
    check_mode_behind(item);
    bump(fd);
    check_mode_behind(make_descriptor(fd, [](rlk_item *, uint32_t, void *) { leave_a_panel(); }, nullptr, false));
    end(keeper);
    close(fd);
}

bool stops_before, stops_inside;

void stop_and_leave(void *) {
    if (stops_inside)
        CHECK_IS(rlk_loop_stop(nullptr), 0);
    leave();
}

void nest_in_a_block(void *) {
    if (stops_before)
        CHECK_IS(rlk_loop_stop(nullptr), 0);
    CHECK_IS(rlk_loop_perform(nullptr, "panel", stop_and_leave, nullptr), 0);
    CHECK_IS(run_or_leave("panel"), LEFT);
}

int counted;

void count(void *) { counted++; }

/// What was asked of the outer run is kept. What was asked of the inner one, and not obeyed, is for the run that goes on.
/// The rest of the outer drain runs, too.
void test_RLK_LEFT_5_stops_of_inner_runs() {
    for (int which = 0; which < 3; which++) {
        rlk_item *keeper = model_keeper();
        stops_before = which == 1, stops_inside = which == 2, counted = 0;
        CHECK_IS(rlk_loop_perform(nullptr, nullptr, nest_in_a_block, nullptr), 0);
        CHECK_IS(rlk_loop_perform(nullptr, nullptr, count, nullptr), 0);
        uint64_t limit = which == 0 ? rlk_now(RLK_CLOCK_MONOTONIC) + 1000000 : RLK_TIME_FOREVER;
        CHECK_IS(rlk_loop_run_in_mode(nullptr, nullptr, limit, false),
            which == 0 ? RLK_RUN_TIMED_OUT : RLK_RUN_STOPPED);
        CHECK_IS(counted, 1);
        end(keeper);
    }
}

rlk_thread *ending;

/// Its run has obeyed the end of the thread, and is left by an observer of its exit.
void nest_and_end(void *context) {
    rlk_item *observer = make_observer(RLK_EXIT, static_cast<int *>(context));
    CHECK_IS(rlk_loop_add(nullptr, observer, "inner"), 1);
    CHECK_IS(rlk_loop_perform(nullptr, "inner", [](void *) { rlk_thread_stop(ending, RLK_ENDING_NOW); }, nullptr), 0);
    CHECK_IS(run_or_leave("inner"), LEFT);
    end(observer);
}

void test_RLK_RESIDENT_38_a_thread_ends_though_its_inner_run_was_left() {
    int left = 0;
    rlk_thread_options options{};
    options.size = sizeof options;
    rlk_work work{};
    work.size = sizeof work;
    work.perform = nest_and_end;
    work.context = &left;
    CHECK_IS(rlk_thread_create(&options, &ending), 0);
    CHECK_IS(rlk_thread_start(ending), 0);
    CHECK_IS(rlk_thread_perform(ending, &work), 0);
    CHECK_IS(rlk_thread_join(ending, 20000000000), 0);
    CHECK_IS(left, 1);
    rlk_thread_release(ending);
}

/// Each in a block of the one before; what the drains had not run is in the queue again, the oldest first.
void nest_three_times(void *context) {
    int *depth = static_cast<int *>(context);
    if (++*depth == 3)
        leave();
    CHECK_IS(rlk_loop_perform(nullptr, nullptr, nest_three_times, depth), 0);
    CHECK_IS(rlk_loop_perform(nullptr, nullptr, count, nullptr), 0);
    rlk_loop_run_in_mode(nullptr, nullptr, RLK_TIME_FOREVER, false);
}

void test_RLK_LEFT_6_several_runs() {
    int depth = 0;
    counted = 0;
    rlk_item *keeper = model_keeper();
    CHECK_IS(rlk_loop_perform(nullptr, nullptr, nest_three_times, &depth), 0);
    CHECK_IS(rlk_loop_perform(nullptr, nullptr, count, nullptr), 0);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(counted, 0);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(counted, 3);
    CHECK(!is_in_a_run());
    end(keeper);
}

__attribute__((noinline)) int run_further_down() {
    char deep[4096];
    memset(deep, 0x5a, sizeof deep);
    asm volatile("" : : "r"(deep) : "memory");
    return pass();
}

/// What lies in the place of the run that was left does not matter.
void test_RLK_LEFT_7_a_run_further_down() {
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK), heard = 0;
    rlk_item *source = make_descriptor(fd, leave_by_descriptor, &heard, false);
    CHECK_IS(rlk_loop_add(nullptr, source, nullptr), 1);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(run_further_down(), RLK_RUN_TIMED_OUT);
    CHECK_IS(heard, 2);  // not left out as one whose callout is on the stack
    CHECK(!is_in_a_run());
    end(source);
    close(fd);
}

// ---- other threads, hosts

void *wait_for_a_block(void *) {
    return reinterpret_cast<void *>(
        static_cast<intptr_t>(rlk_loop_perform_and_wait(waited_for, nullptr, RLK_TIME_FOREVER, leave_at_once, nullptr)));
}

/// Who waits for the block hears of it when the loop does.
void test_RLK_LEFT_8_a_block_that_is_waited_for() {
    rlk_item *keeper = model_keeper();
    pthread_t thread;
    void *answer;
    waited_for = rlk_loop_current();
    CHECK_IS(pthread_create(&thread, nullptr, wait_for_a_block, nullptr), 0);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(pthread_join(thread, &answer), 0);
    CHECK_IS(reinterpret_cast<intptr_t>(answer), -ECANCELED);
    end(keeper);
}

/// A removal with an answer does not wait for a callout that was left.
void test_RLK_LEFT_8_a_removal() {
    int performed = 0;
    rlk_item *source = make_source(&performed), *keeper = model_keeper();
    CHECK_IS(rlk_loop_add(nullptr, source, nullptr), 1);
    CHECK_IS(rlk_source_signal(source), 0);
    CHECK_IS(run_or_leave(), LEFT);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(rlk_item_invalidate_and_wait(source, RLK_TIME_FOREVER), 0);
    rlk_item_release(source);
    end(keeper);
}

/// The host goes on: neither its run nor its observers are on the stack any more.
void test_RLK_LEFT_9_a_host() {
    int left = 0, told = 0;
    rlk_item *keeper = model_keeper(), *observer = make_observer(RLK_BEFORE_WAITING, &told);
    CHECK_IS(rlk_loop_perform(nullptr, nullptr, leave_in_turn, &left), 0);
    CHECK_IS(attempt([] { return rlk_loop_run_pending_work(nullptr, nullptr); }), LEFT);
    CHECK_IS(rlk_loop_prepare_to_wait(nullptr, nullptr), 0);
    CHECK_IS(rlk_loop_cancel_wait(nullptr, nullptr), 0);
    CHECK_IS(rlk_loop_add(nullptr, observer, nullptr), 1);
    CHECK_IS(attempt([] { return rlk_loop_prepare_to_wait(nullptr, nullptr); }), LEFT);
    CHECK_IS(rlk_loop_prepare_to_wait(nullptr, nullptr), 0);
    CHECK_IS(told, 2);
    CHECK_IS(rlk_loop_stop(nullptr), 0);
    CHECK_IS(rlk_loop_run_pending_work(nullptr, nullptr), RLK_RUN_STOPPED);
    end(observer);
    end(keeper);
}

}  // namespace

const model_test *model_left_tests(void) {
    static const model_test tests[] = {
        IN_BOTH_WAYS(test_RLK_LEFT_1_a_timer),
        IN_BOTH_WAYS(test_RLK_LEFT_1_a_timer_that_fires_once),
        IN_BOTH_WAYS(test_RLK_LEFT_1_a_source),
        IN_BOTH_WAYS(test_RLK_LEFT_1_an_observer),
        IN_BOTH_WAYS(test_RLK_LEFT_1_a_block),
        IN_BOTH_WAYS(test_RLK_LEFT_1_an_idle_block),
        IN_BOTH_WAYS(test_RLK_LEFT_2_a_descriptor),
        IN_BOTH_WAYS(test_RLK_LEFT_2_a_descriptor_that_was_left_out),
        IN_BOTH_WAYS(test_RLK_LEFT_2_an_owned_descriptor),
        IN_BOTH_WAYS(test_RLK_LEFT_3_a_run_until_stopped),
        IN_BOTH_WAYS(test_RLK_LEFT_3_stops),
        IN_BOTH_WAYS(test_RLK_LEFT_4_an_inner_run_in_another_mode),
        IN_BOTH_WAYS(test_RLK_LEFT_4_what_follows_in_the_pass),
        IN_BOTH_WAYS(test_RLK_LEFT_5_stops_of_inner_runs),
        IN_BOTH_WAYS(test_RLK_RESIDENT_38_a_thread_ends_though_its_inner_run_was_left),
        IN_BOTH_WAYS(test_RLK_LEFT_6_several_runs),
        IN_BOTH_WAYS(test_RLK_LEFT_7_a_run_further_down),
        IN_BOTH_WAYS(test_RLK_LEFT_8_a_block_that_is_waited_for),
        IN_BOTH_WAYS(test_RLK_LEFT_8_a_removal),
        IN_BOTH_WAYS(test_RLK_LEFT_9_a_host),
        {nullptr, nullptr},
    };
    return tests;
}

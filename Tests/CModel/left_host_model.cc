// Callouts that are left where a host waits or serves the loop: at the outermost level, in callouts of runs, and around
// runs.
#include "left.h"

#include <alloca.h>
#include <malloc.h>
#include <poll.h>

using namespace left;

namespace {

constexpr uint64_t SECOND = 1000000000;

int told, passes, inner_result;

bool is_in(const char *mode) {
    char current[64] = "";
    rlk_loop_copy_current_mode(nullptr, current, sizeof current);
    return strcmp(current, mode) == 0;
}

int prepare(const char *mode) { return rlk_loop_prepare_to_wait(nullptr, mode); }

/// Until the host may sleep: what was asked for before is served.
void wait_in(const char *mode) {
    while (prepare(mode) == 1)
        CHECK_IS(rlk_loop_run_pending_work(nullptr, mode), RLK_RUN_TIMED_OUT);
    CHECK(rlk_loop_is_waiting(nullptr));
    CHECK(is_in(mode != nullptr ? mode : RLK_MODE_DEFAULT));
}

/// Far below what the host calls afterwards, as is wanted of it (decision 0041): ThreadSanitizer makes frames larger.
template <typename Call> int attempt_below(Call call) {
    return attempt([call] {
        volatile char room[2048];
        room[0] = 0;
        return call() + room[0];
    });
}

int prepare_or_leave(const char *mode) {
    return attempt_below([mode] { return prepare(mode); });
}

int serve_or_leave(const char *mode) {
    return attempt_below([mode] { return rlk_loop_run_pending_work(nullptr, mode); });
}

void later(rlk_perform_fn function, const char *mode = nullptr) {
    CHECK_IS(rlk_loop_perform(nullptr, mode, function, nullptr), 0);
}

/// An observer that calls the function.
rlk_item *observe(uint32_t activities, rlk_observer_fn function, const char *mode = nullptr) {
    rlk_observer_options options{};
    options.size = sizeof options;
    options.observe = function;
    options.activities = activities;
    rlk_item *observer = nullptr;
    CHECK_IS(rlk_observer_create(&options, &observer), 0);
    CHECK_IS(rlk_loop_add(nullptr, observer, mode), 1);
    return observer;
}

void count_told(rlk_item *, uint32_t, void *) { told++; }

void leave_first(rlk_item *, uint32_t, void *) {
    if (++told == 1)
        leave();
}

/// Whether the second pass has come, or the run stands still.
void stop_second_pass(rlk_item *, uint32_t, void *) {
    if (++passes == 2)
        CHECK_IS(rlk_loop_stop(nullptr), 0);
}

int run_for_long() {
    return rlk_loop_run_in_mode(nullptr, nullptr, rlk_now(RLK_CLOCK_MONOTONIC) + 30 * SECOND, false);
}

bool is_readable(int fd) {
    pollfd entry = {fd, POLLIN, 0};
    return poll(&entry, 1, 0) == 1;
}

// ---- a wait inside of a run that is left

void wait_and_leave(void *) {
    wait_in("dialogue");
    leave();
}

void check_no_wait() {
    CHECK(!rlk_loop_is_waiting(nullptr));
    CHECK_IS(told, 0);
}

/// Observers hear nothing of it, and the run around it goes on in its mode.
void run_panel_with_a_wait(void *) {
    later(wait_and_leave, "panel");
    CHECK_IS(run_or_leave("panel"), LEFT);
}

void check_default_mode(void *) {
    CHECK(is_in(RLK_MODE_DEFAULT));
    check_no_wait();
    passes++;
}

void test_RLK_LEFT_10_a_wait_in_a_run_that_is_left() {
    told = passes = 0;
    rlk_item *keeper = model_keeper(), *observer = observe(RLK_AFTER_WAITING, count_told, "dialogue");
    later(run_panel_with_a_wait);
    later(check_default_mode);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(passes, 1);
    CHECK(!is_in_a_run());
    end(observer);
    end(keeper);
}

/// Also if an item's callout has begun that run.
void test_RLK_LEFT_10_a_wait_in_a_run_of_a_source() {
    told = passes = 0;
    rlk_item *source = nullptr, *observer = observe(RLK_AFTER_WAITING, count_told, "dialogue");
    rlk_source_options options{};
    options.size = sizeof options;
    options.perform = [](rlk_item *, void *) {
        run_panel_with_a_wait(nullptr);
        later(check_default_mode);
    };
    CHECK_IS(rlk_source_create(&options, &source), 0);
    CHECK_IS(rlk_loop_add(nullptr, source, nullptr), 1);
    CHECK_IS(rlk_source_signal(source), 0);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(passes, 1);
    end(source);
    end(observer);
}

/// The calls of the host that follow are not as deep.
__attribute__((noinline)) void run_panel_further_down() {
    volatile char deep[16384];
    deep[0] = 0;
    run_panel_with_a_wait(nullptr);
    deep[1] = 0;
}

/// The host itself sees it: it waits anew, in another mode, at the level of the callout that goes on.
void test_RLK_LEFT_10_the_host_waits_anew() {
    told = 0;
    rlk_item *keeper = model_keeper(), *observer = observe(RLK_AFTER_WAITING, count_told, "dialogue");
    later([](void *) {
        run_panel_further_down();
        wait_in("another");
        CHECK(is_in("another"));
        CHECK_IS(rlk_loop_run_pending_work(nullptr, "another"), RLK_RUN_TIMED_OUT);
        CHECK(is_in(RLK_MODE_DEFAULT));
    });
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    check_no_wait();
    run_panel_further_down();
    wait_in(nullptr);
    CHECK_IS(rlk_loop_cancel_wait(nullptr, nullptr), 0);
    CHECK_IS(told, 0);
    end(observer);
    end(keeper);
}

// ---- stops and wakes

void stop_loop(void *loop) { CHECK_IS(rlk_loop_stop(static_cast<rlk_loop *>(loop)), 0); }

/// It has come for the wait, which nobody serves any more.
void test_RLK_LEFT_11_a_stop_for_the_wait_of_a_run_that_is_left() {
    rlk_item *keeper = model_keeper();
    later([](void *) {
        later(
            [](void *) {
                wait_in("dialogue");
                model_on_thread(stop_loop, rlk_loop_current());
                leave();
            },
            "panel");
        CHECK_IS(run_or_leave("panel"), LEFT);
    });
    CHECK_IS(run_for_long(), RLK_RUN_STOPPED);
    end(keeper);
}

void wake_loop(void *loop) { CHECK_IS(rlk_loop_wake_up(static_cast<rlk_loop *>(loop)), 0); }

void wait_wake_and_leave(void *) {
    wait_in("dialogue");
    model_on_thread(wake_loop, rlk_loop_current());
    leave();
}

/// The run that goes on looks for work once more before it sleeps, whether the one that was left was before its wait or
/// behind it.
void test_RLK_LEFT_11_a_wake_for_the_wait_of_a_run_that_is_left() {
    for (int way_in = 0; way_in < 2; way_in++) {
        passes = 0;
        rlk_item *keeper = model_keeper(), *observer = observe(RLK_BEFORE_TIMERS, stop_second_pass);
        static bool by_timer;
        by_timer = way_in == 1;
        later([](void *) {
            rlk_item *timer = nullptr;
            if (by_timer) {
                rlk_timer_options options{};
                options.size = sizeof options;
                options.fire = [](rlk_item *, void *) { wait_wake_and_leave(nullptr); };
                CHECK_IS(rlk_timer_create(&options, &timer), 0);
                CHECK_IS(rlk_loop_add(nullptr, timer, "panel"), 1);
                rlk_item_release(timer);
            } else {
                later(wait_wake_and_leave, "panel");
            }
            CHECK_IS(run_or_leave("panel"), LEFT);
        });
        CHECK_IS(run_for_long(), RLK_RUN_STOPPED);
        end(observer);
        end(keeper);
    }
}

// ---- a host's call that an observer leaves

/// In each of the host's calls. The observer is called again, and the host goes on.
void test_RLK_LEFT_12_an_observer_of_a_hosts_call() {
    rlk_item *keeper = model_keeper();
    for (int call = 0; call < 4; call++) {
        told = 0;
        rlk_item *observer = observe(call == 0 ? RLK_BEFORE_WAITING : RLK_AFTER_WAITING, leave_first);
        if (call == 0) {
            CHECK_IS(prepare_or_leave(nullptr), LEFT);
        } else {
            wait_in(nullptr);
            CHECK_IS(call == 1   ? prepare_or_leave(nullptr)
                     : call == 2 ? serve_or_leave(nullptr)
                                 : attempt_below([] { return rlk_loop_cancel_wait(nullptr, nullptr); }),
                LEFT);
        }
        wait_in(nullptr);
        CHECK_IS(rlk_loop_stop(nullptr), 0);
        CHECK_IS(rlk_loop_run_pending_work(nullptr, nullptr), RLK_RUN_STOPPED);
        CHECK_IS(told, 2);
        CHECK(!is_in_a_run());
        end(observer);
    }
    end(keeper);
}

/// A host that has left in the observer keeps no other one out.
void test_RLK_LEFT_12_a_host_that_has_left_in_its_observer() {
    rlk_item *keeper = model_keeper(), *observer = observe(RLK_BEFORE_WAITING, [](rlk_item *, uint32_t, void *) {
        CHECK_IS(rlk_loop_cancel_wait(nullptr, nullptr), 0);
        leave();
    });
    CHECK_IS(prepare_or_leave(nullptr), LEFT);
    wait_in("another");
    CHECK_IS(rlk_loop_cancel_wait(nullptr, "another"), 0);
    CHECK(!is_in_a_run());
    end(observer);
    end(keeper);
}

/// A run sees it, too.
void test_RLK_LEFT_12_a_run_after_an_observer_of_a_hosts_call() {
    told = 0;
    rlk_item *keeper = model_keeper(), *observer = observe(RLK_BEFORE_WAITING, leave_first);
    CHECK_IS(prepare_or_leave(nullptr), LEFT);
    CHECK_IS(rlk_loop_run_in_mode(nullptr, nullptr, rlk_now(RLK_CLOCK_MONOTONIC) + SECOND / 500, false), RLK_RUN_TIMED_OUT);
    CHECK_IS(told, 2);
    CHECK_IS(rlk_loop_cancel_wait(nullptr, nullptr), 0);
    end(observer);
    end(keeper);
}

void prepare_in_a_callout(void *) {
    CHECK_IS(prepare_or_leave("dialogue"), LEFT);
    later(check_default_mode);
}

/// The callout goes on, and ends the wait: no host's call comes any more.
void check_behind_the_callout(rlk_item *item) {
    told = passes = 0;
    rlk_item *observer = observe(RLK_BEFORE_WAITING, [](rlk_item *, uint32_t, void *) { leave(); }, "dialogue");
    rlk_item *again = observe(RLK_AFTER_WAITING, count_told, "dialogue");
    if (item != nullptr)
        CHECK_IS(rlk_loop_add(nullptr, item, nullptr), 1);
    else
        later(prepare_in_a_callout);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(passes, 1);
    if (item != nullptr)
        end(item);
    end(observer);
    CHECK_IS(rlk_item_invalidate_and_wait(again, RLK_TIME_FOREVER), 0);
    rlk_item_release(again);
    CHECK(!is_in_a_run());
}

void test_RLK_LEFT_12_an_observer_of_a_hosts_call_in_a_callout() {
    rlk_item *keeper = model_keeper(), *item = nullptr;
    check_behind_the_callout(nullptr);
    rlk_timer_options timer{};
    timer.size = sizeof timer;
    timer.fire = [](rlk_item *, void *) { prepare_in_a_callout(nullptr); };
    CHECK_IS(rlk_timer_create(&timer, &item), 0);
    check_behind_the_callout(item);
    rlk_observer_options observer{};
    observer.size = sizeof observer;
    observer.observe = [](rlk_item *own, uint32_t, void *) {
        CHECK_IS(rlk_item_invalidate(own), 0);
        prepare_in_a_callout(nullptr);
    };
    observer.activities = RLK_BEFORE_TIMERS;
    CHECK_IS(rlk_observer_create(&observer, &item), 0);
    check_behind_the_callout(item);
    end(keeper);
}

/// It is called again in the next dialogue.
void test_RLK_LEFT_12_the_observer_is_called_in_the_next_dialogue() {
    told = 0;
    rlk_item *keeper = model_keeper(), *observer = observe(RLK_BEFORE_WAITING, leave_first, "dialogue");
    later([](void *) { CHECK_IS(prepare_or_leave("dialogue"), LEFT); });
    later([](void *) {
        wait_in("dialogue");
        CHECK_IS(rlk_loop_cancel_wait(nullptr, "dialogue"), 0);
    });
    CHECK_IS(pass(), RLK_RUN_TIMED_OUT);
    CHECK_IS(told, 2);
    end(observer);
    end(keeper);
}

// ---- passes of hosts

void serve_and_leave(void *) {
    later(leave_at_once);
    inner_result = serve_or_leave(nullptr);
    CHECK_IS(rlk_loop_stop(nullptr), 0);
}

/// The stop is that of the pass around it.
void test_RLK_LEFT_13_a_pass_in_a_pass() {
    rlk_item *keeper = model_keeper();
    later(serve_and_leave);
    CHECK_IS(rlk_loop_run_pending_work(nullptr, nullptr), RLK_RUN_STOPPED);
    CHECK_IS(inner_result, LEFT);
    end(keeper);
}

/// The host waits on: what comes shows on its descriptor, and the stop is its own.
void test_RLK_LEFT_13_a_run_in_the_course_of_a_wait() {
    told = 0;
    rlk_item *keeper = model_keeper(), *observer = observe(RLK_AFTER_WAITING, count_told);
    int fd = rlk_loop_host_descriptor(nullptr, nullptr, nullptr);
    wait_in(nullptr);
    later(leave_at_once, "panel");
    CHECK_IS(run_or_leave("panel"), LEFT);
    CHECK_IS(pass("panel"), RLK_RUN_FINISHED);
    later(
        [](void *) {
            later(leave_at_once, "panel");
            CHECK_IS(run_or_leave("panel"), LEFT);
        },
        "around");
    CHECK_IS(pass("around"), RLK_RUN_TIMED_OUT);
    CHECK(is_in(RLK_MODE_DEFAULT));
    CHECK_IS(told, 0);
    while (is_readable(fd) && prepare(nullptr) > 0)
        CHECK_IS(rlk_loop_run_pending_work(nullptr, nullptr), RLK_RUN_TIMED_OUT);
    model_on_thread(stop_loop, rlk_loop_current());
    CHECK(is_readable(fd));
    CHECK_IS(rlk_loop_run_pending_work(nullptr, nullptr), RLK_RUN_STOPPED);
    CHECK(!is_in_a_run());
    end(observer);
    end(keeper);
}

// ---- what stays

enum { MANY = 3000 };

void leave_a_pass(rlk_item *, void *) {
    CHECK_IS(attempt([] { return rlk_loop_run_pending_work(nullptr, "panel"); }), LEFT);
}

/// Each in a run at a place of its own.
void leave_passes(rlk_item *source) {
    for (int i = 0; i < MANY; i++) {
        volatile char *room = static_cast<volatile char *>(alloca(16));
        room[0] = 0;
        CHECK_IS(rlk_source_signal(source), 0);
        CHECK_IS(pass("around"), RLK_RUN_TIMED_OUT);
    }
}

/// Where the C library counts them.
void test_RLK_LEFT_14_nothing_grows_with_the_passes_that_are_left() {
    int never = 0;
    rlk_item *keeper = model_keeper(), *source = nullptr, *work = make_source(&never);
    rlk_item *observer = observe(RLK_BEFORE_TIMERS, [](rlk_item *, uint32_t, void *) { leave(); }, "panel");
    CHECK_IS(rlk_loop_add(nullptr, work, "panel"), 1);
    CHECK_IS(rlk_source_signal(work), 0); /* a pass has work */
    rlk_source_options options{};
    options.size = sizeof options;
    options.perform = leave_a_pass;
    CHECK_IS(rlk_source_create(&options, &source), 0);
    CHECK_IS(rlk_loop_add(nullptr, source, "around"), 1);
    CHECK_IS(rlk_source_signal(source), 0);
    CHECK_IS(pass("around"), RLK_RUN_TIMED_OUT);
    struct mallinfo2 before = mallinfo2();
    leave_passes(source);
    struct mallinfo2 after = mallinfo2();
    long grown = static_cast<long>(after.uordblks) - static_cast<long>(before.uordblks);
    CHECK_IS(grown > 20000 ? grown : 0, 0);
    CHECK_IS(never, 0);
    end(observer);
    end(source);
    end(work);
    end(keeper);
}

}  // namespace

const model_test *model_left_host_tests(void) {
    static const model_test tests[] = {
        IN_BOTH_WAYS(test_RLK_LEFT_10_a_wait_in_a_run_that_is_left),
        IN_BOTH_WAYS(test_RLK_LEFT_10_a_wait_in_a_run_of_a_source),
        IN_BOTH_WAYS(test_RLK_LEFT_10_the_host_waits_anew),
        IN_BOTH_WAYS(test_RLK_LEFT_11_a_stop_for_the_wait_of_a_run_that_is_left),
        IN_BOTH_WAYS(test_RLK_LEFT_11_a_wake_for_the_wait_of_a_run_that_is_left),
        IN_BOTH_WAYS(test_RLK_LEFT_12_an_observer_of_a_hosts_call),
        IN_BOTH_WAYS(test_RLK_LEFT_12_a_host_that_has_left_in_its_observer),
        IN_BOTH_WAYS(test_RLK_LEFT_12_a_run_after_an_observer_of_a_hosts_call),
        IN_BOTH_WAYS(test_RLK_LEFT_12_an_observer_of_a_hosts_call_in_a_callout),
        IN_BOTH_WAYS(test_RLK_LEFT_12_the_observer_is_called_in_the_next_dialogue),
        IN_BOTH_WAYS(test_RLK_LEFT_13_a_pass_in_a_pass),
        IN_BOTH_WAYS(test_RLK_LEFT_13_a_run_in_the_course_of_a_wait),
        IN_BOTH_WAYS(test_RLK_LEFT_14_nothing_grows_with_the_passes_that_are_left),
        {nullptr, nullptr},
    };
    return tests;
}

// ---- for Swift

int model_run_until_left(void) {
    way = Way::jump;
    return attempt([] { return run_for_long(); }) == LEFT;
}

int model_prepare_until_left(void) {
    way = Way::jump;
    return prepare_or_leave(nullptr) == LEFT;
}

void model_leave(void) { leave(); }

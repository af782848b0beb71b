// What the tests of callouts that are left share: by an exception, which passes through the library's frames, and by
// longjmp(3).
#ifndef LEFT_H
#define LEFT_H

#include <runloopkit/runloopkit.h>

#include <setjmp.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "model.h"

namespace left {

inline constexpr int LEFT = 99;

/// How callouts leave. Everything is tried in both ways.
enum class Way { exception, jump };
inline Way way;
inline jmp_buf *target;

[[noreturn]] inline void leave() {
    if (way == Way::exception)
        throw LEFT;
    longjmp(*target, 1);
}

/// What the call returns, or LEFT.
template <typename Call> __attribute__((noinline)) int attempt(Call call) {
    jmp_buf here;
    jmp_buf *outer = target;
    target = &here;
    int result;
    if (way == Way::exception) {
        try {
            result = call();
        } catch (int thrown) {
            result = thrown;
        }
    } else {
        result = setjmp(here) == 0 ? call() : LEFT;
    }
    target = outer;
    return result;
}

inline int run_or_leave(const char *mode = nullptr) {
    return attempt([mode] { return rlk_loop_run_in_mode(nullptr, mode, RLK_TIME_FOREVER, false); });
}

inline int pass(const char *mode = nullptr) {
    return rlk_loop_run_in_mode(nullptr, mode, 0, false);
}

inline bool is_in_a_run() {
    char mode[64];
    return rlk_loop_copy_current_mode(nullptr, mode, sizeof mode) > 0;
}

inline void leave_in_turn(void *context) {
    if (++*static_cast<int *>(context) == 1)
        leave();
}

inline void leave_at_once(void *) {
    leave();
}

inline void leave_by_timer(rlk_item *, void *context) {
    leave_in_turn(context);
}
inline void leave_by_source(rlk_item *, void *context) {
    leave_in_turn(context);
}
inline void leave_by_observer(rlk_item *, uint32_t, void *context) {
    leave_in_turn(context);
}
inline void leave_by_descriptor(rlk_item *, uint32_t, void *context) {
    leave_in_turn(context);
}

inline rlk_item *make_timer(uint64_t interval, int *count) {
    rlk_timer_options options{};
    options.size = sizeof options;
    options.fire = leave_by_timer;
    options.context = count;
    options.fire_date_ns = rlk_now(RLK_CLOCK_MONOTONIC);
    options.interval_ns = interval;
    rlk_item *timer = nullptr;
    CHECK_IS(rlk_timer_create(&options, &timer), 0);
    return timer;
}

inline rlk_item *make_source(int *count) {
    rlk_source_options options{};
    options.size = sizeof options;
    options.perform = leave_by_source;
    options.context = count;
    rlk_item *source = nullptr;
    CHECK_IS(rlk_source_create(&options, &source), 0);
    return source;
}

inline rlk_item *make_observer(uint32_t activities, int *count) {
    rlk_observer_options options{};
    options.size = sizeof options;
    options.observe = leave_by_observer;
    options.context = count;
    options.activities = activities;
    rlk_item *observer = nullptr;
    CHECK_IS(rlk_observer_create(&options, &observer), 0);
    return observer;
}

inline rlk_item *make_descriptor(int fd, rlk_descriptor_fn ready, void *context, bool owned) {
    rlk_descriptor_options options{};
    options.size = sizeof options;
    options.ready = ready;
    options.context = context;
    options.descriptor = fd;
    options.interest = RLK_READABLE;
    options.owns_descriptor = owned;
    rlk_item *source = nullptr;
    CHECK_IS(rlk_descriptor_create(&options, &source), 0);
    return source;
}

inline void bump(int fd) {
    uint64_t one = 1;
    CHECK_IS(write(fd, &one, sizeof one), sizeof one);
}

inline void end(rlk_item *item) {
    CHECK_IS(rlk_item_invalidate(item), 0);
    rlk_item_release(item);
}

inline rlk_loop *waited_for;

template <void (*test)(), Way by> void in_way() {
    way = by;
    test();
}

#define IN_BOTH_WAYS(test)                                                                                             \
    {#test " by an exception", in_way<test, Way::exception>}, {                                                        \
#test " by longjmp", in_way < test, Way::jump>                                                                 \
    }

} // namespace left

#endif

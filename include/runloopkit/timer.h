/** <runloopkit/timer.h>: timers with tolerance, on three clocks. */
#ifndef RUNLOOPKIT_TIMER_H
#define RUNLOOPKIT_TIMER_H

#include <runloopkit/item.h>

RLK_BEGIN_DECLS

/**
 * Called when a timer fires: at its date or up to its tolerance later, never before.
 *
 * @param timer   The timer.
 * @param context The context that was given with the function.
 *
 * Thread: [loop].
 */
typedef void (*rlk_timer_fn)(rlk_item *timer, void *context);

/** The options of a timer. Later versions append members: see `size`. */
typedef struct rlk_timer_options {
    size_t size;            /**< sizeof(rlk_timer_options). */
    rlk_timer_fn fire;      /**< Called at the dates. */
    void *context;          /**< Handed to the functions. */
    rlk_release_fn release; /**< Or NULL. */
    rlk_clock clock;        /**< The clock of its dates. */
    uint64_t fire_date_ns;  /**< The first date. A date in the past means now, RLK_TIME_FOREVER no date. */
    uint64_t interval_ns;  /**< 0: fires once, and is then invalid. RLK_TIME_FOREVER: once for each date that is set. */
    uint64_t tolerance_ns; /**< How late it may fire, so that one wake serves several timers; may be 0. */
    rlk_retain_fn retain;  /**< With NULL the item takes over `context` itself. */
    rlk_describe_fn describe; /**< Or NULL. */
} rlk_timer_options;

/**
 * Creates a timer. It is no member of any mode yet.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 *
 * static void fire(rlk_item *timer, void *context) {
 *     (void)timer, (void)context;
 *     rlk_loop_stop(NULL);
 * }
 *
 * int main(void) {
 *     rlk_item *timer;
 *     rlk_timer_options options = {
 *         .size = sizeof options, .fire = fire, .fire_date_ns = rlk_now(RLK_CLOCK_MONOTONIC) + 10000000};
 *     if (rlk_timer_create(&options, &timer) < 0 || rlk_loop_add(NULL, timer, NULL) < 0)
 *         return 1;
 *     rlk_item_release(timer); // the mode keeps it
 *     return rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false) == RLK_RUN_STOPPED ? 0 : 1;
 * }
 * @endcode
 *
 * @param options   Read during the call.
 * @param ret_timer The timer, which the caller owns: rlk_item_release.
 * @return 0; -EINVAL (also: no such clock).
 *
 * Thread: [any].
 */
RLK_API int rlk_timer_create(const rlk_timer_options *options, rlk_item **ret_timer);

/**
 * Sets the next date. A repeating timer repeats from that date.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 *
 * static void fire(rlk_item *timer, void *context) {
 *     (void)timer, (void)context;
 *     rlk_loop_stop(NULL);
 * }
 *
 * int main(void) {
 *     rlk_item *timer;
 *     rlk_timer_options options = {.size = sizeof options, .fire = fire, .fire_date_ns = RLK_TIME_FOREVER};
 *     if (rlk_timer_create(&options, &timer) < 0 || rlk_loop_add(NULL, timer, NULL) < 0)
 *         return 1;
 *     rlk_timer_set_fire_date(timer, rlk_now(RLK_CLOCK_MONOTONIC) + 10000000);
 *     rlk_item_release(timer);
 *     return rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, false) == RLK_RUN_STOPPED ? 0 : 1;
 * }
 * @endcode
 *
 * @param timer   The timer.
 * @param date_ns The date on the timer's clock. A date in the past means now, RLK_TIME_FOREVER no date.
 * @return 0; -EINVAL, -ENOENT, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_timer_set_fire_date(rlk_item *timer, uint64_t date_ns);

/**
 * Reads the next date.
 *
 * @param timer       The timer.
 * @param ret_date_ns The date on the timer's clock; RLK_TIME_FOREVER if it has none.
 * @return 0; -EINVAL, -ENOENT, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_timer_fire_date(rlk_item *timer, uint64_t *ret_date_ns);

/**
 * Sets the tolerance.
 *
 * @param timer        The timer.
 * @param tolerance_ns How late it may fire, so that one wake serves several timers; for a repeating timer at most half
 *                     its interval.
 * @return 0; -EINVAL, -ENOENT, -ECHILD.
 *
 * Thread: [any].
 */
RLK_API int rlk_timer_set_tolerance(rlk_item *timer, uint64_t tolerance_ns);

RLK_END_DECLS
#endif

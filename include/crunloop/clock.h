/** <crunloop/clock.h>: the clocks, and arithmetic on times that saturates instead of wrapping. */
#ifndef CRUNLOOP_CLOCK_H
#define CRUNLOOP_CLOCK_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/** The clocks of timers. The values are this library's, not the kernel's. */
typedef enum rlc_clock {
    RLC_CLOCK_MONOTONIC, /**< CLOCK_MONOTONIC: stops while the machine is suspended. */
    RLC_CLOCK_BOOTTIME,  /**< CLOCK_BOOTTIME: continues while the machine is suspended. */
    RLC_CLOCK_REALTIME,  /**< CLOCK_REALTIME: the wall clock, which administrators and NTP set. */
} rlc_clock;

/**
 * Reads a clock through the C library. An rlc_kernel may replace the clock: see its `now`.
 *
 * @param clock The clock. A value that is not in the enumeration counts as RLC_CLOCK_MONOTONIC.
 * @return The time in nanoseconds. Cannot fail.
 *
 * Thread: [any, signal-safe].  Cost: one clock_gettime(2), which the vDSO answers without a system call.
 */
RLC_API uint64_t rlc_now(rlc_clock clock);

/**
 * Adds a duration to a time.
 *
 * @param time_ns  A time in nanoseconds.
 * @param delta_ns A duration in nanoseconds.
 * @return The sum, at most RLC_TIME_FOREVER [RLC-TIME-1].
 *
 * Thread: [any, signal-safe].
 */
RLC_API uint64_t rlc_time_add(uint64_t time_ns, uint64_t delta_ns);

/**
 * Computes the duration from now to a deadline.
 *
 * @code{.c}
 * #include <crunloop/clock.h>
 *
 * int main(void) {
 *     uint64_t deadline_ns = rlc_time_add(rlc_now(RLC_CLOCK_MONOTONIC), 2000000);
 *     while (rlc_time_until(deadline_ns, rlc_now(RLC_CLOCK_MONOTONIC)) > 0)
 *         continue; // for two milliseconds
 *     return 0;
 * }
 * @endcode
 *
 * @param deadline_ns The deadline in nanoseconds.
 * @param now_ns      The present time in nanoseconds on the same clock.
 * @return The difference in nanoseconds: 0 if the deadline has passed, RLC_TIME_FOREVER if it is RLC_TIME_FOREVER
 *         [RLC-TIME-1].
 *
 * Thread: [any, signal-safe].
 */
RLC_API uint64_t rlc_time_until(uint64_t deadline_ns, uint64_t now_ns);

/**
 * Converts a duration to the timeout of poll(2).
 *
 * @code{.c}
 * #include <crunloop/clock.h>
 * #include <poll.h>
 *
 * int main(void) {
 *     return poll(NULL, 0, rlc_timeout_ms(1500000)); // waits two milliseconds
 * }
 * @endcode
 *
 * @param timeout_ns A duration in nanoseconds.
 * @return Milliseconds, at most INT_MAX. -1 for RLC_TIME_FOREVER: poll(2) then waits without a limit. Cannot fail. The
 *         duration is rounded up: a wait may end late, never early [RLC-TIME-2].
 *
 * Thread: [any, signal-safe].
 */
RLC_API int rlc_timeout_ms(uint64_t timeout_ns);

/**
 * Computes the next date of a repeating timer: the first phase_ns + n * interval_ns, with n >= 1, that is after now_ns.
 *
 * Dates that were missed are skipped in one step, and the phase is kept [RLC-TIME-3].
 *
 * @code{.c}
 * #include <crunloop/clock.h>
 *
 * int main(void) {
 *     uint64_t date_ns = rlc_time_next_in_phase(100, 10, 125); // of the dates 110, 120, 130...
 *     return date_ns == 130 ? 0 : 1;
 * }
 * @endcode
 *
 * @param phase_ns    A date of the timer, in nanoseconds.
 * @param interval_ns The time from each of its dates to the next one, in nanoseconds.
 * @param now_ns      The present time in nanoseconds on the same clock.
 * @return The date; RLC_TIME_FOREVER if interval_ns is 0 or the date would overflow.
 *
 * Thread: [any, signal-safe].  See: CFRunLoopTimerCreate (interval).
 */
RLC_API uint64_t rlc_time_next_in_phase(uint64_t phase_ns, uint64_t interval_ns, uint64_t now_ns);

RLC_END_DECLS
#endif

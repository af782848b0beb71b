/** <crunloop/clock.h>: the clocks, and arithmetic that saturates instead of wrapping. */
#ifndef CRUNLOOP_CLOCK_H
#define CRUNLOOP_CLOCK_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/** The clocks that timers can run on. Values are ours, not the kernel's. */
typedef enum rlc_clock {
    RLC_CLOCK_MONOTONIC, /**< CLOCK_MONOTONIC: stands still while the machine is suspended. */
    RLC_CLOCK_BOOTTIME,  /**< CLOCK_BOOTTIME: goes on. */
    RLC_CLOCK_REALTIME,  /**< CLOCK_REALTIME: the wall clock, which is set. */
} rlc_clock;

/**
 * Now on `clock`, in nanoseconds, by the C library.
 *
 * Thread: [signal].  Cost: one clock_gettime(2), which the vDSO answers.
 */
RLC_API uint64_t rlc_now(rlc_clock clock);

/** time_ns + delta_ns, at most RLC_TIME_FOREVER [RLC-TIME-1].  Thread: [signal]. */
RLC_API uint64_t rlc_time_add(uint64_t time_ns, uint64_t delta_ns);

/** deadline_ns - now_ns, at least 0; RLC_TIME_FOREVER stays so [RLC-TIME-1].  Thread: [signal]. */
RLC_API uint64_t rlc_time_until(uint64_t deadline_ns, uint64_t now_ns);

/**
 * A timeout in whole milliseconds, for poll(2).
 *
 * @return Rounded up, because late is allowed and early is not [RLC-TIME-2]; at most INT_MAX; -1 for RLC_TIME_FOREVER.
 *
 * Thread: [signal].
 */
RLC_API int rlc_timeout_ms(uint64_t timeout_ns);

/**
 * The first of phase_ns + n * interval_ns (n >= 1) that lies after now_ns.
 *
 * Missed dates are skipped in one step, and the phase is kept [RLC-TIME-3].
 *
 * @return The date; RLC_TIME_FOREVER if interval_ns is 0 or the date would overflow.
 *
 * Thread: [signal].  See: CFRunLoopTimerCreate (interval).
 */
RLC_API uint64_t rlc_time_next_in_phase(uint64_t phase_ns, uint64_t interval_ns, uint64_t now_ns);

RLC_END_DECLS
#endif

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <crunloop/clock.h>

#include <limits.h>
#include <time.h>

#define NS_PER_SECOND UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

static clockid_t clock_id(rlc_clock clock) {
    switch (clock) {
    case RLC_CLOCK_MONOTONIC:
        return CLOCK_MONOTONIC;
    case RLC_CLOCK_BOOTTIME:
        return CLOCK_BOOTTIME;
    case RLC_CLOCK_REALTIME:
        return CLOCK_REALTIME;
    }
    return CLOCK_MONOTONIC;
}

uint64_t rlc_now(rlc_clock clock) {
    struct timespec now = {0, 0};
    (void)clock_gettime(clock_id(clock), &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t rlc_time_add(uint64_t time_ns, uint64_t delta_ns) {
    uint64_t sum = time_ns + delta_ns;
    return sum < time_ns ? RLC_TIME_FOREVER : sum;
}

uint64_t rlc_time_until(uint64_t deadline_ns, uint64_t now_ns) {
    if (deadline_ns == RLC_TIME_FOREVER)
        return RLC_TIME_FOREVER;
    return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

int rlc_timeout_ms(uint64_t timeout_ns) {
    if (timeout_ns == RLC_TIME_FOREVER)
        return -1;
    uint64_t ms = timeout_ns / NS_PER_MS + (timeout_ns % NS_PER_MS != 0);
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

uint64_t rlc_time_next_in_phase(uint64_t phase_ns, uint64_t interval_ns, uint64_t now_ns) {
    if (interval_ns == 0)
        return RLC_TIME_FOREVER;
    if (now_ns <= phase_ns)
        return rlc_time_add(phase_ns, interval_ns);
    uint64_t elapsed = now_ns - phase_ns;
    return rlc_time_add(phase_ns + elapsed / interval_ns * interval_ns, interval_ns);
}

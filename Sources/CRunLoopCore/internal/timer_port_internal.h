/** The timer port's record, for rlc_loop. */
#ifndef RLC_TIMER_PORT_INTERNAL_H
#define RLC_TIMER_PORT_INTERNAL_H

#include <crunloop_kit/timer_port.h>

struct rlc_timer_port {
    const rlc_kernel *kernel;
    uint64_t armed_ns;
    uint32_t fork_generation;
    int timer_fd; /**< -1: other code has closed it. */

    /* For rlc_loop: dates that no timer has any more. See rlc_loop_spare_wake. */
    uint64_t spared_ns; /**< The last such date that was removed from the timerfd; or 0. */
    uint64_t left_ns;   /**< The last such date that was left there. */
    uint8_t left_dates; /**< How many more such dates rlc_loop leaves there before it removes one. */
    uint8_t left_in_a_row;
};

#endif

/** The timer port's record, for rlc_loop. */
#ifndef RLC_TIMER_PORT_INTERNAL_H
#define RLC_TIMER_PORT_INTERNAL_H

#include <crunloop_kit/timer_port.h>

struct rlc_timer_port {
    const rlc_kernel *kernel;
    uint64_t armed_ns;
    uint32_t fork_generation;
    int timer_fd; /**< -1 after other code has closed it. */

    /* For rlc_loop_spare_wake: the timerfd may be set for a date that no timer has any more. */
    uint64_t spared_ns;    /**< The last such date that rlc_loop has removed from the timerfd; or 0. */
    uint64_t left_ns;      /**< The last such date that it has found there, and may have left. */
    uint8_t left_dates;    /**< How many more such dates it leaves there before it removes one. */
    uint8_t left_in_a_row; /**< The last start value of left_dates; 0 once a removal has saved a wake. */
};

#endif

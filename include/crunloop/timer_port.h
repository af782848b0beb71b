/** <crunloop/timer_port.h>: one timerfd, armed lazily. A hint: the heap and the clock are the truth. */
#ifndef CRUNLOOP_TIMER_PORT_H
#define CRUNLOOP_TIMER_PORT_H

#include <crunloop/kernel.h>

RLC_BEGIN_DECLS

typedef struct rlc_timer_port rlc_timer_port;

/** Makes the timerfd. kernel NULL = default. -EMFILE, -ENFILE, -ENOMEM. [any] */
RLC_API int rlc_timer_port_create(const rlc_kernel *kernel, rlc_clock clock, rlc_timer_port **ret_port);
/** Closes it (not in a child of fork(2)). NULL is allowed. [locked] */
RLC_API void rlc_timer_port_destroy(rlc_timer_port *port);
/** For rlc_port_set_insert as a hint, in as many sets as needed. [any] */
RLC_API int rlc_timer_port_fd(const rlc_timer_port *port);
/**
 * Wants an expiry at deadline_ns. No system call unless it is earlier than what is armed; a later one costs an expiry too
 * early, which the owner finds stale. 1: armed anew, 0: nothing to do, -errno. [locked]
 */
RLC_API int rlc_timer_port_want(rlc_timer_port *port, uint64_t deadline_ns);
/** The owner has taken an expiry from a set: nothing is armed any more. No system call. [locked] */
RLC_API void rlc_timer_port_harvested(rlc_timer_port *port);
/** Disarms if anything is armed (at most one system call). [locked] */
RLC_API int rlc_timer_port_disarm(rlc_timer_port *port);
/** What is armed, or RLC_TIME_FOREVER. [locked] */
RLC_API uint64_t rlc_timer_port_armed(const rlc_timer_port *port);

RLC_END_DECLS
#endif

/** <crunloop/timer_port.h>: one timerfd, armed lazily. A hint: the heap and the clock are the truth. */
#ifndef CRUNLOOP_TIMER_PORT_H
#define CRUNLOOP_TIMER_PORT_H

#include <crunloop/kernel.h>

RLC_BEGIN_DECLS

typedef struct rlc_timer_port rlc_timer_port;

/**
 * Makes the timerfd, not armed.
 *
 * @param kernel   NULL = rlc_kernel_default(); must outlive the port.
 * @param clock    What deadlines of this port are on. REALTIME: the expiry also comes when the clock is set.
 * @param ret_port The caller's, until rlc_timer_port_destroy.
 * @return 0; -EMFILE, -ENFILE, -ENOMEM.
 *
 * Thread: [any].  Cost: one system call, one allocation.  See: timerfd_create(2).
 */
RLC_API int rlc_timer_port_create(const rlc_kernel *kernel, rlc_clock clock, rlc_timer_port **ret_port);

/** Closes it (not in a child of fork(2)). NULL is allowed.  Thread: [locked].  Cost: one system call. */
RLC_API void rlc_timer_port_destroy(rlc_timer_port *port);

/** For rlc_port_set_insert as a hint, in as many sets as needed. It stays the port's.  Thread: [any]. */
RLC_API int rlc_timer_port_fd(const rlc_timer_port *port);

/**
 * Wants an expiry at deadline_ns, and never earlier [RLC-TIMER-2].
 *
 * A deadline that is later than what is armed costs nothing now, and an expiry too early, which the owner finds stale.
 *
 * @param port        The port.
 * @param deadline_ns On the port's clock; a past one expires at once; RLC_TIME_FOREVER wants nothing.
 * @return 1: armed anew, which erases an expiry that nobody has seen, in every set; 0: nothing to do; -ECHILD, or
 *         -errno.
 *
 * Thread: [locked].  Cost: one timerfd_settime(2) if it is earlier than what is armed, else nothing [RLC-TIMER-1].
 */
RLC_API int rlc_timer_port_want(rlc_timer_port *port, uint64_t deadline_ns);

/** The owner has taken an expiry from a set: nothing is armed any more.  Thread: [locked]. */
RLC_API void rlc_timer_port_harvested(rlc_timer_port *port);

/** Disarms. @return 0; -ECHILD, or -errno.  Thread: [locked].  Cost: one system call if anything is armed. */
RLC_API int rlc_timer_port_disarm(rlc_timer_port *port);

/** What is armed, or RLC_TIME_FOREVER.  Thread: [locked]. */
RLC_API uint64_t rlc_timer_port_armed(const rlc_timer_port *port);

RLC_END_DECLS
#endif

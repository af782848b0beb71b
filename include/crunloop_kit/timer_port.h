/**
 * <crunloop_kit/timer_port.h>: a timerfd that is set as rarely as possible.
 *
 * The deadline heap and the clock tell which timers are due; the timerfd only ends a wait in time.
 */
#ifndef CRUNLOOP_KIT_TIMER_PORT_H
#define CRUNLOOP_KIT_TIMER_PORT_H

#include <crunloop/kernel.h>

RLC_BEGIN_DECLS

/** A timer port. Its creator ends it by rlc_timer_port_destroy. */
typedef struct rlc_timer_port rlc_timer_port;

/**
 * Creates a timerfd that is not armed.
 *
 * @param kernel   The kernel table, which must outlive the port; NULL for rlc_kernel_default().
 * @param clock    The clock of the port's deadlines. With RLC_CLOCK_REALTIME the timerfd also expires when the clock is
 *                 set. The owner then compares its deadlines with the clock again.
 * @param ret_port The port; the caller ends it by rlc_timer_port_destroy.
 * @return 0; -EMFILE (the process has no number left), -ENFILE (the system has none left), -ENOMEM, -EINVAL (the table
 *         is too short).
 *
 * Thread: [any].  Cost: one system call, one allocation.  See: timerfd_create(2).
 */
int rlc_timer_port_create(const rlc_kernel *kernel, rlc_clock clock, rlc_timer_port **ret_port);

/**
 * Closes the timerfd (not in a child of fork(2)) and frees the port. Remove it from port sets before.
 *
 * @param port The port; NULL is allowed.
 *
 * Thread: [locked].  Cost: one system call.
 */
void rlc_timer_port_destroy(rlc_timer_port *port);

/** Returns the timerfd, which the port owns, for rlc_port_set_insert as a hint in any number of sets. Thread: [any]. */
int rlc_timer_port_fd(const rlc_timer_port *port);

/**
 * Makes sure that the timerfd expires at a deadline or before. Sets the timerfd if the deadline is earlier than the one
 * for which it is armed.
 *
 * If the timerfd is armed for an earlier deadline, the call does nothing. The timerfd then expires earlier than this
 * deadline, and the owner may find that no timer is due. The timerfd never expires before the deadline for which it is
 * armed [RLC-TIMER-2].
 *
 * @param deadline_ns Nanoseconds on the port's clock; a time that has passed expires at once; RLC_TIME_FOREVER does
 *                    nothing.
 * @return 1 if the call has armed the timerfd for the deadline. An earlier expiry that a port set has not fetched yet
 *         is then lost. 0 if the call has done nothing. -ECHILD; -EBADF (other code has closed the timerfd), or another
 *         -errno of timerfd_settime(2).
 *
 * Thread: [locked].  Cost: one timerfd_settime(2) if the deadline is earlier than the armed one; otherwise none
 * [RLC-TIMER-1].
 */
int rlc_timer_port_want(rlc_timer_port *port, uint64_t deadline_ns);

/**
 * Records that the timerfd has expired and is not armed any more. Call it after taking the timerfd's event from a port
 * set.
 * Thread: [locked].
 */
void rlc_timer_port_note_expiry(rlc_timer_port *port);

/**
 * Disarms the timerfd. An expiry that a port set has not fetched yet is lost.
 *
 * @return 0; -ECHILD; -EBADF (other code has closed the timerfd), or another -errno of timerfd_settime(2).
 *
 * Thread: [locked].  Cost: one system call if the timerfd is armed.
 */
int rlc_timer_port_disarm(rlc_timer_port *port);

/** Returns the deadline for which the timerfd is armed; RLC_TIME_FOREVER if it is not. Thread: [locked]. */
uint64_t rlc_timer_port_armed(const rlc_timer_port *port);

RLC_END_DECLS
#endif

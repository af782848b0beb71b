/**
 * <crunloop_kit/wakeup_port.h>: wakes a sleeping loop from any thread by one write(2). While the loop is awake, a wake
 * needs no write.
 *
 * The port consists of an atomic word and an eventfd that is watched edge-triggered and never read. The word has one of
 * the states RUNNING, ASLEEP, INTERRUPTED, POSTED, CLOSED. Only the word says whether the loop was woken: an event of
 * the eventfd without a change of the word is stale.
 *
 * There are two ways to end the loop's sleep. A wake (POSTED) is a message to the loop. An interrupt (INTERRUPTED) only
 * makes the loop poll again, after a stop or for a changed fire date. If a nested run takes a wake that an enclosing
 * run waits for, the embedder hands the wake on to that run. It never hands an interrupt on.
 *
 *      owner                                      waker
 *      begin_wait: RUNNING -> ASLEEP              signal: any state -> POSTED; writes if it was ASLEEP
 *      checks once more for a stop                interrupt: RUNNING or ASLEEP -> INTERRUPTED; writes if it was
 *                                                     ASLEEP
 *      epoll_wait(2)
 *      take: any state -> RUNNING; returns what
 *          was posted
 *
 * No wake is lost, however the threads interleave [RLC-WAKE-8]; Tests/Scheduled searches for a lost one. All atomic
 * operations are sequentially consistent. While a waker writes, it holds no lock that the loop could need. See
 * eventfd(2), epoll(7).
 */
#ifndef CRUNLOOP_KIT_WAKEUP_PORT_H
#define CRUNLOOP_KIT_WAKEUP_PORT_H

#include <crunloop/kernel.h>

RLC_BEGIN_DECLS

/** A wakeup port. Give up a reference by rlc_wakeup_port_release. */
typedef struct rlc_wakeup_port rlc_wakeup_port;

/** What was posted. RLC_WAKE_POSTED stands for a wake, even if an interrupt was posted as well. */
typedef enum rlc_wake {
    RLC_WAKE_NONE = 0,
    RLC_WAKE_INTERRUPTED = 1,
    RLC_WAKE_POSTED = 2,
} rlc_wake;

/**
 * Creates a port in the state RUNNING, and its eventfd.
 *
 * @param kernel   The kernel table, which must outlive the port; NULL for rlc_kernel_default().
 * @param ret_port The port; the caller owns one reference, and releases it by rlc_wakeup_port_release.
 * @return 0; -EMFILE (the process has no number left), -ENFILE (the system has none left), -ENOMEM, -EINVAL (the table
 *         is too short).
 *
 * Thread: [any]. The owner is the thread that waits.  Cost: one system call, one allocation.
 */
int rlc_wakeup_port_create(const rlc_kernel *kernel, rlc_wakeup_port **ret_port);

/**
 * Adds a reference. Each thread that may wake the loop must own a reference, so that the port and the eventfd exist
 * while it writes [RLC-WAKE-5].
 *
 * @param port The port; the caller owns a reference.
 * @return The port.
 *
 * Thread: [any, signal-safe].
 */
rlc_wakeup_port *rlc_wakeup_port_retain(rlc_wakeup_port *port);

/**
 * Releases a reference. The last release closes the eventfd (not in a child of fork(2)) and frees the port.
 *
 * @param port The port; NULL is allowed.
 *
 * Thread: [any].  Cost: at most one system call.
 */
void rlc_wakeup_port_release(rlc_wakeup_port *port);

/** Returns the eventfd, which the port owns, for rlc_port_set_insert; -1 after rlc_wakeup_port_end. Thread: [any]. */
int rlc_wakeup_port_fd(const rlc_wakeup_port *port);

/**
 * Posts a wake.
 *
 * After the rlc_wakeup_port_take that returns this wake, the owner sees what the caller has written to memory before
 * the call.
 *
 * @param port The port; the caller owns a reference.
 * @return 1: the owner slept, and the call has written to the eventfd [RLC-WAKE-2]. 2: the owner slept, and the call
 *         has written to a new eventfd, because other code has closed the old one. 0: the owner is awake, or another
 *         call has woken it [RLC-WAKE-1].
 *         -ESHUTDOWN: the port is closed [RLC-WAKE-4]. -ECHILD. -EBADF (other code has closed the eventfd) or another
 *         -errno of write(2): the wake is posted, but the owner may sleep on.
 *
 * Thread: [any, signal-safe]; keeps errno [RLC-WAKE-6, RLC-WAKE-7].  Cost: one atomic operation; if the owner sleeps,
 * three and one write(2).  See: CFRunLoopWakeUp.
 */
int rlc_wakeup_port_signal(rlc_wakeup_port *port);

/**
 * Posts an interrupt. A wake that is posted already stays a wake [RLC-WAKE-3].
 *
 * @param port The port; the caller owns a reference.
 * @return As rlc_wakeup_port_signal.
 *
 * Thread: [any, signal-safe]; keeps errno.  Cost: as rlc_wakeup_port_signal.
 */
int rlc_wakeup_port_interrupt(rlc_wakeup_port *port);

/**
 * Announces that the owner is about to sleep. The first waker that posts after this call writes to the eventfd.
 *
 * If the call returns true, the owner checks once more whether a stop has come, and then waits. The owner may make this
 * call again without rlc_wakeup_port_take in between.
 *
 * @return False if something is posted, or the port is closed. Do not wait then.
 *
 * Thread: [loop].
 */
bool rlc_wakeup_port_begin_wait(rlc_wakeup_port *port);

/**
 * Ends a wait, and returns what was posted. The state becomes RUNNING unless the port is closed.
 *
 * The owner may also make this call without a wait, to discard a wake. In both cases the owner then sees what all
 * wakers have written to memory before they posted, also those that found a wake posted already.
 *
 * @return What was posted; RLC_WAKE_NONE if nothing was, or the port is closed.
 *
 * Thread: [loop].
 */
rlc_wake rlc_wakeup_port_take(rlc_wakeup_port *port);

/**
 * Tells whether the owner has announced a wait and nothing was posted since: the state is ASLEEP. The result may be out
 * of date when the call returns. Thread: [any].
 */
bool rlc_wakeup_port_is_asleep(const rlc_wakeup_port *port);

/**
 * Closes the port: later calls of signal and interrupt return -ESHUTDOWN [RLC-WAKE-4]. The eventfd stays open
 * until the last release.
 * Thread: [loop].
 */
void rlc_wakeup_port_close(rlc_wakeup_port *port);

/**
 * Closes the port as rlc_wakeup_port_close does, and also its eventfd, although other references exist. If a waker is
 * about to write, the last such waker closes the eventfd after its write. No later waker writes to the number
 * [RLC-WAKE-9].
 * Thread: [loop].  Cost: at most one system call.
 */
void rlc_wakeup_port_end(rlc_wakeup_port *port);

RLC_END_DECLS
#endif

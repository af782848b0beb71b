/**
 * <crunloop/wakeup_port.h>: wakes a sleeping loop from any thread, with at most one write, and none while it is awake.
 *
 * An edge-triggered eventfd that is never read, behind one word: RUNNING, ASLEEP, KICKED, POSTED, CLOSED. The word is
 * the truth; an edge without a changed word is stale. A *wake* (POSTED) is a message to the loop; a *kick* (KICKED)
 * makes the loop look as well, but is nobody's message (a stop, a changed fire date): it is never owed to an enclosing
 * run.
 *
 *      owner                                   waker
 *      begin_wait: RUNNING -> ASLEEP           signal: anything -> POSTED, and a write if it was ASLEEP
 *      reads again what a stop published       kick:   RUNNING, ASLEEP -> KICKED, likewise
 *      epoll_wait(2)
 *      take: -> RUNNING, what was posted
 *
 * No wake is lost, whatever the interleaving [RLC-WAKE-8]; Tests/Scheduled searches these files for one. Sequentially
 * consistent throughout, and nothing the woken side needs is held across the write. See eventfd(2), epoll(7).
 */
#ifndef CRUNLOOP_WAKEUP_PORT_H
#define CRUNLOOP_WAKEUP_PORT_H

#include <crunloop/kernel.h>

RLC_BEGIN_DECLS

typedef struct rlc_wakeup_port rlc_wakeup_port;

/** What had been posted when the owner took it; the larger one wins. */
typedef enum rlc_wake {
    RLC_WAKE_NONE = 0,
    RLC_WAKE_KICKED = 1,
    RLC_WAKE_POSTED = 2,
} rlc_wake;

/**
 * Makes the eventfd.
 *
 * @param kernel   NULL = rlc_kernel_default(); must outlive the port.
 * @param ret_port The caller's, with one reference.
 * @return 0; -EMFILE, -ENFILE, -ENOMEM.
 *
 * Thread: [any].  Cost: one system call, one allocation.
 */
RLC_API int rlc_wakeup_port_create(const rlc_kernel *kernel, rlc_wakeup_port **ret_port);

/**
 * One more reference. A waker must own one, so that the descriptor outlives its write [RLC-WAKE-5].
 *
 * @return port.
 *
 * Thread: [signal].
 */
RLC_API rlc_wakeup_port *rlc_wakeup_port_retain(rlc_wakeup_port *port);

/**
 * Gives a reference back; the last one closes the eventfd (not in a child of fork(2)). NULL is allowed.
 *
 * Thread: [any].  Cost: at most one system call.
 */
RLC_API void rlc_wakeup_port_release(rlc_wakeup_port *port);

/**
 * The eventfd, for rlc_port_set_insert as a hint; -1 after rlc_wakeup_port_end. It stays the port's.  Thread: [any].
 */
RLC_API int rlc_wakeup_port_fd(const rlc_wakeup_port *port);

/**
 * Posts a wake.
 *
 * Whatever the caller wrote to memory before is visible to the owner after the take that returns this wake.
 *
 * @return 1: written [RLC-WAKE-2]; 0: none needed, the owner is awake or has been told [RLC-WAKE-1]; -ESHUTDOWN: closed
 *         [RLC-WAKE-4]; -ECHILD.
 *
 * Thread: [signal]; errno is kept [RLC-WAKE-6, RLC-WAKE-7].  Cost: one atomic step; of a sleeper three, and one
 * write(2). See: CFRunLoopWakeUp.
 */
RLC_API int rlc_wakeup_port_signal(rlc_wakeup_port *port);

/**
 * Posts a kick; never weakens a wake [RLC-WAKE-3].
 *
 * @return As rlc_wakeup_port_signal.
 *
 * Thread: [signal]; errno is kept.  Cost: as rlc_wakeup_port_signal.
 */
RLC_API int rlc_wakeup_port_kick(rlc_wakeup_port *port);

/**
 * RUNNING -> ASLEEP: a waker from now on writes.
 *
 * After true the owner reads once more what a stop may have published, and only then waits. Calling again while asleep
 * is allowed.
 *
 * @return False if something is posted (or the port is closed): do not block.
 *
 * Thread: [loop].
 */
RLC_API bool rlc_wakeup_port_begin_wait(rlc_wakeup_port *port);

/**
 * -> RUNNING, and what had been posted.
 *
 * A read-modify-write with acquire, also when nothing is posted. Ends a wait; also drops a wake that came while none
 * was accepted: what its sender published before is visible afterwards.
 *
 * Thread: [loop].
 */
RLC_API rlc_wake rlc_wakeup_port_take(rlc_wakeup_port *port);

/** True while the owner is between begin_wait and take and nobody has posted.  Thread: [any]; may be old at return. */
RLC_API bool rlc_wakeup_port_is_asleep(const rlc_wakeup_port *port);

/**
 * The loop ends: signal and kick answer -ESHUTDOWN from now on [RLC-WAKE-4]. The descriptor stays open until the last
 * release.
 *
 * Thread: [loop].
 */
RLC_API void rlc_wakeup_port_close(rlc_wakeup_port *port);

/**
 * As rlc_wakeup_port_close, and the descriptor goes, whoever keeps a reference: here, or with the last waker that is
 * about to write to it. None writes to the number afterwards [RLC-WAKE-9].
 *
 * Thread: [loop].  Cost: at most one system call.
 */
RLC_API void rlc_wakeup_port_end(rlc_wakeup_port *port);

RLC_END_DECLS
#endif

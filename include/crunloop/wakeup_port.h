/**
 * <crunloop/wakeup_port.h>: wakes a sleeping loop from any thread, with at most one write, and none while it is awake.
 *
 * An edge-triggered eventfd that is never read, behind one word: RUNNING, ASLEEP, KICKED, POSTED, CLOSED. The word is the
 * truth; an edge without a changed word is stale. A *wake* (POSTED) is what rule 15 speaks of; a *kick* (KICKED) makes the
 * loop look as well, but is nobody's message (a stop, a changed fire date): it is never owed to an enclosing run.
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

/** Makes the eventfd. kernel NULL = rlc_kernel_default(). -EMFILE, -ENFILE, -ENOMEM. The caller holds one reference. [any] */
RLC_API int rlc_wakeup_port_create(const rlc_kernel *kernel, rlc_wakeup_port **ret_port);
/** One more reference; a waker must own one, so that the descriptor outlives its write. [signal] */
RLC_API rlc_wakeup_port *rlc_wakeup_port_retain(rlc_wakeup_port *port);
/** The last one closes the eventfd (not in a child of fork(2)). [any] */
RLC_API void rlc_wakeup_port_release(rlc_wakeup_port *port);
/** The eventfd, for rlc_port_set_insert as a hint. [any] */
RLC_API int rlc_wakeup_port_fd(const rlc_wakeup_port *port);
/** Posts a wake. 1: written, 0: none needed, -ESHUTDOWN: closed. At most one write(2); errno is kept. [signal] */
RLC_API int rlc_wakeup_port_signal(rlc_wakeup_port *port);
/** Posts a kick; as rlc_wakeup_port_signal, and never weakens a wake. [signal] */
RLC_API int rlc_wakeup_port_kick(rlc_wakeup_port *port);
/**
 * RUNNING -> ASLEEP. False: something is posted, do not block. After true the owner reads once more what a stop may have
 * published, then waits; a waker from now on writes. [loop]
 */
RLC_API bool rlc_wakeup_port_begin_wait(rlc_wakeup_port *port);
/**
 * -> RUNNING, by a read-modify-write with acquire (also when nothing is posted), and what had been posted. Ends a wait, and
 * drops a wake that came while none was accepted: whatever its sender published before is visible afterwards. [loop]
 */
RLC_API rlc_wake rlc_wakeup_port_take(rlc_wakeup_port *port);
/** True while the owner is between begin_wait and take and nobody has posted. [any] */
RLC_API bool rlc_wakeup_port_is_asleep(const rlc_wakeup_port *port);
/** The loop ends: signal and kick answer -ESHUTDOWN from now on. [loop] */
RLC_API void rlc_wakeup_port_close(rlc_wakeup_port *port);

RLC_END_DECLS
#endif

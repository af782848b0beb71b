/**
 * <crunloop_kit/spin.h>: busy waiting for a post before a loop sleeps. Off unless the embedder sets a limit: see
 * rlc_loop_set_spin.
 *
 * The loop spins only while that pays. A spin that sees a post earns credit for four more, up to 16; a spin that sees
 * none costs one. Without credit the loop spins before one wait in 64. While such a spin sees no post, the gaps grow to
 * one wait in 1024 [RLC-SPIN-1]. So a loop whose posters run on its own processor hardly ever spins.
 */
#ifndef CRUNLOOP_KIT_SPIN_H
#define CRUNLOOP_KIT_SPIN_H

#include <crunloop_kit/wakeup_port.h>

RLC_BEGIN_DECLS

/** The state of a spin. With all bytes 0 it never spins. Use the functions only. */
typedef struct rlc_spin {
    uint64_t limit_ns;
    uint16_t credit;  /**< How many spins without a post the loop still makes before it skips waits. */
    uint16_t skipped; /**< How many waits had no spin since the last spin. */
    uint16_t gap;     /**< How many waits to skip before the next spin, if there is no credit. */
} rlc_spin;

/**
 * Sets how long a spin may take, and resets what was learned.
 *
 * @param limit_ns Nanoseconds, e.g. RLC_SPIN_USUAL_NS, at most RLC_SPIN_MAX_NS: more counts as the maximum. 0 for no
 *                 spins.
 *
 * Thread: [loop].
 */
void rlc_spin_set(rlc_spin *spin, uint64_t limit_ns);

/**
 * Spins until a wake or an interrupt is posted, or `posts` shows a post; for at most the limit and never beyond
 * deadline_ns [RLC-SPIN-2]. It returns at once if recent spins did not pay.
 *
 * Call it before rlc_wakeup_port_begin_wait: as long as the port is not asleep, wakers make no write(2).
 *
 * @param spin        The state, which the call updates.
 * @param port        The port whose word it reads.
 * @param posts       A word that is larger than 1 while a post waits, such as the head of a queue; may be NULL.
 * @param deadline_ns Nanoseconds on the monotonic clock of the port's kernel table: when the loop has to continue, for
 *                    example for its next timer.
 * @return True if there is something to do: do not sleep then.
 *
 * Thread: [loop].  Blocks for up to the limit.  Cost: nothing while off; else reads of the clock, no system call
 * [RLC-SPIN-3].
 */
bool rlc_spin_until_posted(rlc_spin *spin, const rlc_wakeup_port *port, const uintptr_t *posts, uint64_t deadline_ns);

RLC_END_DECLS
#endif

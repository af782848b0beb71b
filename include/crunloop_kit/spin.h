/**
 * <crunloop_kit/spin.h>: before a loop sleeps, it can spin: read memory for some microseconds until another thread
 * posts. A loop spins only if the embedder has set a limit: see rlc_loop_set_spin.
 *
 * The loop spins only while that pays. A spin that sees a post earns credit for four more spins, up to 16; a spin that
 * sees no post costs one. Without credit the loop spins before one wait in 64. While such a spin sees no post, the gaps
 * grow to one wait in 1024 [RLC-SPIN-1]. So a loop whose posters run on its own processor hardly ever spins.
 */
#ifndef CRUNLOOP_KIT_SPIN_H
#define CRUNLOOP_KIT_SPIN_H

#include <crunloop_kit/wakeup_port.h>

RLC_BEGIN_DECLS

/** The state of a loop's spins. With all bytes 0 the loop never spins. Only the functions below use the members. */
typedef struct rlc_spin {
    uint64_t limit_ns;
    uint16_t credit;  /**< How many more spins may see no post before the loop stops spinning before each wait. */
    uint16_t skipped; /**< How many waits had no spin since the last spin. */
    uint16_t gap;     /**< Without credit: how many waits to make without a spin before the next spin. */
} rlc_spin;

/**
 * Sets how long a spin may take, and forgets the results of earlier spins.
 *
 * @param limit_ns Nanoseconds, e.g. RLC_SPIN_USUAL_NS; a value above RLC_SPIN_MAX_NS counts as that. 0 turns spinning
 *                 off.
 *
 * Thread: [loop].
 */
void rlc_spin_set(rlc_spin *spin, uint64_t limit_ns);

/**
 * Spins until a wake or an interrupt is posted, or `posts` shows a post, but for at most the limit and never beyond
 * deadline_ns [RLC-SPIN-2]. It returns at once if recent spins have seen no post.
 *
 * Call it before rlc_wakeup_port_begin_wait, because until then wakers make no write(2).
 *
 * @param spin        The state, which the call updates.
 * @param port        The port whose word the call reads.
 * @param posts       A word that is larger than 1 while a post waits, such as the head of a queue; may be NULL.
 * @param deadline_ns When the loop has to continue, for example for its next timer: nanoseconds on the monotonic clock
 *                    of the port's kernel table.
 * @return True if there is something to do: do not sleep then.
 *
 * Thread: [loop].  Blocks for up to the limit.  Cost: nothing if the limit is 0; else some readings of the clock, and
 * no system call [RLC-SPIN-3].
 */
bool rlc_spin_until_posted(rlc_spin *spin, const rlc_wakeup_port *port, const uintptr_t *posts, uint64_t deadline_ns);

RLC_END_DECLS
#endif

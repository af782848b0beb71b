/**
 * <crunloop/spin.h>: looks for a post for some microseconds before its loop goes to sleep. Off unless asked for.
 *
 * A post that comes meanwhile costs its sender no write(2), and the loop no sleep: between two threads on two
 * processors an answer takes some 3 us instead of 25. The price is processor time, and that a descriptor which becomes
 * ready meanwhile is seen that much later. So it is for a loop that waits for quick answers of another thread and has a
 * processor of its own. It learns: a spin that saw a post earns four more, one that saw none costs one. Without credit
 * one wait in 64 tries again, and as long as that sees nothing ever fewer, down to one in 1024 [RLC-SPIN-1]: a loop
 * whose posters share its processor hardly ever spins.
 */
#ifndef CRUNLOOP_SPIN_H
#define CRUNLOOP_SPIN_H

#include <crunloop/post_queue.h>
#include <crunloop/wakeup_port.h>

RLC_BEGIN_DECLS

/** What is usually worth it: a sleep and its end cost about as much. */
#define RLC_SPIN_USUAL_NS 20000
/** Longer limits are cut to this. */
#define RLC_SPIN_MAX_NS 50000

/** Zero-initialised: never spins. Use the functions. */
typedef struct rlc_spin {
    uint64_t limit_ns;
    uint16_t credit;  /**< Spins that earlier posts have paid for. */
    uint16_t skipped; /**< Waits without a spin since the last one. */
    uint16_t gap;     /**< How many of them come before the next try. */
} rlc_spin;

/** How long a spin may take; 0: never spins. What was learned is forgotten.  Thread: [loop]. */
RLC_API void rlc_spin_set(rlc_spin *spin, uint64_t limit_ns);

/**
 * Spins, if that has been worth it, until the word is posted or kicked or the queue has posts, at most for the limit
 * and never beyond deadline_ns [RLC-SPIN-2]. Called before rlc_wakeup_port_begin_wait: until then nobody writes.
 *
 * @param spin        What was learned so far; written.
 * @param port        The word to look at.
 * @param posts       NULL: only the word counts.
 * @param deadline_ns On the monotonic clock: when the loop has to be back, for its next timer too.
 * @return True if it saw one: do not sleep.
 *
 * Thread: [loop].  Cost: none while it is off; else reads of the clock, no system call [RLC-SPIN-3].
 */
RLC_API bool rlc_spin_until_posted(
    rlc_spin *spin, const rlc_wakeup_port *port, const rlc_post_queue *posts, uint64_t deadline_ns);

RLC_END_DECLS
#endif

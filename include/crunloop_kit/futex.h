/** <crunloop_kit/futex.h>: the system calls from which an embedder builds a lock whose waiters sleep. */
#ifndef CRUNLOOP_KIT_FUTEX_H
#define CRUNLOOP_KIT_FUTEX_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * Sleeps until rlc_futex_wake is called for the word, if *word has the expected value.
 *
 * The call may also return because of a signal, or for no reason. So read the word after it, and call it again if you
 * still have to wait [RLC-FUTEX-1].
 *
 * @param word     The address of 32 bits, aligned to 4. Only threads of one process may share it.
 * @param expected The expected value. If the word has another one, the call returns at once [RLC-FUTEX-2].
 *
 * Thread: [any].  Blocks.  Cost: one system call.  Keeps errno.  See: futex(2), FUTEX_WAIT_PRIVATE.
 */
void rlc_futex_wait(const void *word, uint32_t expected);

/**
 * Sleeps as rlc_futex_wait does, but at most until a deadline [RLC-FUTEX-3]. The caller reads the clock to find out
 * whether the deadline has passed.
 *
 * @param word        As in rlc_futex_wait.
 * @param expected    As in rlc_futex_wait.
 * @param deadline_ns Nanoseconds on CLOCK_MONOTONIC. If this time has passed, the call does not sleep. RLC_TIME_FOREVER
 *                    means no limit.
 *
 * Thread: [any].  Blocks.  Cost: one system call.  Keeps errno.  See: futex(2), FUTEX_WAIT_BITSET_PRIVATE.
 */
void rlc_futex_wait_until(const void *word, uint32_t expected, uint64_t deadline_ns);

/**
 * Wakes threads that sleep on a word.
 *
 * @param word  The address of the word. The call does not read the word.
 * @param count The largest number of threads to wake, at least 1; INT_MAX for all.
 *
 * Thread: [any, signal-safe].  Cost: one system call.  Keeps errno.  See: futex(2), FUTEX_WAKE_PRIVATE.
 */
void rlc_futex_wake(const void *word, int count);

RLC_END_DECLS
#endif

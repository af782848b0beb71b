/** <crunloop/futex.h>: the two calls from which an embedder builds a lock that sleeps. */
#ifndef CRUNLOOP_FUTEX_H
#define CRUNLOOP_FUTEX_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * Sleeps while *word is @p expected, until rlc_futex_wake, a signal, or for no reason: read the word again
 * [RLC-FUTEX-1].
 *
 * @param word     Aligned to 4; shared by the threads of one process only.
 * @param expected If the word differs already, the call returns at once [RLC-FUTEX-2].
 *
 * Thread: any.  Re-entry: allowed.  Blocks: yes.  Cost: one system call.  Errno is kept.
 * See: futex(2), FUTEX_WAIT_PRIVATE.  Since: 0.1.
 */
RLC_API void rlc_futex_wait(const void *word, uint32_t expected);

/**
 * As rlc_futex_wait, but not longer than until a moment on CLOCK_MONOTONIC, which may be over [RLC-FUTEX-3].
 *
 * @param word        As in rlc_futex_wait.
 * @param expected    As in rlc_futex_wait.
 * @param deadline_ns RLC_TIME_FOREVER: no limit.
 *
 * Thread: any.  Re-entry: allowed.  Blocks: yes.  Cost: one system call.  Errno is kept.
 * See: futex(2), FUTEX_WAIT_BITSET_PRIVATE.  Since: 0.1.
 */
RLC_API void rlc_futex_wait_until(const void *word, uint32_t expected, uint64_t deadline_ns);

/**
 * Wakes at most @p count threads that sleep on the word.
 *
 * Thread: any; also from a signal handler.  Blocks: no.  Cost: one system call.  Errno is kept.
 * See: futex(2), FUTEX_WAKE_PRIVATE.  Since: 0.1.
 */
RLC_API void rlc_futex_wake(const void *word, int count);

RLC_END_DECLS
#endif

/**
 * <crunloop/adapters/on_stack.h>: tells whether calls of an adapter are on the stack. While one is, an adapter that is
 * detached must not free its memory. A counter of the calls does not suffice: a C++ exception, another unwinding or
 * longjmp(3) out of a callout may leave a call without notifying the adapter. The counter would stay at 1 for ever.
 *
 * So an adapter notes where its outermost call lies, by a mark in the frame of that call. The call was left if the
 * frame of the function that asks lies at the mark or above it, or if it lies below and other data has overwritten the
 * mark. If the frame and the mark are more than 16 MiB apart, they lie on different stacks, and the call counts as
 * running. If an adapter is detached while a call that was left counts as running, the adapter's memory leaks.
 *
 * If a function holds a mark, its caller calls it through a volatile pointer. So the compiler does not inline it, and
 * its frame lies below the caller's.
 */
#ifndef CRUNLOOP_ADAPTERS_ON_STACK_H
#define CRUNLOOP_ADAPTERS_ON_STACK_H

#include <crunloop/base.h>
#include <stdbool.h>
#include <stdint.h>

RLC_BEGIN_DECLS

/** For a function that holds or reads a mark: keeps AddressSanitizer from moving the mark off the real stack. */
#define RLC_HOLDS_MARK __attribute__((no_sanitize("address")))

/** The address of the frame of the function that uses this macro. */
#define RLC_STACK_HERE ((uintptr_t)__builtin_frame_address(0))

/**
 * Tells whether a call was left.
 *
 * @param at   The address of the call's mark; the mark holds this address too. 0: no call was noted.
 * @param here RLC_STACK_HERE in the function that asks.
 * @return True: the call is not on the stack.
 *
 * Thread: [loop].  Cost: a load. AddressSanitizer must not see it, because that memory may hold anything by now.
 */
static inline RLC_HOLDS_MARK bool rlc_stack_is_left(uintptr_t at, uintptr_t here) {
    const uintptr_t most = (uintptr_t)16 << 20;
    if (at == 0 || here - at < most)
        return true; /* the stack grows downwards; the difference is large if `at` is above */
    return at - here < most && *(const volatile uintptr_t *)at != at;
}

/**
 * Begins a call. The call is the outermost one if no call is noted, or if the noted one was left.
 *
 * @param calls Where the adapter notes its outermost call; 0: none is on the stack.
 * @param mark  A variable of the calling function, which has RLC_HOLDS_MARK.
 * @param here  RLC_STACK_HERE.
 * @return True if the call is the outermost one.
 *
 * Thread: [loop].
 */
static inline bool rlc_stack_begin_call(uintptr_t *calls, volatile uintptr_t *mark, uintptr_t here) {
    bool is_outermost = rlc_stack_is_left(*calls, here);
    *mark = (uintptr_t)mark;
    if (is_outermost)
        *calls = (uintptr_t)mark;
    return is_outermost;
}

/**
 * Ends a call, and the calls inside of it that were left.
 *
 * @param calls As for rlc_stack_begin_call.
 * @param mark  As given to rlc_stack_begin_call.
 *
 * Thread: [loop].
 */
static inline void rlc_stack_end_call(uintptr_t *calls, volatile uintptr_t *mark) {
    if (*calls == (uintptr_t)mark)
        *calls = 0;
}

RLC_END_DECLS
#endif

/**
 * <crunloop/adapters/on_stack.h>: whether calls of an adapter are on the stack. An adapter must know that when it is
 * detached. A C++ exception, another unwinding or longjmp(3) may leave such a call, out of a callout, and nothing tells
 * the adapter of that: a counter of its calls would stand at 1 for ever.
 *
 * So an adapter notes where its outermost call lies, by a mark in a frame of its own. It was left if the asking code
 * lies in its place or further up, or further down with something else where the mark was. What is further apart than
 * 16 MiB lies on different stacks, and counts as going on. An adapter that is detached while it takes such a call for
 * one that goes on is not freed.
 *
 * A function that holds a mark is called by a volatile pointer: so it has a frame of its own, below its caller's.
 */
#ifndef CRUNLOOP_ADAPTERS_ON_STACK_H
#define CRUNLOOP_ADAPTERS_ON_STACK_H

#include <crunloop/base.h>
#include <stdbool.h>
#include <stdint.h>

RLC_BEGIN_DECLS

/** Of a function that holds or reads a mark: that lies where the processor has its stack, for AddressSanitizer, too. */
#define RLC_HOLDS_MARK __attribute__((no_sanitize("address")))

/** Where the asking function's frame begins. */
#define RLC_STACK_HERE ((uintptr_t)__builtin_frame_address(0))

/**
 * Tells whether a call was left.
 *
 * @param at   Where its mark lies, which holds this address; 0: there is none.
 * @param here RLC_STACK_HERE, in code that is not called by the call, or below it.
 * @return True: there is no such call on the stack.
 *
 * Thread: [loop].  Cost: a load, which AddressSanitizer must not see: it is of what may be anything by now.
 */
static inline RLC_HOLDS_MARK bool rlc_stack_is_left(uintptr_t at, uintptr_t here) {
    const uintptr_t most = (uintptr_t)16 << 20;
    if (at == 0 || here - at < most)
        return true; /* the stack grows downwards; the difference is large if `at` is above */
    return at - here < most && *(const volatile uintptr_t *)at != at;
}

/**
 * Begins a call. It is the outermost one, unless one is on the stack that was not left.
 *
 * @param calls Where the adapter notes its outermost call; 0: none is on the stack.
 * @param mark  A variable of the caller, which holds RLC_HOLDS_MARK.
 * @param here  RLC_STACK_HERE.
 * @return Whether it is the outermost one.
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
 * Ends a call, and those inside of it that were left.
 *
 * @param calls As for rlc_stack_begin_call.
 * @param mark  The same one.
 *
 * Thread: [loop].
 */
static inline void rlc_stack_end_call(uintptr_t *calls, volatile uintptr_t *mark) {
    if (*calls == (uintptr_t)mark)
        *calls = 0;
}

RLC_END_DECLS
#endif

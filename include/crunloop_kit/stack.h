/**
 * <crunloop_kit/stack.h>: whether a run was left, by an exception, another unwinding or longjmp(3) out of a callout.
 *
 * Nothing tells a loop of that. It sees it by where a run lay on the stack. The functions are for code that is built
 * together with the core, and are not installed.
 */
#ifndef CRUNLOOP_KIT_STACK_H
#define CRUNLOOP_KIT_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What is further apart lies on different stacks, of which nothing is known: a coroutine may be inside of a run. */
enum { RLC_KIT_STACK_MAX = 16 << 20 };

/** So far below a run's mark lies that of a run inside of it, at the least: a pass and a callout are between them. */
enum { RLC_KIT_BETWEEN_RUNS = 128 };

/** Of AddressSanitizer, if the program has it. */
extern void *__asan_get_current_fake_stack(void) __attribute__((weak));

/**
 * Tells whether the variables of instrumented code may lie elsewhere than on the stack: AddressSanitizer finds their
 * use after return so. Then their places tell nothing.
 *
 * Thread: any.
 */
static inline bool rlc_kit_has_fake_stack(void) {
    return __asan_get_current_fake_stack != NULL && __asan_get_current_fake_stack() != NULL;
}

/** So deep below the end of the main thread AddressSanitizer forgets what frames have marked. */
enum { RLC_KIT_LEFT_STACK = 256 << 10 };

/** Of AddressSanitizer, if the program has it. */
extern void __asan_unpoison_memory_region(void const volatile *at, size_t size) __attribute__((weak));

/**
 * Tells AddressSanitizer that no frame lies deeper on the stack than the caller's. libdispatch ends the main thread of
 * an async main from code that is not instrumented, and what the frames above that have marked stays marked. The
 * sanitizer would report the caller's callees, which use the same memory.
 *
 * Thread: main, at its end.
 */
static inline void rlc_kit_frames_are_left(void) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (__asan_unpoison_memory_region != NULL)
        __asan_unpoison_memory_region((const void *)(here - RLC_KIT_LEFT_STACK), RLC_KIT_LEFT_STACK);
}

/**
 * Tells whether something lies deeper on the stack than the caller, whose run goes on: then it was left.
 *
 * @param at   Where it lay.
 * @param here An address in the caller's frame.
 * @return True if it was left.
 *
 * Thread: [loop].  Cost: no load.
 */
static inline bool rlc_kit_is_below(uintptr_t at, uintptr_t here) {
    return here - at < RLC_KIT_STACK_MAX; /* the stack grows downwards; more if `at` is above */
}

/**
 * Tells whether a run was left.
 *
 * True if the caller lies in its place, or above. Also if it lies below and something else is where the mark was. So
 * what is left counts as running as long as its mark is there and only deeper code asks.
 *
 * @param at   Where its mark lay, which is this address.
 * @param here An address in the caller's frame; of a new run where its mark lies, and RLC_KIT_BETWEEN_RUNS.
 * @return True if it was left.
 *
 * Thread: [loop].  Cost: a load, which a sanitizer must not see: it is of what may be anything by now.
 */
__attribute__((no_sanitize("address"))) static inline bool rlc_kit_is_left(uintptr_t at, uintptr_t here) {
    if (rlc_kit_is_below(at, here))
        return true;
    return at - here < RLC_KIT_STACK_MAX && *(const volatile uintptr_t *)at != at;
}

#endif

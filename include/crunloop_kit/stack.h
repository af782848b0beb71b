/**
 * <crunloop_kit/stack.h>: tells whether an exception, another unwinding or longjmp(3) out of a callout has left a run.
 *
 * A loop is not notified of that. It compares where runs lie on the stack. The functions are for code that is built
 * together with the core, and are not installed.
 */
#ifndef CRUNLOOP_KIT_STACK_H
#define CRUNLOOP_KIT_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Addresses that are further apart lie on different stacks, as when a coroutine runs inside a run. Then the
 * functions return false, because nothing is known.
 */
enum { RLC_KIT_STACK_MAX = 16 << 20 };

/**
 * The mark of a nested run lies at least this far below that of its outer run: a pass and a callout are between them.
 */
enum { RLC_KIT_BETWEEN_RUNS = 128 };

/** Of AddressSanitizer, if the program has it. */
extern void *__asan_get_current_fake_stack(void) __attribute__((weak));

/**
 * Tells whether variables of instrumented code may lie elsewhere than on the stack, as when AddressSanitizer detects
 * their use after return. Then the addresses of variables say nothing about runs.
 *
 * Thread: [any].
 */
static inline bool rlc_kit_has_fake_stack(void) {
    return __asan_get_current_fake_stack != NULL && __asan_get_current_fake_stack() != NULL;
}

/** How far below the caller rlc_kit_frames_are_left removes AddressSanitizer's marks. */
enum { RLC_KIT_LEFT_STACK = 256 << 10 };

/** Of AddressSanitizer, if the program has it. */
extern void __asan_unpoison_memory_region(void const volatile *at, size_t size) __attribute__((weak));

/**
 * Tells AddressSanitizer that no frame lies deeper on the stack than the caller's. libdispatch, which is not
 * instrumented, ends the main thread of an async main. The marks of the frames that it leaves stay, and without this
 * call the sanitizer would report the caller's callees, which use the same memory.
 *
 * Thread: [loop], which is the main thread, at its end.
 */
static inline void rlc_kit_frames_are_left(void) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (__asan_unpoison_memory_region != NULL)
        __asan_unpoison_memory_region((const void *)(here - RLC_KIT_LEFT_STACK), RLC_KIT_LEFT_STACK);
}

/**
 * Tells whether something lies deeper on the stack than the caller: since the caller runs, it was left.
 *
 * @param at   Where it lay.
 * @param here An address in the caller's frame.
 * @return True if it was left.
 *
 * Thread: [loop].  Cost: no load.
 */
static inline bool rlc_kit_is_below(uintptr_t at, uintptr_t here) {
    return here - at < RLC_KIT_STACK_MAX; /* the stack grows downwards; if `at` is above, the difference wraps around */
}

/**
 * Tells whether a run was left.
 *
 * A run was left if the caller lies at its place or above. It was also left if the caller lies below, and other data
 * has overwritten the run's mark. So a run that was left counts as running while its mark is intact and only deeper
 * code asks.
 *
 * @param at   Where its mark lay. The value of the mark is this address.
 * @param here An address in the caller's frame; for a new run, where its mark lies plus RLC_KIT_BETWEEN_RUNS.
 * @return True if it was left.
 *
 * Thread: [loop].  Cost: a load. A sanitizer must not see it, because that memory may hold anything by now.
 */
__attribute__((no_sanitize("address"))) static inline bool rlc_kit_is_left(uintptr_t at, uintptr_t here) {
    if (rlc_kit_is_below(at, here))
        return true;
    return at - here < RLC_KIT_STACK_MAX && *(const volatile uintptr_t *)at != at;
}

#endif

/**
 * <crunloop_kit/stack.h>: tells whether an exception, another unwinding or longjmp(3) out of a callout has left a run.
 *
 * Nothing notifies a loop of that. So the loop compares where its runs lie on the stack. The functions are for code
 * that is built together with the core, and are not installed.
 */
#ifndef CRUNLOOP_KIT_STACK_H
#define CRUNLOOP_KIT_STACK_H

#include <crunloop/base.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * In bytes. Two addresses that are further apart count as lying on different stacks, as when a coroutine runs inside a
 * run. The functions then return false, because the places say nothing about runs.
 */
enum { RLC_KIT_STACK_MAX = 16 << 20 };

/**
 * In bytes. Each run has a mark, a variable on the stack. The mark of a nested run lies at least this far below that of
 * its outer run, because the frames of a pass and of a callout lie between them.
 */
enum { RLC_KIT_BETWEEN_RUNS = 128 };

/** A function of AddressSanitizer; NULL if the program does not contain it. */
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

/** How far below the caller rlc_kit_frames_are_left removes AddressSanitizer's marks, in bytes. */
enum { RLC_KIT_LEFT_STACK = 256 << 10 };

/** A function of AddressSanitizer; NULL if the program does not contain it. */
extern void __asan_unpoison_memory_region(void const volatile *at, size_t size) __attribute__((weak));

/**
 * Tells AddressSanitizer that no frame lies deeper on the stack than the caller's. libdispatch, which is not
 * instrumented, ends the main thread of an async main without a return from the thread's frames, so AddressSanitizer
 * still guards their memory. Without this call it would report the functions that the caller calls, because these use
 * the same memory.
 *
 * Thread: [loop], which is the main thread, at its end.
 */
static inline void rlc_kit_frames_are_left(void) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (__asan_unpoison_memory_region != NULL)
        __asan_unpoison_memory_region((const void *)(here - RLC_KIT_LEFT_STACK), RLC_KIT_LEFT_STACK);
}

/**
 * Tells whether a frame lies deeper on the stack than the caller. If so, the frame was left, because the caller is
 * running.
 *
 * @param at   An address in the frame.
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
 * A run was left if the caller lies at the run's place on the stack or above. A run was also left if the caller lies
 * below, and other data has overwritten the run's mark. So a run that was left still counts as running while its mark
 * is intact and all callers lie below.
 *
 * @param at   The address of the run's mark. The mark contains its own address.
 * @param here An address in the caller's frame; for a new run, the address of its mark plus RLC_KIT_BETWEEN_RUNS.
 * @return True if it was left.
 *
 * Thread: [loop].  Cost: a load, which AddressSanitizer must not check, because the memory may belong to another frame
 * by now.
 */
__attribute__((no_sanitize("address"))) static inline bool rlc_kit_is_left(uintptr_t at, uintptr_t here) {
    if (rlc_kit_is_below(at, here))
        return true;
    return at - here < RLC_KIT_STACK_MAX && *(const volatile uintptr_t *)at != at;
}

#endif

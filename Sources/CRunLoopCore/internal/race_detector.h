/**
 * For hosts that are compiled with ThreadSanitizer. Its runtime does not see the atomics of a library that is compiled
 * without it, and would report a race between a poster, which writes a node of a queue, and the loop, which reads it.
 * So the library announces each hand-over to the runtime, if the process has one.
 */
#ifndef RLC_RACE_DETECTOR_H
#define RLC_RACE_DETECTOR_H

#include <crunloop/base.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
/* The compiler instruments this library, so the runtime sees its atomics. An announcement could hide a race. */
static inline bool rlc_race_detector_is_here(void) {
    return false;
}
static inline void rlc_race_release(const void *object) {
    (void)object;
}
static inline void rlc_race_acquire(const void *object) {
    (void)object;
}
#else
/* They are weak, so that a process without the runtime finds NULL. */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

static inline bool rlc_race_detector_is_here(void) {
    return __tsan_acquire != NULL && __tsan_release != NULL;
}

/**
 * Call these only if rlc_race_detector_is_here. What a thread has done before it releases an object happens before what
 * another thread does after it acquires the object.
 */
static inline void rlc_race_release(const void *object) {
    __tsan_release((void *)(size_t)object);
}
static inline void rlc_race_acquire(const void *object) {
    __tsan_acquire((void *)(size_t)object);
}
#endif

#endif

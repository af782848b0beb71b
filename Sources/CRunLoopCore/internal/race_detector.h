/**
 * ThreadSanitizer, in a host that is compiled with it. Its runtime does not see the atomics of a library that is not:
 * it would report what a poster has written and the loop reads. So each hand-over is told to it, if it is there.
 */
#ifndef RLC_RACE_DETECTOR_H
#define RLC_RACE_DETECTOR_H

#include <stdbool.h>
#include <stddef.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
/* It sees everything here. What is told besides would hide a race. */
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
/* Weak: a process without the runtime finds NULL. */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

static inline bool rlc_race_detector_is_here(void) {
    return __tsan_acquire != NULL && __tsan_release != NULL;
}

/** Only if it is here: what this thread has done until now comes before what follows an acquire of the object. */
static inline void rlc_race_release(const void *object) {
    __tsan_release((void *)(size_t)object);
}
static inline void rlc_race_acquire(const void *object) {
    __tsan_acquire((void *)(size_t)object);
}
#endif

#endif

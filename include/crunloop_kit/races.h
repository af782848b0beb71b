/**
 * <crunloop_kit/races.h>: tells ThreadSanitizer which memory accesses RunLoopKit for C orders, because ThreadSanitizer
 * does not see the atomics of a library that was compiled without it. For code that is built together with the core;
 * not installed.
 */
#ifndef CRUNLOOP_KIT_RACES_H
#define CRUNLOOP_KIT_RACES_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * Tells whether the process contains ThreadSanitizer's runtime, although this library was compiled without
 * ThreadSanitizer.
 *
 * @return True if so. Only then may the caller call the other two functions of this header.
 *
 * Thread: [any].
 */
bool rlc_kit_has_race_detector(void);

/**
 * Tells ThreadSanitizer that what this thread has done before the call happens before what another thread does after it
 * calls rlc_kit_race_acquire for the same object.
 *
 * @param object Any address.
 *
 * Thread: [any].
 */
void rlc_kit_race_release(const void *object);

/**
 * Tells ThreadSanitizer that what threads have done before they called rlc_kit_race_release for the object happens
 * before what this thread does after the call.
 *
 * @param object Any address.
 *
 * Thread: [any].
 */
void rlc_kit_race_acquire(const void *object);

RLC_END_DECLS
#endif

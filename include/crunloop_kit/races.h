/**
 * <crunloop_kit/races.h>: tells ThreadSanitizer how the model for C orders memory, because ThreadSanitizer does not see
 * the atomics of a library that was compiled without it. For code that is built together with the core; not installed.
 */
#ifndef CRUNLOOP_KIT_RACES_H
#define CRUNLOOP_KIT_RACES_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * Tells whether the process has ThreadSanitizer's runtime while this library is not compiled with it.
 *
 * @return True if so: only then may the caller call the other two functions.
 *
 * Thread: [any].
 */
bool rlc_kit_has_race_detector(void);

/**
 * Tells ThreadSanitizer that what this thread has done comes before what follows rlc_kit_race_acquire of the same
 * object.
 *
 * @param object Any address.
 *
 * Thread: [any].
 */
void rlc_kit_race_release(const void *object);

/**
 * Tells ThreadSanitizer that what threads did before rlc_kit_race_release of the object comes before what this thread
 * does after the call.
 *
 * @param object Any address.
 *
 * Thread: [any].
 */
void rlc_kit_race_acquire(const void *object);

RLC_END_DECLS
#endif

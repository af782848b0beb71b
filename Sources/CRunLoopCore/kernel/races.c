/* For RunLoopKitC. The core itself calls the inline functions of race_detector.h. */
#include "race_detector.h"

#include <crunloop_kit/races.h>

bool rlc_kit_has_race_detector(void) {
    return rlc_race_detector_is_here();
}

void rlc_kit_race_release(const void *object) {
    rlc_race_release(object);
}

void rlc_kit_race_acquire(const void *object) {
    rlc_race_acquire(object);
}

/* The version of the library. */
#include <crunloop/version.h>

uint32_t rlc_version(void) {
    return RLC_VERSION;
}

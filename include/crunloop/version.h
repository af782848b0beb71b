/** <crunloop/version.h>: the version of the headers, and that of the library with which the program runs. */
#ifndef CRUNLOOP_VERSION_H
#define CRUNLOOP_VERSION_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/** The version of these headers, by semantic versioning. From 1.0 on, a change that breaks users raises this number. */
#define RLC_VERSION_MAJOR 0
/** An addition raises this number; before 1.0 also a change that breaks users. */
#define RLC_VERSION_MINOR 1
/** A fix raises this number. */
#define RLC_VERSION_PATCH 0

/** A version as one number. A later version has a larger number: minor and patch stay below 1000 [RLC-VERSION-2]. */
#define RLC_VERSION_NUMBER(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))

/** The version of these headers as a number, for the preprocessor: #if RLC_VERSION >= RLC_VERSION_NUMBER(0, 2, 0). */
#define RLC_VERSION RLC_VERSION_NUMBER(RLC_VERSION_MAJOR, RLC_VERSION_MINOR, RLC_VERSION_PATCH)

/**
 * Returns the version of the library. RLC_VERSION is that of the headers with which the program was compiled; with the
 * shared library the two may differ [RLC-VERSION-1].
 *
 * @code{.c}
 * #include <crunloop/version.h>
 * #include <stdio.h>
 *
 * int main(void) {
 *     printf("compiled with %u, runs with %u\n", (unsigned)RLC_VERSION, (unsigned)rlc_version());
 *     return 0;
 * }
 * @endcode
 *
 * @return The version as RLC_VERSION_NUMBER computes it. Cannot fail.
 *
 * Thread: [any, signal-safe].
 */
RLC_API uint32_t rlc_version(void);

RLC_END_DECLS
#endif

/** <runloopkit/version.h>: the version of the headers, and that of the library with which the program runs. */
#ifndef RUNLOOPKIT_VERSION_H
#define RUNLOOPKIT_VERSION_H

#include <runloopkit/base.h>

RLK_BEGIN_DECLS

/**
 * The version of these headers and of <crunloop/...>, by semantic versioning. From 1.0 on, a change that breaks users
 * raises this number.
 */
#define RLK_VERSION_MAJOR 0
/** An addition raises this number; before 1.0 also a change that breaks users. */
#define RLK_VERSION_MINOR 1
/** A fix raises this number. */
#define RLK_VERSION_PATCH 0

/** A version as one number. A later version has a larger number: minor and patch stay below 1000. */
#define RLK_VERSION_NUMBER(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))

/** The version of these headers as a number, for the preprocessor: #if RLK_VERSION >= RLK_VERSION_NUMBER(0, 2, 0). */
#define RLK_VERSION RLK_VERSION_NUMBER(RLK_VERSION_MAJOR, RLK_VERSION_MINOR, RLK_VERSION_PATCH)

/**
 * Returns the version of the library. RLK_VERSION is that of the headers with which the program was compiled; with the
 * shared library the two may differ [RLK-C-16].
 *
 * @return The version as RLK_VERSION_NUMBER computes it.
 *
 * Thread: [any, signal-safe].
 */
RLK_API uint32_t rlk_version(void);

RLK_END_DECLS
#endif

/** <runloopkit/diagnostics.h>: what the library says where no call could return it, and who is told. */
#ifndef RUNLOOPKIT_DIAGNOSTICS_H
#define RUNLOOPKIT_DIAGNOSTICS_H

#include <runloopkit/base.h>

RLK_BEGIN_DECLS

/** What a text is about; of rlk_diagnostics: what is said. */
typedef enum rlk_diagnostic_level {
    /** Something that was asked for will not happen, or other code has closed what is the library's. */
    RLK_DIAGNOSTIC_WARNING = 0,
    /**
     * A call has ignored something, or has taken a value for another one, without an error: an item that was not
     * added, a run of a mode that does not exist. Each is said once. Of rlk_diagnostics: warnings as well.
     */
    RLK_DIAGNOSTIC_HINT = 1,
    RLK_DIAGNOSTIC_NONE = 2, /**< Of rlk_diagnostics: nothing is said. */
} rlk_diagnostic_level;

/**
 * Is told one text.
 *
 * @param level   RLK_DIAGNOSTIC_WARNING or RLK_DIAGNOSTIC_HINT.
 * @param text    One line without its end, for the time of the call: control characters of names in it are escaped. It
 *                is for people, and may be another one in each version.
 * @param context The context that was given with the function.
 *
 * Thread: [any]: the one whose call is reported, or one that only tells it. Several may call at the same time.
 */
typedef void (*rlk_diagnostic_fn)(rlk_diagnostic_level level, const char *text, void *context);

/** What is said, and who is told. Later versions append members: see `size`. */
typedef struct rlk_diagnostics {
    size_t size;                /**< sizeof(rlk_diagnostics). */
    rlk_diagnostic_fn tell;     /**< NULL: a line on standard error, which begins with "RunLoopKit: ". */
    void *context;              /**< Handed to the functions. */
    rlk_release_fn release;     /**< Or NULL. Called when no call of `tell` is left, or to come. */
    rlk_diagnostic_level level; /**< What is said. */
    uint32_t reserved;          /**< 0. */
} rlk_diagnostics;

/**
 * Sets what is said, and who is told, in the place of what was set before [RLK-C-19]. At first warnings go to standard
 * error; hints as well if the environment has RUNLOOPKIT_DIAGNOSTICS with anything but nothing or 0. One line goes to
 * standard error whoever is told: that a wake could not be written, which a signal handler may have asked for.
 *
 * @param diagnostics Read during the call; NULL: warnings, on standard error.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_set_diagnostics(const rlk_diagnostics *diagnostics);

RLK_END_DECLS
#endif

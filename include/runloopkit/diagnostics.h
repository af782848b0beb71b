/** <runloopkit/diagnostics.h>: problems that no call could return, and that the library reports to a function. */
#ifndef RUNLOOPKIT_DIAGNOSTICS_H
#define RUNLOOPKIT_DIAGNOSTICS_H

#include <runloopkit/base.h>

RLK_BEGIN_DECLS

/** The level of a report. In rlk_diagnostics it says which reports the library makes. */
typedef enum rlk_diagnostic_level {
    /** The library cannot do what it was asked for, or other code has closed a descriptor of the library. */
    RLK_DIAGNOSTIC_WARNING = 0,
    /**
     * A call has ignored something, or has replaced a value by another one, without an error: an item that was not
     * added, a run of a mode that does not exist. Or the program has made a mistake that no call can refuse: a stop
     * that found no run, a callout of more than a second. The library reports each such case once. Some cases only a
     * loop finds that was made while hints were on. In rlk_diagnostics: both hints and warnings.
     */
    RLK_DIAGNOSTIC_HINT = 1,
    RLK_DIAGNOSTIC_NONE = 2, /**< In rlk_diagnostics: nothing is reported. */
} rlk_diagnostic_level;

/**
 * Receives one report.
 *
 * @param level   RLK_DIAGNOSTIC_WARNING or RLK_DIAGNOSTIC_HINT.
 * @param text    One line without a newline, valid during the call. Control characters of names are escaped in it. The
 *                text is for people, and each version may word it differently.
 * @param context The context that was given with the function.
 *
 * Thread: [any]: the thread whose call is reported, or another one. Several threads may call the function at a time.
 */
typedef void (*rlk_diagnostic_fn)(rlk_diagnostic_level level, const char *text, void *context);

/** What is reported, and to which function. Later versions append members: see `size`. */
typedef struct rlk_diagnostics {
    size_t size;            /**< sizeof(rlk_diagnostics). */
    rlk_diagnostic_fn tell; /**< Receives the reports. NULL: each is a line on standard error after "RunLoopKit: ". */
    void *context;          /**< Handed to the functions. */
    rlk_release_fn release; /**< Called when no call of `tell` runs or will run; may be NULL. */
    rlk_diagnostic_level level; /**< What is reported. */
    uint32_t reserved;          /**< 0. */
} rlk_diagnostics;

/**
 * Sets what is reported, and to which function; replaces what was set before [RLK-C-19]. Before the first call the
 * library writes warnings to standard error. It also writes hints if the environment variable RUNLOOPKIT_DIAGNOSTICS is
 * set, and neither empty nor 0. The installed library is built for release and cannot know how the program was built: a
 * debug build of the program sets the variable or calls this function. If the write that wakes a loop fails, that
 * report always goes to standard error, because a signal handler may have made the write.
 *
 * @code{.c}
 * #include <runloopkit/runloopkit.h>
 * #include <stdio.h>
 *
 * static void tell(rlk_diagnostic_level level, const char *text, void *context) {
 *     (void)context;
 *     printf("%s: %s\n", level == RLK_DIAGNOSTIC_HINT ? "hint" : "warning", text);
 * }
 *
 * int main(void) {
 *     rlk_diagnostics all = {.size = sizeof all, .tell = tell, .level = RLK_DIAGNOSTIC_HINT};
 *     if (rlk_set_diagnostics(&all) < 0)
 *         return 1;
 *     // Reports that the mode does not exist.
 *     return rlk_loop_run_in_mode(NULL, "nothing", RLK_TIME_FOREVER, false) == RLK_RUN_FINISHED ? 0 : 1;
 * }
 * @endcode
 *
 * @param diagnostics Read during the call. NULL restores warnings on standard error.
 * @return 0; -EINVAL.
 *
 * Thread: [any].
 */
RLK_API int rlk_set_diagnostics(const rlk_diagnostics *diagnostics);

RLK_END_DECLS
#endif

/** <crunloop/loop_state.h>: the state of an rlc_loop, as figures and as a text for debugging. */
#ifndef CRUNLOOP_LOOP_STATE_H
#define CRUNLOOP_LOOP_STATE_H

#include <crunloop/loop.h>

RLC_BEGIN_DECLS

/** Figures of a loop at one moment [RLC-STAT-1]. Later versions append members: see `size`. */
typedef struct rlc_loop_statistics {
    /** The caller sets it to sizeof(rlc_loop_statistics). The call sets it to the number of bytes written. */
    size_t size;
    uint64_t runs;             /**< Runs that have begun so far. */
    uint64_t rebuilds;         /**< As rlc_loop_rebuilds. */
    uint64_t timer_moves;      /**< As rlc_loop_timer_moves. */
    uint64_t next_deadline_ns; /**< The earliest date of the armed timers; RLC_TIME_FOREVER if none is armed. */
    uint32_t depth;            /**< Runs and dispatches on the stack. */
    uint32_t watches;          /**< Watches that were added and not removed. */
    uint32_t failed_watches;   /**< Watches with an error that the loop has not reported to their callout yet. */
    uint32_t timers;           /**< Timers that were added and not removed. */
    uint32_t armed_timers;     /**< Timers that are armed, and not due. */
    uint32_t due_timers;       /**< Timers that are due, and not called yet. */
    uint32_t posts;            /**< Nodes that were posted or deferred, and not called yet. */
    uint32_t descriptors;      /**< Descriptors of the loop's own that are open. */
    uint32_t hooks;            /**< Hooks that were added and not removed. */
} rlc_loop_statistics;

/**
 * Reads the figures of a loop. A loop pays nothing for its figures until they are read.
 *
 * @code{.c}
 * #include <crunloop/crunloop.h>
 * #include <stdio.h>
 *
 * int main(void) {
 *     rlc_loop *loop;
 *     rlc_loop_statistics statistics = {.size = sizeof statistics};
 *     if (rlc_loop_create(NULL, &loop) < 0 || rlc_loop_read_statistics(loop, &statistics) < 0)
 *         return 1;
 *     printf("%u watches, %u timers\n", (unsigned)statistics.watches, (unsigned)statistics.timers);
 *     return rlc_loop_destroy(loop);
 * }
 * @endcode
 *
 * @param loop           The loop.
 * @param ret_statistics The figures. The caller owns the structure and sets its `size` before the call. The call sets
 *                       `size` to the number of bytes written, and leaves later members alone [RLC-STAT-2].
 * @return 0; -EINVAL (the size ends before `hooks`). Works in a child of fork(2) too [RLC-STAT-3].
 *
 * Thread: [loop].  Cost: O(posts + due timers).
 */
RLC_API int rlc_loop_read_statistics(const rlc_loop *loop, rlc_loop_statistics *ret_statistics);

/**
 * Describes a loop: a line with what it does and its counts, a line for each watch, and one for each timer
 * [RLC-DESCRIBE-1]. The text is for people and debuggers, and may differ between versions.
 *
 * If the descriptor of a watch was closed before the watch was removed, the line says so: "watch: fd 3 (closed),
 * readable". The text does not show it if another file has the number by now [RLC-DESCRIBE-4].
 *
 * @code{.c}
 * #include <crunloop/crunloop.h>
 * #include <stdio.h>
 *
 * int main(void) {
 *     rlc_loop *loop;
 *     char text[1024];
 *     if (rlc_loop_create(NULL, &loop) < 0 || rlc_loop_describe(loop, text, sizeof text) < 0)
 *         return 1;
 *     puts(text);
 *     return rlc_loop_destroy(loop);
 * }
 * @endcode
 *
 * @param loop   The loop.
 * @param buffer Receives the text and a 0; a longer text is cut off [RLC-DESCRIBE-2]. NULL is allowed if size is 0.
 * @param size   The bytes of the buffer.
 * @return The length of the whole text, as snprintf(3): the text was cut off if the length is not less than size;
 *         -EOVERFLOW (more than INT_MAX). Works in a child of fork(2) too.
 *
 * Thread: [loop].  Cost: O(watches + timers + posts). It reads the clock, makes one system call for each watch, and
 * allocates nothing [RLC-DESCRIBE-3].
 */
RLC_API int rlc_loop_describe(const rlc_loop *loop, char *buffer, size_t size);

RLC_END_DECLS
#endif

/**
 * <crunloop/loop.h>: rlc_loop, the parts of the core as a small loop without modes, for C hosts.
 *
 * One thread owns it: the creating one. Only post, wake and stop come from elsewhere. It promises no order between
 * watches, timers and posts; work queued by work waits for the next pass; no kind can starve another.
 */
#ifndef CRUNLOOP_LOOP_H
#define CRUNLOOP_LOOP_H

#include <crunloop/kernel.h>
#include <crunloop/post_queue.h>

RLC_BEGIN_DECLS

typedef struct rlc_loop rlc_loop;
typedef struct rlc_watch rlc_watch;
typedef struct rlc_timer rlc_timer;

typedef enum rlc_run_result {
    RLC_RUN_FINISHED = 1, /**< No watch, no timer that is armed, no post. */
    RLC_RUN_STOPPED,
    RLC_RUN_TIMED_OUT,
    RLC_RUN_HANDLED, /**< Only rlc_loop_run_once: the pass called something. */
} rlc_run_result;

typedef void (*rlc_watch_fn)(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context);
typedef void (*rlc_timer_fn)(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context);

RLC_API int rlc_loop_create(const rlc_kernel *kernel, rlc_loop **ret_loop);
/** Not from a callout (-EBUSY). Removes what is left; posts that did not run get ran = false. [loop] */
RLC_API int rlc_loop_destroy(rlc_loop *loop);
RLC_API int rlc_loop_add_watch(rlc_loop *loop, int fd, uint32_t interest, rlc_watch_fn watch_fn, void *context, rlc_watch **ret_watch);
RLC_API int rlc_watch_set_interest(rlc_watch *watch, uint32_t interest);
/** Also from its own callout; no callout afterwards. */
RLC_API void rlc_watch_remove(rlc_watch *watch);
RLC_API int rlc_loop_add_timer(rlc_loop *loop, rlc_timer_fn timer_fn, void *context, rlc_timer **ret_timer);
/** interval_ns 0: once. Never early, at most tolerance_ns late; missed dates of a repeating timer are skipped. */
RLC_API int rlc_timer_arm(rlc_timer *timer, uint64_t deadline_ns, uint64_t interval_ns, uint64_t tolerance_ns);
RLC_API void rlc_timer_remove(rlc_timer *timer);
/** Runs node->post_fn on the loop's thread, and wakes. -ESHUTDOWN after destroy began. The caller keeps the loop alive. [any] */
RLC_API int rlc_loop_post(rlc_loop *loop, rlc_post_node *node);
RLC_API int rlc_loop_wake(rlc_loop *loop); /**< One pass, also if there is nothing to do. [signal] */
RLC_API int rlc_loop_stop(rlc_loop *loop); /**< Ends the innermost run after its pass; nothing if none runs. [signal] */
/** Passes until finished, stopped or the deadline. Nesting allowed. rlc_run_result or -errno. [loop] */
RLC_API int rlc_loop_run(rlc_loop *loop, uint64_t deadline_ns);
/** One pass; waits for it until deadline_ns (0: does not). [loop] */
RLC_API int rlc_loop_run_once(rlc_loop *loop, uint64_t deadline_ns);

/* Inside a host's loop. [loop] The host polls the descriptor for reading, level-triggered. */
RLC_API int rlc_loop_fd(const rlc_loop *loop);
/** Before every host sleep: arms the timer, marks the loop asleep. 1: dispatch at once; 0: sleep. Twice is allowed. */
RLC_API int rlc_loop_prepare(rlc_loop *loop);
/** After the descriptor was readable, or prepare said 1: one pass. 1: more is pending, 0: not. Without work: no pass. */
RLC_API int rlc_loop_dispatch(rlc_loop *loop);

RLC_END_DECLS
#endif

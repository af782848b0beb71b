/** rlc_loop's own records, shared by loop.c (passes), loop_watch.c and loop_timer.c. */
#ifndef RLC_LOOP_INTERNAL_H
#define RLC_LOOP_INTERNAL_H

#include <bsd/sys/queue.h>
#include <crunloop/crunloop.h>
#include <stdatomic.h>

/** Always in exactly one list: pending (not added to the set yet), failed (could not be), watches, or dead. */
struct rlc_watch {
    TAILQ_ENTRY(rlc_watch) link;
    rlc_loop *loop;
    rlc_watch_fn watch_fn;
    void *context;
    rlc_token token; /**< 0 while the set does not have it. */
    int fd;
    uint8_t interest;
    bool is_pending, has_failed, is_muted, is_removed;
};

/** Always in exactly one list: timers, due (taken from the heap, not called yet), or dead. */
struct rlc_timer {
    TAILQ_ENTRY(rlc_timer) link;
    rlc_loop *loop;
    rlc_timer_fn timer_fn;
    void *context;
    rlc_token token;
    uint64_t deadline_ns, interval_ns, tolerance_ns;
    uint32_t arms; /**< Tells whether a callout armed its own timer. */
    bool is_armed, is_due, is_removed;
};

TAILQ_HEAD(rlc_watch_list, rlc_watch);
TAILQ_HEAD(rlc_timer_list, rlc_timer);

/** A watch callout on the stack. */
typedef struct rlc_frame {
    rlc_watch *watch;
    struct rlc_frame *outer;
} rlc_frame;

struct rlc_loop {
    const rlc_kernel *kernel;
    rlc_port_set *set;
    rlc_wakeup_port *wakeup;
    rlc_timer_port *timer_port; /**< With the first timer, as is the heap. */
    rlc_timer_heap *heap;
    rlc_post_queue posts;
    rlc_post_node *taken; /**< Posts of the pass that runs now, oldest first; a nested pass goes on with them. */
    struct rlc_watch_list watches, pending, failed, dead_watches;
    struct rlc_timer_list timers, due, dead_timers;
    rlc_spin spin;
    rlc_frame *frames;
    size_t watch_count, pending_count, armed_count, due_count;
    /** The innermost run's serial << 1, and whether it was asked to stop; 0 while none runs. */
    _Atomic uint64_t stop;
    uint64_t last_serial;
    uint64_t looked_ns;
    uint32_t skipped_looks;
    uint32_t depth; /**< Passes on the stack. What is removed meanwhile is freed by the outermost. */
    uint32_t fork_generation;
};

static inline bool rlc_loop_is_forked(const rlc_loop *loop) {
    return loop->fork_generation != rlc_fork_generation();
}

/** Adds what is pending to the set. */
void rlc_loop_flush_watches(rlc_loop *loop);
/** Calls the watches that could not be added. True if there was one. */
bool rlc_loop_call_failed_watches(rlc_loop *loop);
void rlc_loop_call_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready);
/** A nested run begins: the watch whose callout starts it is no part of it. */
void rlc_loop_mute_innermost(rlc_loop *loop);
void rlc_loop_free_watches(rlc_loop *loop, struct rlc_watch_list *list);

/** The earliest deadline that is not due yet; RLC_TIME_FOREVER if none. */
uint64_t rlc_loop_first_deadline(rlc_loop *loop);
/** Moves what is due at now_ns from the heap to the list. */
void rlc_loop_collect_due_timers(rlc_loop *loop, uint64_t now_ns);
/**
 * Calls them. True if there was one. Bounded: only a pass collects, and a nested one calls all that it collects.
 */
bool rlc_loop_call_due_timers(rlc_loop *loop);
void rlc_loop_free_timers(rlc_loop *loop, struct rlc_timer_list *list);

#endif

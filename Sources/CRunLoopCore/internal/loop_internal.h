/** rlc_loop's own records, and what its files know of each other: each section below is one of them. */
#ifndef RLC_LOOP_INTERNAL_H
#define RLC_LOOP_INTERNAL_H

#include "port_set_internal.h"
#include "post_queue_internal.h"
#include "race_detector.h"
#include "timer_heap_internal.h"

#include <assert.h>
#include <crunloop_kit/crunloop_kit.h>
#include <stdatomic.h>

/** NULL for an object is the caller's mistake: it crashes, and in a build for debugging this says so first. */
#if defined(DEBUG) || defined(RLC_INTERNAL_CHECKS)
#define RLC_REQUIRE(object) assert((object) != NULL)
#else
#define RLC_REQUIRE(object) ((void)0)
#endif

/**
 * A record of the set: a member, or in one of the loop's lists: pending (not added to the set yet), failed (could not
 * be), or dead.
 */
struct rlc_watch {
    rlc_port port;
    rlc_loop *loop;
    rlc_watch_fn watch_fn; /**< NULL once it was removed. */
};

enum {
    RLC_TIMER_DUE,   /**< Taken from the heap, and not called yet. */
    RLC_TIMER_ARMED, /**< rlc_timer_arm was called since its callout began. */
};

/** A record of the heap. */
struct rlc_timer {
    rlc_heap_timer member; /**< Its marks are RLC_TIMER_... */
    rlc_loop *loop;
    rlc_timer_fn timer_fn; /**< NULL once it was removed. */
    uint64_t interval_ns;
    rlc_slot_link due_link;
};

/** A run with another one inside of it: what the loop has of the innermost one in its place. */
typedef struct rlc_outer_run {
    struct rlc_outer_run *outer;
    uintptr_t at, callee;
    uint64_t stop;
    uint16_t hook_depth;
} rlc_outer_run;

enum { RLC_CALLEE_IS_TIMER = 1 };

typedef TAILQ_HEAD(rlc_hooks, rlc_hook) rlc_hooks;

struct rlc_loop {
    const rlc_kernel *kernel;
    rlc_port_set *set;
    rlc_wakeup_port *wakeup;
    rlc_timer_port *timer_port; /**< With the first timer, as is the heap; NULL if none could be made. */
    rlc_token timer_token;      /**< Its descriptor's, in the set. */
    uint64_t timers_at_ns; /**< No timer of the heap is due before: what the heap said, or an earlier date since. */
    uint64_t told_at_ns;   /**< rlc_timer_port_armed: what is due then or later the kernel will tell. */
    rlc_timer_heap *heap;
    rlc_post_queue posts;
    rlc_post_node *deferred, **deferred_end; /**< Oldest first; the end is NULL once destroy has begun. */
    rlc_post_node *taken; /**< Posts of the pass that runs now, oldest first; a nested pass goes on with them. */
    rlc_slot_list pending, failed;                    /**< Watches. */
    rlc_slot_list due;                                /**< Timers. */
    rlc_unused_slots removed_watches, removed_timers; /**< To be released when no callout is on the stack. */
    rlc_spin spin;
    /* Of the innermost run. Not on the stack, which an exception or longjmp(3) may leave: see loop_nested.c. */
    uintptr_t at;         /**< Where it lies on the stack; 0: nothing runs. What it removes is freed after its pass. */
    uintptr_t callee;     /**< The watch, or the timer and RLC_CALLEE_IS_TIMER, in its callout; 0: neither. */
    rlc_outer_run *outer; /**< Those around it, innermost first. */
    /** The innermost run's serial << 1, and whether it was asked to stop; 0 while none runs. */
    _Atomic uint64_t stop;
    uint64_t last_serial;
    uint64_t looked_ns;
    uint64_t slack_ns;                  /**< Of a wait's end, from the first tolerant timer on; 0: not asked for yet. */
    uint64_t limited_by_ns;             /**< The last date for which the wait's own end was to wake the loop. */
    uint8_t skipped_looks, blind_skips; /**< Looks left out since then; how many more before the clock is read. */
    uint16_t hook_depth;                /**< Passes and preparations with hooks on the stack. */
    /** fork_generation; UINT32_MAX where a post has more to ask: under a race detector, and once destroy has begun. */
    _Atomic uint32_t plain_generation;
    uint32_t watch_count;
    bool can_sleep;        /**< The eventfd is there: with the first watch, timer or prepare. */
    bool is_brisk;         /**< The last time what ran between two looks was short. */
    bool is_prepared;      /**< For the pass that begins now: its hooks were called. */
    bool has_prelude;      /**< A pass has something to do before its poll: watches that are pending, or hooks. */
    bool has_moved_timers; /**< Since the timer's descriptor was last compared with them: its date may be nobody's. */
    bool has_removed;      /**< Members, whose memory is not free yet. */
    bool has_woken;        /**< A look has taken a wake, since the innermost calls of hooks began. */
    bool is_watched_for_races;
    uint32_t hook_count; /**< Without those that were removed while a walk may have them. */
    uint32_t fork_generation;
    const uint32_t *fork_word; /**< rlc_fork_word, which stays where it is from the first generation on. */
    rlc_hooks hooks;           /**< In the order of adding; with those that were removed. */
};

/**
 * As rlc_has_forked_since, also asked after each callout: that may return into a child of fork(2). It gives this
 * process no number: a child that has none yet finds 0, which is no loop's number.
 */
static inline bool rlc_loop_is_forked(const rlc_loop *loop) {
    return __atomic_load_n(loop->fork_word, __ATOMIC_ACQUIRE) != loop->fork_generation;
}

/* ---- its life: loop.c ---- */

int rlc_loop_open_wakeup(rlc_loop *loop);

/**
 * What another thread wakes it by, before there is anything to sleep for: later nothing of it can fail. 0 or -errno.
 */
static inline int rlc_loop_ensure_wakeup(rlc_loop *loop) {
    return loop->can_sleep ? 0 : rlc_loop_open_wakeup(loop);
}

/* ---- work ---- */

static inline uint64_t rlc_loop_now(const rlc_loop *loop) {
    return loop->kernel->now(loop->kernel->context, RLC_CLOCK_MONOTONIC);
}

static inline bool rlc_loop_is_stopped(const rlc_loop *loop) {
    return (atomic_load(&loop->stop) & 1) != 0;
}

/** True if a timer is armed and not taken from the heap yet. */
static inline bool rlc_loop_has_timers(const rlc_loop *loop) {
    return loop->heap != NULL && rlc_timer_heap_has_armed(loop->heap);
}

/** Asks the heap, whose timers may be fewer, or later, by now. */
static inline void rlc_loop_note_timers(rlc_loop *loop) {
    loop->timers_at_ns = loop->heap == NULL ? RLC_TIME_FOREVER : rlc_timer_heap_earliest_key(loop->heap);
}

/**
 * True if a timer may be due of which the kernel will not tell: its timer is armed for no moment that is early enough,
 * or has expired. If not, a wait that begins now ends when the first timer is due.
 */
static inline bool rlc_loop_has_untold_timer(const rlc_loop *loop) {
    return loop->timers_at_ns < loop->told_at_ns;
}

static inline bool rlc_loop_has_due_timer(const rlc_loop *loop) {
    return rlc_loop_has_timers(loop) && rlc_timer_heap_first(loop->heap) <= rlc_loop_now(loop);
}

/** The next pass may have more to do than to call posts. */
static inline void rlc_loop_end_blind_skips(rlc_loop *loop) {
    loop->blind_skips = 0;
}

/** True if something can be called without asking the kernel or the clock. */
static inline bool rlc_loop_has_work(const rlc_loop *loop) {
    return loop->deferred != NULL || rlc_has_posts(&loop->posts) || rlc_port_set_has_events(loop->set) ||
           loop->taken != NULL || !rlc_slot_list_is_empty(&loop->due) || !rlc_slot_list_is_empty(&loop->failed);
}

static inline bool rlc_loop_is_finished(const rlc_loop *loop) {
    return loop->watch_count == 0 && !rlc_loop_has_timers(loop) && !rlc_loop_has_work(loop) && loop->hook_count == 0;
}

/** All that is queued: what was deferred, then `posts`. */
static inline rlc_post_node *rlc_loop_take_deferred(rlc_loop *loop, rlc_post_node *posts) {
    rlc_post_node *first = loop->deferred;
    if (first == NULL)
        return posts;
    *loop->deferred_end = posts;
    loop->deferred = NULL;
    loop->deferred_end = &loop->deferred;
    return first;
}

/** What other threads did before a post, a wake or a stop comes before what follows. */
static inline void rlc_loop_acquire(const rlc_loop *loop) {
    if (loop->is_watched_for_races)
        rlc_race_acquire(loop);
}

/** A look has taken a wake. True. */
static inline bool rlc_loop_note_wake(rlc_loop *loop) {
    rlc_loop_acquire(loop);
    return loop->has_woken = true;
}

/** All that is queued, the oldest first; NULL: nothing. */
static inline rlc_post_node *rlc_loop_take_queued(rlc_loop *loop) {
    if (!rlc_has_posts(&loop->posts))
        return rlc_loop_take_deferred(loop, NULL);
    rlc_post_node *posts = rlc_take_posts(&loop->posts);
    rlc_loop_acquire(loop);
    return rlc_loop_take_deferred(loop, posts);
}

/* ---- passes and runs: loop_run.c ---- */

enum {
    RLC_LOOKS_SKIPPED_MAX = 64,
    RLC_LOOK_IS_DUE, /**< In place of their number: until the loop has looked, there is nothing to learn either. */
    RLC_LOOK_SLEEPS, /**< In place of it, too: the thread sleeps in the look. */
};

/** The result of a pass. */
typedef struct rlc_outcome {
    bool called; /**< At least one callout. */
    bool woken;  /**< rlc_loop_wake asked for it. */
} rlc_outcome;

/** The next pass polls the kernel. */
static inline void rlc_loop_demand_look(rlc_loop *loop) {
    loop->skipped_looks = RLC_LOOK_IS_DUE;
    loop->blind_skips = 0;
}

/**
 * Waits until deadline_ns if there is nothing to do, and calls what there is. What is to be called is settled before
 * the first callout: work queued by work waits for the next pass. 0 or -errno.
 */
int rlc_loop_pass(rlc_loop *loop, uint64_t deadline_ns, rlc_outcome *outcome);
/**
 * Announces sleep and sees to it that the timers are in time: by the timer's descriptor, or by an earlier *deadline_ns;
 * NULL: somebody else waits. 1: it may sleep, 0: there is work, or -errno.
 */
int rlc_loop_get_ready_to_sleep(rlc_loop *loop, uint64_t *deadline_ns);

/* ---- runs inside of runs, and runs that were left: loop_nested.c ---- */

/** Of functions that call rlc_loop_enter: what lies on their stack is where the processor has it. */
#define RLC_ON_STACK __attribute__((no_sanitize("address")))

/** A run, or a host's call, begins inside of another one, unless that was left. 0 or -ENOMEM. */
int rlc_loop_nest(rlc_loop *loop, uintptr_t here, bool is_run);

/**
 * It lies there from now on: `mark` is the caller's, until it leaves. Those inside of it end before it does, or were
 * left: rlc_loop_end_inner.
 */
static inline void rlc_loop_enter(rlc_loop *loop, volatile uintptr_t *mark) {
    *mark = loop->at = (uintptr_t)mark;
}

/** It ends. A run takes its stop with it. */
void rlc_loop_leave(rlc_loop *loop, bool is_run);
/** `outer` is around a run that goes on: those inside of that were left. */
void rlc_loop_end_inner(rlc_loop *loop, const rlc_outer_run *outer);
/** False if nothing runs, or what does was left, as seen from `here` on the stack. */
bool rlc_loop_is_running(rlc_loop *loop, uintptr_t here);

/* ---- watches: loop_watch.c ---- */

/** Adds what is pending to the set, and notes whether anything is left to do before the next poll. */
void rlc_loop_flush_watches(rlc_loop *loop);
/** Calls the watches that could not be added, as long as no callout forks. True if there was one. */
bool rlc_loop_call_failed_watches(rlc_loop *loop);
/**
 * After a wait that has failed: once more, if other code has closed the set's descriptor. A count, 0 for -EINTR, or
 * -errno.
 */
int rlc_loop_wait_again(rlc_loop *loop, uint64_t deadline_ns, int failure);
/** epoll does not watch a member any more: it is refused. */
void rlc_loop_lose(rlc_loop *loop, rlc_port *port);
void rlc_calling_out_to_a_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready);
/** The run in its callout, which has left it out, is over. */
void rlc_loop_take_back(rlc_loop *loop, rlc_watch *watch);

/** Its callout has returned, or was left. */
static inline void rlc_loop_end_watch(rlc_loop *loop, rlc_watch *watch) {
    /* Without a function it was removed. */
    if (rlc_port_has(&watch->port, RLC_PORT_MUTED) && watch->watch_fn != NULL)
        rlc_loop_take_back(loop, watch);
}

static inline void rlc_loop_call_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready) {
    loop->callee = (uintptr_t)watch;
    rlc_calling_out_to_a_watch(loop, watch, ready);
    loop->callee = 0;
    rlc_loop_end_watch(loop, watch);
}

/** A nested run begins: the watch whose callout starts it is no part of it. */
void rlc_loop_mute(rlc_loop *loop, rlc_watch *watch);
void rlc_loop_free_removed_watches(rlc_loop *loop);

/* ---- timers: loop_timer.c ---- */

/** Moves what is due at now_ns from the heap to the list. */
void rlc_loop_collect_due_timers(rlc_loop *loop, uint64_t now_ns);
/**
 * Calls them, as long as no callout forks. True if there was one. Bounded: only a pass collects, and a nested one calls
 * all that it collects.
 */
bool rlc_loop_call_due_timers(rlc_loop *loop);
/** The timer's callout has returned, or was left: arms it anew, if it repeats and the callout has not done so. */
void rlc_loop_end_timer(rlc_loop *loop, rlc_timer *timer);
/**
 * Before a sleep, after has_moved_timers: if the timer's descriptor is set for a date that no timer has any more, sets
 * it for the first timer, or for none, unless that does not pay. 1 or -errno.
 */
int rlc_loop_spare_wake(rlc_loop *loop);
void rlc_loop_free_removed_timers(rlc_loop *loop);

/** No callout is on the stack: what was removed by one may be used again. */
static inline void rlc_loop_free_removed(rlc_loop *loop) {
    if (!loop->has_removed)
        return;
    loop->has_removed = false;
    rlc_loop_free_removed_watches(loop);
    rlc_loop_free_removed_timers(loop);
}

/** Lets the timerfd expire at wake_at_ns or before, and makes it if there is none. >= 0, or -errno: there is none. */
int rlc_loop_arm_timer_port(rlc_loop *loop, uint64_t wake_at_ns);
/** Other code has closed the timerfd: the next arming makes another one. */
void rlc_loop_lose_timer_port(rlc_loop *loop);
/** Asks epoll whether other code has closed the timerfd. Only with one. */
void rlc_loop_verify_timer_port(rlc_loop *loop);

/* ---- hooks: loop_hook.c ---- */

/** Around calls of hooks, in a pass or a preparation: the hooks that are removed meanwhile are kept. */
void rlc_loop_begin_hooks(rlc_loop *loop);
void rlc_loop_end_hooks(rlc_loop *loop);
/** 1; 0: a run inside of one has left something to do, so that nobody may sleep; -ECHILD: one has forked. */
int rlc_loop_call_prepares(rlc_loop *loop);
/** A pass between the prepares and the checks. */
int rlc_loop_pass_with_hooks(rlc_loop *loop, uint64_t deadline_ns, rlc_outcome *outcome);
/** All of them: the loop ends. */
void rlc_loop_free_hooks(rlc_loop *loop);

#endif

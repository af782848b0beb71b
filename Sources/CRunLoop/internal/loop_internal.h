/** The records of rlc_loop, and what its files declare for each other, file by file. */
#ifndef RLC_LOOP_INTERNAL_H
#define RLC_LOOP_INTERNAL_H

#include "port_set_internal.h"
#include "post_queue_internal.h"
#include "race_detector.h"
#include "timer_heap_internal.h"

#include <assert.h>
#include <crunloop/crunloop.h>
#include <crunloop_kit/crunloop_kit.h>
#include <stdatomic.h>

/** NULL for an object is the caller's mistake and crashes. In a debug build this macro reports it first. */
#if defined(DEBUG) || defined(RLC_INTERNAL_CHECKS)
#define RLC_REQUIRE(object) assert((object) != NULL)
#else
#define RLC_REQUIRE(object) ((void)0)
#endif

/**
 * A record of the port set. A watch is a member of the set, or in one of the loop's lists: pending (not added to the
 * set yet), failed (refused by the set, and not called for that yet), or removed. A suspended watch may be in none.
 */
struct rlc_watch {
    rlc_port port;
    rlc_loop *loop;
    rlc_watch_fn watch_fn; /**< NULL once the watch was removed. */
};

enum {
    RLC_TIMER_DUE,   /**< Taken from the heap and not called yet. */
    RLC_TIMER_ARMED, /**< rlc_timer_arm was called since the timer's callout began. */
};

/** A record of the heap of timers. */
struct rlc_timer {
    rlc_heap_timer member; /**< Its marks are RLC_TIMER_... */
    rlc_loop *loop;
    rlc_timer_fn timer_fn; /**< NULL once the timer was removed. */
    uint64_t interval_ns;
    rlc_slot_link due_link;
};

/** A run that has a nested run: holds what `struct rlc_loop` holds for the innermost run. */
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
    rlc_timer_port *timer_port; /**< Made with the first timer, like the heap; NULL if making it failed. */
    rlc_token timer_token;      /**< The member of the set for its descriptor. */
    uint64_t timers_at_ns;      /**< The heap's first date, or an earlier one: no timer of the heap is due before. */
    uint64_t armed_at_ns;       /**< rlc_timer_port_armed: the timerfd's date; RLC_TIME_FOREVER if it is not set. */
    rlc_timer_heap *heap;
    rlc_post_queue posts;
    rlc_post_node *deferred, **deferred_end; /**< Oldest first; deferred_end is NULL once destroy has begun. */
    rlc_post_node *taken;          /**< Posts of the present pass, oldest first; a nested pass continues with them. */
    rlc_slot_list pending, failed; /**< Watches. */
    rlc_slot_list due;             /**< Timers. */
    rlc_unused_slots removed_watches, removed_timers; /**< Released when no callout is on the stack. */
    rlc_spin spin;
    /* The innermost run's record. It is not on the stack, since an exception or a jump may leave the run. */
    uintptr_t at;         /**< Where the run lies on the stack; 0: nothing runs, so a removal frees memory at once. */
    uintptr_t callee;     /**< The watch, or the timer | RLC_CALLEE_IS_TIMER, whose callout runs; 0: none. */
    rlc_outer_run *outer; /**< The runs around it, innermost first. */
    /** The innermost run's serial << 1, plus 1 if the run was asked to stop; 0 while nothing runs. */
    _Atomic uint64_t stop;
    uint64_t last_serial;
    uint64_t polled_at_ns;
    uint64_t slack_ns;                  /**< How late a wait may end; 0: not read yet. */
    uint64_t limited_by_ns;             /**< The last date for which a wait's timeout replaced the timerfd. */
    uint8_t skipped_polls, blind_skips; /**< Polls left out since polled_at_ns; further ones that need no clock. */
    uint16_t hook_depth;                /**< Passes and preparations on the stack that call hooks. */
    /** fork_generation; UINT32_MAX if a post must check more: with a race detector, and once destroy has begun. */
    _Atomic uint32_t plain_generation;
    uint32_t watch_count;
    bool can_sleep;        /**< The eventfd exists: from the first watch, timer, hook or prepare on. */
    bool is_brisk;         /**< The posts between the last two polls were short. */
    bool is_prepared;      /**< The pass that begins now has called the prepare callouts. */
    bool has_prelude;      /**< A pass has work before its poll: pending watches, or hooks. */
    bool has_moved_timers; /**< The timerfd may be set for a date that no timer has any more. */
    bool has_removed;      /**< Watches or timers were removed whose memory is not free yet. */
    bool has_woken;        /**< A poll has taken a wake since the innermost calls of hooks began. */
    bool is_watched_for_races;
    bool trusts_batch;   /**< The pass that fetched the set's events is not over: it need not verify them. */
    uint32_t hook_count; /**< Hooks, without removed ones that a walk may still reach. */
    uint32_t fork_generation;
    const uint32_t *fork_word; /**< A copy of rlc_fork_word, which the first rlc_fork_generation sets for good. */
    rlc_hooks hooks;           /**< In the order of adding; with removed ones. */
};

/**
 * As rlc_has_forked_since. The loop calls it after each callout too, because a callout may return into a child of
 * fork(2). Unlike rlc_has_forked_since it gives a child no generation: a child without one finds 0, which no loop has.
 */
static inline bool rlc_loop_is_forked(const rlc_loop *loop) {
    return __atomic_load_n(loop->fork_word, __ATOMIC_ACQUIRE) != loop->fork_generation;
}

/* ---- the loop's life: loop.c ---- */

int rlc_loop_open_wakeup(rlc_loop *loop);

/**
 * Makes the eventfd by which other threads wake the loop. Called before the loop has anything to sleep for, so that no
 * later step can fail. Returns 0 or -errno.
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

/** True if a timer is armed and still in the heap. */
static inline bool rlc_loop_has_timers(const rlc_loop *loop) {
    return loop->heap != NULL && rlc_timer_heap_has_armed(loop->heap);
}

/** Reads timers_at_ns from the heap: its first timer may be later by now, or gone. */
static inline void rlc_loop_note_timers(rlc_loop *loop) {
    loop->timers_at_ns = loop->heap == NULL ? RLC_TIME_FOREVER : rlc_timer_heap_earliest_key(loop->heap);
}

/**
 * True if a timer may become due without an event of the timerfd, which is set for a later date, or has expired. If
 * false, a wait that begins now ends when the first timer is due.
 */
static inline bool rlc_loop_has_unarmed_timer(const rlc_loop *loop) {
    return loop->timers_at_ns < loop->armed_at_ns;
}

static inline bool rlc_loop_has_due_timer(const rlc_loop *loop) {
    return rlc_loop_has_timers(loop) && rlc_timer_heap_first(loop->heap) <= rlc_loop_now(loop);
}

/** Makes the next pass read the clock. Called for a change that may give it more to do than to call posts. */
static inline void rlc_loop_end_blind_skips(rlc_loop *loop) {
    loop->blind_skips = 0;
}

/** True if something can be called without a poll and without reading the clock. */
static inline bool rlc_loop_has_work(const rlc_loop *loop) {
    return loop->deferred != NULL || rlc_has_posts(&loop->posts) || rlc_port_set_has_events(loop->set) ||
           loop->taken != NULL || !rlc_slot_list_is_empty(&loop->due) || !rlc_slot_list_is_empty(&loop->failed);
}

static inline bool rlc_loop_is_finished(const rlc_loop *loop) {
    return loop->watch_count == 0 && !rlc_loop_has_timers(loop) && !rlc_loop_has_work(loop) && loop->hook_count == 0;
}

/** Takes all deferred nodes, and appends `posts` to them. */
static inline rlc_post_node *rlc_loop_take_deferred(rlc_loop *loop, rlc_post_node *posts) {
    rlc_post_node *first = loop->deferred;
    if (first == NULL)
        return posts;
    *loop->deferred_end = posts;
    loop->deferred = NULL;
    loop->deferred_end = &loop->deferred;
    return first;
}

/** Announces to the race detector that what threads did before a post, a wake or a stop happens before what follows. */
static inline void rlc_loop_acquire(const rlc_loop *loop) {
    if (loop->is_watched_for_races)
        rlc_race_acquire(loop);
}

/** Notes that a poll has taken a wake. Returns true. */
static inline bool rlc_loop_note_wake(rlc_loop *loop) {
    rlc_loop_acquire(loop);
    return loop->has_woken = true;
}

/** Takes the deferred nodes, and after them the posts, each oldest first. Returns NULL if there are none. */
static inline rlc_post_node *rlc_loop_take_queued(rlc_loop *loop) {
    if (!rlc_has_posts(&loop->posts))
        return rlc_loop_take_deferred(loop, NULL);
    rlc_post_node *posts = rlc_take_posts(&loop->posts);
    rlc_loop_acquire(loop);
    return rlc_loop_take_deferred(loop, posts);
}

/* ---- passes and runs: loop_run.c ---- */

enum {
    RLC_POLLS_SKIPPED_MAX = 64,
    RLC_POLL_IS_DUE, /**< A value of skipped_polls: the next pass polls, and is_brisk stays as it is. */
    RLC_POLL_SLEEPS, /**< A value of skipped_polls: the thread sleeps in a poll. */
};

/** The result of a pass. */
typedef struct rlc_outcome {
    bool called; /**< The pass has made a callout. */
    bool woken;  /**< rlc_loop_wake was called. */
} rlc_outcome;

/** Makes the next pass poll the kernel. */
static inline void rlc_loop_demand_poll(rlc_loop *loop) {
    loop->skipped_polls = RLC_POLL_IS_DUE;
    loop->blind_skips = 0;
}

/**
 * Waits until deadline_ns if there is nothing to do, and calls what is due. Decides what to call before the first
 * callout: work that a callout queues waits for the next pass. Returns 0 or -errno.
 */
int rlc_loop_pass(rlc_loop *loop, uint64_t deadline_ns, rlc_outcome *outcome);
/**
 * Announces sleep, and makes sure that the sleep ends for the timers: by the timerfd, or by an earlier *deadline_ns.
 * The pointer is NULL if a host sleeps. Returns 1 if the loop may sleep, 0 if there is work, or -errno.
 */
int rlc_loop_get_ready_to_sleep(rlc_loop *loop, uint64_t *deadline_ns);

/* ---- runs inside of runs, and runs that were left: loop_nested.c ---- */

/** For functions that call rlc_loop_enter: keeps AddressSanitizer from moving their variables off the real stack. */
#define RLC_ON_STACK __attribute__((no_sanitize("address")))

/** Begins a run or a host's call while another is noted: inside of it, unless it was left. Returns 0 or -ENOMEM. */
int rlc_loop_nest(rlc_loop *loop, uintptr_t here, bool is_run);

/**
 * Notes where the run lies: `mark` is a variable of the caller, which keeps it until rlc_loop_leave. A nested run ends
 * before this run; if it was left, rlc_loop_end_inner ends it.
 */
static inline void rlc_loop_enter(rlc_loop *loop, volatile uintptr_t *mark) {
    *mark = loop->at = (uintptr_t)mark;
}

/** Ends the innermost run or host's call. A run's stop ends with it; a call's stop goes to the run around it. */
void rlc_loop_leave(rlc_loop *loop, bool is_run);
/** Ends the runs inside of a run that continues, since they were left. `outer` is the run around the continuing one. */
void rlc_loop_end_inner(rlc_loop *loop, const rlc_outer_run *outer);
/** Ends the runs that were left, judged from the place `here` on the stack. Returns true if another run remains. */
bool rlc_loop_is_running(rlc_loop *loop, uintptr_t here);

/* ---- watches: loop_watch.c ---- */

/** Adds the pending watches to the set, and notes whether a pass has more to do before its poll. */
void rlc_loop_flush_watches(rlc_loop *loop);
/** Calls the watches that the set has refused, until a callout forks. Returns true if it has called one. */
bool rlc_loop_call_failed_watches(rlc_loop *loop);
/** Waits again if a wait failed because the set's descriptor was closed. Returns a count, 0 for -EINTR, or -errno. */
int rlc_loop_wait_again(rlc_loop *loop, uint64_t deadline_ns, int failure);
/** Handles a member that epoll does not watch any more: refuses a watch, replaces a descriptor of the loop. */
void rlc_loop_lose(rlc_loop *loop, rlc_port *port);

/** True if the next pass makes the watch a member. */
static inline bool rlc_watch_is_pending(const rlc_watch *watch) {
    return !rlc_port_has(&watch->port, RLC_PORT_MEMBER | RLC_PORT_UNWATCHED | RLC_PORT_SUSPENDED);
}
void rlc_calling_out_to_a_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready);
/** Unmutes a watch at the end of its callout: a run inside the callout has muted it. */
void rlc_loop_take_back(rlc_loop *loop, rlc_watch *watch);

/** Ends the callout of a watch, which has returned or was left. */
static inline void rlc_loop_end_watch(rlc_loop *loop, rlc_watch *watch) {
    /* A watch without a function was removed. */
    if (rlc_port_has(&watch->port, RLC_PORT_MUTED) && watch->watch_fn != NULL)
        rlc_loop_take_back(loop, watch);
}

static inline void rlc_loop_call_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready) {
    loop->callee = (uintptr_t)watch;
    rlc_calling_out_to_a_watch(loop, watch, ready);
    loop->callee = 0;
    rlc_loop_end_watch(loop, watch);
}

/** Mutes the watch whose callout starts a nested run: that run must not call it. */
void rlc_loop_mute(rlc_loop *loop, rlc_watch *watch);
void rlc_loop_free_removed_watches(rlc_loop *loop);

/* ---- timers: loop_timer.c ---- */

/** Moves the timers that are due at now_ns from the heap to the list. */
void rlc_loop_collect_due_timers(rlc_loop *loop, uint64_t now_ns);
/**
 * Calls the due timers until a callout forks. Returns true if it has called one. The list does not grow without end:
 * only a pass collects timers.
 */
bool rlc_loop_call_due_timers(rlc_loop *loop);
/** Ends the callout of a timer, which has returned or was left. Arms a repeating timer, unless the callout did. */
void rlc_loop_end_timer(rlc_loop *loop, rlc_timer *timer);
/**
 * Called before a sleep if has_moved_timers. If the timerfd is set for a date that no timer has any more, and a system
 * call pays, sets the timerfd for the first timer, or disarms it. Returns 1 or -errno.
 */
int rlc_loop_spare_wake(rlc_loop *loop);
void rlc_loop_free_removed_timers(rlc_loop *loop);

/** Frees what callouts have removed. Call it when no callout is on the stack. */
static inline void rlc_loop_free_removed(rlc_loop *loop) {
    if (!loop->has_removed)
        return;
    loop->has_removed = false;
    rlc_loop_free_removed_watches(loop);
    rlc_loop_free_removed_timers(loop);
}

/** Makes the timerfd expire at wake_at_ns or before; creates it if need be. Returns >= 0 or -errno. */
int rlc_loop_arm_timer_port(rlc_loop *loop, uint64_t wake_at_ns);
/** Forgets the timerfd, which other code has closed: the next arming makes a new one. */
void rlc_loop_lose_timer_port(rlc_loop *loop);
/** Forgets the timerfd if epoll does not know it any more: other code has closed it. Call it only if there is one. */
void rlc_loop_verify_timer_port(rlc_loop *loop);

/* ---- hooks: loop_hook.c ---- */

/** Called before and after the callouts of hooks: a hook that is removed in between stays in memory. */
void rlc_loop_begin_hooks(rlc_loop *loop);
void rlc_loop_end_hooks(rlc_loop *loop);
/**
 * Calls the prepare callouts. Returns 1 if the loop or its host may sleep; 0 if not, because a hook is unprepared or a
 * run inside of a prepare callout has taken a wake; -ECHILD if a callout has forked.
 */
int rlc_loop_call_prepares(rlc_loop *loop);
/** Makes a pass between the prepare callouts and the check callouts. */
int rlc_loop_pass_with_hooks(rlc_loop *loop, uint64_t deadline_ns, rlc_outcome *outcome);
/** Frees all hooks, when the loop is destroyed. */
void rlc_loop_free_hooks(rlc_loop *loop);

#endif

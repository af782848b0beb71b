/**
 * <crunloop_kit/pass_checks.h>: what the Swift modules check in each pass, mostly by reading memory instead of calling
 * a function, and other functions that only these modules call.
 *
 * The inline functions read the first members of opaque types. So this header is for code that is built together with
 * the core, as RunLoopKit is. It is not installed: a C host calls the functions of the public headers.
 */
#ifndef CRUNLOOP_KIT_PASS_CHECKS_H
#define CRUNLOOP_KIT_PASS_CHECKS_H

#include <crunloop_kit/port_set.h>
#include <crunloop_kit/timer_heap.h>
#include <crunloop_kit/timer_port.h>
#include <crunloop_kit/wakeup_port.h>

#include <time.h>

RLC_BEGIN_DECLS

/**
 * Reads the monotonic clock, as rlc_now(RLC_CLOCK_MONOTONIC) does.
 *
 * @return The time in nanoseconds. Cannot fail.
 *
 * Thread: [any].  Cost: one clock_gettime(2), which the vDSO answers without a system call.
 */
static inline uint64_t rlc_kit_now(void) {
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/**
 * Tells whether a port is in the state RUNNING: nothing is posted, and no wait is announced. In this state
 * rlc_wakeup_port_take returns RLC_WAKE_NONE and changes nothing [RLC-WAKE-10].
 *
 * @return True if the port is in that state. If a wake is posted after this call, the next rlc_wakeup_port_take returns
 *         it.
 *
 * Thread: [loop].  Cost: one load.
 */
static inline bool rlc_kit_is_quiet(const rlc_wakeup_port *port) {
    return __atomic_load_n((const uint32_t *)(const void *)port, __ATOMIC_SEQ_CST) == 0;
}

/** The first members of an rlc_port_set. */
struct rlc_kit_port_set_head {
    uint32_t cursor;
    uint32_t fetched;
    bool has_unwatched;
};

/** Inline form of rlc_port_set_has_batch. Thread: [loop].  Cost: two loads. */
static inline bool rlc_kit_has_batch(const rlc_port_set *set) {
    const struct rlc_kit_port_set_head *head = (const struct rlc_kit_port_set_head *)(const void *)set;
    return head->cursor < head->fetched || __atomic_load_n(&head->has_unwatched, __ATOMIC_ACQUIRE);
}

/** The first members of an rlc_timer_port. */
struct rlc_kit_timer_port_head {
    const rlc_kernel *kernel;
    uint64_t armed_ns;
};

/** Inline form of rlc_timer_port_armed. Thread: [locked].  Cost: a load. */
static inline uint64_t rlc_kit_timer_armed(const rlc_timer_port *port) {
    return ((const struct rlc_kit_timer_port_head *)(const void *)port)->armed_ns;
}

/**
 * Tells whether the events that rlc_port_set_wait has fetched, and that rlc_port_set_take has not returned yet, include
 * one of a member.
 *
 * @param token The member's token.
 *
 * Thread: [loop].  Cost: O(events), without a system call.
 */
bool rlc_kit_has_fetched(const rlc_port_set *set, rlc_token token);

/**
 * Tells whether the last rlc_port_set_wait has fetched all events that there were.
 *
 * @return False if its buffer was full: there may be more.
 *
 * Thread: [loop].  Cost: three loads.
 */
bool rlc_kit_has_fetched_all(const rlc_port_set *set);

/**
 * Tells the set whether only the callouts for a member's events read its descriptor. If so, a fetched event that
 * reports only RLC_READABLE stays true until it is taken, and rlc_port_set_take does not verify it by poll(2)
 * [RLC-OWN-1].
 *
 * rlc_port_set_take verifies the event nevertheless if the member shares its number or was registered again since its
 * last event, because the event may then be stale [RLC-OWN-2]. The set registers a member again after its interest was
 * set and after it was muted, suspended or refused. If other code does read the descriptor, the member may get an event
 * with nothing to read; no event is lost [RLC-OWN-3].
 *
 * @param token    From rlc_port_set_insert. No effect for a stale token, or for a counter or a hint.
 * @param is_owned Whether the set may trust events. Pass true only directly after rlc_port_set_insert; a new member is
 *                 not owned.
 *
 * Thread: [locked].  Cost: some instructions, without a system call.
 */
void rlc_kit_set_owned(rlc_port_set *set, rlc_token token, bool is_owned);

/**
 * Changes the interest of a member in its own callout, as rlc_port_set_set_interest does. But if the set has just
 * reported an end to this callout, it does not report that end again, unless the interest has become larger
 * [RLC-END-8]. For ends see rlc_port_kind.
 *
 * @param token    From rlc_port_set_insert.
 * @param interest As for rlc_port_set_set_interest.
 * @return As rlc_port_set_set_interest.
 *
 * Thread: [locked].  Cost: one system call; none if nothing changes.
 */
int rlc_kit_set_served_interest(rlc_port_set *set, rlc_token token, uint32_t interest);

/**
 * Tells whether epoll still watches a member: whether its number is open and still refers to the file that was
 * inserted. No event reports that other code has closed the number.
 *
 * @param token The member's token.
 * @return False if epoll does not watch it; also if the member is muted, suspended, or has ended, or if the token is
 *         stale.
 *
 * Thread: [locked].  Cost: one epoll_ctl(2). An edge-triggered member that is ready is reported once more.
 */
bool rlc_kit_is_watched(rlc_port_set *set, rlc_token token);

/**
 * Creates an empty heap, as rlc_timer_heap_create does, whose memory a kernel table allocates.
 *
 * @param kernel   The table, which must outlive the heap.
 * @param ret_heap The heap; the caller ends it by rlc_timer_heap_destroy.
 * @return 0; -ENOMEM.
 *
 * Thread: [any].
 */
int rlc_kit_timer_heap_create(const rlc_kernel *kernel, rlc_timer_heap **ret_heap);

/**
 * Makes a timer port forget its timerfd. Call it if other code has closed the timerfd, because the number may belong to
 * another file by now. After that rlc_timer_port_want and rlc_timer_port_disarm return -EBADF, and
 * rlc_timer_port_destroy closes nothing.
 * Thread: [locked].  Cost: some instructions, without a system call.
 */
void rlc_kit_forget_timer_fd(rlc_timer_port *port);

/** Which descriptor of a loop was lost: other code has closed it, or has put another file at its number. */
typedef enum rlc_lost {
    RLC_LOST_EPOLL,  /**< The set's epoll instance. The set has made a new one: see rlc_port_set_fd. */
    RLC_LOST_WAKEUP, /**< The wakeup port's eventfd. The port has made a new one: see rlc_wakeup_port_fd. */
    RLC_LOST_OTHER,  /**< The descriptor of another hint. rlc_port_set_take reports that hint. */
} rlc_lost;

/**
 * A set that watches the wakeup port calls this function when it notices a loss, before the call that has noticed it
 * returns.
 *
 * @param context The context that was given to rlc_kit_set_lost_fn.
 * @param lost    The descriptor that was lost.
 *
 * Thread: [locked].
 */
typedef void (*rlc_lost_fn)(void *context, rlc_lost lost);

/**
 * Sets the function to call for losses. All sets that watch the wakeup port call it.
 *
 * @param port    The port, from rlc_wakeup_port_create.
 * @param lost_fn The function; NULL for none.
 * @param context For lost_fn.
 *
 * Thread: [locked].
 */
void rlc_kit_set_lost_fn(rlc_wakeup_port *port, rlc_lost_fn lost_fn, void *context);

/**
 * If the set has lost its epoll instance, makes a new one with all members. Call it after rlc_port_set_wait has
 * returned -EBADF or -EINVAL. The set must watch a wakeup port: rlc_kit_watch_wakeup.
 *
 * @return True if the set has a new instance; false if the old one is not lost, or if the system has no descriptor or
 *         memory for a new one.
 *
 * Thread: [locked].  Cost: one system call; after a loss O(members).
 */
bool rlc_kit_revive_if_lost(rlc_port_set *set);

/**
 * Makes a set watch a wakeup port's eventfd, as a hint whose context is the port. If other code has closed the eventfd,
 * the port gets a new one.
 *
 * @param set  The set, which watches no wakeup port yet.
 * @param port The port, which must outlive the set.
 * @return 0; errors as rlc_port_set_insert and rlc_wakeup_port_create.
 *
 * Thread: [locked].  Cost: a system call; after a loss some more.
 */
int rlc_kit_watch_wakeup(rlc_port_set *set, rlc_wakeup_port *port);

/**
 * Makes a set that has watched the port watch its new eventfd in place of the old one.
 *
 * @return As rlc_kit_watch_wakeup. After a failure the set watches no wakeup port.
 *
 * Thread: [locked].  Cost: two system calls, and O(members).
 */
int rlc_kit_renew_wakeup(rlc_port_set *set, rlc_wakeup_port *port);

/**
 * As rlc_wakeup_port_begin_wait, for a wait in a set. If the write of a waker fails after this call, the waker makes a
 * new eventfd and adds it to the set's epoll instance.
 *
 * @return False if something was posted, the port is closed, or the sets have to watch a new eventfd
 *         (rlc_kit_take_renewal).
 *
 * Thread: [loop].
 */
bool rlc_kit_begin_wait(rlc_wakeup_port *port, const rlc_port_set *set);

/**
 * Returns the eventfd to which the last failed write of a waker went.
 *
 * @param ret_error The errno of write(2).
 * @return The descriptor's number at that time; -1 if no write has failed. Cannot fail.
 *
 * Thread: [any, signal-safe].
 */
int rlc_kit_lost_write(const rlc_wakeup_port *port, int *ret_error);

/**
 * Demands that the sets watch a new eventfd before the owner sleeps again: rlc_kit_take_renewal returns true. Call it
 * when rlc_port_set_take has reported the wakeup port's hint as lost.
 * Thread: [loop].
 */
void rlc_kit_demand_renewal(rlc_wakeup_port *port);

/**
 * Tells whether there is a new eventfd that the sets do not watch yet.
 *
 * @return True once for each new eventfd. The caller then calls rlc_kit_renew_wakeup for all sets.
 *
 * Thread: [loop].
 */
bool rlc_kit_take_renewal(rlc_wakeup_port *port);

RLC_END_DECLS
#endif

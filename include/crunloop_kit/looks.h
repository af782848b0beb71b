/**
 * <crunloop_kit/looks.h>: what the Swift modules look at in each pass, most of it as loads instead of calls.
 *
 * The inline functions read the first members of opaque types. All are for code that is built together with the core,
 * as RunLoopKit is, and are not installed: a C host calls the functions of the public headers.
 */
#ifndef CRUNLOOP_KIT_LOOKS_H
#define CRUNLOOP_KIT_LOOKS_H

#include <crunloop/port_set.h>
#include <crunloop/timer_heap.h>
#include <crunloop/timer_port.h>
#include <crunloop/wakeup_port.h>

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
 * Tells whether a port is in the state RUNNING: nothing is posted, and no wait is announced. Then rlc_wakeup_port_take
 * would return RLC_WAKE_NONE and change nothing [RLC-WAKE-10].
 *
 * @param port The port.
 * @return True if the port is in that state. A wake that is posted afterwards stays posted.
 *
 * Thread: [loop].  Cost: one load.
 */
static inline bool rlc_kit_is_quiet(const rlc_wakeup_port *port) {
    return __atomic_load_n((const uint32_t *)(const void *)port, __ATOMIC_SEQ_CST) == 0;
}

/** How a port set begins. */
struct rlc_kit_port_set_head {
    uint32_t cursor;
    uint32_t fetched;
    bool has_unwatched;
};

/**
 * Answers what rlc_port_set_has_batch answers.
 *
 * @param set The set.
 * @return True if rlc_port_set_take has something to do.
 *
 * Thread: [loop].  Cost: two loads.
 */
static inline bool rlc_kit_has_batch(const rlc_port_set *set) {
    const struct rlc_kit_port_set_head *head = (const struct rlc_kit_port_set_head *)(const void *)set;
    return head->cursor < head->fetched || __atomic_load_n(&head->has_unwatched, __ATOMIC_ACQUIRE);
}

/**
 * Tells whether a member is among the events that a wait has fetched and no take has returned yet.
 *
 * @param set   The set.
 * @param token The member's.
 * @return True if it is.
 *
 * Thread: [loop].  Cost: O(events), without a system call.
 */
bool rlc_kit_has_fetched(const rlc_port_set *set, rlc_token token);

/**
 * Tells whether the last wait has fetched all events that there were.
 *
 * @param set The set.
 * @return False if its buffer was full: there may be more.
 *
 * Thread: [loop].  Cost: three loads.
 */
bool rlc_kit_has_fetched_all(const rlc_port_set *set);

/**
 * Tells a set whether anybody but the callouts for a member's events reads its descriptor. If nobody does, a fetched
 * event that says no more than "you may read" is true until it is taken, and rlc_port_set_take does not ask the kernel
 * again [RLC-OWN-1].
 *
 * It asks nevertheless where something may have come between: the member was registered anew since its last event (its
 * interest was set, it was muted, refused or suspended), or shares its number [RLC-OWN-2]. If somebody does read the
 * descriptor, the member may get an event with nothing to read; none is lost [RLC-OWN-3].
 *
 * @param set      The set.
 * @param token    From rlc_port_set_insert. Of a readiness port; others, and stale tokens, are ignored.
 * @param is_owned Whether the set may believe. True only directly after rlc_port_set_insert; a new member is not owned.
 *
 * Thread: [locked].  Cost: some instructions, without a system call.
 */
void rlc_kit_set_owned(rlc_port_set *set, rlc_token token, bool is_owned);

/**
 * Tells whether epoll still watches a member: whether its number is open, and is the file's that was inserted. Other
 * code may have closed it. After that no event says so.
 *
 * @param set   The set.
 * @param token The member's.
 * @return False if it does not, or the token is stale.
 *
 * Thread: [locked].  Cost: one epoll_ctl(2). An edge-triggered member that is ready is reported once more.
 */
bool rlc_kit_is_watched(const rlc_port_set *set, rlc_token token);

/**
 * Creates an empty heap, as rlc_timer_heap_create does, with the memory of a table.
 *
 * @param kernel   It must outlive the heap.
 * @param ret_heap The heap; the caller ends it by rlc_timer_heap_destroy.
 * @return 0; -ENOMEM.
 *
 * Thread: [any].
 */
int rlc_kit_timer_heap_create(const rlc_kernel *kernel, rlc_timer_heap **ret_heap);

/**
 * Takes its timerfd from a timer port: other code has closed it, and the number may be another file's by now. From then
 * on rlc_timer_port_want and rlc_timer_port_disarm return -EBADF, and rlc_timer_port_destroy closes nothing.
 *
 * @param port The port.
 *
 * Thread: [locked].  Cost: some instructions, without a system call.
 */
void rlc_kit_forget_timer_fd(rlc_timer_port *port);

RLC_END_DECLS
#endif

/**
 * <crunloop/port_set.h>: descriptors to wait for; one epoll descriptor.
 *
 * insert, set_interest, mute and remove reach the kernel before they return, also while the owner sleeps in wait
 * [RLC-SET-1]. Interest is registered by number and serial, never by a bare descriptor or pointer: what happens to a
 * number after its member is gone is not the member's business. A wait fetches up to 128 events into the set; take
 * hands them out one by one, in the order in which they became ready [RLC-ORDER-1, RLC-PORT-8], also to a later run,
 * and drops what has become stale meanwhile [RLC-TAKE-1, RLC-TAKE-2, RLC-TAKE-3].
 *
 * A registration that no number reaches any more (its number was closed while a duplicate stayed open) would shout for
 * ever. Its events are never reported; it is deleted by number, or else the set is rebuilt: a new epoll descriptor
 * behind the old number [RLC-PORT-6]. An event that is merely late is just dropped [RLC-TAKE-5]. A host that has the
 * set in an epoll of its own must add the number again after a rebuild: see rlc_port_set_rebuilds. See epoll(7),
 * question 6. What a host has itself registered there is taken over, and a registration that it has deleted is told by
 * the next change, -EBADF, like a number that was closed [RLC-PORT-14].
 */
#ifndef CRUNLOOP_PORT_SET_H
#define CRUNLOOP_PORT_SET_H

#include <crunloop/kernel.h>

RLC_BEGIN_DECLS

typedef struct rlc_port_set rlc_port_set;

typedef enum rlc_port_kind {
    /**
     * Level-triggered. After a hang-up or end of file with nothing left to read: reported once, then it rests
     * [RLC-END-1]; if only reading has ended and it also wants to write, it goes on with that [RLC-END-2]. An error
     * without a hang-up is reported once, and again when something changes [RLC-END-3, RLC-END-4]. With RLC_EDGE
     * edge-triggered [RLC-TRIGGER-1], with RLC_ONE_SHOT reported once [RLC-TRIGGER-2].
     */
    RLC_PORT_READINESS,
    /**
     * A counter (eventfd, timerfd, pipe of 8-byte messages): edge-triggered, take reads eight bytes before it reports
     * [RLC-COUNTER-1, RLC-COUNTER-3], and asks again when more may be there: behind the ports that became ready
     * meanwhile [RLC-ORDER-2, RLC-COUNTER-2]. Nothing to read is no event. A short message is taken whole. End of file
     * is reported once as HANGUP, a failing read as ERROR; then it rests [RLC-COUNTER-4, RLC-COUNTER-5].
     */
    RLC_PORT_COUNTER,
    /** Edge-triggered, never read: a marker in the order of readiness whose truth is elsewhere [RLC-PORT-9]. */
    RLC_PORT_HINT,
} rlc_port_kind;

/** Whether epoll still watches the port of an event. */
typedef enum rlc_port_fate {
    RLC_FATE_HEARD,
    /** Not any more: epoll has refused a change (ENOSPC, ENOMEM). See rlc_port_set_retry. */
    RLC_FATE_REFUSED,
    /** Nor ever again: its number was closed while it was a member, and is nobody's or a stranger's. Do not read it. */
    RLC_FATE_LOST,
} rlc_port_fate;

typedef struct rlc_port_event {
    rlc_token token;
    void *context; /**< As given to rlc_port_set_insert. */
    rlc_port_kind kind;
    uint32_t ready; /**< RLC_READABLE...; RLC_ERROR alone if it is not RLC_FATE_HEARD. */
    rlc_port_fate fate;
} rlc_port_event;

/**
 * Makes the epoll descriptor.
 *
 * @param kernel  NULL = rlc_kernel_default(); must outlive the set.
 * @param ret_set The caller's, until rlc_port_set_destroy.
 * @return 0; -EMFILE, -ENFILE, -ENOMEM.
 *
 * Thread: [any].  Cost: one system call.
 */
RLC_API int rlc_port_set_create(const rlc_kernel *kernel, rlc_port_set **ret_set);

/**
 * Closes the epoll descriptor only (not in a child of fork(2)). Members need not be removed before. NULL is allowed.
 *
 * Thread: [loop], and nobody else uses it any more.
 */
RLC_API void rlc_port_set_destroy(rlc_port_set *set);

/**
 * The epoll descriptor, which a host may poll for reading; events already fetched do not show on it.
 *
 * Thread: [any].
 */
RLC_API int rlc_port_set_fd(const rlc_port_set *set);

/**
 * Starts to watch a descriptor.
 *
 * Two members with one descriptor: the later one takes the port, and when it goes the earlier one is live again
 * [RLC-PORT-4], unless both are readiness ports with RLC_SHARED: then each event is told to all that want it, by
 * consecutive takes, in the order of adding [RLC-SHARE-1]; each rests and is muted for itself [RLC-SHARE-2]. Together
 * they are edge-triggered if all are [RLC-SHARE-3]. A number that was closed and reused is a new port: the earlier
 * member gets no events any more [RLC-PORT-5], unless it rested or was muted all the time: then epoll cannot tell. A
 * hint's number is nobody else's [RLC-PORT-11].
 *
 * @param set       The set that watches.
 * @param fd        Stays the caller's. Best removed before it is closed.
 * @param kind      What is done with an event: see rlc_port_kind.
 * @param interest  RLC_READABLE | RLC_WRITABLE for readiness; 0 still reports HANGUP and ERROR; RLC_PRIORITY, RLC_EDGE,
 *                  RLC_ONE_SHOT, RLC_SHARED. Otherwise ignored [RLC-COUNTER-7].
 * @param context   Comes with each event; not touched.
 * @param ret_token The caller's, until rlc_port_set_remove.
 * @return 0; -EBADF (also: it is a hint's), -EPERM (a regular file: always ready, epoll refuses it), -ENOSPC
 *         (max_user_watches), -ENOMEM, -ECHILD: nothing is half added [RLC-PORT-1, RLC-PORT-2, RLC-PORT-3].
 *
 * Thread: [locked].  Cost: one system call, two for a taken-over number. Of a counter the flags are asked for with its
 * first event, its /proc entry with its second one [RLC-COUNTER-6]. Allocates; later calls for this member do not.
 */
RLC_API int rlc_port_set_insert(
    rlc_port_set *set, int fd, rlc_port_kind kind, uint32_t interest, void *context, rlc_token *ret_token);

/**
 * Changes a readiness port's interest, and wakes a resting port of any kind. RLC_SHARED must stay as it was. An
 * edge-triggered port looks again, also if its interest is what it was. After a failure it is what it was
 * [RLC-PORT-13].
 *
 * @return 0; -ENOENT if the token is stale; -EBADF if the number was closed or now belongs to a stranger; -ENOMEM,
 *         -ECHILD.
 *
 * Thread: [locked].  Cost: one system call; none while muted, or if nothing changes [RLC-PORT-12].
 */
RLC_API int rlc_port_set_set_interest(rlc_port_set *set, rlc_token token, uint32_t interest);

/**
 * Takes a port out of the wait, e.g. while its own callout runs, and back in [RLC-PORT-7].
 *
 * Out means out: not even a hang-up is reported. Calls do not nest.
 *
 * @return As rlc_port_set_set_interest. After -ENOSPC or -ENOMEM, which only taking back can answer, it is not muted
 *         any more and yet not heard: see rlc_port_set_retry.
 *
 * Thread: [locked].  Cost: one system call if it changes anything.
 */
RLC_API int rlc_port_set_set_muted(rlc_port_set *set, rlc_token token, bool muted);

/**
 * Stops to watch. The descriptor may have been closed before; a reused number is left alone [RLC-PORT-5].
 *
 * No event of this member is taken afterwards.
 *
 * @return 0; -ENOENT if the token is stale; -ENOSPC or -ENOMEM: removed, but an earlier member on its number is not
 *         heard: see rlc_port_set_retry.
 *
 * Thread: [locked].  Cost: at most one system call.
 */
RLC_API int rlc_port_set_remove(rlc_port_set *set, rlc_token token);

/**
 * Tries again to have epoll watch the members that it has refused to take back, or to change [RLC-PORT-15]: until then
 * they are silent. So does rlc_port_set_set_interest, for one.
 *
 * @return 0 if all are heard; -ENOSPC, -ENOMEM: not yet.
 *
 * Thread: [locked].  Cost: a look at all members; a system call for each that is not heard.
 */
RLC_API int rlc_port_set_retry(rlc_port_set *set);

/** Members, hints not counted; resting and muted ones are.  Thread: [locked]. */
RLC_API size_t rlc_port_set_count(const rlc_port_set *set);

/**
 * The members one after the other, in no order of use: the set may serve as the owner's list of them [RLC-PORT-10].
 *
 * @param set      The set.
 * @param position Where to look from: 0 at first, moved behind what is found.
 * @return Its context; NULL if there is no further member. Hints are left out.
 *
 * Thread: [locked]; nothing is inserted or removed meanwhile.
 */
RLC_API void *rlc_port_set_next(const rlc_port_set *set, uint32_t *position);

/**
 * Fetches events, waiting if there are none.
 *
 * @param set         The set.
 * @param deadline_ns On the monotonic clock; 0: only looks; RLC_TIME_FOREVER: no limit.
 * @return The count fetched, 0 at the deadline, -EINTR (look at the clock and wait again), -ECHILD, or -errno.
 *
 * Thread: [loop], not under the lock, and only when rlc_port_set_has_batch is false.  Blocks.  Cost: one system call,
 * no allocation [RLC-TAKE-4].
 */
RLC_API int rlc_port_set_wait(rlc_port_set *set, uint64_t deadline_ns);

/**
 * True while fetched events have not been taken, of which some may turn out stale, or while take has to tell of a
 * member that epoll does not watch any more.  Thread: [loop].
 */
RLC_API bool rlc_port_set_has_batch(const rlc_port_set *set);

/**
 * The oldest fetched event that is still true; before them, once each, the members that epoll has ceased to watch, by a
 * call that had nobody to answer to [RLC-TAKE-8]. A muted one is told when it is taken back, one that rests when its
 * interest is set.
 *
 * @return False when there is none left: wait again.
 *
 * Thread: [locked], by the owner's thread.  Cost: a counter is read here; an event behind one that was answered is
 * verified with poll(2), since a callout may have made it stale [RLC-TAKE-9]; if poll(2) fails, it is believed
 * [RLC-TAKE-6].
 */
RLC_API bool rlc_port_set_take(rlc_port_set *set, rlc_port_event *ret_event);

/**
 * True while take has to tell of a member that epoll does not watch any more, since a call for another one has failed.
 * Whoever has changed the set while its owner may sleep wakes it then.  Thread: [any].
 */
RLC_API bool rlc_port_set_has_unheard(const rlc_port_set *set);

/** How often the set had to be rebuilt: a new epoll descriptor behind the same number.  Thread: [any]. */
RLC_API uint64_t rlc_port_set_rebuilds(const rlc_port_set *set);

RLC_END_DECLS
#endif

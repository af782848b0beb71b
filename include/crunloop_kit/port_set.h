/**
 * <crunloop_kit/port_set.h>: a set of descriptors to wait for, on one epoll descriptor. A member of the set is called a
 * port.
 *
 * rlc_port_set_insert, rlc_port_set_set_interest, rlc_port_set_set_muted and rlc_port_set_remove change the
 * registration in the kernel before they return, also while the owner sleeps in rlc_port_set_wait [RLC-SET-1]. A token
 * identifies a registration, not a descriptor or a pointer. So a removed member does not get the events of a later file
 * with the same number.
 *
 * rlc_port_set_wait fetches a batch of up to 128 events into the set. rlc_port_set_take returns them one by one, in the
 * order in which the descriptors became ready [RLC-ORDER-1, RLC-PORT-8]. Events that one run has not taken stay for a
 * later or a nested run. rlc_port_set_take drops events that have become stale meanwhile [RLC-TAKE-1, RLC-TAKE-2,
 * RLC-TAKE-3].
 *
 * Strays. If a number is closed before its member is removed, and a duplicate keeps the file open, epoll keeps the
 * registration and reports it for ever. The set never returns such an event. It deletes the registration by its number.
 * If that fails, it rebuilds itself: it puts a new epoll instance behind the old number [RLC-PORT-6]. If an event is
 * only stale, because its member was removed after the wait, the set does not rebuild itself [RLC-TAKE-5]. See
 * epoll(7), question 6.
 *
 * A host, another loop that waits for the set, may have the set's descriptor in an epoll set of its own. It must add
 * the descriptor again after a rebuild: see rlc_port_set_rebuilds. If a host registers a descriptor with the set's
 * epoll descriptor, a later insert of that number takes the registration over. If a host deletes a member's
 * registration, the next change of the member returns -EBADF, as for a number that was closed [RLC-PORT-14].
 */
#ifndef CRUNLOOP_KIT_PORT_SET_H
#define CRUNLOOP_KIT_PORT_SET_H

#include <crunloop/kernel.h>
#include <crunloop_kit/token.h>

RLC_BEGIN_DECLS

/**
 * How the set reports a readiness port, a member of the kind RLC_PORT_READINESS. These bits are part of the port's
 * interest. rlc_loop ignores them.
 */
enum {
    /** Edge-triggered: the set reports each change once. It does not report again what the embedder leaves unread. */
    RLC_EDGE = 16,
    /** The set reports one event, then suspends the port until rlc_port_set_set_interest. */
    RLC_ONE_SHOT = 32,
    /**
     * The members that watch the same descriptor share it: each receives the events of its own interest, in the order
     * in which the members were inserted.
     */
    RLC_SHARED = 64,
};

/** A port set. Its creator ends it by rlc_port_set_destroy. */
typedef struct rlc_port_set rlc_port_set;

/** How a set watches a descriptor, and what rlc_port_set_take does with its events. */
typedef enum rlc_port_kind {
    /**
     * Level-triggered: the set reports the port while its descriptor is ready. RLC_EDGE makes it edge-triggered
     * [RLC-TRIGGER-1], RLC_ONE_SHOT makes it report once [RLC-TRIGGER-2].
     *
     * An end is a hang-up, an error, or the end of the file with nothing left to read. The set reports an end once each
     * time that it begins, and the port stays a member. While the end lasts the port is edge-triggered. The first event
     * that reports more than the end makes the port level-triggered again [RLC-END-1]. If only reading has ended, the
     * set still reports that the port can be written [RLC-END-2]. The write end of a pipe that has lost its readers
     * reports again when it can be written again [RLC-END-3]. So does a socket after a call of the program has taken
     * its error [RLC-END-4].
     *
     * An end that begins after the report, for example in the port's callout, is another end, and is reported
     * [RLC-END-5]. If an end begins while the port is muted, suspended after its one shot, or without interest, the set
     * reports the end when it watches the port again. All ports that share a number get each end [RLC-END-6].
     * docs/guide/descriptors.md has a table of all kinds of descriptors [RLC-END-9].
     *
     * The set has one more epoll descriptor while one of its ports has ended. If the process has no number left for
     * that descriptor, the set may report an end twice; and if only reading has ended, the set does not watch for
     * reading until the interest is set [RLC-END-7]. If there is no memory, the set reports the port as
     * RLC_FATE_REFUSED. A number that was closed before its member was removed leaves nothing behind in the set
     * [RLC-END-10].
     */
    RLC_PORT_READINESS,
    /**
     * A counter: an eventfd, a timerfd, or a pipe of 8-byte messages. Edge-triggered. rlc_port_set_take reads eight
     * bytes before it reports the event. It reports nothing if there is nothing to read [RLC-COUNTER-1, RLC-COUNTER-3].
     * If more may be left to read, it queues the port again, behind the ports that became ready meanwhile [RLC-ORDER-2,
     * RLC-COUNTER-2].
     *
     * A message shorter than eight bytes is one event. The set reports the end of the file as RLC_HANGUP, and a read
     * that fails as RLC_ERROR: once, and again at the next edge [RLC-COUNTER-4, RLC-COUNTER-5]. After a read that
     * fails, the set reads once more. If the second read succeeds, the failure has passed: the event has RLC_READABLE
     * as well, and the set goes on reading the counter [RLC-COUNTER-8].
     */
    RLC_PORT_COUNTER,
    /**
     * Edge-triggered and never read. The event marks a place in the order of readiness; the embedder finds in its own
     * state what has happened [RLC-PORT-9]. For descriptors that the embedder itself has created, such as its timer
     * port.
     */
    RLC_PORT_HINT,
    RLC_PORT_WAKEUP, /**< A hint that is a wakeup port's eventfd, inserted by rlc_kit_watch_wakeup. */
} rlc_port_kind;

/** Whether epoll still watches the port of an event. */
typedef enum rlc_port_fate {
    RLC_FATE_WATCHED, /**< Yes. */
    /** No, because epoll has refused a change (ENOSPC, ENOMEM). Call rlc_port_set_retry later. */
    RLC_FATE_REFUSED,
    /**
     * No, and it never will, because other code has closed the number of the member. The number may refer to another
     * file by now, so do not read from it. Remove the member.
     */
    RLC_FATE_LOST,
} rlc_port_fate;

/** What rlc_port_set_take returns. */
typedef struct rlc_port_event {
    rlc_token token;
    void *context; /**< From rlc_port_set_insert. */
    rlc_port_kind kind;
    uint32_t ready; /**< RLC_READABLE...; RLC_ERROR alone unless `fate` is RLC_FATE_WATCHED. */
    rlc_port_fate fate;
} rlc_port_event;

/**
 * Creates a set without members.
 *
 * @param kernel  The kernel table, which must outlive the set; NULL for rlc_kernel_default().
 * @param ret_set The set; the caller ends it by rlc_port_set_destroy.
 * @return 0; -EMFILE (the process has no number left), -ENFILE (the system has none left), -ENOMEM, -EINVAL (the table
 *         is too short).
 *
 * Thread: [any]. The owner is the thread that calls rlc_port_set_wait.  Cost: one system call.
 */
int rlc_port_set_create(const rlc_kernel *kernel, rlc_port_set **ret_set);

/**
 * Closes the epoll descriptor (not in a child of fork(2)) and frees the set. Members need not be removed before. Their
 * descriptors stay open.
 *
 * @param set The set; NULL is allowed. No call may use it afterwards.
 *
 * Thread: [loop].  Cost: one system call, O(members).
 */
void rlc_port_set_destroy(rlc_port_set *set);

/**
 * Returns the epoll descriptor. A host may poll it for reading. Events that the set has fetched already do not make it
 * readable: see rlc_port_set_has_batch.
 *
 * @return The descriptor, which the set owns. The number changes only after other code has closed the descriptor.
 *         Cannot fail.
 *
 * Thread: [any].
 */
int rlc_port_set_fd(const rlc_port_set *set);

/**
 * Adds a member: the set now watches a descriptor.
 *
 * If two members watch one descriptor, the later member receives the events. The earlier one receives them again when
 * the later one is removed [RLC-PORT-4]. If both are readiness ports with RLC_SHARED, each event goes to all of them
 * that are interested in it, by consecutive takes and in the order of insertion [RLC-SHARE-1]. Each is suspended and
 * muted separately [RLC-SHARE-2]. Epoll watches them edge-triggered if all of them have RLC_EDGE, else level-triggered
 * [RLC-SHARE-3].
 *
 * If a member's number was closed and opened again, a new member receives the events of the number, and the earlier
 * member receives none any more [RLC-PORT-5]. The set does not notice the new file if the earlier member has been
 * suspended or muted all the time. A hint's number accepts no other member [RLC-PORT-11].
 *
 * @param fd        The descriptor, which the caller owns. Remove the member before you close the descriptor.
 * @param kind      See rlc_port_kind.
 * @param interest  For RLC_PORT_READINESS: RLC_READABLE, RLC_WRITABLE, RLC_PRIORITY, with RLC_EDGE, RLC_ONE_SHOT,
 *                  RLC_SHARED; 0 still reports RLC_HANGUP and RLC_ERROR. Ignored for other kinds [RLC-COUNTER-7].
 * @param context   Returned with each event.
 * @param ret_token Identifies the member until rlc_port_set_remove.
 * @return 0; -EBADF (fd is not open, or is a hint's), -EPERM (a regular file or folder, which epoll cannot watch),
 *         -EINVAL or -ELOOP (the set's own descriptor, or a circle of epoll descriptors), -ENOSPC (the user's limit of
 *         epoll registrations), -ENOMEM, -ECHILD. A call that fails leaves the set as it was [RLC-PORT-1, RLC-PORT-2,
 *         RLC-PORT-3].
 *
 * Thread: [locked].  Cost: one system call; two if an earlier member has the number. At a counter's first event the set
 * reads its status flags, at the second one its entry in /proc [RLC-COUNTER-6]. The call allocates all that later calls
 * for this member need.
 */
int rlc_port_set_insert(
    rlc_port_set *set, int fd, rlc_port_kind kind, uint32_t interest, void *context, rlc_token *ret_token);

/**
 * Changes the interest of a readiness port. Arms a one-shot port again. If the port has ended (see rlc_port_kind), the
 * call polls its descriptor, and the set reports the present readiness once more.
 *
 * If an edge-triggered port already has this interest, the call makes epoll report its present readiness again. A call
 * that fails leaves the interest as it was [RLC-PORT-13].
 *
 * @param token    From rlc_port_set_insert.
 * @param interest As in rlc_port_set_insert. RLC_SHARED must stay as it was.
 * @return 0; -ENOENT (stale token), -EBADF (the number was closed, or refers to another file by now), -ENOSPC or
 *         -ENOMEM (epoll refuses), -ECHILD.
 *
 * Thread: [locked].  Cost: one system call; none while the port is muted, or if nothing changes [RLC-PORT-12].
 */
int rlc_port_set_set_interest(rlc_port_set *set, rlc_token token, uint32_t interest);

/**
 * Mutes a port, so that epoll does not watch it, or unmutes it. An embedder may mute a port while the port's callout
 * runs, for example [RLC-PORT-7].
 *
 * A muted port reports nothing, not even a hang-up. Calls do not nest: one call with false unmutes the port.
 *
 * @param token From rlc_port_set_insert.
 * @param muted Whether the port is to be muted.
 * @return 0; -ENOENT (stale token), -EBADF (the number was closed, or refers to another file by now), -ECHILD. Only
 *         from unmuting, -ENOSPC or -ENOMEM: the port is not muted any more, but epoll does not watch it until
 *         rlc_port_set_retry succeeds.
 *
 * Thread: [locked].  Cost: one system call if it changes anything.
 */
int rlc_port_set_set_muted(rlc_port_set *set, rlc_token token, bool muted);

/**
 * Removes a member. rlc_port_set_take then returns none of its events, not even one that was fetched before.
 *
 * The descriptor may have been closed before. If its number refers to another file by now, the call does not touch that
 * file [RLC-PORT-5].
 *
 * @param token From rlc_port_set_insert; stale afterwards.
 * @return 0; -ENOENT (stale token). -ENOSPC, -ENOMEM or -ECHILD: the member is removed, but epoll does not watch an
 *         earlier member with the same number: see rlc_port_set_retry.
 *
 * Thread: [locked].  Cost: at most one system call.
 */
int rlc_port_set_remove(rlc_port_set *set, rlc_token token);

/**
 * Asks epoll once more to watch the members that it has refused. Until that succeeds they report nothing [RLC-PORT-15].
 * rlc_port_set_set_interest does the same for one member.
 *
 * @return 0 if epoll watches all members; -ENOSPC or -ENOMEM if it still refuses some; -ECHILD.
 *
 * Thread: [locked].  Cost: O(members), and a system call for each that epoll does not watch.
 */
int rlc_port_set_retry(rlc_port_set *set);

/** Counts the members, also those that have ended or are muted, but not the hints. Thread: [locked]. */
size_t rlc_port_set_count(const rlc_port_set *set);

/**
 * Iterates over the members, in no particular order and without the hints. So the owner needs no list of its own
 * [RLC-PORT-10].
 *
 * @param set      The set. Insert or remove nothing during an iteration.
 * @param position Where to continue; 0 at first. The call moves the position behind the member that it returns.
 * @return The member's context; NULL if there are no more.
 *
 * Thread: [locked].
 */
void *rlc_port_set_next(const rlc_port_set *set, uint32_t *position);

/**
 * Fetches a batch of events, and waits if there are none.
 *
 * @param set         The set. rlc_port_set_has_batch must be false: the call would overwrite the batch.
 * @param deadline_ns Nanoseconds on the kernel table's monotonic clock; 0 for no wait; RLC_TIME_FOREVER for no limit.
 * @return The number of events, of which rlc_port_set_take may drop some. 0: the deadline has passed. -EINTR: a signal
 *         arrived, or ports that have ended must be polled. Then call rlc_port_set_take, which polls them, check the
 *         clock, and wait again. -ECHILD; -EBADF (other code has closed the epoll descriptor), or another -errno of
 *         epoll_wait(2).
 *
 * Thread: [loop], without the lock.  Blocks.  Cost: one system call, no allocation [RLC-TAKE-4].
 */
int rlc_port_set_wait(rlc_port_set *set, uint64_t deadline_ns);

/**
 * Tells whether rlc_port_set_take has something to do: there are fetched events, which may be stale, or members that
 * epoll does not watch any more.
 * Thread: [loop].
 */
bool rlc_port_set_has_batch(const rlc_port_set *set);

/**
 * Takes the next event out of the batch: the oldest one that is still true.
 *
 * Before the fetched events it returns, once each, the members that epoll does not watch any more, because a change of
 * their registration has failed in a call that could not return the error [RLC-TAKE-8]. `fate` tells why. It returns a
 * muted member only once it is unmuted, and never a suspended one: for that one rlc_port_set_set_interest returns the
 * error.
 *
 * @param ret_event The event. Unchanged if there is none.
 * @return False if the batch is empty (call rlc_port_set_wait), or the process is a child of fork(2).
 *
 * Thread: [locked], and only the owner's thread.  Cost: one read for a counter, and up to eight system calls for an
 * end. The call verifies each event but the first of a batch by poll(2), because a callout may have made the event
 * stale [RLC-TAKE-9]. If poll(2) fails, the event counts as true [RLC-TAKE-6].
 */
bool rlc_port_set_take(rlc_port_set *set, rlc_port_event *ret_event);

/**
 * Tells whether rlc_port_set_take has to return a member that epoll does not watch any more.
 *
 * A thread that changes the set while the owner may sleep calls this function after the change. If it returns true, the
 * thread wakes the owner.
 *
 * Thread: [any].
 */
bool rlc_port_set_has_unwatched(const rlc_port_set *set);

/**
 * Counts how often the set has put a new epoll instance behind its number: see "Strays" at the top of this file. A host
 * that has the number in an epoll set of its own adds the number again when the count changes. Thread: [any].
 */
uint64_t rlc_port_set_rebuilds(const rlc_port_set *set);

RLC_END_DECLS
#endif

/**
 * The port set's records, and the functions that each of its files implements for the others.
 *
 * These files use some words in a narrow sense. The *owner* of a descriptor's number is the newest member with this
 * number that is no orphan. Only the owner is registered in epoll, also for the older members that share the number
 * with it. An *orphan* is a member whose number was closed. A *stray* is a registration without a member: its number
 * was closed while a duplicate kept the file open. An *end* is a hang-up, an error, or the end of the file. While an
 * end lasts its port is *quiet*: the *edge set*, a second epoll instance, watches it edge-triggered (port_set_edges.c).
 * The *first set* is the epoll instance of epoll_fd.
 *
 * All functions are [locked]. The *set's thread* is the one that calls rlc_port_set_wait. Only on it may functions run
 * that use the batch.
 */
#ifndef RLC_PORT_SET_INTERNAL_H
#define RLC_PORT_SET_INTERNAL_H

#include "slot_list.h"

#include <assert.h>
#include <crunloop_kit/pass_checks.h>
#include <crunloop_kit/port_set.h>
#include <crunloop_kit/wakeup_port.h>
#include <errno.h>
#include <stdatomic.h>

/* How many events a batch has room for. epoll_wait(2) leaves further events in the kernel. */
enum { RLC_BATCH_MIN = 4, RLC_BATCH_MAX = 128 };

/** The states of a port. Several can apply. */
enum {
    RLC_PORT_REGISTERED = 1 << 0, /**< The first set has the number under this port's token. */
    RLC_PORT_MEMBER = 1 << 1,     /**< rlc_port_set_enroll has made it a member. */
    RLC_PORT_MUTED = 1 << 2,
    RLC_PORT_SUSPENDED = 1 << 3, /**< One shot or a refusal was reported: nothing more until its interest is set. */
    RLC_PORT_ORPHAN = 1 << 4,    /**< Its number was closed, and may refer to another file. */
    RLC_PORT_UNWATCHED = 1 << 5, /**< epoll should watch it and does not: the set, or rlc_loop, has to report that. */
    RLC_PORT_SHARED = 1 << 6,    /**< It is an owner, and older members share its number. */
    RLC_PORT_REPORTED = 1 << 7,  /**< It shares its number, and has had its turn at the present event. */
    RLC_PORT_OWNED = 1 << 8,     /**< Only the callouts for its events read the descriptor: rlc_kit_set_owned. */
    RLC_PORT_RENEWED = 1 << 9,   /**< Owned, and registered anew: a fetched event may be older than the registration. */
    RLC_PORT_BLOCKS = 1 << 10,   /**< A counter without O_NONBLOCK: a read would wait if another reader was faster. */

    /* These concern ends. */
    RLC_PORT_ENDED = 1 << 11,      /**< The last report was an end, with nothing left to read. */
    RLC_PORT_END_READER = 1 << 12, /**< At that report the port was interested in reading. */
    RLC_PORT_END_WRITER = 1 << 13, /**< At that report the port was interested in writing. */
    RLC_PORT_HALF = 1 << 14,       /**< The end was only that the peer has stopped writing. */
    RLC_PORT_READ_ENDED = 1 << 15, /**< Reading has ended: the edge set watches for it, the first set for the rest. */
    RLC_PORT_QUIET = 1 << 16,      /**< The end lasts, and the edge set watches the port. */
    RLC_PORT_EDGY = 1 << 17,       /**< The first set watches it edge-triggered, beside the edge set or in its place. */
    RLC_PORT_REPEATS = 1 << 18,    /**< Its next event in the first set may repeat what was reported. */
    RLC_PORT_EDGES = 1 << 19,      /**< It is an owner, and the edge set has the number under its token. */
};

/** The states that a port loses when it becomes level-triggered again. */
enum {
    RLC_PORT_END = RLC_PORT_ENDED | RLC_PORT_END_READER | RLC_PORT_END_WRITER | RLC_PORT_HALF | RLC_PORT_READ_ENDED |
                   RLC_PORT_QUIET | RLC_PORT_EDGY | RLC_PORT_REPEATS
};

/** What the set knows about a counter's descriptor. */
typedef enum rlc_counter {
    RLC_COUNTER_NEW,     /**< Nothing: it has had no event yet. */
    RLC_COUNTER_SEEN,    /**< RLC_PORT_BLOCKS says whether a read may wait. */
    RLC_COUNTER_REFILLS, /**< As SEEN, and one read may leave something to read. */
    RLC_COUNTER_EMPTIES, /**< As SEEN, and one read always empties it. */
} rlc_counter;

/** The events that an end consists of. */
enum { RLC_ENDS = EPOLLHUP | EPOLLRDHUP | EPOLLERR };

/** Marks an event of the batch that the edge set has reported. epoll_wait(2) never returns this bit. */
#define RLC_EVENT_OF_EDGE ((uint32_t)EPOLLET)

/** The token under which the first set has the edge set. No port has this token. */
#define RLC_EDGE_SET_BITS UINT64_MAX

/** rlc_port_set_take_port reports it with RLC_ERROR: epoll does not watch the port any more. */
enum { RLC_UNWATCHED = 1 << 16 };

typedef struct rlc_port {
    rlc_slot slot; /**< Its token identifies the port in events. */
    void *context;
    int fd;                /**< Kept after the removal, until the record is claimed again: see delete_by_number. */
    uint32_t interest : 8; /**< 0 for a counter, whose reports depend only on what a read returns. */
    uint32_t kind : 2, counter : 2, state : 20;
    union {
        SLIST_ENTRY(rlc_port) older; /**< For members: the next older one of the bucket. */
        rlc_slot_link link;          /**< For other records: rlc_loop may use it. */
    };
} rlc_port;

static_assert(sizeof(rlc_port) == 32 || sizeof(void *) != 8, "there is one for each descriptor");

/** The members whose numbers end in the same bits, newest first. */
typedef SLIST_HEAD(rlc_port_bucket, rlc_port) rlc_port_bucket;

typedef struct rlc_batch {
    uint32_t capacity;
    struct epoll_event events[];
} rlc_batch;

enum { RLC_EDGE_COUNT_BITS = 22 };

struct rlc_port_set {
    /* These come first: struct rlc_kit_port_set_head repeats them. */
    uint32_t cursor, fetched; /**< The next event of the batch, and their number. For the set's thread. */
    /** rlc_port_set_take has a member to report that epoll does not watch, or quiet ports to poll. */
    _Atomic bool has_unwatched;
    _Atomic bool has_chores; /**< The next wait has more to do: a larger batch, or quiet ports to poll. */
    bool is_fresh;           /**< No event of the batch was taken yet. For the set's thread. */
    uint32_t bucket_count;
    const rlc_kernel *kernel;
    rlc_slot_table ports;
    rlc_port_bucket *buckets;
    uint32_t fork_generation;
    _Atomic int epoll_fd; /**< Changes under the lock, if other code has closed the former one. */
    int edge_fd;          /**< The edge set; -1 while no number is in it. */

    /* Guarded by the lock. */
    uint32_t edge_count : RLC_EDGE_COUNT_BITS; /**< How many numbers are in the edge set. */
    uint32_t next_capacity : 8;                /**< The capacity of the largest batch so far. */
    uint32_t has_strays : 1;                   /**< There may be strays. */
    uint32_t has_news : 1;                     /**< A quiet port has become level-triggered again. */
    uint16_t hint_count;

    /* The set's thread uses these. */
    uint8_t shared_cursor; /**< 1 + the cursor of the last event that several members get; or 0. */
    uint8_t hidden;        /**< An rlc_hidden. */
    uint32_t changes_at_wait;

    _Atomic uint32_t changes; /**< How many registrations were added, changed or removed so far. */
    _Atomic uint32_t rebuilds;
    /** A larger batch that an insertion has made. The next wait takes it into use. */
    _Atomic(rlc_batch *) next_batch;
    rlc_batch *batch; /**< For the set's thread. */
};

static_assert(sizeof(struct rlc_port_set) <= 120 || sizeof(void *) != 8, "malloc(3) takes 128 bytes for it");

/** Whether a quiet port waits to write. epoll reports no edge when it can write: see port_set_edges.c. */
typedef enum rlc_hidden {
    RLC_NONE_HIDDEN,
    RLC_HIDDEN,
    RLC_HIDDEN_SEEN, /**< A quiet port waits to write, and the last wait has made rlc_port_set_take poll it. */
} rlc_hidden;

/* ---- records ---- */

/** A wakeup port's eventfd is a hint, too. */
static inline bool rlc_port_is(const rlc_port *port, rlc_port_kind kind) {
    static_assert(RLC_PORT_WAKEUP == (RLC_PORT_HINT | 1), "one bit for both");
    return kind == RLC_PORT_HINT ? (port->kind & RLC_PORT_HINT) != 0 : port->kind == kind;
}

static inline bool rlc_port_has(const rlc_port *port, uint32_t states) {
    return (port->state & states) != 0;
}

static inline void rlc_port_assign(rlc_port *port, uint32_t states, bool is_set) {
    port->state = is_set ? port->state | states : port->state & ~states;
}

/** Returns the epoll events of a readiness port's interest. */
static inline uint32_t rlc_port_asked_events(const rlc_port *port) {
    bool reads = (port->interest & RLC_READABLE) != 0 && !rlc_port_has(port, RLC_PORT_READ_ENDED);
    return (reads ? EPOLLIN | EPOLLRDHUP : 0) | ((port->interest & RLC_WRITABLE) != 0 ? EPOLLOUT : 0) |
           ((port->interest & RLC_PRIORITY) != 0 ? EPOLLPRI : 0);
}

static inline bool rlc_port_set_is_forked(const rlc_port_set *set) {
    return rlc_has_forked_since(set->fork_generation);
}

/* ---- members by number ---- */

static inline rlc_port_bucket *rlc_port_set_bucket(const rlc_port_set *set, int fd) {
    return &set->buckets[(uint32_t)fd & (set->bucket_count - 1)];
}

/** Returns the newest member with the number that is no orphan, from `port` on to older ones; or NULL. */
static inline rlc_port *rlc_port_owner_from(rlc_port *port, int fd) {
    while (port != NULL && (port->fd != fd || rlc_port_has(port, RLC_PORT_ORPHAN)))
        port = SLIST_NEXT(port, older);
    return port;
}

/** Returns the owner of the number, or NULL. */
static inline rlc_port *rlc_port_set_owner(const rlc_port_set *set, int fd) {
    return set->bucket_count == 0 ? NULL : rlc_port_owner_from(SLIST_FIRST(rlc_port_set_bucket(set, fd)), fd);
}

/* ---- the set and its members: port_set_members.c ---- */

/** Creates a set whose records have `record_size` bytes and begin with an rlc_port, for rlc_loop. */
int rlc_port_set_create_for(const rlc_kernel *kernel, size_t record_size, rlc_port_set **ret_set);

/** Tells whether a record can be claimed without rlc_port_set_make_room. */
static inline bool rlc_port_set_has_room(const rlc_port_set *set) {
    return !SLIST_EMPTY(&set->ports.unused);
}

/** Allocates room for one more record and its membership. Returns 0 or -ENOMEM. */
int rlc_port_set_make_room(rlc_port_set *set);

/** Claims a record, for which there must be room, and zeroes its rlc_port. rlc_port_set_enroll makes it a member. */
static inline rlc_port *rlc_port_set_claim(rlc_port_set *set) {
    rlc_port *port = (rlc_port *)(void *)rlc_slot_table_claim(&set->ports);
    *port = (rlc_port){.slot = port->slot};
    return port;
}

/** Makes the record a member, with the fd, kind, interest and context that it has. Returns as rlc_port_set_insert. */
int rlc_port_set_enroll(rlc_port_set *set, rlc_port *port);
/** Ends the membership. The caller keeps the record. Returns as rlc_port_set_remove. */
int rlc_port_set_withdraw(rlc_port_set *set, rlc_port *port);
/** As rlc_port_set_set_interest. */
int rlc_port_set_change_interest(rlc_port_set *set, rlc_port *port, uint32_t interest);
/** As rlc_kit_set_served_interest. */
int rlc_port_set_change_served_interest(rlc_port_set *set, rlc_port *port, uint32_t interest);
/** As rlc_port_set_set_muted. */
int rlc_port_set_mute(rlc_port_set *set, rlc_port *port, bool muted);

/* ---- registrations in epoll: port_set_registration.c ---- */

/** Returns the next older member that shares the port's number with it, or NULL. */
rlc_port *rlc_port_older_sharer(const rlc_port *port);
/** Sets or clears the owner's RLC_PORT_SHARED, after members with its number have come or gone. */
void rlc_port_note_sharing(rlc_port *owner);
/** Returns the owner of the port's number if the port is the owner or shares the number; else NULL. */
rlc_port *rlc_port_set_registrant(const rlc_port_set *set, rlc_port *port);
/** Tells whether the owner is registered for quiet ports alone. */
bool rlc_port_is_all_quiet(const rlc_port *owner);
/** Notes that the owner is registered anew: epoll reports the ends of its quiet ports once more. */
void rlc_port_note_repetition(rlc_port *owner);

/**
 * Calls epoll_ctl(2) to add the port or to change it. If other code has closed the set's epoll descriptor, makes a new
 * one and calls again. -ECHILD in a child of fork(2).
 */
int rlc_port_set_control(rlc_port_set *set, int operation, const rlc_port *port);
/** Makes, changes or deletes the registration, as the states of the owner and its sharers require. 0 or -errno. */
int rlc_port_set_update(rlc_port_set *set, rlc_port *port);
/** Deletes the owner's registration, if there is one. */
void rlc_port_set_drop(rlc_port_set *set, rlc_port *port);
/**
 * As rlc_port_set_update, for callers that cannot return an error. rlc_port_set_take reports the members that epoll has
 * refused; rlc_port_set_retry or rlc_port_set_set_interest tries again.
 */
void rlc_port_set_renew(rlc_port_set *set, rlc_port *port);
/** Makes the port an orphan. */
void rlc_port_set_orphan(rlc_port_set *set, rlc_port *port);
/**
 * Tells whether a failure of epoll_ctl(2) for a member says that its number was closed; another file may have the
 * number by now. EPERM says so too: epoll cannot watch the file that has the number, so that file is not the member's.
 */
static inline bool rlc_says_closed(int status) {
    return status == -EBADF || status == -ENOENT || status == -EPERM;
}

/** Makes all members with the number orphans. rlc_port_set_take reports them. */
void rlc_port_set_lose(rlc_port_set *set, int fd);
/** Lets rlc_port_set_take report that epoll does not watch the port, as soon as the port is not muted. */
void rlc_port_set_note_unwatched(rlc_port_set *set, rlc_port *port);
/** Notes that the owner's number has left the edge set. Closes the edge set if it has no number any more. */
void rlc_port_set_unmark_edges(rlc_port_set *set, rlc_port *owner);
/** Returns the member that is a wakeup port's eventfd, also if that was closed; or NULL. O(members). */
rlc_port *rlc_port_set_wakeup(const rlc_port_set *set);
/** Tells whether the hint's number was closed. If so, the hint becomes an orphan. */
bool rlc_port_set_has_lost_hint(rlc_port_set *set, rlc_port *hint);
/** Deletes a stray by its number. If that is not possible, rebuilds the set and returns false. */
bool rlc_port_set_drop_stray(rlc_port_set *set, rlc_token token);

/** Notes a change of an owned port's registration: the set verifies an event that it has fetched before [RLC-OWN-2]. */
static inline void rlc_port_note_renewal(rlc_port *port) {
    static_assert(RLC_PORT_RENEWED == RLC_PORT_OWNED << 1, "neighbours");
    port->state |= (port->state & RLC_PORT_OWNED) << 1;
}

/* ---- ends that last: port_set_edges.c ---- */

/**
 * Handles an end that the caller reports. If it lasts, the port becomes quiet: it reports again at another end, or when
 * it can be read or written. If epoll refuses the port, rlc_port_set_take reports that.
 */
void rlc_port_set_settle(rlc_port_set *set, rlc_port *port, uint32_t events);
/** Notes the report of an end, and the interest at that time. */
void rlc_port_note_end(rlc_port *port);
/** Makes the port level-triggered again: epoll reports its present readiness. */
void rlc_port_set_revive(rlc_port_set *set, rlc_port *port);
/** Changes what the edge set watches, as the states of the owner and its sharers require. */
void rlc_port_set_update_edges(rlc_port_set *set, rlc_port *owner);
/**
 * Gives the place of `older` in the edge set to `port`, the new owner of the number, if both share it; else deletes it.
 */
void rlc_port_set_take_over_edges(rlc_port_set *set, rlc_port *port, rlc_port *older);
/** Gives the owner's place in the edge set to the earlier member, which becomes the owner. */
void rlc_port_set_pass_edges(rlc_port_set *set, rlc_port *port, rlc_port *earlier);
/** Deletes the owner's number from the edge set, if it is there. */
void rlc_port_set_drop_edges(rlc_port_set *set, rlc_port *owner);
/**
 * Called when the first set has reported, by `event`, that the edge set is ready. Replaces `event` by the oldest event
 * of the edge set, and returns its port. Returns NULL if there is no event. Also returns NULL if the port is muted,
 * suspended or shared: then the members that the event concerns become level-triggered, and the first set reports the
 * event.
 */
rlc_port *rlc_port_set_fetch_edge(rlc_port_set *set, struct epoll_event *event);
/** Tells whether the port can do what it waits for in spite of the end in these events. */
bool rlc_port_set_has_more(const rlc_port_set *set, const rlc_port *port, uint32_t events);
/** Sets or clears RLC_PORT_HALF. True if these events only complete a reported end: the half-closed peer has closed. */
bool rlc_port_goes_on(rlc_port *port, uint32_t events);
/** Polls the quiet ports that wait to write. */
void rlc_port_set_poll_ended(rlc_port_set *set);
/**
 * Handles an event of the first set for a number whose members are quiet: makes them level-triggered again unless the
 * event only repeats what was reported.
 */
void rlc_port_set_check_repetition(rlc_port_set *set, rlc_port *owner, uint32_t events);
/**
 * Called before a port becomes level-triggered. If the port is quiet and in the first set, and its error has passed,
 * deletes its registration. The caller registers it again: only a new registration puts epoll on the file's wait queue.
 */
void rlc_port_set_hook_again(rlc_port_set *set, rlc_port *owner, const rlc_port *port);

/* ---- waiting and taking: port_set_readiness.c ---- */

/** Tells whether the set has fetched events that were not taken yet. */
static inline bool rlc_port_set_holds_batch(const rlc_port_set *set) {
    return set->cursor < set->fetched;
}

/** rlc_port_set_has_batch, inline. */
static inline bool rlc_port_set_has_events(const rlc_port_set *set) {
    return rlc_port_set_holds_batch(set) || atomic_load_explicit(&set->has_unwatched, memory_order_acquire);
}

/** Returns the registered port of an event's token; NULL if the event is stale. */
static inline rlc_port *rlc_port_set_live(const rlc_port_set *set, rlc_token token) {
    rlc_port *port = rlc_slot_table_named(&set->ports, token);
    return port != NULL && rlc_port_has(port, RLC_PORT_REGISTERED) ? port : NULL;
}

/** Returns what to report for EPOLLIN and EPOLLOUT. 0 for other events, and if the port has ended or is shared. */
static inline uint32_t rlc_port_plain_ready(const rlc_port *port, uint32_t events) {
    if ((events & ~(uint32_t)(EPOLLIN | EPOLLOUT)) != 0)
        return 0;
    if (rlc_port_has(port, RLC_PORT_READ_ENDED | RLC_PORT_ENDED | RLC_PORT_SHARED))
        return 0;
    uint32_t ready = ((events & EPOLLIN) != 0 ? RLC_READABLE : 0) | ((events & EPOLLOUT) != 0 ? RLC_WRITABLE : 0);
    return ready & port->interest;
}

/**
 * True if the port's event needs no check by the kernel. Only the callouts of an owned port read its descriptor, so
 * EPOLLIN stays true until one of them is called. The set checks other events: other code may have written to the
 * descriptor, and a hang-up or an error may have changed.
 */
static inline bool rlc_port_is_trusted(const rlc_port *port, uint32_t events) {
    return (port->state & (RLC_PORT_OWNED | RLC_PORT_RENEWED)) == RLC_PORT_OWNED && events == EPOLLIN;
}

/** Deletes the strays whose events are in the batch. */
void rlc_port_set_drop_strays(rlc_port_set *set);

/**
 * As rlc_port_set_take, but returns the port, or NULL; *ret_ready is RLC_ERROR | RLC_UNWATCHED if epoll does not watch
 * it any more. If the caller trusts the batch, the set reports each event as it was fetched. Else it polls a descriptor
 * whose event a callout may have made stale.
 */
rlc_port *rlc_port_set_take_port(rlc_port_set *set, bool is_trusted, uint32_t *ret_ready);

/**
 * As rlc_port_set_take_port, inline, for an event that needs no poll. For an event of reading or writing alone,
 * *ret_ready is what to report. For the event of a counter *ret_ready is 0, and the caller reads the counter; rlc_loop
 * has no counters. Returns NULL for all other events.
 */
static inline rlc_port *rlc_port_set_take_plain(rlc_port_set *set, bool is_trusted, uint32_t *ret_ready) {
    if (!is_trusted && (set->has_strays || atomic_load(&set->has_unwatched)))
        return NULL;
    if (!rlc_port_set_holds_batch(set) || rlc_port_set_is_forked(set))
        return NULL;
    const struct epoll_event *event = &set->batch->events[set->cursor];
    rlc_port *port = rlc_port_set_live(set, (rlc_token){.bits = event->data.u64});
    if (port == NULL)
        return NULL;
    if (!is_trusted && !set->is_fresh && !rlc_port_is_trusted(port, event->events))
        return NULL;
    uint32_t ready = rlc_port_plain_ready(port, event->events);
    if (ready == 0 && !rlc_port_is(port, RLC_PORT_COUNTER))
        return NULL;
    *ret_ready = ready;
    set->cursor++;
    return port;
}

#endif

/** The port set's own records, and what its files know of each other: each section below is one of them. */
#ifndef RLC_PORT_SET_INTERNAL_H
#define RLC_PORT_SET_INTERNAL_H

#include "slot_list.h"

#include <assert.h>
#include <crunloop_kit/looks.h>
#include <crunloop_kit/port_set.h>
#include <crunloop_kit/wakeup_port.h>
#include <stdatomic.h>
#include <string.h>

/* epoll_wait(2) copies at most as many events as the batch has room for; others stay in the kernel, none is lost. */
enum { RLC_BATCH_MIN = 4, RLC_BATCH_MAX = 128 };

/**
 * Only the owner of a number, its newest member that is no orphan, can be registered: with older ones that share it,
 * for all of them.
 */
enum {
    RLC_PORT_REGISTERED = 1 << 0, /**< epoll knows the number under this port's token. */
    RLC_PORT_MEMBER = 1 << 1,     /**< Enrolled. */
    RLC_PORT_MUTED = 1 << 2,
    RLC_PORT_SUSPENDED = 1 << 3, /**< It was reported, and rests until its interest is set: one-shot, or refused. */
    RLC_PORT_ORPHAN = 1 << 4,    /**< Its number was closed, and may belong to another file. */
    RLC_PORT_UNWATCHED = 1 << 5, /**< epoll does not watch it, though it should: that is to be reported. */
    RLC_PORT_SHARED = 1 << 6,    /**< Of the owner: older members share its number. */
    RLC_PORT_REPORTED = 1 << 7,  /**< Of those that share: take has returned it for the present event. */
    RLC_PORT_OWNED = 1 << 8,     /**< Nobody reads the descriptor but who is told of its events. */
    RLC_PORT_RENEWED = 1 << 9,   /**< Owned, and registered anew: a fetched event may be of the time before. */
    RLC_PORT_BLOCKS = 1 << 10,   /**< A counter without O_NONBLOCK: a read may wait if another reader was first. */

    /* Of a port that was reported with an end. */
    RLC_PORT_TOLD = 1 << 11,        /**< The last report was an end with nothing left to read. */
    RLC_PORT_TOLD_READER = 1 << 12, /**< The port was interested in reading then, */
    RLC_PORT_TOLD_WRITER = 1 << 13, /**< and in writing. */
    RLC_PORT_HALF = 1 << 14,        /**< The peer has stopped writing, and no more. */
    RLC_PORT_READ_ENDED = 1 << 15,  /**< The end of the file was reported: the edge set watches reading. */
    RLC_PORT_QUIET = 1 << 16,       /**< The end lasts: the edge set watches it. */
    RLC_PORT_EDGY = 1 << 17,        /**< epoll_fd watches it edge-triggered, beside the edge set or in its place. */
    RLC_PORT_REPEATS = 1 << 18,     /**< Quiet: its next event in epoll_fd may repeat what is reported already. */
    RLC_PORT_EDGES = 1 << 19,       /**< Of the owner: the edge set knows the number under this port's token. */
};

/** Of an end: what a port that is level-triggered again has none of. */
enum {
    RLC_PORT_END = RLC_PORT_TOLD | RLC_PORT_TOLD_READER | RLC_PORT_TOLD_WRITER | RLC_PORT_HALF | RLC_PORT_READ_ENDED |
                   RLC_PORT_QUIET | RLC_PORT_EDGY | RLC_PORT_REPEATS
};

/** What is known of a counter's descriptor. */
typedef enum rlc_counter {
    RLC_COUNTER_NEW,     /**< It had no event yet. */
    RLC_COUNTER_SEEN,    /**< It had one: RLC_PORT_BLOCKS is known. */
    RLC_COUNTER_REFILLS, /**< A read may leave something. */
    RLC_COUNTER_EMPTIES, /**< One read empties it. */
} rlc_counter;

/** What the kernel says of an end. */
enum { RLC_ENDS = EPOLLHUP | EPOLLRDHUP | EPOLLERR };

/** In the batch: the event is of the edge set. epoll_wait(2) never returns this bit. */
#define RLC_EVENT_OF_EDGE ((uint32_t)EPOLLET)

/** What the edge set itself is in epoll. No slot has the number. */
#define RLC_EDGE_SET_BITS UINT64_MAX

/** Of what is taken: beside RLC_ERROR, that epoll does not watch the port any more. */
enum { RLC_UNWATCHED = 1 << 16 };

typedef struct rlc_port {
    rlc_slot slot; /**< Its token is what an event carries. */
    void *context;
    int fd;                /**< Kept until the record is claimed anew: see delete_by_number. */
    uint32_t interest : 8; /**< A counter's is 0: what it reports is what was read. */
    uint32_t kind : 2, counter : 2, state : 20;
    union {
        SLIST_ENTRY(rlc_port) older; /**< Of a member: in the same bucket. */
        rlc_slot_link link;          /**< Of others: free for the owner's use. */
    };
} rlc_port;

static_assert(sizeof(rlc_port) == 32 || sizeof(void *) != 8, "each descriptor has one");

/** The members with the same last bits of their numbers, newest first. */
typedef SLIST_HEAD(rlc_port_bucket, rlc_port) rlc_port_bucket;

typedef struct rlc_batch {
    uint32_t capacity;
    struct epoll_event events[];
} rlc_batch;

enum { RLC_EDGE_COUNT_BITS = 22 };

struct rlc_port_set {
    /* First, as rlc_kit_port_set_head: */
    uint32_t cursor, fetched; /**< Of the batch. The owner's thread only. */
    /** A member that is not muted is RLC_PORT_UNWATCHED. Set under the lock. */
    _Atomic bool has_unwatched;
    _Atomic bool has_chores; /**< The next wait has more to do: a larger batch, or a look at quiet ports. */
    bool is_fresh; /**< Nothing has been taken since the wait that fetched the batch. The owner's thread only. */
    uint32_t bucket_count;
    const rlc_kernel *kernel;
    rlc_slot_table ports;
    rlc_port_bucket *buckets;
    uint32_t fork_generation;
    _Atomic int epoll_fd; /**< Another one after a loss: port_set_registration.c. Changed under the lock. */
    int edge_fd;          /**< The edge set while somebody is in it; else -1. */

    /* Under the lock. */
    uint32_t edge_count : RLC_EDGE_COUNT_BITS; /**< Numbers that are in the edge set. */
    uint32_t next_capacity : 8;                /**< Of the largest batch made so far. */
    /** A registration may have outlived its member: its number was closed while a duplicate stayed open. */
    uint32_t has_strays : 1;
    uint32_t has_news : 1; /**< A port that was quiet is level-triggered again. */
    uint16_t hint_count;

    /* The owner's thread only. */
    uint8_t shared_cursor; /**< One more than the cursor of the event that goes to several members. */
    uint8_t hidden;        /**< An rlc_hidden: see port_set_edges.c. */
    uint32_t changes_at_wait;

    _Atomic uint32_t changes; /**< Registrations changed or removed so far. */
    _Atomic uint32_t rebuilds;
    /** A larger batch, made by insert under the lock, waiting for the owner to move in. */
    _Atomic(rlc_batch *) next_batch;
    rlc_batch *batch; /**< The owner's thread only. */
};

static_assert(sizeof(struct rlc_port_set) <= 120 || sizeof(void *) != 8, "as malloc(3) gives it in 128 bytes");

/** Whether a port is quiet that waits to write. */
typedef enum rlc_hidden {
    RLC_NONE_HIDDEN,
    RLC_HIDDEN,
    RLC_HIDDEN_SEEN, /**< The last wait has looked at it. */
} rlc_hidden;

/* ---- records ---- */

/** A wakeup port's eventfd is a hint as well. */
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

/** The epoll events of a readiness port's interest. */
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

/** The owner among this member and the older ones in the number's bucket, or NULL. */
static inline rlc_port *rlc_port_owner_from(rlc_port *port, int fd) {
    while (port != NULL && (port->fd != fd || rlc_port_has(port, RLC_PORT_ORPHAN)))
        port = SLIST_NEXT(port, older);
    return port;
}

/** The owner of the number, or NULL. */
static inline rlc_port *rlc_port_set_owner(const rlc_port_set *set, int fd) {
    return set->bucket_count == 0 ? NULL : rlc_port_owner_from(SLIST_FIRST(rlc_port_set_bucket(set, fd)), fd);
}

/* ---- the set and its members: port_set_members.c ---- */

/** A set whose records have `record_size` bytes and begin with an rlc_port: ports by pointer, for rlc_loop. */
int rlc_port_set_create_for(const rlc_kernel *kernel, size_t record_size, rlc_port_set **ret_set);

/** A record can be claimed. A slot that was in use before has its room. */
static inline bool rlc_port_set_has_room(const rlc_port_set *set) {
    return !SLIST_EMPTY(&set->ports.unused);
}

/** Makes room for one more record, and for what it needs as a member. -ENOMEM. [locked] */
int rlc_port_set_make_room(rlc_port_set *set);

/** A record that is no member yet, for which there is room; to enroll it allocates nothing. [locked] */
static inline rlc_port *rlc_port_set_claim(rlc_port_set *set) {
    rlc_slot *slot = rlc_slot_table_claim(&set->ports);
    memset(slot + 1, 0, set->ports.record_size - sizeof *slot);
    return (rlc_port *)(void *)slot;
}

/** Becomes a member: watches its `fd` as its kind, interest and context say. Else as rlc_port_set_insert. [locked] */
int rlc_port_set_enroll(rlc_port_set *set, rlc_port *port);
/** Is no member any more. As rlc_port_set_remove. [locked] */
int rlc_port_set_withdraw(rlc_port_set *set, rlc_port *port);
/** As rlc_port_set_set_interest. [locked] */
int rlc_port_set_change_interest(rlc_port_set *set, rlc_port *port, uint32_t interest);
/** The same in the port's own callout: what that was called with is not reported again. [locked] */
int rlc_port_set_change_served_interest(rlc_port_set *set, rlc_port *port, uint32_t interest);
/** As rlc_port_set_set_muted. [locked] */
int rlc_port_set_mute(rlc_port_set *set, rlc_port *port, bool muted);

/* ---- registrations in epoll: port_set_registration.c ---- */

/** The next older member that shares the port's number with it, or NULL. */
rlc_port *rlc_port_older_sharer(const rlc_port *port);
/** Who shares the owner's number has changed. */
void rlc_port_note_sharing(rlc_port *owner);
/**
 * The owner if the port is it, or shares its number: then what happens to the port changes the registration. Or NULL.
 */
rlc_port *rlc_port_set_registrant(const rlc_port_set *set, rlc_port *port);
/** All members that the owner is registered for are quiet and kept: its events only hint at news. */
bool rlc_port_is_hint_only(const rlc_port *owner);
/** It is registered anew, which repeats the ends of those that are kept. */
void rlc_port_note_repetition(rlc_port *owner);

/**
 * epoll_ctl(2), to add or change; if the set's descriptor is lost, once more on a new one. -ECHILD in a child of
 * fork(2).
 */
int rlc_port_set_control(rlc_port_set *set, int operation, const rlc_port *port);
/** Registers, changes or drops the owner's registration as its state asks. 0 or -errno. */
int rlc_port_set_update(rlc_port_set *set, rlc_port *port);
/** Deletes its registration, if it has one. */
void rlc_port_set_drop(rlc_port_set *set, rlc_port *port);
/**
 * Registers anew what has changed, as rlc_port_set_update, for callers that cannot return an error: members that epoll
 * refuses are not watched until rlc_port_set_retry or rlc_port_set_set_interest succeeds, and take reports them.
 */
void rlc_port_set_renew(rlc_port_set *set, rlc_port *port);
/** Makes it an orphan: its number was closed. */
void rlc_port_set_orphan(rlc_port_set *set, rlc_port *port);
/** Makes all members of the number orphans, which take reports. */
void rlc_port_set_lose(rlc_port_set *set, int fd);
/** Lets take report, once the port is not muted, that epoll does not watch it. */
void rlc_port_set_note_unwatched(rlc_port_set *set, rlc_port *port);
/** The owner's number is not in the edge set any more. The last one closes the set. */
void rlc_port_set_unmark_edges(rlc_port_set *set, rlc_port *owner);
/** The set's hint that is a wakeup port's eventfd, or was it until that was lost; or NULL. O(members). */
rlc_port *rlc_port_set_wakeup(const rlc_port_set *set);
/** True if the hint's number is another file's by now: then it is lost, and take reports it. [locked] */
bool rlc_port_set_has_lost_hint(rlc_port_set *set, rlc_port *hint);
/** Deletes the registration of a dead token. False if its number does not reach it: then the set is rebuilt. */
bool rlc_port_set_drop_stray(rlc_port_set *set, rlc_token token);

/** Its registration changes: the event that is fetched already, if there is one, is to be verified [RLC-OWN-2]. */
static inline void rlc_port_note_renewal(rlc_port *port) {
    static_assert(RLC_PORT_RENEWED == RLC_PORT_OWNED << 1, "one bit beside the other");
    port->state |= (port->state & RLC_PORT_OWNED) << 1;
}

/* ---- ends that last: port_set_edges.c ---- */

/**
 * A port was reported with an end that may last. If it does, the port is quiet from now on: the edge set watches it,
 * and each of its events is news. If epoll refuses, take reports so.
 */
void rlc_port_set_settle(rlc_port_set *set, rlc_port *port, uint32_t events);
/** Remembers with which interest an end was reported. */
void rlc_port_note_told(rlc_port *port);
/** The port is level-triggered again, so that epoll reports its present readiness. */
void rlc_port_set_revive(rlc_port_set *set, rlc_port *port);
/** The edge set watches the owner's number as the state of its members asks. */
void rlc_port_set_update_edges(rlc_port_set *set, rlc_port *owner);
/** A new owner of the number of `older`, which was the owner: of its edges, too, if they share the number. */
void rlc_port_set_take_over_edges(rlc_port_set *set, rlc_port *port, rlc_port *older);
/** The owner leaves its number to the earlier member. */
void rlc_port_set_pass_edges(rlc_port_set *set, rlc_port *port, rlc_port *earlier);
/** Deletes the number of the owner from the edge set, if it is there. */
void rlc_port_set_drop_edges(rlc_port_set *set, rlc_port *owner);
/**
 * Puts the oldest event of the edge set in the place of its own. Its port; NULL if there is none, or if the event is
 * passed on: several share the number, or the port reports nothing now.
 */
rlc_port *rlc_port_set_fetch_edge(rlc_port_set *set, struct epoll_event *event);
/** An end of these events hides something that the port waits for. */
bool rlc_port_set_has_more(const rlc_port_set *set, const rlc_port *port, uint32_t events);
/** These events of the edge set only complete an end: a peer that had stopped writing has left. */
bool rlc_port_goes_on(rlc_port *port, uint32_t events);
/** Asks the kernel about the quiet ports that wait to write: no edge tells them that an error was taken. */
void rlc_port_set_look_behind_ends(rlc_port_set *set);
/**
 * An event of the first set for a number whose members are quiet. If it is more than the end that was reported, and the
 * edge set did not report it, they are level-triggered again.
 */
void rlc_port_set_take_hint(rlc_port_set *set, rlc_port *owner, uint32_t events);
/**
 * Before a port becomes level-triggered: one that is kept, and has no error now, is going to be added anew. Only that
 * names its wait queue to epoll if it was added first while the error lasted.
 */
void rlc_port_set_hook_again(rlc_port_set *set, rlc_port *owner, const rlc_port *port);

/* ---- waiting and taking: port_set_readiness.c ---- */

/** Fetched events have not been taken. */
static inline bool rlc_port_set_holds_batch(const rlc_port_set *set) {
    return set->cursor < set->fetched;
}

/** rlc_port_set_has_batch, in line. */
static inline bool rlc_port_set_has_events(const rlc_port_set *set) {
    return rlc_port_set_holds_batch(set) || atomic_load_explicit(&set->has_unwatched, memory_order_acquire);
}

/** The registered port of an event's token, or NULL: a dead one's. */
static inline rlc_port *rlc_port_set_live(const rlc_port_set *set, rlc_token token) {
    rlc_port *port = rlc_slot_table_named(&set->ports, token);
    return port != NULL && rlc_port_has(port, RLC_PORT_REGISTERED) ? port : NULL;
}

/**
 * What to report of an event that says nothing but "you may read or write", if nothing else is known of the port; else
 * 0.
 */
static inline uint32_t rlc_port_plain_ready(const rlc_port *port, uint32_t events) {
    if ((events & ~(uint32_t)(EPOLLIN | EPOLLOUT)) != 0)
        return 0;
    if (rlc_port_has(port, RLC_PORT_READ_ENDED | RLC_PORT_TOLD | RLC_PORT_SHARED))
        return 0;
    uint32_t ready = ((events & EPOLLIN) != 0 ? RLC_READABLE : 0) | ((events & EPOLLOUT) != 0 ? RLC_WRITABLE : 0);
    return ready & port->interest;
}

/**
 * The event of an owned port is true until it is taken. One that says more than "you may read" is not believed: whether
 * it can be written may change by a write of anybody, and an end is to be told with what is true of it now.
 */
static inline bool rlc_port_is_believed(const rlc_port *port, uint32_t events) {
    return (port->state & (RLC_PORT_OWNED | RLC_PORT_RENEWED)) == RLC_PORT_OWNED && events == EPOLLIN;
}

/** Gets rid of the registrations whose fetched events have no port any more. [locked] */
void rlc_port_set_drop_strays(rlc_port_set *set);

/**
 * As rlc_port_set_take: the port, or NULL. RLC_ERROR | RLC_UNWATCHED: epoll has ceased to watch it. If the caller
 * trusts the batch, the set reports each event as it was fetched; else it asks the kernel again where a callout may
 * have made the event stale. [locked]
 */
rlc_port *rlc_port_set_take_port(rlc_port_set *set, bool is_trusted, uint32_t *ret_ready);

/** The same in line, for the event that needs nothing but itself. NULL for all others. */
static inline rlc_port *rlc_port_set_take_plain(rlc_port_set *set, bool is_trusted, uint32_t *ret_ready) {
    if (!is_trusted && (set->has_strays || atomic_load(&set->has_unwatched)))
        return NULL;
    if (!rlc_port_set_holds_batch(set) || rlc_port_set_is_forked(set))
        return NULL;
    const struct epoll_event *event = &set->batch->events[set->cursor];
    rlc_port *port = rlc_port_set_live(set, (rlc_token){.bits = event->data.u64});
    if (port == NULL)
        return NULL;
    if (!is_trusted && !set->is_fresh && !rlc_port_is_believed(port, event->events))
        return NULL;
    *ret_ready = rlc_port_plain_ready(port, event->events);
    if (*ret_ready == 0)
        return NULL;
    set->cursor++;
    if (!is_trusted)
        set->is_fresh = false;
    return port;
}

#endif

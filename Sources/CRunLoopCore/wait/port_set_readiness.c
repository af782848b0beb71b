/* Readiness: waits for events, verifies them, and returns them one by one. */
#include "memory.h"
#include "port_set_internal.h"

#include <crunloop_kit/pass_checks.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>

_Static_assert(offsetof(rlc_port_set, cursor) == offsetof(struct rlc_kit_port_set_head, cursor) &&
                   offsetof(rlc_port_set, fetched) == offsetof(struct rlc_kit_port_set_head, fetched) &&
                   offsetof(rlc_port_set, has_unwatched) == offsetof(struct rlc_kit_port_set_head, has_unwatched) &&
                   sizeof(((rlc_port_set *)0)->has_unwatched) == sizeof(bool),
    "as rlc_kit_has_batch reads them");
static_assert(
    EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR && EPOLLHUP == POLLHUP && EPOLLPRI == POLLPRI,
    "one vocabulary");

/* ---- waiting: the set's thread, without the lock ---- */

bool rlc_port_set_has_batch(const rlc_port_set *set) {
    return rlc_port_set_has_events(set);
}

bool rlc_port_set_has_unwatched(const rlc_port_set *set) {
    return atomic_load(&set->has_unwatched);
}

bool rlc_kit_has_fetched(const rlc_port_set *set, rlc_token token) {
    for (uint32_t i = set->cursor; i < set->fetched; i++) {
        if (set->batch->events[i].data.u64 == token.bits)
            return true;
    }
    return false;
}

bool rlc_kit_has_fetched_all(const rlc_port_set *set) {
    return set->fetched < set->batch->capacity;
}

static void move_into_larger_batch(rlc_port_set *set) {
    rlc_batch *larger = atomic_exchange(&set->next_batch, NULL);
    if (larger == NULL)
        return;
    rlc_memory_free(rlc_memory_of(set->kernel), set->batch);
    set->batch = larger;
}

static inline int fetch(rlc_port_set *set, uint64_t deadline_ns) {
    set->changes_at_wait = atomic_load(&set->changes);
    const rlc_kernel *kernel = set->kernel;
    rlc_batch *batch = set->batch;
    int count = kernel->epoll_wait(kernel->context, set->epoll_fd, batch->events, (int)batch->capacity, deadline_ns);
    set->cursor = set->shared_cursor = 0;
    set->fetched = count > 0 ? (uint32_t)count : 0;
    set->is_fresh = true;
    return count;
}

/** Returns the deadline of the wait that begins now: 0 if rlc_port_set_take has to poll quiet ports first. */
static uint64_t limit_wait(rlc_port_set *set, uint64_t deadline_ns) {
    if (set->hidden == RLC_NONE_HIDDEN)
        return deadline_ns;
    atomic_store(&set->has_chores, true);
    if (set->hidden == RLC_HIDDEN_SEEN) {
        if (deadline_ns != 0)
            set->hidden = RLC_HIDDEN; /* the next wait has them polled again: a callout may take an error */
        return deadline_ns;
    }
    set->hidden = RLC_HIDDEN_SEEN;
    atomic_store(&set->has_unwatched, true); /* so that rlc_port_set_take polls them, under the lock */
    return 0;
}

/** Not inlined, so that the usual wait saves fewer registers. */
__attribute__((noinline)) static int fetch_with_chores(rlc_port_set *set, uint64_t deadline_ns) {
    atomic_store(&set->has_chores, false);
    move_into_larger_batch(set);
    uint64_t until_ns = limit_wait(set, deadline_ns);
    int count = fetch(set, until_ns);
    if (count > 0 && set->hidden == RLC_HIDDEN_SEEN)
        set->hidden = RLC_HIDDEN;
    return count == 0 && until_ns != deadline_ns ? -EINTR : count;
}

int rlc_port_set_wait(rlc_port_set *set, uint64_t deadline_ns) {
    assert(!rlc_port_set_holds_batch(set)); /* or the wait would overwrite events */
    if (rlc_port_set_is_forked(set))
        return -ECHILD;
    if (atomic_load_explicit(&set->has_chores, memory_order_relaxed))
        return fetch_with_chores(set, deadline_ns);
    return fetch(set, deadline_ns);
}

/* ---- what to report: counters ---- */

/**
 * Asks the kernel about a counter's descriptor: at the first event whether a read may wait, at the second one whether
 * one read empties the counter.
 */
__attribute__((noinline)) static void learn_about_counter(const rlc_port_set *set, rlc_port *port) {
    if (port->counter == RLC_COUNTER_SEEN) {
        bool empties = set->kernel->counter_empties(set->kernel->context, port->fd) > 0;
        port->counter = empties ? RLC_COUNTER_EMPTIES : RLC_COUNTER_REFILLS;
        return;
    }
    int flags = set->kernel->status_flags(set->kernel->context, port->fd);
    rlc_port_assign(port, RLC_PORT_BLOCKS, flags >= 0 && (flags & O_NONBLOCK) == 0);
    port->counter = RLC_COUNTER_SEEN;
}

/** Reads eight bytes. Returns how many came, or -errno; -EAGAIN instead of waiting. */
static inline int64_t read_counter(const rlc_port_set *set, const rlc_port *port) {
    uint64_t value;
    int64_t size;
    if (rlc_port_has(port, RLC_PORT_BLOCKS) && set->kernel->poll(set->kernel->context, port->fd, POLLIN) == 0)
        return -EAGAIN;
    do
        size = set->kernel->read(set->kernel->context, port->fd, &value, sizeof value);
    while (size == -EINTR);
    return size;
}

/**
 * Reads once more after a failed read. The failure may have passed, and epoll reports no new edge for what can be read
 * already. ECANCELED means that the wall clock was set: that counts as readable, too.
 */
__attribute__((noinline)) static uint32_t examine_failed_counter(rlc_port_set *set, rlc_port *port, int64_t error) {
    int64_t size = read_counter(set, port);
    bool reads = size > 0 || error == -ECANCELED;
    if (reads && port->counter != RLC_COUNTER_EMPTIES && (size > 0 || size == -EAGAIN))
        rlc_port_set_renew(set, port);
    else if (size <= 0)
        rlc_port_assign(port, RLC_PORT_ENDED, true); /* the next edge, or setting the interest, reads again */
    return reads ? RLC_READABLE | RLC_ERROR : RLC_ERROR;
}

/** Reads a counter after an edge. Returns what to report; 0 if there is nothing to read. */
static uint32_t examine_counter(rlc_port_set *set, rlc_port *port) {
    if (port->counter < RLC_COUNTER_REFILLS)
        learn_about_counter(set, port);
    int64_t size = read_counter(set, port);
    if (size == -EAGAIN)
        return 0;
    if (size < 0)
        return examine_failed_counter(set, port, size);
    if (size > 0) {
        /* What is left to read causes no new edge. MOD makes epoll check, and queue the port behind the ready ones. */
        if (port->counter != RLC_COUNTER_EMPTIES)
            rlc_port_set_renew(set, port);
        return RLC_READABLE;
    }
    rlc_port_assign(port, RLC_PORT_ENDED, true); /* an edge by another writer, or setting the interest, reads again */
    return RLC_HANGUP;
}

/* ---- what to report: readiness ---- */

/** Translates epoll's events into ready bits: those of the port's interest, and every hang-up and error. */
static uint32_t ready_bits(const rlc_port *port, uint32_t events) {
    uint32_t ready = 0;
    if ((events & (EPOLLIN | EPOLLRDHUP)) != 0)
        ready |= RLC_READABLE;
    if ((events & EPOLLOUT) != 0)
        ready |= RLC_WRITABLE;
    if ((events & EPOLLPRI) != 0)
        ready |= RLC_PRIORITY;
    ready &= port->interest;
    if ((events & (EPOLLHUP | EPOLLRDHUP)) != 0)
        ready |= RLC_HANGUP;
    if ((events & EPOLLERR) != 0)
        ready |= RLC_ERROR;
    return ready;
}

/**
 * Polls the port. Keeps an error that was fetched: some files report a change by an error, and only once. If poll(2)
 * fails, the fetched events count as true: no second edge would report them [RLC-TAKE-6].
 */
static uint32_t poll_again(const rlc_port_set *set, const rlc_port *port, uint32_t fetched) {
    int events = set->kernel->poll(set->kernel->context, port->fd, (int)rlc_port_asked_events(port));
    if (events < 0)
        return fetched;
    return (events & POLLNVAL) != 0 ? 0 : (uint32_t)events | (fetched & EPOLLERR);
}

/** Examines an event of the first set. If it is an end with nothing left to read, calls rlc_port_set_settle. */
static uint32_t examine(rlc_port_set *set, rlc_port *port, uint32_t events, bool trusts_event) {
    bool is_gone_if_asked = (events & EPOLLPRI) != 0; /* poll(2) on a trigger of /proc/pressure takes its event */
    if (!trusts_event && !is_gone_if_asked)
        events = poll_again(set, port, events);
    if (rlc_port_has(port, RLC_PORT_READ_ENDED))
        events &= ~(uint32_t)(EPOLLIN | EPOLLRDHUP); /* the edge set reports them */
    else if (!rlc_port_has(port, RLC_PORT_EDGY))
        rlc_port_assign(port, RLC_PORT_ENDED, false);
    uint32_t ready = ready_bits(port, events);
    if ((events & RLC_ENDS) == 0 || rlc_port_set_has_more(set, port, events & ~(uint32_t)EPOLLOUT)) {
        if (rlc_port_has(port, RLC_PORT_EDGY))
            rlc_port_set_revive(set, port);
    } else if (ready != 0) {
        rlc_port_set_settle(set, port, events);
    }
    return ready;
}

/** Examines an event of the edge set: a new end, or more than an end, which makes the port level-triggered again. */
static uint32_t examine_edge(rlc_port_set *set, rlc_port *port, uint32_t events) {
    uint32_t ready = ready_bits(port, events);
    if (ready == 0 || (events & RLC_ENDS) == 0 || rlc_port_set_has_more(set, port, events)) {
        rlc_port_set_revive(set, port);
        return ready;
    }
    if (rlc_port_goes_on(port, events))
        return 0;
    if (rlc_port_has(port, RLC_PORT_READ_ENDED) && (events & (EPOLLHUP | EPOLLERR)) != 0)
        rlc_port_set_settle(set, port, events);
    rlc_port_note_end(port);
    return ready;
}

/** Lets the port report nothing until its interest is set. */
static void suspend(rlc_port_set *set, rlc_port *port) {
    rlc_port_assign(port, RLC_PORT_SUSPENDED, true);
    rlc_port_set_renew(set, port);
}

static uint32_t examine_readiness(rlc_port_set *set, rlc_port *port, uint32_t events, bool trusts_event) {
    rlc_port_assign(port, RLC_PORT_RENEWED, false); /* its next event will be newer than the registration */
    uint32_t ready = trusts_event ? rlc_port_plain_ready(port, events) : 0;
    if ((events & RLC_EVENT_OF_EDGE) != 0)
        ready = examine_edge(set, port, events & ~RLC_EVENT_OF_EDGE);
    else if (ready == 0)
        ready = examine(set, port, events, trusts_event);
    if ((port->interest & RLC_ONE_SHOT) != 0 && ready != 0)
        suspend(set, port);
    return ready;
}

/* ---- taking: under the lock, on the set's thread ---- */

void rlc_port_set_drop_strays(rlc_port_set *set) {
    /* After a change of registrations a stale event proves no stray. The next wait reports a stray's event again. */
    if (atomic_load(&set->changes) != set->changes_at_wait)
        return;
    for (uint32_t i = set->cursor; i < set->fetched; i++) {
        rlc_token token = {.bits = set->batch->events[i].data.u64};
        bool is_edge_set = token.bits == RLC_EDGE_SET_BITS;
        if (!is_edge_set && rlc_port_set_live(set, token) == NULL && !rlc_port_set_drop_stray(set, token))
            return;
    }
}

/** Returns the next member that epoll should watch and does not, or NULL. */
static rlc_port *next_unwatched(rlc_port_set *set, uint32_t *ret_ready) {
    if (!atomic_load(&set->has_unwatched))
        return NULL;
    if (set->hidden != RLC_NONE_HIDDEN)
        rlc_port_set_poll_ended(set);
    rlc_port *first = NULL;
    atomic_store(&set->has_unwatched, false);
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        bool is_reported = rlc_slot_is_live(&port->slot) && rlc_port_has(port, RLC_PORT_MEMBER) &&
                           rlc_port_has(port, RLC_PORT_UNWATCHED) && !rlc_port_has(port, RLC_PORT_MUTED);
        if (is_reported && first != NULL)
            atomic_store(&set->has_unwatched, true);
        else if (is_reported)
            first = port;
    }
    if (first == NULL)
        return NULL;
    rlc_port_assign(first, RLC_PORT_UNWATCHED, false);
    *ret_ready = RLC_ERROR | RLC_UNWATCHED;
    return first;
}

/**
 * Returns the next one of the members that share the event's number, the oldest first; NULL after the last one. The
 * event stays in the batch until then. Unless the event is trusted, the set verifies it for each of them.
 */
__attribute__((noinline)) static rlc_port *next_sharer(
    rlc_port_set *set, rlc_port *owner, uint32_t events, bool trusts_event, uint32_t *ret_ready) {
    bool begins = set->shared_cursor != set->cursor + 1;
    set->shared_cursor = set->cursor + 1;
    for (rlc_port *port = begins ? owner : NULL; port != NULL; port = rlc_port_older_sharer(port))
        rlc_port_assign(port, RLC_PORT_REPORTED, false);
    while (true) {
        rlc_port *oldest = NULL;
        for (rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
            if (!rlc_port_has(port, RLC_PORT_REPORTED | RLC_PORT_MUTED | RLC_PORT_SUSPENDED | RLC_PORT_QUIET))
                oldest = port;
        }
        if (oldest == NULL)
            return NULL;
        rlc_port_assign(oldest, RLC_PORT_REPORTED, true);
        /* Leaves out what only the other members are interested in: for a writer, a half-closed peer is no end. */
        uint32_t its_events = events & (rlc_port_asked_events(oldest) | EPOLLHUP | EPOLLERR);
        uint32_t ready = examine_readiness(set, oldest, its_events, trusts_event);
        if (ready == 0)
            continue;
        *ret_ready = ready;
        return oldest;
    }
}

/** Returns the port of the event at the cursor; for the edge set's event, the port of its oldest event; or NULL. */
static rlc_port *port_at_cursor(rlc_port_set *set) {
    struct epoll_event *event = &set->batch->events[set->cursor];
    if (event->data.u64 == RLC_EDGE_SET_BITS)
        return rlc_port_set_fetch_edge(set, event);
    rlc_port *port = rlc_port_set_live(set, (rlc_token){.bits = event->data.u64});
    bool may_be_quiet = port != NULL && rlc_port_has(port, RLC_PORT_ENDED | RLC_PORT_SHARED);
    bool is_begun = set->shared_cursor == set->cursor + 1; /* this event may have made members quiet */
    if (!may_be_quiet || is_begun || !rlc_port_is_all_quiet(port))
        return port;
    rlc_port_set_check_repetition(set, port, event->events);
    return NULL;
}

static rlc_port *next_fetched(rlc_port_set *set, bool is_trusted, uint32_t *ret_ready) {
    is_trusted |= set->is_fresh;
    if (set->is_fresh && set->has_strays)
        rlc_port_set_drop_strays(set);
    set->is_fresh = false;
    while (rlc_port_set_holds_batch(set)) {
        rlc_port *port = port_at_cursor(set);
        struct epoll_event event = set->batch->events[set->cursor];
        if (port != NULL && rlc_port_has(port, RLC_PORT_SHARED)) {
            port = next_sharer(set, port, event.events, is_trusted, ret_ready);
            if (port != NULL)
                return port;
        }
        set->cursor++;
        if (port == NULL)
            continue;
        bool trusts_event =
            is_trusted || rlc_port_is_trusted(port, event.events) || (event.events & RLC_EVENT_OF_EDGE) != 0;
        uint32_t ready = RLC_READABLE;
        if (rlc_port_is(port, RLC_PORT_READINESS))
            ready = examine_readiness(set, port, event.events, trusts_event);
        else if (rlc_port_is(port, RLC_PORT_COUNTER))
            ready = examine_counter(set, port);
        if (ready == 0)
            continue;
        *ret_ready = ready;
        return port;
    }
    return NULL;
}

rlc_port *rlc_port_set_take_port(rlc_port_set *set, bool is_trusted, uint32_t *ret_ready) {
    if (!rlc_port_set_has_events(set) || rlc_port_set_is_forked(set))
        return NULL;
    rlc_port *port = next_unwatched(set, ret_ready);
    if (port == NULL)
        port = next_fetched(set, is_trusted, ret_ready);
    if (port == NULL && set->has_news) { /* fetches the readiness of ports that have become level-triggered */
        set->has_news = false;
        port = fetch(set, 0) > 0 ? next_fetched(set, is_trusted, ret_ready) : NULL;
    }
    return port != NULL ? port : next_unwatched(set, ret_ready); /* examining the events may have found one */
}

static rlc_port_event event_of(const rlc_port *port, uint32_t ready, rlc_port_fate fate) {
    return (rlc_port_event){.token = rlc_slot_token(&port->slot),
        .context = port->context,
        .kind = (rlc_port_kind)port->kind,
        .ready = ready,
        .fate = fate};
}

/** Not inlined, so that the usual take saves fewer registers. */
__attribute__((noinline)) static bool take_unusual(rlc_port_set *set, rlc_port_event *ret_event) {
    uint32_t ready;
    const rlc_port *port = rlc_port_set_take_port(set, false, &ready);
    if (port == NULL)
        return false;
    rlc_port_fate fate = RLC_FATE_WATCHED;
    if ((ready & RLC_UNWATCHED) != 0)
        fate = rlc_port_has(port, RLC_PORT_ORPHAN) ? RLC_FATE_LOST : RLC_FATE_REFUSED;
    *ret_event = event_of(port, ready & ~(uint32_t)RLC_UNWATCHED, fate);
    return true;
}

bool rlc_port_set_take(rlc_port_set *set, rlc_port_event *ret_event) {
    uint32_t ready = 0;
    rlc_port *port = rlc_port_set_take_plain(set, false, &ready);
    if (port != NULL && ready == 0)
        ready = examine_counter(set, port);
    if (ready == 0) /* a counter with nothing to read causes no callout: the batch stays fresh */
        return take_unusual(set, ret_event);
    set->is_fresh = false;
    if ((port->interest & RLC_ONE_SHOT) != 0 && rlc_port_is(port, RLC_PORT_READINESS))
        suspend(set, port);
    *ret_event = event_of(port, ready, RLC_FATE_WATCHED);
    return true;
}

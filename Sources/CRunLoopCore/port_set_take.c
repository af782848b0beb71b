#include "port_set_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

static_assert(
    EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR && EPOLLHUP == POLLHUP && EPOLLPRI == POLLPRI,
    "one vocabulary");

enum { ENDED = EPOLLHUP | EPOLLRDHUP };

/* ---- waiting: the owner's thread, without the lock ---- */

bool rlc_port_set_has_batch(const rlc_port_set *set) {
    return rlc_port_set_has_events(set);
}

static void move_into_larger_batch(rlc_port_set *set) {
    rlc_batch *larger = atomic_exchange(&set->next_batch, NULL);
    free(set->batch);
    set->batch = larger;
}

int rlc_port_set_wait(rlc_port_set *set, uint64_t deadline_ns) {
    assert(!rlc_port_set_holds_batch(set)); /* waiting now would overwrite events that nobody has taken */
    if (rlc_port_set_is_forked(set))
        return -ECHILD;
    if (atomic_load_explicit(&set->next_batch, memory_order_relaxed) != NULL)
        move_into_larger_batch(set);
    set->changes_at_wait = atomic_load(&set->changes);
    const rlc_kernel *kernel = set->kernel;
    rlc_batch *batch = set->batch;
    int count = kernel->epoll_wait(kernel->context, set->epoll_fd, batch->events, (int)batch->capacity, deadline_ns);
    set->cursor = set->shared_cursor = 0;
    set->fetched = count > 0 ? (uint32_t)count : 0;
    set->is_fresh = true;
    set->is_trusted = false;
    return count;
}

/* ---- strays: registrations whose number was closed while a duplicate keeps the description open ---- */

/** Deletes the registration of a dead token by its number, if that still is known and nobody else's. */
static bool delete_by_number(const rlc_port_set *set, rlc_token token) {
    if (rlc_token_slot(token) >= set->ports.touched)
        return false;
    const rlc_port *record = rlc_slot_table_at(&set->ports, rlc_token_slot(token));
    bool is_untouched = record->slot.generation - rlc_token_generation(token) <= 1; /* at most released since */
    rlc_port *owner = rlc_port_set_owner(set, record->fd);
    if (!is_untouched || (owner != NULL && rlc_port_has(owner, RLC_PORT_REGISTERED)))
        return false;
    return rlc_port_set_control(set, set->epoll_fd, EPOLL_CTL_DEL, record) == 0;
}

static int copy_registrations(rlc_port_set *set, int epoll_fd) {
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        if (!rlc_slot_is_live(&port->slot) || !rlc_port_has(port, RLC_PORT_REGISTERED))
            continue;
        int status = rlc_port_set_control(set, epoll_fd, EPOLL_CTL_ADD, port);
        if (status == -EBADF || status == -EPERM) {
            /* Closed behind our back, too: only the old set could still hear it, and those that share its number. */
            rlc_port_set_lose(set, port->fd);
        } else if (status < 0) {
            return status;
        }
    }
    return 0;
}

/** A new epoll description behind the old number: the only way to lose a registration that no number reaches. */
static int rebuild(rlc_port_set *set) {
    const rlc_kernel *kernel = set->kernel;
    if (kernel->replace == NULL)
        return -ENOSYS;
    int fd = kernel->epoll_create(kernel->context);
    if (fd < 0)
        return fd;
    int status = copy_registrations(set, fd);
    if (status == 0)
        status = kernel->replace(kernel->context, fd, set->epoll_fd);
    kernel->close(kernel->context, fd);
    if (status < 0)
        return status; /* the stray stays for now; its next event tries again */
    set->has_strays = false;
    atomic_fetch_add(&set->rebuilds, 1);
    return 0;
}

void rlc_port_set_drop_strays(rlc_port_set *set) {
    /* After a change by another thread a dead event may just be late. A true stray will be back. */
    if (atomic_load(&set->changes) != set->changes_at_wait)
        return;
    for (uint32_t i = set->cursor; i < set->fetched; i++) {
        rlc_token token = {.bits = set->batch->events[i].data.u64};
        if (rlc_port_set_live(set, token) != NULL || delete_by_number(set, token))
            continue;
        (void)rebuild(
            set); /* failed, it has changed nothing: the stray is still there, and its next event comes here again */
        return;
    }
}

/* ---- taking: under the lock ---- */

/** Without an owner the port is an orphan, of whom take has told or will tell. */
static void update(rlc_port_set *set, rlc_port *port) {
    rlc_port *owner = rlc_port_set_registrant(set, port);
    if (owner != NULL)
        rlc_port_set_renew(set, owner);
}

static void rest(rlc_port_set *set, rlc_port *port) {
    rlc_port_assign(port, RLC_PORT_RESTING, true);
    update(set, port);
}

/**
 * What a counter's descriptor is, asked when it matters: at its first event whether a read may wait, at its second one
 * whether a read empties it.
 */
__attribute__((noinline)) static void learn_about_counter(const rlc_port_set *set, rlc_port *port) {
    if (rlc_port_has(port, RLC_PORT_SEEN)) {
        bool empties = set->kernel->counter_empties(set->kernel->context, port->fd) > 0;
        rlc_port_assign(port, RLC_PORT_EMPTIES, empties);
        rlc_port_assign(port, RLC_PORT_KNOWN, true);
        return;
    }
    int flags = set->kernel->status_flags(set->kernel->context, port->fd);
    rlc_port_assign(port, RLC_PORT_BLOCKS, flags >= 0 && (flags & O_NONBLOCK) == 0);
    rlc_port_assign(port, RLC_PORT_SEEN, true);
}

/** Reads the eight bytes that make an event of a counter's edge. What to report, or 0. */
static uint32_t take_counter(rlc_port_set *set, rlc_port *port) {
    uint64_t value;
    int64_t size;
    if (!rlc_port_has(port, RLC_PORT_KNOWN))
        learn_about_counter(set, port);
    if (rlc_port_has(port, RLC_PORT_BLOCKS) && set->kernel->poll(set->kernel->context, port->fd, POLLIN) == 0)
        return 0;
    do
        size = set->kernel->read(set->kernel->context, port->fd, &value, sizeof value);
    while (size == -EINTR);
    if (size == -EAGAIN)
        return 0;
    if (size > 0 || size == -ECANCELED) {
        /* ECANCELED: a timerfd on the wall clock, which was set. More messages make no new edge; a MOD looks again,
         * and queues the port behind those that became ready meanwhile. */
        if (!rlc_port_has(port, RLC_PORT_EMPTIES))
            update(set, port);
        return size > 0 ? RLC_READABLE : RLC_READABLE | RLC_ERROR;
    }
    rest(set, port);
    return size == 0 ? RLC_HANGUP : RLC_ERROR;
}

static uint32_t ready_bits(const rlc_port *port, uint32_t events) {
    uint32_t ready = 0;
    if ((events & (EPOLLIN | EPOLLRDHUP)) != 0)
        ready |= RLC_READABLE;
    if ((events & EPOLLOUT) != 0)
        ready |= RLC_WRITABLE;
    if ((events & EPOLLPRI) != 0)
        ready |= RLC_PRIORITY;
    if (rlc_port_has(port, RLC_PORT_READ_ENDED))
        ready &= ~(uint32_t)RLC_READABLE;
    ready &= port->interest;
    if ((events & ENDED) != 0 && !rlc_port_has(port, RLC_PORT_READ_ENDED))
        ready |= RLC_HANGUP;
    if ((events & EPOLLHUP) != 0)
        ready |= RLC_HANGUP;
    if ((events & EPOLLERR) != 0)
        ready |= RLC_ERROR;
    return ready;
}

static bool has_unread(const rlc_port_set *set, const rlc_port *port, uint32_t events) {
    if ((port->interest & RLC_READABLE) == 0 || (events & EPOLLIN) == 0)
        return false;
    return set->kernel->readable_bytes(set->kernel->context, port->fd) > 0;
}

/** Puts a port that has ended to rest, so that a level that never falls is reported once. */
static void settle_ended(rlc_port_set *set, rlc_port *port, uint32_t events) {
    bool reads_only = (events & EPOLLHUP) == 0;
    if (reads_only && (port->interest & RLC_WRITABLE) != 0) {
        rlc_port_assign(port, RLC_PORT_READ_ENDED, true);
        update(set, port);
    } else {
        rest(set, port);
    }
}

static uint32_t asked_events(const rlc_port *port) {
    bool reads = (port->interest & RLC_READABLE) != 0 && !rlc_port_has(port, RLC_PORT_READ_ENDED);
    return (reads ? EPOLLIN | EPOLLRDHUP : 0) | ((port->interest & RLC_WRITABLE) != 0 ? EPOLLOUT : 0) |
           ((port->interest & RLC_PRIORITY) != 0 ? EPOLLPRI : 0);
}

/** What is true now. If the kernel cannot say, what was fetched is believed: no second edge would tell of it [RLC-TAKE-6]. */
static uint32_t look_again(const rlc_port_set *set, const rlc_port *port, uint32_t fetched) {
    int events = set->kernel->poll(set->kernel->context, port->fd, (int)asked_events(port));
    if (events < 0)
        return fetched;
    return (events & POLLNVAL) != 0 ? 0 : (uint32_t)events;
}

/**
 * A hang-up with nothing left to read ends a port. An error without one may pass (a datagram that was refused) or stay
 * (a pipe without readers): it is reported once, and the port is edge-triggered until the error is gone.
 */
__attribute__((noinline)) static uint32_t take_ended_or_doubtful(
    rlc_port_set *set, rlc_port *port, uint32_t events, bool is_believed) {
    bool was_in_error = rlc_port_has(port, RLC_PORT_IN_ERROR);
    bool is_gone_if_asked = (events & EPOLLPRI) != 0; /* a pressure trigger's poll takes its event */
    if ((!is_believed && !is_gone_if_asked) || was_in_error)
        events = look_again(set, port, events);
    bool is_in_error = (events & EPOLLERR) != 0;
    if (was_in_error && !is_in_error) {
        rlc_port_assign(port, RLC_PORT_IN_ERROR, false);
        update(set, port);
    }
    uint32_t ready = ready_bits(port, events);
    if (ready == 0 || (events & (ENDED | EPOLLERR)) == 0)
        return ready;
    if (has_unread(set, port, events)) {
        if (was_in_error && is_in_error)
            update(set, port); /* no edge will tell of the rest */
        return ready;
    }
    if ((events & ENDED) != 0) {
        settle_ended(set, port, events);
        return ready;
    }
    if (was_in_error)
        return 0;
    rlc_port_assign(port, RLC_PORT_IN_ERROR, true);
    update(set, port);
    return ready;
}

static uint32_t take_readiness(rlc_port_set *set, rlc_port *port, uint32_t events, bool is_believed) {
    uint32_t ready = is_believed && rlc_port_is_plain(port, events)
                         ? rlc_port_plain_ready(port, events)
                         : take_ended_or_doubtful(set, port, events, is_believed);
    if ((port->interest & RLC_ONE_SHOT) != 0 && ready != 0)
        rest(set, port);
    return ready;
}

/**
 * One after the other, the oldest first, each member that shares the number and wants what has come. The event stays in the
 * batch meanwhile; for the second member on it is verified again.
 */
__attribute__((noinline)) static rlc_port *take_shared(
    rlc_port_set *set, rlc_port *owner, uint32_t events, bool is_believed, uint32_t *ret_ready) {
    bool begins = set->shared_cursor != set->cursor + 1;
    set->shared_cursor = set->cursor + 1;
    for (rlc_port *port = begins ? owner : NULL; port != NULL; port = rlc_port_older_sharer(port))
        rlc_port_assign(port, RLC_PORT_TOLD, false);
    while (true) {
        rlc_port *oldest = NULL;
        for (rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
            if (!rlc_port_has(port, RLC_PORT_TOLD | RLC_PORT_MUTED | RLC_PORT_RESTING))
                oldest = port;
        }
        if (oldest == NULL)
            return NULL;
        rlc_port_assign(oldest, RLC_PORT_TOLD, true);
        /* Of what the others have asked for it hears nothing: a half-closed peer is no hang-up to who only writes. */
        uint32_t its_events = events & (asked_events(oldest) | EPOLLHUP | EPOLLERR);
        uint32_t ready = take_readiness(set, oldest, its_events, is_believed);
        if (ready == 0)
            continue;
        *ret_ready = ready;
        return oldest;
    }
}

static rlc_port *take_fetched(rlc_port_set *set, uint32_t *ret_ready) {
    bool is_fresh = rlc_port_set_begin_taking(set);
    while (rlc_port_set_holds_batch(set)) {
        struct epoll_event event = set->batch->events[set->cursor];
        rlc_port *port = rlc_port_set_live(set, (rlc_token){.bits = event.data.u64});
        bool is_believed = is_fresh || set->is_trusted;
        if (port != NULL && rlc_port_has(port, RLC_PORT_SHARED)) {
            port = take_shared(set, port, event.events, is_believed, ret_ready);
            if (port != NULL)
                return port;
        }
        set->cursor++;
        if (port == NULL)
            continue;
        uint32_t ready = RLC_READABLE;
        if (port->kind == RLC_PORT_READINESS)
            ready = take_readiness(set, port, event.events, is_believed);
        else if (port->kind == RLC_PORT_COUNTER)
            ready = take_counter(set, port);
        if (ready == 0)
            continue;
        *ret_ready = ready;
        return port;
    }
    return NULL;
}

static rlc_port *take_unheard(rlc_port_set *set, uint32_t *ret_ready) {
    if (!atomic_load(&set->has_unheard))
        return NULL;
    *ret_ready = RLC_ERROR | RLC_UNHEARD;
    return rlc_port_set_take_unheard(set);
}

rlc_port *rlc_port_set_take_port(rlc_port_set *set, uint32_t *ret_ready) {
    if (!rlc_port_set_has_events(set) || rlc_port_set_is_forked(set))
        return NULL;
    rlc_port *port = take_unheard(set, ret_ready);
    if (port == NULL && rlc_port_set_holds_batch(set))
        port = take_fetched(set, ret_ready);
    return port != NULL ? port : take_unheard(set, ret_ready); /* what looking at the events has found */
}

bool rlc_port_set_take(rlc_port_set *set, rlc_port_event *ret_event) {
    uint32_t ready;
    const rlc_port *port = rlc_port_set_take_port(set, &ready);
    if (port == NULL)
        return false;
    *ret_event = (rlc_port_event){.token = rlc_slot_token(&port->slot),
        .context = port->context,
        .kind = (rlc_port_kind)port->kind,
        .ready = ready & ~(uint32_t)RLC_UNHEARD,
        .fate = (ready & RLC_UNHEARD) == 0            ? RLC_FATE_HEARD
                : rlc_port_has(port, RLC_PORT_ORPHAN) ? RLC_FATE_LOST
                                                      : RLC_FATE_REFUSED};
    return true;
}

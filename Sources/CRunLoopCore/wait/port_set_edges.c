/*
 * Handles ports whose end lasts after the set has reported it. Level-triggered, epoll would report it in each wait. So
 * a second epoll instance, the edge set, watches these ports edge-triggered until they can be read or written. The
 * first set watches the edge set.
 *
 * A second instance is needed because epoll reports a port's present readiness each time that it registers the port.
 * These functions take this report out of the edge set before the port's callout runs. So each later event of the edge
 * set is a new one, even if the callout takes an error and causes the next error.
 */
#include "port_set_internal.h"

#include <errno.h>
#include <poll.h>

enum { DRAINED_AT_ONCE = 8 };

/* ---- what the edge set watches ---- */

static uint32_t edge_events_of(const rlc_port *port) {
    if (rlc_port_has(port, RLC_PORT_ORPHAN))
        return 0;
    if (rlc_port_has(port, RLC_PORT_QUIET))
        return rlc_port_asked_events(port) | EPOLLET;
    return rlc_port_has(port, RLC_PORT_READ_ENDED) ? EPOLLIN | EPOLLRDHUP | EPOLLET : 0;
}

static uint32_t all_edge_events(const rlc_port *owner) {
    uint32_t events = 0;
    for (const rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port))
        events |= edge_events_of(port);
    return events;
}

/** Tells whether all members of the number have RLC_EDGE. Then the first set reports no end twice. */
static bool is_edge_triggered(const rlc_port *owner) {
    bool is_edge = true;
    for (const rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port))
        is_edge &= (port->interest & RLC_EDGE) != 0;
    return is_edge;
}

bool rlc_port_set_has_more(const rlc_port_set *set, const rlc_port *port, uint32_t events) {
    bool reads = (port->interest & RLC_READABLE) != 0 && (events & EPOLLIN) != 0;
    if (reads && (events & (EPOLLHUP | EPOLLRDHUP)) == 0)
        return true;
    if (reads && set->kernel->readable_bytes(set->kernel->context, port->fd) > 0)
        return true;
    if ((port->interest & RLC_PRIORITY) != 0 && (events & (EPOLLPRI | EPOLLERR)) == EPOLLPRI)
        return true;
    return (port->interest & RLC_WRITABLE) != 0 && (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) == EPOLLOUT;
}

/* ---- the edge set ---- */

static int control(const rlc_port_set *set, int operation, const rlc_port *owner, uint32_t events) {
    struct epoll_event event = {.events = events, .data.u64 = rlc_slot_token(&owner->slot).bits};
    return set->kernel->epoll_control(set->kernel->context, set->edge_fd, operation, owner->fd, &event);
}

/** Makes the edge set, if there is none. Returns 0 or -errno. */
static int make_edge_set(rlc_port_set *set) {
    const rlc_kernel *kernel = set->kernel;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = RLC_EDGE_SET_BITS};
    if (set->edge_fd >= 0)
        return 0;
    int fd = kernel->epoll_create(kernel->context);
    if (fd < 0)
        return fd;
    int status = kernel->epoll_control(kernel->context, set->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    if (status < 0) {
        kernel->close(kernel->context, fd);
        return status;
    }
    rlc_port_set_lose(set, fd); /* the number was free, so the file of a member that has it was closed */
    set->edge_fd = fd;
    return 0;
}

/** Returns the port of an event of the edge set, or NULL. */
static rlc_port *edge_port(const rlc_port_set *set, const struct epoll_event *event) {
    rlc_port *port = rlc_slot_table_find(&set->ports, (rlc_token){.bits = event->data.u64});
    return port != NULL && rlc_port_has(port, RLC_PORT_EDGES) ? port : NULL;
}

static void mark(rlc_port_set *set, rlc_port *owner) {
    if (!rlc_port_has(owner, RLC_PORT_EDGES))
        set->edge_count++;
    rlc_port_assign(owner, RLC_PORT_EDGES, true);
}

void rlc_port_set_drop_edges(rlc_port_set *set, rlc_port *owner) {
    bool is_there = rlc_port_has(owner, RLC_PORT_EDGES) && set->edge_fd >= 0 && !rlc_port_set_is_forked(set);
    if (is_there && set->edge_count > 1)             /* after the last one the edge set is closed instead */
        (void)control(set, EPOLL_CTL_DEL, owner, 0); /* if the number was closed, this fails and may leave a stray */
    rlc_port_set_unmark_edges(set, owner);
}

/** Makes all members with the owner's number level-triggered again. */
static void leave_edges(rlc_port_set *set, rlc_port *owner) {
    for (rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port))
        rlc_port_assign(port, RLC_PORT_END, false);
    rlc_port_set_drop_edges(set, owner);
    rlc_port_set_renew(set, owner);
}

/** Makes all ports of the edge set level-triggered, after the event of a stray, or if other code has closed the set. */
static void forget_edge_set(rlc_port_set *set, bool is_closed) {
    if (is_closed)
        set->edge_fd = -1;
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        if (rlc_slot_is_live(&port->slot) && rlc_port_has(port, RLC_PORT_EDGES))
            leave_edges(set, port);
    }
}

bool rlc_port_goes_on(rlc_port *port, uint32_t events) {
    bool was_half = rlc_port_has(port, RLC_PORT_HALF);
    rlc_port_assign(port, RLC_PORT_HALF, (events & RLC_ENDS) == EPOLLRDHUP);
    return was_half && rlc_port_has(port, RLC_PORT_QUIET) && (events & RLC_ENDS) == (EPOLLHUP | EPOLLRDHUP);
}

/** Makes the members that the events concern level-triggered again: the first set then reports the events. */
static void pass_news(rlc_port_set *set, rlc_port *owner, uint32_t events) {
    bool is_watched = false;
    for (rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
        uint32_t watched = edge_events_of(port);
        bool has_news = (events & (watched | EPOLLHUP | EPOLLERR)) != 0 && !rlc_port_goes_on(port, events);
        if (watched != 0 && has_news)
            rlc_port_assign(port, RLC_PORT_END, false);
        is_watched |= watched != 0 && !has_news;
    }
    if (!is_watched)
        rlc_port_set_drop_edges(set, owner);
    rlc_port_set_renew(set, owner);
    set->has_news = true;
}

rlc_port *rlc_port_set_fetch_edge(rlc_port_set *set, struct epoll_event *event) {
    if (set->edge_fd < 0 || set->kernel->epoll_wait(set->kernel->context, set->edge_fd, event, 1, 0) <= 0)
        return NULL;
    rlc_port *port = edge_port(set, event);
    uint32_t events = event->events;
    event->events |= RLC_EVENT_OF_EDGE;
    if (port != NULL)
        rlc_port_note_repetition(port); /* the first set reports the event, too */
    if (port == NULL)
        forget_edge_set(set, false);
    else if (all_edge_events(port) == 0)
        rlc_port_set_drop_edges(set, port); /* its members are level-triggered by now */
    else if (rlc_port_has(port, RLC_PORT_SHARED | RLC_PORT_MUTED | RLC_PORT_SUSPENDED))
        pass_news(set, port, events);
    else
        return port;
    return NULL;
}

/** Takes all events out of the edge set. Returns those of `owner`, or 0. Makes the first set report the others. */
static uint32_t drain(rlc_port_set *set, const rlc_port *owner) {
    struct epoll_event events[DRAINED_AT_ONCE];
    uint32_t its_events = 0;
    int count;
    do {
        count = set->kernel->epoll_wait(set->kernel->context, set->edge_fd, events, DRAINED_AT_ONCE, 0);
        for (int i = 0; i < count; i++) {
            rlc_port *port = edge_port(set, &events[i]);
            if (port == NULL)
                continue;
            if (port == owner)
                its_events |= events[i].events;
            else if (all_edge_events(port) == 0)
                rlc_port_set_drop_edges(set, port);
            else
                pass_news(set, port, events[i].events);
        }
    } while (count == DRAINED_AT_ONCE);
    return its_events;
}

static int add_or_change(rlc_port_set *set, const rlc_port *owner) {
    int status = make_edge_set(set);
    if (status < 0)
        return status;
    if (set->edge_count == (1U << RLC_EDGE_COUNT_BITS) - 1)
        return -ENOSPC;
    int operation = rlc_port_has(owner, RLC_PORT_EDGES) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    status = control(set, operation, owner, all_edge_events(owner));
    return status == -EEXIST ? control(set, EPOLL_CTL_MOD, owner, all_edge_events(owner)) : status;
}

/** Registers the owner in the edge set. Returns its present events, which epoll reports at once, or -errno. */
static int register_edges(rlc_port_set *set, rlc_port *owner) {
    struct epoll_event unused;
    bool had_set = set->edge_fd >= 0;
    int status = add_or_change(set, owner);
    bool may_be_closed = had_set && (status == -EBADF || status == -EINVAL);
    if (may_be_closed && set->kernel->epoll_wait(set->kernel->context, set->edge_fd, &unused, 1, 0) < 0) {
        forget_edge_set(set, true);
        status = add_or_change(set, owner);
    }
    if (status < 0)
        return status;
    mark(set, owner);
    return (int)drain(set, owner);
}

void rlc_port_set_update_edges(rlc_port_set *set, rlc_port *owner) {
    if (!rlc_port_has(owner, RLC_PORT_EDGES) || rlc_port_set_is_forked(set))
        return;
    if (all_edge_events(owner) == 0) {
        rlc_port_set_drop_edges(set, owner);
        return;
    }
    (void)drain(set, NULL); /* first, because register_edges would discard events of this number's members */
    if (rlc_port_has(owner, RLC_PORT_EDGES) && register_edges(set, owner) < 0)
        leave_edges(set, owner);
}

void rlc_port_set_take_over_edges(rlc_port_set *set, rlc_port *port, rlc_port *older) {
    bool is_sharer = rlc_port_older_sharer(port) == older;
    (void)drain(set, NULL);
    if (!rlc_port_has(older, RLC_PORT_EDGES))
        return; /* an event has made it level-triggered */
    int status = control(set, is_sharer ? EPOLL_CTL_MOD : EPOLL_CTL_DEL, port, all_edge_events(older));
    if (status < 0 && !rlc_says_closed(status)) {
        leave_edges(set, older);
        return;
    }
    if (is_sharer && status == 0)
        mark(set, port);
    rlc_port_set_unmark_edges(set, older);
    if (status < 0) { /* the older members watch the former file of the number */
        while ((older = rlc_port_owner_from(SLIST_NEXT(port, older), port->fd)) != NULL) {
            rlc_port_set_orphan(set, older);
            rlc_port_set_note_unwatched(set, older);
        }
        rlc_port_note_sharing(port);
    } else if (is_sharer) {
        (void)drain(set, port);
    } else {
        rlc_port_assign(older, RLC_PORT_END, false);
    }
}

void rlc_port_set_pass_edges(rlc_port_set *set, rlc_port *port, rlc_port *earlier) {
    if (!rlc_port_has(port, RLC_PORT_EDGES) || rlc_port_set_is_forked(set))
        return;
    (void)drain(set, NULL);
    if (!rlc_port_has(port, RLC_PORT_EDGES))
        return;
    mark(set, earlier);
    rlc_port_set_unmark_edges(set, port);
    if (all_edge_events(earlier) == 0)
        rlc_port_set_drop_edges(set, earlier);
    else if (register_edges(set, earlier) < 0)
        leave_edges(set, earlier);
}

/* ---- quiet ports that stay in the first set, edge-triggered ---- */

/**
 * Tells whether the port has to stay in the first set. While a file reports an error, it may name no wait queue to
 * epoll_ctl(2): for example a tun without a device. Such a file never wakes a set that adds it during the error; it
 * wakes the set that has added it earlier. Sockets and pipes, which have FIONREAD, wake every set.
 */
static bool has_to_keep(const rlc_port_set *set, const rlc_port *port, uint32_t events) {
    return (events & RLC_ENDS) == EPOLLERR && set->kernel->readable_bytes(set->kernel->context, port->fd) < 0;
}

/** Tells whether an event of the first set was reported before, or the edge set will report it. */
static bool is_repetition(const rlc_port_set *set, const rlc_port *port, uint32_t events) {
    bool is_known = rlc_port_has(port, RLC_PORT_REPEATS | RLC_PORT_HALF); /* half: a socket, which wakes both sets */
    return is_known && (events & RLC_ENDS) != 0 && !rlc_port_set_has_more(set, port, events);
}

void rlc_port_set_check_repetition(rlc_port_set *set, rlc_port *owner, uint32_t events) {
    bool is_known = true;
    for (rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
        if (!rlc_port_has(port, RLC_PORT_QUIET))
            continue;
        bool is_its = is_repetition(set, port, events);
        rlc_port_assign(port, is_its ? RLC_PORT_REPEATS : RLC_PORT_END, false);
        is_known &= is_its;
    }
    if (is_known)
        return;
    rlc_port_set_renew(set, owner);
    set->has_news = true;
}

void rlc_port_set_hook_again(rlc_port_set *set, rlc_port *owner, const rlc_port *port) {
    if (!rlc_port_has(port, RLC_PORT_QUIET) || !rlc_port_has(port, RLC_PORT_EDGY))
        return;
    int events = set->kernel->poll(set->kernel->context, port->fd, 0);
    if (events >= 0 && (events & POLLERR) == 0)
        rlc_port_set_drop(set, owner); /* the caller adds it again */
}

/* ---- into the edge set, and out of it ---- */

void rlc_port_set_revive(rlc_port_set *set, rlc_port *port) {
    rlc_port *owner = rlc_port_set_registrant(set, port);
    if (owner != NULL)
        rlc_port_set_hook_again(set, owner, port);
    rlc_port_assign(port, RLC_PORT_END, false);
    rlc_port_set_renew(set, port);
}

/** Deletes the owner's registrations after -ENOMEM. rlc_port_set_take reports its members as refused. */
static void refuse(rlc_port_set *set, rlc_port *owner) {
    rlc_port_set_drop_edges(set, owner);
    rlc_port_set_drop(set, owner);
    for (rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
        rlc_port_assign(port, RLC_PORT_END, false);
        rlc_port_set_note_unwatched(set, port);
    }
}

/**
 * Handles an end when there is no descriptor for the edge set, or no room in it. The port becomes edge-triggered in the
 * first set, which reports the end once more. If `is_half`, the peer has only stopped writing, and the port waits to
 * write or shares its number. Then the first set does not watch it for reading.
 */
static void settle_without_set(rlc_port_set *set, rlc_port *port, bool is_half, bool was_edgy) {
    if (!is_half) {
        rlc_port_assign(port, RLC_PORT_QUIET, false);
        rlc_port_assign(port, RLC_PORT_EDGY, true);
    }
    if (!was_edgy)
        rlc_port_set_renew(set, port);
}

void rlc_port_note_end(rlc_port *port) {
    rlc_port_assign(port, RLC_PORT_ENDED, true);
    rlc_port_assign(port, RLC_PORT_END_READER, (port->interest & RLC_READABLE) != 0);
    rlc_port_assign(port, RLC_PORT_END_WRITER, (port->interest & RLC_WRITABLE) != 0);
}

void rlc_port_set_settle(rlc_port_set *set, rlc_port *port, uint32_t events) {
    rlc_port *owner = rlc_port_set_registrant(set, port);
    if (owner == NULL)
        return; /* an orphan */
    if (rlc_port_has(owner, RLC_PORT_EDGES))
        (void)drain(set, NULL); /* or register_edges would return events of other members as well */
    bool is_half = (events & (EPOLLHUP | EPOLLERR)) == 0, was_edgy = rlc_port_has(port, RLC_PORT_EDGY);
    bool still_writes = is_half && (port->interest & RLC_WRITABLE) != 0;
    rlc_port_assign(port, RLC_PORT_END, false);
    rlc_port_note_end(port);
    rlc_port_assign(port, RLC_PORT_HALF, (events & RLC_ENDS) == EPOLLRDHUP);
    if (is_edge_triggered(owner))
        return;
    rlc_port_assign(port, RLC_PORT_EDGY, has_to_keep(set, port, events));
    rlc_port_assign(port, still_writes ? RLC_PORT_READ_ENDED : RLC_PORT_QUIET, true);
    int status = register_edges(set, owner);
    if (rlc_says_closed(status)) {
        rlc_port_set_lose(set, port->fd);
    } else if (status == -ENOMEM) {
        refuse(set, owner);
    } else if (status < 0) {
        settle_without_set(set, port, still_writes || (is_half && rlc_port_has(owner, RLC_PORT_SHARED)), was_edgy);
    } else if (((uint32_t)status & RLC_ENDS) == 0 || rlc_port_set_has_more(set, port, (uint32_t)status)) {
        rlc_port_assign(port, RLC_PORT_END, false); /* there is no end any more, or more than an end */
        rlc_port_set_update_edges(set, owner);
    } else {
        rlc_port_set_renew(set, port);
        if (!still_writes && (port->interest & RLC_WRITABLE) != 0) {
            set->hidden = RLC_HIDDEN;
            atomic_store(&set->has_chores, true);
        }
    }
}

/* ---- quiet ports that wait to write ---- */

/*
 * When a call of the program takes the error of a quiet port, the port can be written again. epoll reports no edge for
 * that, because EPOLLOUT was set during the error, too. So the set itself polls these ports before each sleep.
 */

static bool is_hidden(const rlc_port *port) {
    return rlc_slot_is_live(&port->slot) && rlc_port_has(port, RLC_PORT_MEMBER) && rlc_port_has(port, RLC_PORT_QUIET) &&
           (port->interest & RLC_WRITABLE) != 0;
}

void rlc_port_set_poll_ended(rlc_port_set *set) {
    bool has_hidden = false;
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        if (!is_hidden(port))
            continue;
        int events = set->kernel->poll(set->kernel->context, port->fd, POLLOUT);
        if (events >= 0 && (events & (POLLHUP | POLLERR | POLLNVAL)) == 0)
            rlc_port_set_revive(set, port);
        has_hidden |= is_hidden(port);
    }
    if (!has_hidden)
        set->hidden = RLC_NONE_HIDDEN;
    else
        atomic_store(&set->has_chores, true);
}

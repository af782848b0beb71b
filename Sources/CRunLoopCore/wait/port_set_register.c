/* The registration in epoll of a member, or of all that share its number. */
#include "port_set_lost.h"

#include <errno.h>

static uint32_t events_of(const rlc_port *port) {
    if (!rlc_port_is(port, RLC_PORT_READINESS))
        return EPOLLIN | EPOLLET;
    bool is_edge = (port->interest & RLC_EDGE) != 0 || rlc_port_has(port, RLC_PORT_EDGY | RLC_PORT_QUIET);
    return rlc_port_asked_events(port) | (is_edge ? EPOLLET : 0);
}

static bool is_out(const rlc_port *port) {
    return rlc_port_has(port, RLC_PORT_MUTED | RLC_PORT_SUSPENDED | RLC_PORT_ORPHAN) ||
           (rlc_port_has(port, RLC_PORT_QUIET) && !rlc_port_has(port, RLC_PORT_KEPT));
}

bool rlc_port_is_hint_only(const rlc_port *owner) {
    if (!rlc_port_has(owner, RLC_PORT_SHARED))
        return rlc_port_has(owner, RLC_PORT_QUIET) && rlc_port_has(owner, RLC_PORT_KEPT);
    for (const rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
        if (!is_out(port) && !rlc_port_has(port, RLC_PORT_QUIET))
            return false;
    }
    return true;
}

void rlc_port_note_repetition(rlc_port *owner) {
    for (rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
        if (rlc_port_has(port, RLC_PORT_QUIET))
            rlc_port_assign(port, RLC_PORT_REPEATS, true);
    }
}

/**
 * What all that share the owner's number want together, the quiet ones only if there are no others; edge-triggered if
 * all are. False if all of them are out.
 */
__attribute__((noinline)) static bool shared_events_of(const rlc_port *owner, struct epoll_event *ret_event) {
    uint32_t events = 0, edge = EPOLLET;
    bool any = false, is_hint = rlc_port_is_hint_only(owner);
    for (const rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
        if (is_out(port) || rlc_port_has(port, RLC_PORT_QUIET) != is_hint)
            continue;
        any = true;
        events |= events_of(port) & ~(uint32_t)EPOLLET;
        edge &= events_of(port);
    }
    ret_event->events = events | edge;
    return any;
}

int rlc_port_set_try_control(rlc_port_set *set, int epoll_fd, int operation, const rlc_port *port) {
    if (rlc_port_set_is_forked(set))
        return -ECHILD; /* the epoll descriptor's interest list is the parent's */
    struct epoll_event event;
    if (rlc_port_has(port, RLC_PORT_SHARED))
        (void)shared_events_of(port, &event);
    else
        event.events = events_of(port);
    event.data.u64 = rlc_slot_token(&port->slot).bits;
    return set->kernel->epoll_control(set->kernel->context, epoll_fd, operation, port->fd, &event);
}

int rlc_port_set_control(rlc_port_set *set, int operation, const rlc_port *port) {
    int status = rlc_port_set_try_control(set, set->epoll_fd, operation, port);
    return status < 0 ? rlc_port_set_control_again(set, operation, port, status) : status;
}

int rlc_port_set_delete(rlc_port_set *set, const rlc_port *port) {
    if (rlc_port_set_is_forked(set))
        return -ECHILD;
    struct epoll_event unused = {.events = 0};
    int status = set->kernel->epoll_control(set->kernel->context, set->epoll_fd, EPOLL_CTL_DEL, port->fd, &unused);
    return status < 0 && rlc_port_set_is_mended(set, port->fd, status)
               ? set->kernel->epoll_control(set->kernel->context, set->epoll_fd, EPOLL_CTL_DEL, port->fd, &unused)
               : status;
}

static int add_or_take_over(rlc_port_set *set, rlc_port *port) {
    int status = rlc_port_set_control(set, EPOLL_CTL_ADD, port);
    if (status == -EEXIST)
        status = rlc_port_set_control(set, EPOLL_CTL_MOD, port);
    if (status < 0)
        return status;
    rlc_port_assign(port, RLC_PORT_REGISTERED, true);
    return 0;
}

void rlc_port_set_drop(rlc_port_set *set, rlc_port *port) {
    if (!rlc_port_has(port, RLC_PORT_REGISTERED))
        return;
    /* ENOENT, EBADF: the number was closed. Most likely that removed the registration, but a duplicate keeps it. */
    if (rlc_port_set_delete(set, port) < 0)
        set->has_strays = true;
    rlc_port_assign(port, RLC_PORT_REGISTERED, false);
}

static bool wants_no_registration(const rlc_port *port) {
    struct epoll_event unused;
    return rlc_port_has(port, RLC_PORT_SHARED) ? !shared_events_of(port, &unused) : is_out(port);
}

int rlc_port_set_update(rlc_port_set *set, rlc_port *port) {
    int status = 0;
    rlc_port_note_renewal(port);
    if (rlc_port_has(port, RLC_PORT_QUIET | RLC_PORT_SHARED))
        rlc_port_note_repetition(port);
    if (wants_no_registration(port)) {
        rlc_port_set_drop(set, port);
    } else if (!rlc_port_has(port, RLC_PORT_REGISTERED)) {
        status = add_or_take_over(set, port);
    } else {
        status = rlc_port_set_control(set, EPOLL_CTL_MOD, port);
    }
    atomic_fetch_add(&set->changes, 1);
    /* EPERM: the number is a file's that epoll refuses as such, and it has taken what was inserted. */
    if (status != -EBADF && status != -ENOENT && status != -EPERM)
        return status;
    rlc_port_set_lose(set, port->fd); /* the number was closed, and may belong to another file */
    return -EBADF;
}

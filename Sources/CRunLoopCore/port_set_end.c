/* A readiness event that says more than "you may read or write", or that may be stale: hang-ups, errors. */
#include "port_set_internal.h"

#include <assert.h>
#include <poll.h>

static_assert(
    EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR && EPOLLHUP == POLLHUP && EPOLLPRI == POLLPRI,
    "one vocabulary");

enum { ENDED = EPOLLHUP | EPOLLRDHUP };

void rlc_port_set_suspend(rlc_port_set *set, rlc_port *port) {
    rlc_port_assign(port, RLC_PORT_SUSPENDED, true);
    rlc_port_set_renew(set, port);
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

/** Suspends a port that has ended, so that a hang-up, which never goes away, is reported once. */
static void settle_ended(rlc_port_set *set, rlc_port *port, uint32_t events) {
    bool reads_only = (events & EPOLLHUP) == 0;
    if (reads_only && (port->interest & RLC_WRITABLE) != 0) {
        rlc_port_assign(port, RLC_PORT_READ_ENDED, true);
        rlc_port_set_renew(set, port);
    } else {
        rlc_port_set_suspend(set, port);
    }
}

/**
 * The present readiness. If poll(2) fails, the fetched event counts as true: no second edge would report it
 * [RLC-TAKE-6].
 */
static uint32_t look_again(const rlc_port_set *set, const rlc_port *port, uint32_t fetched) {
    int events = set->kernel->poll(set->kernel->context, port->fd, (int)rlc_port_asked_events(port));
    if (events < 0)
        return fetched;
    return (events & POLLNVAL) != 0 ? 0 : (uint32_t)events;
}

/**
 * A hang-up with nothing left to read ends a port. An error without one may pass (a datagram that was refused) or stay
 * (a pipe without readers): it is reported once, and the port is edge-triggered until the error is gone.
 */
uint32_t rlc_port_set_examine(rlc_port_set *set, rlc_port *port, uint32_t events, bool is_believed) {
    bool was_in_error = rlc_port_has(port, RLC_PORT_IN_ERROR);
    bool is_gone_if_asked = (events & EPOLLPRI) != 0; /* a pressure trigger's poll takes its event */
    if ((!is_believed && !is_gone_if_asked) || was_in_error)
        events = look_again(set, port, events);
    bool is_in_error = (events & EPOLLERR) != 0;
    if (was_in_error && !is_in_error) {
        rlc_port_assign(port, RLC_PORT_IN_ERROR, false);
        rlc_port_set_renew(set, port);
    }
    uint32_t ready = ready_bits(port, events);
    if (ready == 0 || (events & (ENDED | EPOLLERR)) == 0)
        return ready;
    if (has_unread(set, port, events)) {
        if (was_in_error && is_in_error)
            rlc_port_set_renew(set, port); /* no edge will report the bytes that are left */
        return ready;
    }
    if ((events & ENDED) != 0) {
        settle_ended(set, port, events);
        return ready;
    }
    if (was_in_error)
        return 0;
    rlc_port_assign(port, RLC_PORT_IN_ERROR, true);
    rlc_port_set_renew(set, port);
    return ready;
}

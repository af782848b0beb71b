/*
 * Decides what a readiness event means: readable, writable, a hang-up, an error. Polls the descriptor if the event may
 * be stale, and has an end that lasts reported once.
 */
#include "port_set_edges.h"

#include <assert.h>
#include <poll.h>

static_assert(
    EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR && EPOLLHUP == POLLHUP && EPOLLPRI == POLLPRI,
    "epoll and poll(2) have the same bits");

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
    ready &= port->interest;
    if ((events & (EPOLLHUP | EPOLLRDHUP)) != 0)
        ready |= RLC_HANGUP;
    if ((events & EPOLLERR) != 0)
        ready |= RLC_ERROR;
    return ready;
}

/**
 * Polls the descriptor, because the fetched events may be stale. Keeps a fetched EPOLLERR: a file that reports a change
 * by an error reports it to the first call only. If poll(2) fails, returns the fetched events, because no second edge
 * would report them [RLC-TAKE-6].
 */
static uint32_t look_again(const rlc_port_set *set, const rlc_port *port, uint32_t fetched) {
    int events = set->kernel->poll(set->kernel->context, port->fd, (int)rlc_port_asked_events(port));
    if (events < 0)
        return fetched;
    return (events & POLLNVAL) != 0 ? 0 : (uint32_t)events | (fetched & EPOLLERR);
}

/**
 * Of an event of epoll_fd, where the port is level-triggered, or edge-triggered (RLC_PORT_EDGY) because there was no
 * edge set. More than an end makes the port level-triggered again. An end alone is settled, so that it is reported
 * once.
 */
uint32_t rlc_port_set_examine(rlc_port_set *set, rlc_port *port, uint32_t events, bool is_believed) {
    bool is_gone_if_asked = (events & EPOLLPRI) != 0; /* poll(2) takes the event of a pressure trigger */
    if (!is_believed && !is_gone_if_asked)
        events = look_again(set, port, events);
    if (rlc_port_has(port, RLC_PORT_READ_ENDED))
        events &= ~(uint32_t)(EPOLLIN | EPOLLRDHUP); /* the edge set reports these */
    else if (!rlc_port_has(port, RLC_PORT_EDGY))
        rlc_port_assign(port, RLC_PORT_TOLD, false);
    uint32_t ready = ready_bits(port, events);
    if ((events & RLC_ENDS) == 0 || rlc_port_set_has_more(set, port, events & ~(uint32_t)EPOLLOUT)) {
        if (rlc_port_has(port, RLC_PORT_EDGY))
            rlc_port_set_revive(set, port);
    } else if (ready != 0) {
        rlc_port_set_settle(set, port, events);
    }
    return ready;
}

bool rlc_port_goes_on(rlc_port *port, uint32_t events) {
    bool was_half = rlc_port_has(port, RLC_PORT_HALF);
    rlc_port_assign(port, RLC_PORT_HALF, (events & RLC_ENDS) == EPOLLRDHUP);
    return was_half && rlc_port_has(port, RLC_PORT_QUIET) && (events & RLC_ENDS) == (EPOLLHUP | EPOLLRDHUP);
}

/**
 * Of an event of the edge set. More than an end makes the port level-triggered again. An end alone has begun since the
 * last report, and is reported, unless it only completes the end that was reported.
 */
uint32_t rlc_port_set_examine_edge(rlc_port_set *set, rlc_port *port, uint32_t events) {
    uint32_t ready = ready_bits(port, events);
    if (ready == 0 || (events & RLC_ENDS) == 0 || rlc_port_set_has_more(set, port, events)) {
        rlc_port_set_revive(set, port);
        return ready;
    }
    if (rlc_port_goes_on(port, events))
        return 0;
    if (rlc_port_has(port, RLC_PORT_READ_ENDED) && (events & (EPOLLHUP | EPOLLERR)) != 0)
        rlc_port_set_settle(set, port, events);
    rlc_port_note_told(port);
    return ready;
}

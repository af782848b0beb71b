/*
 * Quiet ports that stay in the first set, too, edge-triggered. A file whose poll fails before it names a wait queue, as
 * that of a tun without a device does, wakes no set that it is added to then, but the one that has known it before.
 */
#include "port_set_edges.h"

#include <poll.h>

/*
 * Sockets and pipes, which know how many bytes can be read, wake each set that they are in. Of others, an error may be
 * one that the file's poll returns before it names a wait queue.
 */
bool rlc_port_set_has_to_keep(const rlc_port_set *set, const rlc_port *port, uint32_t events) {
    return (events & RLC_ENDS) == EPOLLERR && set->kernel->readable_bytes(set->kernel->context, port->fd) < 0;
}

/** What an event of the first set says is reported already, or the edge set reports it. */
static bool is_repetition(const rlc_port_set *set, const rlc_port *port, uint32_t events) {
    bool is_known = rlc_port_has(port, RLC_PORT_REPEATS | RLC_PORT_HALF); /* half: of sockets, which wake both sets */
    return is_known && (events & RLC_ENDS) != 0 && !rlc_port_set_has_more(set, port, events);
}

void rlc_port_set_take_hint(rlc_port_set *set, rlc_port *owner, uint32_t events) {
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
    if (!rlc_port_has(port, RLC_PORT_QUIET) || !rlc_port_has(port, RLC_PORT_KEPT))
        return;
    int events = set->kernel->poll(set->kernel->context, port->fd, 0);
    if (events >= 0 && (events & POLLERR) == 0)
        rlc_port_set_drop(set, owner); /* to be added anew */
}

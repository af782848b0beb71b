/* Members that epoll does not watch, though it should: rlc_port_set_take reports them, rlc_port_set_retry retries. */
#include "port_set_edges.h"

#include <errno.h>

/* ---- retry ---- */

/** Also true for members that are muted or suspended, for which an update does nothing. */
static bool is_unregistered(const rlc_port_set *set, const rlc_port *port) {
    return rlc_slot_is_live(&port->slot) && rlc_port_has(port, RLC_PORT_MEMBER) &&
           !rlc_port_has(port, RLC_PORT_ORPHAN | RLC_PORT_REGISTERED) && rlc_port_set_owner(set, port->fd) == port;
}

int rlc_port_set_retry(rlc_port_set *set) {
    int status = 0;
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        int answer = is_unregistered(set, port) ? rlc_port_set_update(set, port) : 0;
        if (answer < 0 && answer != -EBADF) /* rlc_port_set_take reports lost ones */
            status = answer;
    }
    return status;
}

/* ---- report ---- */

void rlc_port_set_note_unwatched(rlc_port_set *set, rlc_port *port) {
    if (rlc_port_has(port, RLC_PORT_SUSPENDED))
        return; /* it has had an event, and rlc_port_set_set_interest will return the error */
    rlc_port_assign(port, RLC_PORT_UNWATCHED, true);
    if (!rlc_port_has(port, RLC_PORT_MUTED))
        atomic_store(&set->has_unwatched, true);
}

void rlc_port_set_orphan(rlc_port_set *set, rlc_port *port) {
    rlc_port_assign(port, RLC_PORT_ORPHAN, true);
    rlc_port_assign(port, RLC_PORT_REGISTERED, false);
    rlc_port_set_unmark_edges(set, port);
    set->has_strays = true;
}

void rlc_port_set_lose(rlc_port_set *set, int fd) {
    for (rlc_port *port; (port = rlc_port_set_owner(set, fd)) != NULL;) {
        rlc_port_set_orphan(set, port);
        rlc_port_set_note_unwatched(set, port);
    }
}

void rlc_port_set_renew(rlc_port_set *set, rlc_port *port) {
    rlc_port *owner = rlc_port_set_registrant(set, port);
    if (owner == NULL)
        return; /* an orphan, which take has reported or will report */
    int status = rlc_port_set_update(set, owner);
    if (status >= 0 || status == -EBADF || status == -ECHILD)
        return; /* update has noted the lost ones; in a child of fork(2) nothing is watched */
    rlc_port_set_drop(set, owner);
    for (port = owner; port != NULL; port = rlc_port_older_sharer(port))
        rlc_port_set_note_unwatched(set, port);
}

rlc_port *rlc_port_set_take_unwatched(rlc_port_set *set) {
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
    if (first != NULL)
        rlc_port_assign(first, RLC_PORT_UNWATCHED, false);
    return first;
}

bool rlc_port_set_has_unwatched(const rlc_port_set *set) {
    return atomic_load(&set->has_unwatched);
}

/* Several readiness members with one descriptor: who shares with whom. */
#include "port_set_internal.h"

static bool shares(const rlc_port *port) {
    return port->kind == RLC_PORT_READINESS && (port->interest & RLC_SHARED) != 0;
}

/** Ends at a member that does not share: it had the port before. */
rlc_port *rlc_port_older_sharer(const rlc_port *port) {
    if (!shares(port))
        return NULL;
    rlc_port *older = rlc_port_owner_from(SLIST_NEXT(port, older), port->fd);
    return older != NULL && shares(older) ? older : NULL;
}

rlc_port *rlc_port_sharing_owner(rlc_port *owner, const rlc_port *port) {
    for (rlc_port *older = owner; (older = rlc_port_older_sharer(older)) != NULL;) {
        if (older == port)
            return owner;
    }
    return NULL;
}

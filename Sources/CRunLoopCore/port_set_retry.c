/* Members that epoll did not take back when it was asked to: tried again. */
#include "port_set_internal.h"

#include <errno.h>

/** Among them those that are out, whose update is nothing. */
static bool is_unregistered(const rlc_port_set *set, const rlc_port *port) {
    return rlc_slot_is_live(&port->slot) && rlc_port_has(port, RLC_PORT_MEMBER) &&
           !rlc_port_has(port, RLC_PORT_ORPHAN | RLC_PORT_REGISTERED) && rlc_port_set_owner(set, port->fd) == port;
}

int rlc_port_set_retry(rlc_port_set *set) {
    int status = 0;
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        int answer = is_unregistered(set, port) ? rlc_port_set_update(set, port) : 0;
        if (answer < 0 && answer != -EBADF)
            status = answer;
    }
    return status;
}

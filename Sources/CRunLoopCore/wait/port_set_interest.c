/* The interest of a member, and whether it is muted. */
#include "port_set_edges.h"

#include <crunloop_kit/looks.h>
#include <errno.h>

enum { RESUMED = RLC_PORT_SUSPENDED | RLC_PORT_END };

/** Setting the interest would change nothing. For an edge-triggered port it makes epoll report again each time. */
static bool has_interest(const rlc_port *port, const rlc_port *owner, uint32_t interest) {
    bool is_known = owner == NULL || rlc_port_has(owner, RLC_PORT_REGISTERED);
    return port->interest == interest && (interest & RLC_EDGE) == 0 && !rlc_port_has(port, RESUMED) && is_known;
}

/** The return value reports the loss, so that rlc_port_set_take need not. */
static int answer_orphan(rlc_port *port) {
    rlc_port_assign(port, RLC_PORT_UNWATCHED, false);
    return -EBADF;
}

int rlc_port_set_change_interest(rlc_port_set *set, rlc_port *port, uint32_t interest) {
    if (rlc_port_has(port, RLC_PORT_ORPHAN))
        return answer_orphan(port);
    rlc_port *owner = rlc_port_set_registrant(set, port);
    if (has_interest(port, owner, interest))
        return 0;
    bool changes = rlc_port_is(port, RLC_PORT_READINESS) || rlc_port_has(port, RLC_PORT_TOLD);
    const rlc_port before = *port;
    if (owner != NULL)
        rlc_port_set_hook_again(set, owner, port);
    port->interest = (uint8_t)interest;
    rlc_port_assign(port, RESUMED, false);
    if (!changes || rlc_port_has(port, RLC_PORT_MUTED) || owner == NULL)
        return 0;
    int status = rlc_port_set_update(set, owner);
    if (status < 0) { /* the registration is unchanged */
        port->interest = before.interest;
        rlc_port_assign(port, (before.state | (unsigned)before.end << RLC_PORT_STATES) & RESUMED, true);
    }
    return status == -EBADF ? answer_orphan(port) : status;
}

int rlc_port_set_change_served_interest(rlc_port_set *set, rlc_port *port, uint32_t interest) {
    uint32_t told = (rlc_port_has(port, RLC_PORT_TOLD_READER) ? RLC_READABLE : 0) |
                    (rlc_port_has(port, RLC_PORT_TOLD_WRITER) ? RLC_WRITABLE : 0);
    bool is_new = ((interest & ~told) & (RLC_READABLE | RLC_WRITABLE)) != 0 ||
                  ((interest ^ port->interest) & ~(uint32_t)(RLC_READABLE | RLC_WRITABLE)) != 0;
    bool is_told = rlc_port_has(port, RLC_PORT_TOLD) && !rlc_port_has(port, RLC_PORT_ORPHAN) && !is_new;
    if (is_told && rlc_port_has(port, RLC_PORT_QUIET)) {
        port->interest = (uint8_t)interest;
        rlc_port_assign(port, RLC_PORT_SUSPENDED, false);
        return 0;
    }
    if (is_told && interest == port->interest && !rlc_port_has(port, RLC_PORT_SUSPENDED))
        return 0;
    return rlc_port_set_change_interest(set, port, interest);
}

int rlc_port_set_mute(rlc_port_set *set, rlc_port *port, bool muted) {
    if (rlc_port_has(port, RLC_PORT_MUTED) == muted)
        return 0;
    rlc_port_assign(port, RLC_PORT_MUTED, muted);
    if (rlc_port_has(port, RLC_PORT_UNWATCHED))
        rlc_port_set_note_unwatched(set, port); /* a muted port reports nothing */
    rlc_port *owner = rlc_port_set_registrant(set, port);
    return owner == NULL ? 0 : rlc_port_set_update(set, owner);
}

/* ---- the same by token ---- */

int rlc_kit_set_served_interest(rlc_port_set *set, rlc_token token, uint32_t interest) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    return port == NULL ? -ENOENT : rlc_port_set_change_served_interest(set, port, interest);
}

int rlc_port_set_set_interest(rlc_port_set *set, rlc_token token, uint32_t interest) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    return port == NULL ? -ENOENT : rlc_port_set_change_interest(set, port, interest);
}

int rlc_port_set_set_muted(rlc_port_set *set, rlc_token token, bool muted) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    return port == NULL ? -ENOENT : rlc_port_set_mute(set, port, muted);
}

/* Members whose descriptors nobody else reads: their fetched readiness needs no second look. */
#include "port_set_internal.h"

#include <crunloop_kit/looks.h>

void rlc_kit_set_owned(rlc_port_set *set, rlc_token token, bool is_owned) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    if (port == NULL)
        return;
    rlc_port_assign(port, RLC_PORT_OWNED, is_owned);
}

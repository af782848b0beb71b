/* Whether epoll still watches a member whose number other code may have closed. */
#include "port_set_internal.h"

#include <crunloop_kit/looks.h>

#include <errno.h>

bool rlc_kit_is_watched(rlc_port_set *set, rlc_token token) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    if (port == NULL || !rlc_port_has(port, RLC_PORT_REGISTERED))
        return false;
    /* The same registration once more: epoll knows it by the number and by the file that the number had. */
    int status = rlc_port_set_control(set, EPOLL_CTL_MOD, port);
    return status != -EBADF && status != -ENOENT && status != -EPERM;
}

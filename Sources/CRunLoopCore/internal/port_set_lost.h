/** Own descriptors of a port set that other code has closed: port_set_lost.c. */
#ifndef RLC_PORT_SET_LOST_H
#define RLC_PORT_SET_LOST_H

#include "port_set_internal.h"

/** Registers all members in another epoll instance. Those whose number was closed are lost. 0 or -errno. [locked] */
int rlc_port_set_copy_registrations(rlc_port_set *set, int epoll_fd);

/** Of a hint, with a bit that it has no other use for: it is a wakeup port's eventfd, and its context the port. */
enum { RLC_PORT_WAKEUP = RLC_PORT_SEEN };

__attribute__((always_inline)) static inline bool rlc_port_is_wakeup(const rlc_port *port) {
    return (port->state & RLC_PORT_WAKEUP) != 0 && rlc_port_is(port, RLC_PORT_HINT);
}

/** After epoll_ctl(2) has failed for `fd`: true if the set's descriptor was lost, and there is a new one with all
 * members. [locked] */
bool rlc_port_set_is_mended(rlc_port_set *set, int fd, int status);
/** True if the hint's number is another file's by now: then it is lost, and take reports it. [locked] */
bool rlc_port_set_has_lost_hint(rlc_port_set *set, rlc_port *hint);

#endif

/** Own descriptors of a port set that other code has closed: port_set_lost.c. */
#ifndef RLC_PORT_SET_LOST_H
#define RLC_PORT_SET_LOST_H

#include "port_set_internal.h"

/** Registers all members in another epoll instance. Those whose number was closed are lost. 0 or -errno. [locked] */
int rlc_port_set_copy_registrations(rlc_port_set *set, int epoll_fd);

/** epoll_ctl(2) on the set's descriptor; if that is lost, once more on a new one with all members. [locked] */
int rlc_port_set_control_fd(rlc_port_set *set, int operation, int fd, struct epoll_event *event);
/** True if the hint's number is another file's by now: then it is lost, and take reports it. [locked] */
bool rlc_port_set_has_lost_hint(rlc_port_set *set, rlc_port *hint);

#endif

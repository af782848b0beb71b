/**
 * <crunloop/event_port.h>: one descriptor for events of which a batch is read at once, but which are told one by one.
 *
 * It is readable while the inner descriptor is, or while a flag says that events have been read and not told yet. So a
 * loop that watches it level-triggered serves one event a pass, and what one loop has read can be told by another.
 */
#ifndef CRUNLOOP_EVENT_PORT_H
#define CRUNLOOP_EVENT_PORT_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

typedef struct rlc_event_port {
    int fd;    /**< To be watched for reading. */
    int inner; /**< What the events are read from; -1 if nothing is. */
    int flag;
} rlc_event_port;

/**
 * Makes the descriptor and the flag, which is down.
 *
 * @param inner    The port's from now on if 0 is returned; -1: none.
 * @param ret_port The caller's, until rlc_event_port_close.
 * @return 0; -EMFILE, -ENFILE, -ENOMEM, -ENOSPC, -EBADF.
 *
 * Thread: [any].  Cost: three or four system calls.  See: epoll(7), "epoll file descriptor in another epoll's set".
 */
RLC_API int rlc_event_port_create(int inner, rlc_event_port *ret_port);

/** Closes all three.  Thread: [any], once. */
RLC_API void rlc_event_port_close(rlc_event_port *port);

/** Puts the flag up or down. Only where that changes it: each call costs one system call.  Thread: [any]. */
RLC_API void rlc_event_port_set_flag(const rlc_event_port *port, bool is_up);

RLC_END_DECLS
#endif

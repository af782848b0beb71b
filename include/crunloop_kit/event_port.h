/**
 * <crunloop_kit/event_port.h>: one descriptor for a source that reads its events in batches and delivers them one by
 * one.
 *
 * One read of a signalfd or an inotify descriptor may return several events, of which a pass of a loop delivers one. An
 * event port combines such a descriptor, the inner one, with a flag. The port is readable while the inner descriptor is
 * readable, or while the flag is up. The embedder keeps the flag up while it holds events that it has read and not
 * delivered. A loop that watches the port level-triggered then delivers one event in each pass. If two loops watch the
 * port, each can deliver what the other one has read.
 */
#ifndef CRUNLOOP_KIT_EVENT_PORT_H
#define CRUNLOOP_KIT_EVENT_PORT_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/** The descriptors of an event port, which rlc_event_port_close closes. A copy of the structure is the same port. */
typedef struct rlc_event_port {
    int fd;    /**< The one to watch for reading: an epoll descriptor, or the flag if there is no inner descriptor. */
    int inner; /**< The one from which the embedder reads the events; -1 if the port has only its flag. */
    int flag;  /**< An eventfd. Use rlc_event_port_set_flag. */
} rlc_event_port;

/**
 * Creates the flag, which is down, and the epoll descriptor. A port without an inner descriptor has only the flag's
 * descriptor [RLC-EVENT-1].
 *
 * @param inner    The inner descriptor; -1 for none. If the call succeeds, the port owns it; if the call fails, the
 *                 caller still does.
 * @param ret_port The port; the caller ends it with rlc_event_port_close.
 * @return 0; -EMFILE (the process has no number left), -ENFILE (the system has none left), -ENOMEM, -ENOSPC (the user's
 *         limit of epoll registrations), -EBADF (inner is not open), -EPERM (inner is a regular file), -ELOOP (inner
 *         is an epoll descriptor, and these are nested too deep).
 *
 * Thread: [any].  Cost: four system calls; one without an inner descriptor.
 * See: epoll(7) on an epoll descriptor in the set of another one.
 */
int rlc_event_port_create(int inner, rlc_event_port *ret_port);

/**
 * Closes the port's descriptors, also the inner one, and sets the members of the structure to -1.
 *
 * @param port The port. No other call may use it at the same time.
 *
 * Thread: [any].  Cost: at most three system calls.
 */
void rlc_event_port_close(rlc_event_port *port);

/**
 * Raises or lowers the flag. Each call makes a system call, so make it only if the flag changes. The call has no effect
 * on a port that was closed.
 *
 * @param is_up With true the port becomes readable, or stays readable. With false it is readable only while the inner
 *              descriptor is.
 *
 * Thread: [any].  Cost: one system call.
 */
void rlc_event_port_set_flag(const rlc_event_port *port, bool is_up);

RLC_END_DECLS
#endif

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failure.h"

#include <crunloop_kit/event_port.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void close_if_open(int fd) {
    if (fd >= 0)
        (void)close(fd);
}

static int watch(const rlc_event_port *port, int fd) {
    struct epoll_event event = {.events = EPOLLIN};
    event.data.fd = fd;
    return epoll_ctl(port->fd, EPOLL_CTL_ADD, fd, &event) < 0 ? rlc_failed("epoll_ctl") : 0;
}

/** Creates the flag. A port without an inner descriptor consists of it alone, and needs no epoll descriptor. */
static int create_flag(rlc_event_port *port) {
    port->flag = rlc_made("eventfd", eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    return port->flag < 0 ? port->flag : 0;
}

static int create_both(rlc_event_port *port) {
    port->fd = rlc_made("epoll_create1", epoll_create1(EPOLL_CLOEXEC));
    int status = port->fd < 0 ? port->fd : create_flag(port);
    if (status == 0)
        status = watch(port, port->flag);
    return status == 0 ? watch(port, port->inner) : status;
}

int rlc_event_port_create(int inner, rlc_event_port *ret_port) {
    rlc_event_port port = {.fd = -1, .inner = inner < 0 ? -1 : inner, .flag = -1};
    int status = inner < 0 ? create_flag(&port) : create_both(&port);
    if (status < 0) {
        close_if_open(port.flag);
        close_if_open(port.fd);
        return status;
    }
    if (inner < 0)
        port.fd = port.flag;
    *ret_port = port;
    return 0;
}

void rlc_event_port_close(rlc_event_port *port) {
    if (port->fd != port->flag)
        close_if_open(port->fd);
    close_if_open(port->inner);
    close_if_open(port->flag);
    *port = (rlc_event_port){.fd = -1, .inner = -1, .flag = -1};
}

void rlc_event_port_set_flag(const rlc_event_port *port, bool is_up) {
    uint64_t value = 1;
    /* The result does not matter: EAGAIN means that the flag is already as the caller wants it. */
    ssize_t size = is_up ? write(port->flag, &value, sizeof value) : read(port->flag, &value, sizeof value);
    (void)size;
}

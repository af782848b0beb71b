#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <crunloop/descriptor.h>
#include <crunloop/event_port.h>

#include <errno.h>
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
    return epoll_ctl(port->fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int rlc_event_port_create(int inner, rlc_event_port *ret_port) {
    rlc_event_port port = {.inner = inner, .flag = -1};
    port.fd = rlc_descriptor_adopt(epoll_create1(EPOLL_CLOEXEC));
    int status = port.fd < 0 ? port.fd : 0;
    if (status == 0) {
        port.flag = rlc_descriptor_adopt(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        status = port.flag < 0 ? port.flag : 0;
    }
    if (status == 0)
        status = watch(&port, port.flag);
    if (status == 0 && inner >= 0)
        status = watch(&port, inner);
    if (status < 0) {
        close_if_open(port.flag);
        close_if_open(port.fd);
        return status;
    }
    *ret_port = port;
    return 0;
}

void rlc_event_port_close(rlc_event_port *port) {
    close_if_open(port->fd);
    close_if_open(port->inner);
    close_if_open(port->flag);
    *port = (rlc_event_port){.fd = -1, .inner = -1, .flag = -1};
}

void rlc_event_port_set_flag(const rlc_event_port *port, bool is_up) {
    uint64_t value = 1;
    /* EAGAIN: it is up or down already. */
    ssize_t size = is_up ? write(port->flag, &value, sizeof value) : read(port->flag, &value, sizeof value);
    (void)size;
}

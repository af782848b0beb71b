#include "wakeup_port_internal.h"

#include <errno.h>
#include <stdlib.h>

int rlc_wakeup_port_create_closed(const rlc_kernel *kernel, rlc_wakeup_port **ret_port) {
    rlc_wakeup_port *port = malloc(sizeof *port);
    if (port == NULL)
        return -ENOMEM;
    port->kernel = kernel;
    atomic_init(&port->word, RLC_WORD_RUNNING);
    atomic_init(&port->references, 1);
    port->fork_generation = rlc_fork_generation();
    port->event_fd = -1;
    *ret_port = port;
    return 0;
}

int rlc_wakeup_port_open(rlc_wakeup_port *port) {
    if (port->event_fd >= 0)
        return 0;
    int fd = port->kernel->eventfd_create(port->kernel->context);
    if (fd < 0)
        return fd;
    port->event_fd = fd;
    return 0;
}

int rlc_wakeup_port_create(const rlc_kernel *kernel, rlc_wakeup_port **ret_port) {
    rlc_wakeup_port *port;
    int status = rlc_wakeup_port_create_closed(kernel == NULL ? rlc_kernel_default() : kernel, &port);
    if (status < 0)
        return status;
    status = rlc_wakeup_port_open(port);
    if (status < 0) {
        rlc_wakeup_port_release(port);
        return status;
    }
    *ret_port = port;
    return 0;
}

rlc_wakeup_port *rlc_wakeup_port_retain(rlc_wakeup_port *port) {
    atomic_fetch_add(&port->references, 1);
    return port;
}

void rlc_wakeup_port_release(rlc_wakeup_port *port) {
    if (port == NULL || atomic_fetch_sub(&port->references, 1) != 1)
        return;
    if (port->event_fd >= 0 && !rlc_has_forked_since(port->fork_generation))
        port->kernel->close(port->kernel->context, port->event_fd);
    free(port);
}

int rlc_wakeup_port_fd(const rlc_wakeup_port *port) {
    return port->event_fd;
}

static int wake_sleeper(const rlc_wakeup_port *port) {
    static const uint64_t one = 1;
    int saved_errno = errno;
    int64_t size;
    do
        size = port->kernel->write(port->kernel->context, port->event_fd, &one, sizeof one);
    while (size == -EINTR);
    errno = saved_errno;
    return size < 0 && size != -EAGAIN ? (int)size : 1; /* EAGAIN: full, so it is readable */
}

static int post(rlc_wakeup_port *port, uint32_t posted) {
    if (rlc_has_forked_since(port->fork_generation))
        return -ECHILD;
    uint32_t seen = atomic_load(&port->word), next;
    do {
        if (seen == RLC_WORD_CLOSED)
            return -ESHUTDOWN;
        next = seen == RLC_WORD_POSTED ? RLC_WORD_POSTED : posted;
    } while (!atomic_compare_exchange_weak(&port->word, &seen, next));
    return seen == RLC_WORD_ASLEEP ? wake_sleeper(port) : 0;
}

int rlc_wakeup_port_signal(rlc_wakeup_port *port) {
    return post(port, RLC_WORD_POSTED);
}

int rlc_wakeup_port_kick(rlc_wakeup_port *port) {
    return post(port, RLC_WORD_KICKED);
}

bool rlc_wakeup_port_begin_wait(rlc_wakeup_port *port) {
    return rlc_wakeup_word_sleeps(port);
}

rlc_wake rlc_wakeup_port_take(rlc_wakeup_port *port) {
    return rlc_wakeup_word_take(port);
}

bool rlc_wakeup_port_is_asleep(const rlc_wakeup_port *port) {
    return atomic_load(&port->word) == RLC_WORD_ASLEEP;
}

void rlc_wakeup_port_close(rlc_wakeup_port *port) {
    atomic_store(&port->word, RLC_WORD_CLOSED);
}

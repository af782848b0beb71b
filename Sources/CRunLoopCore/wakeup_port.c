#include <crunloop/wakeup_port.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Everything is sequentially consistent, and a waker's step is always a read-modify-write, also where it changes
 * nothing: the owner's exchange then has acquired what every sender published before, not only the first one. */

enum { RUNNING, KICKED, POSTED, ASLEEP, CLOSED };

struct rlc_wakeup_port {
    const rlc_kernel *kernel;
    _Atomic uint32_t word;
    _Atomic uint32_t references;
    uint32_t fork_generation; /* set once in create, as is the descriptor */
    int event_fd;
};

int rlc_wakeup_port_create(const rlc_kernel *kernel, rlc_wakeup_port **ret_port) {
    if (kernel == NULL)
        kernel = rlc_kernel_default();
    rlc_wakeup_port *port = malloc(sizeof *port);
    if (port == NULL)
        return -ENOMEM;
    int fd = kernel->eventfd_create(kernel->context);
    if (fd < 0) {
        free(port);
        return fd;
    }
    port->kernel = kernel;
    atomic_init(&port->word, RUNNING);
    atomic_init(&port->references, 1);
    port->fork_generation = rlc_fork_generation();
    port->event_fd = fd;
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
    if (port->fork_generation == rlc_fork_generation())
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
    if (port->fork_generation != rlc_fork_generation())
        return -ECHILD;
    uint32_t seen = atomic_load(&port->word), next;
    do {
        if (seen == CLOSED)
            return -ESHUTDOWN;
        next = seen == POSTED ? POSTED : posted;
    } while (!atomic_compare_exchange_weak(&port->word, &seen, next));
    return seen == ASLEEP ? wake_sleeper(port) : 0;
}

int rlc_wakeup_port_signal(rlc_wakeup_port *port) {
    return post(port, POSTED);
}

int rlc_wakeup_port_kick(rlc_wakeup_port *port) {
    return post(port, KICKED);
}

bool rlc_wakeup_port_begin_wait(rlc_wakeup_port *port) {
    uint32_t seen = RUNNING;
    return atomic_compare_exchange_strong(&port->word, &seen, ASLEEP) || seen == ASLEEP;
}

rlc_wake rlc_wakeup_port_take(rlc_wakeup_port *port) {
    if (atomic_load(&port->word) == CLOSED)
        return RLC_WAKE_NONE; /* only the owner closes */
    switch (atomic_exchange(&port->word, RUNNING)) {
    case KICKED:
        return RLC_WAKE_KICKED;
    case POSTED:
        return RLC_WAKE_POSTED;
    }
    return RLC_WAKE_NONE;
}

bool rlc_wakeup_port_is_asleep(const rlc_wakeup_port *port) {
    return atomic_load(&port->word) == ASLEEP;
}

void rlc_wakeup_port_close(rlc_wakeup_port *port) {
    atomic_store(&port->word, CLOSED);
}

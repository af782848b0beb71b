/* Descriptors of the loop's own that other code has closed, or has put another file in the place of. */
#include "port_set_lost.h"
#include "kernel_internal.h"
#include "wakeup_port_internal.h"

#include <crunloop/descriptor.h>
#include <crunloop_kit/looks.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void tell(const rlc_port_set *set, rlc_lost lost) {
    if (set->lost_fn != NULL)
        set->lost_fn(set->lost_context, lost);
}

void rlc_kit_set_lost_fn(rlc_port_set *set, rlc_lost_fn lost_fn, void *context) {
    set->lost_fn = lost_fn;
    set->lost_context = context;
}

/* ---- the epoll instance ---- */

/**
 * Moves a new instance to the number of the lost one, if that is free: a host knows the number. If a file of others has
 * it by now, it keeps it.
 */
static int under_number(const rlc_kernel *kernel, int fd, int number) {
    if (kernel->epoll_create != rlc_kernel_default()->epoll_create || fd == number)
        return fd;
    int moved = rlc_descriptor_adopt(fcntl(fd, F_DUPFD_CLOEXEC, number)); /* takes no number that is in use */
    if (moved < 0)
        return fd;
    (void)kernel->close(kernel->context, moved == number ? fd : moved);
    return moved == number ? moved : fd;
}

static int revive(rlc_port_set *set) {
    const rlc_kernel *kernel = set->kernel;
    if (rlc_port_set_is_forked(set))
        return -ECHILD;
    int fd = kernel->epoll_create(kernel->context);
    if (fd < 0)
        return fd;
    fd = under_number(kernel, fd, set->epoll_fd);
    int status = rlc_port_set_copy_registrations(set, fd);
    if (status < 0) {
        (void)kernel->close(kernel->context, fd);
        return status;
    }
    set->epoll_fd = fd;
    set->has_strays = false;
    atomic_fetch_add(&set->changes, 1);
    atomic_fetch_add(&set->rebuilds, 1);
    tell(set, RLC_LOST_EPOLL);
    return 0;
}

/** Whether epoll_ctl(2) has failed because of the set's own descriptor. */
static bool is_lost(const rlc_port_set *set, int fd, int status) {
    if (status == -EINVAL)
        return fd != set->epoll_fd; /* it is another kind of file by now */
    return status == -EBADF && set->kernel->status_flags(set->kernel->context, set->epoll_fd) < 0;
}

int rlc_port_set_control_fd(rlc_port_set *set, int operation, int fd, struct epoll_event *event) {
    const rlc_kernel *kernel = set->kernel;
    int status = kernel->epoll_control(kernel->context, set->epoll_fd, operation, fd, event);
    if (status >= 0 || !is_lost(set, fd, status) || revive(set) < 0)
        return status;
    return kernel->epoll_control(kernel->context, set->epoll_fd, operation, fd, event);
}

bool rlc_kit_revive_if_lost(rlc_port_set *set) {
    uint64_t rebuilds = atomic_load(&set->rebuilds);
    const rlc_port *wakeup = rlc_slot_table_find(&set->ports, set->wakeup);
    if (wakeup != NULL)
        (void)rlc_port_set_control(set, set->epoll_fd, EPOLL_CTL_MOD, wakeup); /* changes nothing */
    return atomic_load(&set->rebuilds) != rebuilds;
}

/* ---- hints ---- */

/** A number that is registered cannot be added: if it can, a hint's file is not there any more. */
bool rlc_port_set_has_lost_hint(rlc_port_set *set, rlc_port *hint) {
    struct epoll_event event = {.events = 0};
    if (rlc_port_set_control_fd(set, EPOLL_CTL_ADD, hint->fd, &event) < 0)
        return false;
    (void)rlc_port_set_control_fd(set, EPOLL_CTL_DEL, hint->fd, &event);
    bool is_wakeup = rlc_slot_token(&hint->slot).bits == set->wakeup.bits;
    rlc_port_set_lose(set, hint->fd);
    if (!is_wakeup)
        tell(set, RLC_LOST_OTHER); /* rlc_port_set_take reports it */
    else if (rlc_wakeup_port_renew(set->wakeup_port, hint->fd) == 0)
        tell(set, RLC_LOST_WAKEUP);
    return true;
}

/* ---- the eventfd ---- */

static int insert_wakeup(rlc_port_set *set, rlc_wakeup_port *port, void *context) {
    rlc_token token;
    uint32_t serial = atomic_load(&port->serial);
    int status = rlc_port_set_insert(set, rlc_wakeup_port_fd(port), RLC_PORT_HINT, RLC_READABLE, context, &token);
    if (status < 0)
        return status;
    set->wakeup = token;
    set->wakeup_serial = serial;
    return 0;
}

int rlc_kit_watch_wakeup(rlc_port_set *set, rlc_wakeup_port *port, void *context) {
    set->wakeup_port = port;
    int fd = rlc_wakeup_port_fd(port);
    uint32_t serial = atomic_load(&port->serial); /* a new one may have the number of the lost one */
    const rlc_port *old = rlc_slot_table_find(&set->ports, set->wakeup);
    if (old != NULL && set->wakeup_serial == serial && rlc_port_has(old, RLC_PORT_REGISTERED))
        return 0;
    if (old != NULL)
        (void)rlc_port_set_remove(set, set->wakeup);
    int status = insert_wakeup(set, port, context);
    if (status != -EBADF && status != -EPERM && status != -ELOOP && status != -EINVAL)
        return status;
    status = rlc_wakeup_port_renew(port, fd);
    if (status == 0)
        status = insert_wakeup(set, port, context);
    if (status == 0)
        tell(set, RLC_LOST_WAKEUP);
    return status;
}

bool rlc_kit_begin_wait(rlc_wakeup_port *port, const rlc_port_set *set) {
    rlc_wakeup_port_is_watched_by(port, set->epoll_fd);
    return rlc_wakeup_word_sleeps(port) && !atomic_load(&port->needs_renewal);
}

int rlc_kit_lost_write(const rlc_wakeup_port *port, int *ret_error) {
    *ret_error = atomic_load(&port->lost_error);
    return atomic_load(&port->lost_fd);
}

void rlc_kit_demand_renewal(rlc_wakeup_port *port) {
    atomic_store(&port->needs_renewal, true);
}

bool rlc_kit_take_renewal(rlc_wakeup_port *port) {
    return atomic_exchange(&port->needs_renewal, false);
}

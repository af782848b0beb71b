/* Descriptors of the loop's own that other code has closed, or has put another file in the place of. */
#include "port_set_lost.h"
#include "kernel_internal.h"
#include "wakeup_port_internal.h"

#include <crunloop/descriptor.h>
#include <crunloop_kit/looks.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/** The set's hint that is a wakeup port's eventfd, or was it until that was lost; or NULL. O(members). */
static rlc_port *wakeup_of(const rlc_port_set *set) {
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        if (rlc_slot_is_live(&port->slot) && rlc_port_is_wakeup(port))
            return port;
    }
    return NULL;
}

static void tell(const rlc_wakeup_port *port, rlc_lost lost) {
    const rlc_reporting_port *reporting = (const rlc_reporting_port *)port;
    if (port->may_end && reporting->lost_fn != NULL)
        reporting->lost_fn(reporting->lost_context, lost);
}

static void tell_of(const rlc_port_set *set, rlc_lost lost) {
    const rlc_port *wakeup = wakeup_of(set);
    if (wakeup != NULL)
        tell(wakeup->context, lost);
}

void rlc_kit_set_lost_fn(rlc_wakeup_port *port, rlc_lost_fn lost_fn, void *context) {
    rlc_reporting_port *reporting = (rlc_reporting_port *)port;
    reporting->lost_fn = lost_fn;
    reporting->lost_context = context;
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
    const rlc_port *wakeup = wakeup_of(set);
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
    if (wakeup != NULL)
        rlc_wakeup_port_move(wakeup->context, set->epoll_fd, fd);
    set->epoll_fd = fd;
    set->has_strays = false;
    atomic_fetch_add(&set->changes, 1);
    atomic_fetch_add(&set->rebuilds, 1);
    tell_of(set, RLC_LOST_EPOLL);
    return 0;
}

/** Whether epoll_ctl(2) has failed because of the set's own descriptor. */
static bool is_lost(const rlc_port_set *set, int fd, int status) {
    if (status == -EINVAL)
        return fd != set->epoll_fd; /* it is another kind of file by now */
    return status == -EBADF && set->kernel->status_flags(set->kernel->context, set->epoll_fd) < 0;
}

bool rlc_port_set_is_mended(rlc_port_set *set, int fd, int status) {
    return is_lost(set, fd, status) && revive(set) == 0;
}

int rlc_port_set_control_again(rlc_port_set *set, int operation, const rlc_port *port, int status) {
    if (!rlc_port_set_is_mended(set, port->fd, status))
        return status;
    return rlc_port_set_try_control(set, set->epoll_fd, operation, port);
}

bool rlc_kit_revive_if_lost(rlc_port_set *set) {
    uint64_t rebuilds = atomic_load(&set->rebuilds);
    const rlc_port *wakeup = wakeup_of(set);
    if (wakeup != NULL)
        (void)rlc_port_set_control(set, EPOLL_CTL_MOD, wakeup); /* changes nothing */
    return atomic_load(&set->rebuilds) != rebuilds;
}

/* ---- hints ---- */

/** epoll_ctl(2) on the set's descriptor, or on a new one in its place. */
static int control_number(rlc_port_set *set, int operation, int fd) {
    const rlc_kernel *kernel = set->kernel;
    struct epoll_event event = {.events = 0};
    int status = kernel->epoll_control(kernel->context, set->epoll_fd, operation, fd, &event);
    if (status < 0 && rlc_port_set_is_mended(set, fd, status))
        status = kernel->epoll_control(kernel->context, set->epoll_fd, operation, fd, &event);
    return status;
}

/** A number that is registered cannot be added: if it can, a hint's file is not there any more. */
bool rlc_port_set_has_lost_hint(rlc_port_set *set, rlc_port *hint) {
    if (control_number(set, EPOLL_CTL_ADD, hint->fd) < 0)
        return false;
    (void)control_number(set, EPOLL_CTL_DEL, hint->fd);
    rlc_port_set_lose(set, hint->fd);
    if (!rlc_port_is_wakeup(hint))
        tell_of(set, RLC_LOST_OTHER); /* rlc_port_set_take reports it */
    else if (rlc_wakeup_port_renew(hint->context, hint->fd) == 0)
        tell(hint->context, RLC_LOST_WAKEUP);
    return true;
}

/* ---- the eventfd ---- */

/** If that makes a new epoll instance, too, the hint is not marked yet: the owner's next announcement says where. */
static int insert_wakeup(rlc_port_set *set, rlc_wakeup_port *port) {
    rlc_token token;
    int status = rlc_port_set_insert(set, rlc_wakeup_port_fd(port), RLC_PORT_HINT, RLC_READABLE, port, &token);
    if (status == 0)
        ((rlc_port *)rlc_slot_table_find(&set->ports, token))->state |= RLC_PORT_WAKEUP;
    return status;
}

int rlc_kit_watch_wakeup(rlc_port_set *set, rlc_wakeup_port *port) {
    int fd = rlc_wakeup_port_fd(port);
    int status = insert_wakeup(set, port);
    if (status != -EBADF && status != -EPERM && status != -ELOOP && status != -EINVAL)
        return status;
    status = rlc_wakeup_port_renew(port, fd);
    if (status == 0)
        status = insert_wakeup(set, port);
    if (status == 0)
        tell(port, RLC_LOST_WAKEUP);
    return status;
}

int rlc_kit_renew_wakeup(rlc_port_set *set, rlc_wakeup_port *port) {
    const rlc_port *old = wakeup_of(set);
    if (old != NULL) /* a new eventfd may have its number: it is registered anew in any case */
        (void)rlc_port_set_remove(set, rlc_slot_token(&old->slot));
    return rlc_kit_watch_wakeup(set, port);
}

bool rlc_kit_begin_wait(rlc_wakeup_port *port, const rlc_port_set *set) {
    return rlc_wakeup_port_is_watched_by(port, set->epoll_fd) && rlc_wakeup_word_sleeps(port);
}

int rlc_kit_lost_write(const rlc_wakeup_port *port, int *ret_error) {
    *ret_error = atomic_load(&port->lost_error);
    return atomic_load(&port->lost_fd);
}

void rlc_kit_demand_renewal(rlc_wakeup_port *port) {
    atomic_store(&port->watched_by, RLC_TO_BE_RENEWED);
}

bool rlc_kit_take_renewal(rlc_wakeup_port *port) {
    int expected = RLC_TO_BE_RENEWED;
    return atomic_compare_exchange_strong(&port->watched_by, &expected, RLC_RENEWED);
}

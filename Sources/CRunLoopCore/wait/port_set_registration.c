/* Registrations in epoll: made, changed and deleted; refused, lost, and made anew in another epoll instance. */
#include "kernel_internal.h"
#include "port_set_internal.h"
#include "wakeup_port_internal.h"

#include <crunloop/descriptor.h>
#include <crunloop_kit/looks.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* ---- several readiness members with one number ---- */

static bool shares(const rlc_port *port) {
    return rlc_port_is(port, RLC_PORT_READINESS) && (port->interest & RLC_SHARED) != 0;
}

/** Ends at a member that does not share: it had the port before. */
rlc_port *rlc_port_older_sharer(const rlc_port *port) {
    if (!shares(port))
        return NULL;
    rlc_port *older = rlc_port_owner_from(SLIST_NEXT(port, older), port->fd);
    return older != NULL && shares(older) ? older : NULL;
}

void rlc_port_note_sharing(rlc_port *owner) {
    rlc_port_assign(owner, RLC_PORT_SHARED, rlc_port_older_sharer(owner) != NULL);
}

rlc_port *rlc_port_set_registrant(const rlc_port_set *set, rlc_port *port) {
    rlc_port *owner = rlc_port_set_owner(set, port->fd);
    for (rlc_port *member = owner; member != NULL; member = rlc_port_older_sharer(member)) {
        if (member == port)
            return owner;
    }
    return NULL;
}

/* ---- what epoll is to watch ---- */

static uint32_t events_of(const rlc_port *port) {
    if (!rlc_port_is(port, RLC_PORT_READINESS))
        return EPOLLIN | EPOLLET;
    bool is_edge = (port->interest & RLC_EDGE) != 0 || rlc_port_has(port, RLC_PORT_EDGY | RLC_PORT_QUIET);
    return rlc_port_asked_events(port) | (is_edge ? EPOLLET : 0);
}

static bool is_out(const rlc_port *port) {
    return rlc_port_has(port, RLC_PORT_MUTED | RLC_PORT_SUSPENDED | RLC_PORT_ORPHAN) ||
           (rlc_port_has(port, RLC_PORT_QUIET) && !rlc_port_has(port, RLC_PORT_EDGY));
}

bool rlc_port_is_hint_only(const rlc_port *owner) {
    if (!rlc_port_has(owner, RLC_PORT_SHARED))
        return rlc_port_has(owner, RLC_PORT_QUIET) && rlc_port_has(owner, RLC_PORT_EDGY);
    for (const rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
        if (!is_out(port) && !rlc_port_has(port, RLC_PORT_QUIET))
            return false;
    }
    return true;
}

void rlc_port_note_repetition(rlc_port *owner) {
    for (rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
        if (rlc_port_has(port, RLC_PORT_QUIET))
            rlc_port_assign(port, RLC_PORT_REPEATS, true);
    }
}

/**
 * What all that share the owner's number want together, the quiet ones only if there are no others; edge-triggered if
 * all are. False if all of them are out.
 */
__attribute__((noinline)) static bool shared_events_of(const rlc_port *owner, struct epoll_event *ret_event) {
    uint32_t events = 0, edge = EPOLLET;
    bool any = false, is_hint = rlc_port_is_hint_only(owner);
    for (const rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
        if (is_out(port) || rlc_port_has(port, RLC_PORT_QUIET) != is_hint)
            continue;
        any = true;
        events |= events_of(port) & ~(uint32_t)EPOLLET;
        edge &= events_of(port);
    }
    ret_event->events = events | edge;
    return any;
}

/* ---- another epoll instance, with all members ---- */

/** epoll_ctl(2) on `epoll_fd`, to add or change; -ECHILD in a child of fork(2). */
static int try_control(rlc_port_set *set, int epoll_fd, int operation, const rlc_port *port) {
    if (rlc_port_set_is_forked(set))
        return -ECHILD; /* the epoll descriptor's interest list is the parent's */
    struct epoll_event event;
    if (rlc_port_has(port, RLC_PORT_SHARED))
        (void)shared_events_of(port, &event);
    else
        event.events = events_of(port);
    event.data.u64 = rlc_slot_token(&port->slot).bits;
    return set->kernel->epoll_control(set->kernel->context, epoll_fd, operation, port->fd, &event);
}

/** Registers all members in another epoll instance. Those whose number was closed are lost. 0 or -errno. */
static int copy_registrations(rlc_port_set *set, int epoll_fd) {
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        if (!rlc_slot_is_live(&port->slot) || !rlc_port_has(port, RLC_PORT_REGISTERED))
            continue;
        rlc_port_note_repetition(port);
        int status = try_control(set, epoll_fd, EPOLL_CTL_ADD, port);
        if (status == -EBADF || status == -EPERM || status == -EINVAL) {
            /* Its number was closed too: only the old description could report it and those that share its number.
             * EINVAL: the new instance has it. */
            rlc_port_set_lose(set, port->fd);
        } else if (status < 0) {
            return status;
        }
    }
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = RLC_EDGE_SET_BITS};
    if (set->edge_fd < 0)
        return 0;
    return set->kernel->epoll_control(set->kernel->context, epoll_fd, EPOLL_CTL_ADD, set->edge_fd, &event);
}

/** The set's hint that is a wakeup port's eventfd, or was it until that was lost; or NULL. O(members). */
rlc_port *rlc_port_set_wakeup(const rlc_port_set *set) {
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        if (rlc_slot_is_live(&port->slot) && rlc_port_is(port, RLC_PORT_WAKEUP) && rlc_port_has(port, RLC_PORT_MEMBER))
            return port;
    }
    return NULL;
}

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

static void tell_of(const rlc_port *wakeup, rlc_lost lost) {
    if (wakeup != NULL)
        rlc_wakeup_port_tell(wakeup->context, lost);
}

static int revive(rlc_port_set *set) {
    const rlc_kernel *kernel = set->kernel;
    const rlc_port *wakeup = rlc_port_set_wakeup(set);
    if (rlc_port_set_is_forked(set))
        return -ECHILD;
    int fd = kernel->epoll_create(kernel->context);
    if (fd < 0)
        return fd;
    fd = under_number(kernel, fd, set->epoll_fd);
    int status = copy_registrations(set, fd);
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
    tell_of(wakeup, RLC_LOST_EPOLL);
    return 0;
}

/** Whether epoll_ctl(2) has failed because of the set's own descriptor. */
static bool is_lost(const rlc_port_set *set, int fd, int status) {
    if (status == -EINVAL)
        return fd != set->epoll_fd; /* it is another kind of file by now */
    return status == -EBADF && set->kernel->status_flags(set->kernel->context, set->epoll_fd) < 0;
}

/** After epoll_ctl(2) has failed for `fd`: true if the set's descriptor was lost, and there is a new one. */
static bool is_mended(rlc_port_set *set, int fd, int status) {
    return is_lost(set, fd, status) && revive(set) == 0;
}

/* ---- one registration ---- */

/** After it has failed: if the set's descriptor is lost, once more on a new one. */
__attribute__((noinline)) static int control_again(rlc_port_set *set, int operation, const rlc_port *port, int status) {
    return is_mended(set, port->fd, status) ? try_control(set, set->epoll_fd, operation, port) : status;
}

int rlc_port_set_control(rlc_port_set *set, int operation, const rlc_port *port) {
    int status = try_control(set, set->epoll_fd, operation, port);
    return status < 0 ? control_again(set, operation, port, status) : status;
}

/** The same by number, without events. */
static int control_number(rlc_port_set *set, int operation, int fd) {
    const rlc_kernel *kernel = set->kernel;
    struct epoll_event event = {.events = 0};
    int status = kernel->epoll_control(kernel->context, set->epoll_fd, operation, fd, &event);
    if (status < 0 && is_mended(set, fd, status))
        status = kernel->epoll_control(kernel->context, set->epoll_fd, operation, fd, &event);
    return status;
}

static int erase(rlc_port_set *set, const rlc_port *port) {
    return rlc_port_set_is_forked(set) ? -ECHILD : control_number(set, EPOLL_CTL_DEL, port->fd);
}

static int add_or_take_over(rlc_port_set *set, rlc_port *port) {
    int status = rlc_port_set_control(set, EPOLL_CTL_ADD, port);
    if (status == -EEXIST)
        status = rlc_port_set_control(set, EPOLL_CTL_MOD, port);
    if (status < 0)
        return status;
    rlc_port_assign(port, RLC_PORT_REGISTERED, true);
    return 0;
}

void rlc_port_set_drop(rlc_port_set *set, rlc_port *port) {
    if (!rlc_port_has(port, RLC_PORT_REGISTERED))
        return;
    /* ENOENT, EBADF: the number was closed. Most likely that removed the registration, but a duplicate keeps it. */
    if (erase(set, port) < 0)
        set->has_strays = true;
    rlc_port_assign(port, RLC_PORT_REGISTERED, false);
}

static bool wants_no_registration(const rlc_port *port) {
    struct epoll_event unused;
    return rlc_port_has(port, RLC_PORT_SHARED) ? !shared_events_of(port, &unused) : is_out(port);
}

int rlc_port_set_update(rlc_port_set *set, rlc_port *port) {
    int status = 0;
    rlc_port_note_renewal(port);
    if (rlc_port_has(port, RLC_PORT_QUIET | RLC_PORT_SHARED))
        rlc_port_note_repetition(port);
    if (wants_no_registration(port)) {
        rlc_port_set_drop(set, port);
    } else if (!rlc_port_has(port, RLC_PORT_REGISTERED)) {
        status = add_or_take_over(set, port);
    } else {
        status = rlc_port_set_control(set, EPOLL_CTL_MOD, port);
    }
    atomic_fetch_add(&set->changes, 1);
    /* EPERM: the number is a file's that epoll refuses as such, and it has taken what was inserted. */
    if (status != -EBADF && status != -ENOENT && status != -EPERM)
        return status;
    rlc_port_set_lose(set, port->fd); /* the number was closed, and may belong to another file */
    return -EBADF;
}

bool rlc_kit_is_watched(rlc_port_set *set, rlc_token token) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    if (port == NULL || !rlc_port_has(port, RLC_PORT_REGISTERED))
        return false;
    /* The same registration once more: epoll knows it by the number and by the file that the number had. */
    int status = rlc_port_set_control(set, EPOLL_CTL_MOD, port);
    return status != -EBADF && status != -ENOENT && status != -EPERM;
}

bool rlc_kit_revive_if_lost(rlc_port_set *set) {
    uint64_t rebuilds = atomic_load(&set->rebuilds);
    const rlc_port *wakeup = rlc_port_set_wakeup(set);
    if (wakeup != NULL)
        (void)rlc_port_set_control(set, EPOLL_CTL_MOD, wakeup); /* changes nothing */
    return atomic_load(&set->rebuilds) != rebuilds;
}

/** A number that is registered cannot be added: if it can, a hint's file is not there any more. */
bool rlc_port_set_has_lost_hint(rlc_port_set *set, rlc_port *hint) {
    if (control_number(set, EPOLL_CTL_ADD, hint->fd) < 0)
        return false;
    (void)control_number(set, EPOLL_CTL_DEL, hint->fd);
    rlc_port_set_lose(set, hint->fd);
    if (!rlc_port_is(hint, RLC_PORT_WAKEUP))
        tell_of(rlc_port_set_wakeup(set), RLC_LOST_OTHER); /* rlc_port_set_take reports it */
    else if (rlc_wakeup_port_renew(hint->context, hint->fd) == 0)
        tell_of(hint, RLC_LOST_WAKEUP);
    return true;
}

/* ---- members that epoll does not watch, though it should ---- */

/** Also true for members that are muted or suspended, for which an update does nothing. */
static bool is_unregistered(const rlc_port_set *set, const rlc_port *port) {
    return rlc_slot_is_live(&port->slot) && rlc_port_has(port, RLC_PORT_MEMBER) &&
           !rlc_port_has(port, RLC_PORT_ORPHAN | RLC_PORT_REGISTERED) && rlc_port_set_owner(set, port->fd) == port;
}

int rlc_port_set_retry(rlc_port_set *set) {
    int status = 0;
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        int answer = is_unregistered(set, port) ? rlc_port_set_update(set, port) : 0;
        if (answer < 0 && answer != -EBADF) /* rlc_port_set_take reports lost ones */
            status = answer;
    }
    return status;
}

void rlc_port_set_note_unwatched(rlc_port_set *set, rlc_port *port) {
    if (rlc_port_has(port, RLC_PORT_SUSPENDED))
        return; /* it has had an event, and rlc_port_set_set_interest will return the error */
    rlc_port_assign(port, RLC_PORT_UNWATCHED, true);
    if (!rlc_port_has(port, RLC_PORT_MUTED))
        atomic_store(&set->has_unwatched, true);
}

void rlc_port_set_unmark_edges(rlc_port_set *set, rlc_port *owner) {
    const rlc_kernel *kernel = set->kernel;
    struct epoll_event unused = {.events = 0};
    if (!rlc_port_has(owner, RLC_PORT_EDGES))
        return;
    rlc_port_assign(owner, RLC_PORT_EDGES, false);
    if (--set->edge_count > 0 || set->edge_fd < 0 || rlc_port_set_is_forked(set))
        return;
    /* A child of fork(2) may have it, too, with all that is in it. */
    (void)kernel->epoll_control(kernel->context, set->epoll_fd, EPOLL_CTL_DEL, set->edge_fd, &unused);
    kernel->close(kernel->context, set->edge_fd);
    set->edge_fd = -1;
}

void rlc_port_set_orphan(rlc_port_set *set, rlc_port *port) {
    rlc_port_assign(port, RLC_PORT_ORPHAN, true);
    rlc_port_assign(port, RLC_PORT_REGISTERED, false);
    rlc_port_set_unmark_edges(set, port);
    set->has_strays = true;
}

void rlc_port_set_lose(rlc_port_set *set, int fd) {
    for (rlc_port *port; (port = rlc_port_set_owner(set, fd)) != NULL;) {
        rlc_port_set_orphan(set, port);
        rlc_port_set_note_unwatched(set, port);
    }
}

void rlc_port_set_renew(rlc_port_set *set, rlc_port *port) {
    rlc_port *owner = rlc_port_set_registrant(set, port);
    if (owner == NULL)
        return; /* an orphan, which take has reported or will report */
    int status = rlc_port_set_update(set, owner);
    if (status >= 0 || status == -EBADF || status == -ECHILD)
        return; /* update has noted the lost ones; in a child of fork(2) nothing is watched */
    rlc_port_set_drop(set, owner);
    for (port = owner; port != NULL; port = rlc_port_older_sharer(port))
        rlc_port_set_note_unwatched(set, port);
}

/* ---- strays: registrations whose number was closed while a duplicate keeps the description open ---- */

/** Deletes the registration of a dead token by its number, if that is still known and no other member has it. */
static bool delete_by_number(rlc_port_set *set, rlc_token token) {
    if (rlc_token_slot(token) >= set->ports.touched)
        return false;
    const rlc_port *record = rlc_slot_table_at(&set->ports, rlc_token_slot(token));
    bool is_untouched = record->slot.generation - rlc_token_generation(token) <= 1; /* at most released since */
    rlc_port *owner = rlc_port_set_owner(set, record->fd);
    if (!is_untouched || (owner != NULL && rlc_port_has(owner, RLC_PORT_REGISTERED)))
        return false;
    return erase(set, record) == 0;
}

/** A new epoll description behind the old number: the only way to drop a registration that no number reaches. */
static int rebuild(rlc_port_set *set) {
    const rlc_kernel *kernel = set->kernel;
    if (kernel->replace == NULL)
        return -ENOSYS;
    int fd = kernel->epoll_create(kernel->context);
    if (fd < 0)
        return fd;
    int status = copy_registrations(set, fd);
    if (status == 0)
        status = kernel->replace(kernel->context, fd, set->epoll_fd);
    kernel->close(kernel->context, fd);
    if (status < 0)
        return status; /* the stray stays for now; its next event tries again */
    set->has_strays = false;
    atomic_fetch_add(&set->rebuilds, 1);
    return 0;
}

bool rlc_port_set_drop_stray(rlc_port_set *set, rlc_token token) {
    if (delete_by_number(set, token))
        return true;
    (void)rebuild(set); /* failed, it has changed nothing: the stray's next event comes here again */
    return false;
}

/* Registrations in epoll: makes, changes and deletes them, and makes them anew in another epoll instance. */
#include "kernel_internal.h"
#include "port_set_internal.h"
#include "wakeup_port_internal.h"

#include <crunloop/descriptor.h>
#include <crunloop_kit/pass_checks.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* ---- readiness ports that share a number ---- */

static bool shares(const rlc_port *port) {
    return rlc_port_is(port, RLC_PORT_READINESS) && (port->interest & RLC_SHARED) != 0;
}

/* The list ends before a member that does not share: newer members of its number receive its events. */
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

/** Tells whether the first set is not to watch the port. */
static bool is_out(const rlc_port *port) {
    return rlc_port_has(port, RLC_PORT_MUTED | RLC_PORT_SUSPENDED | RLC_PORT_ORPHAN) ||
           (rlc_port_has(port, RLC_PORT_QUIET) && !rlc_port_has(port, RLC_PORT_EDGY));
}

bool rlc_port_is_all_quiet(const rlc_port *owner) {
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
 * Combines the events of all members that share the owner's number; edge-triggered if each of them is. Quiet ports
 * count only if there are no others. Returns false if epoll is to watch none of them.
 */
__attribute__((noinline)) static bool shared_events_of(const rlc_port *owner, struct epoll_event *ret_event) {
    uint32_t events = 0, edge = EPOLLET;
    bool any = false, is_quiet = rlc_port_is_all_quiet(owner);
    for (const rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
        if (is_out(port) || rlc_port_has(port, RLC_PORT_QUIET) != is_quiet)
            continue;
        any = true;
        events |= events_of(port) & ~(uint32_t)EPOLLET;
        edge &= events_of(port);
    }
    ret_event->events = events | edge;
    return any;
}

/* ---- another epoll instance, with all members ---- */

/** Calls epoll_ctl(2) once, to add or to change. -ECHILD in a child of fork(2). */
static inline int try_control(rlc_port_set *set, int epoll_fd, int operation, const rlc_port *port) {
    if (rlc_port_set_is_forked(set))
        return -ECHILD; /* parent and child have the same epoll instance */
    struct epoll_event event;
    if (rlc_port_has(port, RLC_PORT_SHARED))
        (void)shared_events_of(port, &event);
    else
        event.events = events_of(port);
    event.data.u64 = rlc_slot_token(&port->slot).bits;
    return set->kernel->epoll_control(set->kernel->context, epoll_fd, operation, port->fd, &event);
}

/** Copies all registrations to another epoll instance. Members whose number was closed become orphans. 0 or -errno. */
static int copy_registrations(rlc_port_set *set, int epoll_fd) {
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        if (!rlc_slot_is_live(&port->slot) || !rlc_port_has(port, RLC_PORT_REGISTERED))
            continue;
        rlc_port_note_repetition(port);
        int status = try_control(set, epoll_fd, EPOLL_CTL_ADD, port);
        if (status == -EBADF || status == -EPERM || status == -EINVAL) {
            /* The number was closed: this instance cannot watch its file. EINVAL: the instance has the number now. */
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

rlc_port *rlc_port_set_wakeup(const rlc_port_set *set) {
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        if (rlc_slot_is_live(&port->slot) && rlc_port_is(port, RLC_PORT_WAKEUP) && rlc_port_has(port, RLC_PORT_MEMBER))
            return port;
    }
    return NULL;
}

/**
 * Moves a new instance to the number of the lost one, which a host may know. If another file has that number by now,
 * the new instance keeps its own. Returns the number.
 */
static int under_number(const rlc_kernel *kernel, int fd, int number) {
    if (kernel->epoll_create != rlc_kernel_default()->epoll_create || fd == number)
        return fd;
    int moved = rlc_descriptor_adopt(fcntl(fd, F_DUPFD_CLOEXEC, number)); /* never a number in use */
    if (moved < 0)
        return fd;
    (void)kernel->close(kernel->context, moved == number ? fd : moved);
    return moved == number ? moved : fd;
}

static void report_loss(const rlc_port *wakeup, rlc_lost lost) {
    if (wakeup != NULL)
        rlc_wakeup_port_report_loss(wakeup->context, lost);
}

/** Makes a new epoll instance in place of a lost one. 0 or -errno. */
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
    report_loss(wakeup, RLC_LOST_EPOLL);
    return 0;
}

/** Tells whether epoll_ctl(2) has failed for `fd` because other code has closed the set's epoll descriptor. */
static bool is_lost(const rlc_port_set *set, int fd, int status) {
    if (status == -EINVAL)
        return fd != set->epoll_fd; /* the number of the set refers to another kind of file */
    return status == -EBADF && set->kernel->status_flags(set->kernel->context, set->epoll_fd) < 0;
}

/** After a failure for `fd`: makes a new epoll instance if the set's was lost. True if it has made one. */
static bool is_mended(rlc_port_set *set, int fd, int status) {
    return is_lost(set, fd, status) && revive(set) == 0;
}

/* ---- one registration ---- */

/**
 * Called after epoll_ctl(2) has failed with `status`. If the set's instance was lost, makes a new one and calls again.
 */
__attribute__((noinline)) static int control_again(rlc_port_set *set, int operation, const rlc_port *port, int status) {
    return is_mended(set, port->fd, status) ? try_control(set, set->epoll_fd, operation, port) : status;
}

int rlc_port_set_control(rlc_port_set *set, int operation, const rlc_port *port) {
    int status = try_control(set, set->epoll_fd, operation, port);
    return status < 0 ? control_again(set, operation, port, status) : status;
}

/** As rlc_port_set_control, by number and without events. */
static int control_number(rlc_port_set *set, int operation, int fd) {
    const rlc_kernel *kernel = set->kernel;
    struct epoll_event event = {.events = 0};
    int status = kernel->epoll_control(kernel->context, set->epoll_fd, operation, fd, &event);
    if (status < 0 && is_mended(set, fd, status))
        status = kernel->epoll_control(kernel->context, set->epoll_fd, operation, fd, &event);
    return status;
}

/** Deletes the registration of the port's number. 0 or -errno. */
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
    /* It fails with ENOENT or EBADF if the number was closed; a duplicate may keep the registration then. */
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
    if (!rlc_says_closed(status))
        return status;
    rlc_port_set_lose(set, port->fd);
    return -EBADF;
}

bool rlc_kit_is_watched(rlc_port_set *set, rlc_token token) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    if (port == NULL || !rlc_port_has(port, RLC_PORT_REGISTERED))
        return false;
    /* Changes nothing, and fails if the number does not refer to the registered file any more. */
    int status = rlc_port_set_control(set, EPOLL_CTL_MOD, port);
    return !rlc_says_closed(status);
}

bool rlc_kit_revive_if_lost(rlc_port_set *set) {
    uint64_t rebuilds = atomic_load(&set->rebuilds);
    const rlc_port *wakeup = rlc_port_set_wakeup(set);
    if (wakeup != NULL)
        (void)rlc_port_set_control(set, EPOLL_CTL_MOD, wakeup); /* changes nothing, and notices the loss */
    return atomic_load(&set->rebuilds) != rebuilds;
}

/* epoll refuses to add a number whose file is registered. If it adds the hint's, the number has another file by now. */
bool rlc_port_set_has_lost_hint(rlc_port_set *set, rlc_port *hint) {
    if (control_number(set, EPOLL_CTL_ADD, hint->fd) < 0)
        return false;
    (void)control_number(set, EPOLL_CTL_DEL, hint->fd);
    rlc_port_set_lose(set, hint->fd);
    if (!rlc_port_is(hint, RLC_PORT_WAKEUP))
        report_loss(rlc_port_set_wakeup(set), RLC_LOST_OTHER);
    else if (rlc_wakeup_port_renew(hint->context, hint->fd) == 0)
        report_loss(hint, RLC_LOST_WAKEUP);
    return true;
}

/* ---- members that epoll should watch and does not ---- */

/** Also true of muted and suspended members, for which an update does nothing. */
static bool is_unregistered(const rlc_port_set *set, const rlc_port *port) {
    return rlc_slot_is_live(&port->slot) && rlc_port_has(port, RLC_PORT_MEMBER) &&
           !rlc_port_has(port, RLC_PORT_ORPHAN | RLC_PORT_REGISTERED) && rlc_port_set_owner(set, port->fd) == port;
}

int rlc_port_set_retry(rlc_port_set *set) {
    int status = 0;
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        int answer = is_unregistered(set, port) ? rlc_port_set_update(set, port) : 0;
        if (answer < 0 && answer != -EBADF) /* rlc_port_set_take reports orphans */
            status = answer;
    }
    return status;
}

void rlc_port_set_note_unwatched(rlc_port_set *set, rlc_port *port) {
    if (rlc_port_has(port, RLC_PORT_SUSPENDED))
        return; /* rlc_port_set_set_interest will return the error */
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
    /* Closing alone would not remove the edge set from the first set while a child of fork(2) has it open. */
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
        return; /* an orphan: rlc_port_set_take reports it */
    int status = rlc_port_set_update(set, owner);
    if (status >= 0 || status == -EBADF || status == -ECHILD)
        return; /* EBADF: the number's members are orphans by now */
    rlc_port_set_drop(set, owner);
    for (port = owner; port != NULL; port = rlc_port_older_sharer(port))
        rlc_port_set_note_unwatched(set, port);
}

/* ---- strays ---- */

/** Deletes a stray by its number. False if a later record has the slot, or another member has the number. */
static bool delete_by_number(rlc_port_set *set, rlc_token token) {
    if (rlc_token_slot(token) >= set->ports.touched)
        return false;
    const rlc_port *record = rlc_slot_table_at(&set->ports, rlc_token_slot(token));
    bool is_untouched = record->slot.generation - rlc_token_generation(token) <= 1; /* not claimed again since */
    rlc_port *owner = rlc_port_set_owner(set, record->fd);
    if (!is_untouched || (owner != NULL && rlc_port_has(owner, RLC_PORT_REGISTERED)))
        return false;
    return erase(set, record) == 0;
}

/** Puts a new epoll instance behind the old number. That drops registrations that no number reaches. 0 or -errno. */
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
        return status; /* the stray stays; its next event calls this again */
    set->has_strays = false;
    atomic_fetch_add(&set->rebuilds, 1);
    return 0;
}

bool rlc_port_set_drop_stray(rlc_port_set *set, rlc_token token) {
    if (delete_by_number(set, token))
        return true;
    (void)rebuild(set);
    return false;
}

/* Strays: registrations whose number was closed while a duplicate keeps the description open. */
#include "port_set_lost.h"

#include <errno.h>

/** Deletes the registration of a dead token by its number, if that is still known and no other member has it. */
static bool delete_by_number(rlc_port_set *set, rlc_token token) {
    if (rlc_token_slot(token) >= set->ports.touched)
        return false;
    const rlc_port *record = rlc_slot_table_at(&set->ports, rlc_token_slot(token));
    bool is_untouched = record->slot.generation - rlc_token_generation(token) <= 1; /* at most released since */
    rlc_port *owner = rlc_port_set_owner(set, record->fd);
    if (!is_untouched || (owner != NULL && rlc_port_has(owner, RLC_PORT_REGISTERED)))
        return false;
    return rlc_port_set_delete(set, record) == 0;
}

int rlc_port_set_copy_registrations(rlc_port_set *set, int epoll_fd) {
    for (uint32_t slot = 0; slot < set->ports.touched; slot++) {
        rlc_port *port = rlc_slot_table_at(&set->ports, slot);
        if (!rlc_slot_is_live(&port->slot) || !rlc_port_has(port, RLC_PORT_REGISTERED))
            continue;
        rlc_port_note_repetition(port);
        int status = rlc_port_set_try_control(set, epoll_fd, EPOLL_CTL_ADD, port);
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

/** A new epoll description behind the old number: the only way to drop a registration that no number reaches. */
static int rebuild(rlc_port_set *set) {
    const rlc_kernel *kernel = set->kernel;
    if (kernel->replace == NULL)
        return -ENOSYS;
    int fd = kernel->epoll_create(kernel->context);
    if (fd < 0)
        return fd;
    int status = rlc_port_set_copy_registrations(set, fd);
    if (status == 0)
        status = kernel->replace(kernel->context, fd, set->epoll_fd);
    kernel->close(kernel->context, fd);
    if (status < 0)
        return status; /* the stray stays for now; its next event tries again */
    set->has_strays = false;
    atomic_fetch_add(&set->rebuilds, 1);
    return 0;
}

void rlc_port_set_drop_strays(rlc_port_set *set) {
    /* After a change by another thread a dead event may just be late. A true stray will be back. */
    if (atomic_load(&set->changes) != set->changes_at_wait)
        return;
    for (uint32_t i = set->cursor; i < set->fetched; i++) {
        rlc_token token = {.bits = set->batch->events[i].data.u64};
        bool is_edge_set = token.bits == RLC_EDGE_SET_BITS;
        if (is_edge_set || rlc_port_set_live(set, token) != NULL || delete_by_number(set, token))
            continue;
        (void)rebuild(
            set); /* failed, it has changed nothing: the stray is still there, and its next event comes here again */
        return;
    }
}

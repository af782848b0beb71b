/* The set: its life, and who is a member. */
#include "failure.h"
#include "kernel_internal.h"
#include "memory.h"
#include "port_set_edges.h"
#include "port_set_lost.h"

/* ---- life ---- */

int rlc_port_set_create(const rlc_kernel *kernel, rlc_port_set **ret_set) {
    return rlc_port_set_create_for(kernel, sizeof(rlc_port), ret_set);
}

int rlc_port_set_create_for(const rlc_kernel *kernel, size_t record_size, rlc_port_set **ret_set) {
    kernel = rlc_kernel_or_default(kernel);
    if (kernel == NULL)
        return rlc_refused(-EINVAL);
    const rlc_kernel *memory = rlc_memory_of(kernel);
    rlc_port_set *set = rlc_memory_zeroed(memory, sizeof *set);
    if (set == NULL)
        return rlc_failed_with(RLC_MALLOC, -ENOMEM);
    set->batch = rlc_batch_create(memory, RLC_BATCH_MIN);
    int fd = set->batch == NULL ? -ENOMEM : kernel->epoll_create(kernel->context);
    if (fd < 0) {
        (void)rlc_failed_with(set->batch == NULL ? RLC_MALLOC : "epoll_create1", fd);
        rlc_memory_free(memory, set->batch);
        rlc_memory_free(memory, set);
        return fd;
    }
    set->next_capacity = RLC_BATCH_MIN;
    set->kernel = kernel;
    rlc_slot_table_init(&set->ports, record_size);
    set->fork_generation = rlc_fork_generation();
    set->epoll_fd = fd;
    set->edge_fd = -1;
    *ret_set = set;
    return 0;
}

void rlc_port_set_destroy(rlc_port_set *set) {
    if (set == NULL)
        return;
    bool is_ours = !rlc_port_set_is_forked(set);
    if (is_ours && set->edge_fd >= 0)
        set->kernel->close(set->kernel->context, set->edge_fd);
    if (is_ours)
        set->kernel->close(set->kernel->context, set->epoll_fd);
    const rlc_kernel *memory = rlc_memory_of(set->kernel);
    rlc_slot_table_finish(&set->ports, memory);
    rlc_memory_free(memory, set->buckets);
    rlc_memory_free(memory, set->batch);
    rlc_memory_free(memory, atomic_load(&set->next_batch));
    rlc_memory_free(memory, set);
}

int rlc_port_set_fd(const rlc_port_set *set) {
    return set->epoll_fd;
}

size_t rlc_port_set_count(const rlc_port_set *set) {
    return set->ports.count - set->hint_count;
}

void *rlc_port_set_next(const rlc_port_set *set, uint32_t *position) {
    while (*position < set->ports.touched) {
        const rlc_port *port = rlc_slot_table_at(&set->ports, (*position)++);
        if (rlc_slot_is_live(&port->slot) && !rlc_port_is(port, RLC_PORT_HINT))
            return port->context;
    }
    return NULL;
}

uint64_t rlc_port_set_rebuilds(const rlc_port_set *set) {
    return atomic_load(&set->rebuilds);
}

/* ---- members ---- */

int rlc_port_set_make_room(rlc_port_set *set) {
    int status = rlc_slot_table_reserve(&set->ports, rlc_memory_of(set->kernel));
    if (status == 0)
        status = rlc_port_set_reserve_buckets(set);
    if (status == 0)
        rlc_port_set_offer_batch(set, set->ports.count + 1);
    return status;
}

/** Adds to epoll what is linked already. */
static int register_new(rlc_port_set *set, rlc_port *port, rlc_port *older) {
    int status = rlc_port_set_try_control(set, set->epoll_fd, EPOLL_CTL_ADD, port);
    if (status < 0)
        status = rlc_port_set_control_again(set, EPOLL_CTL_ADD, port, status);
    if (status == 0 && older == NULL)
        return 0;
    if (status == 0 && rlc_port_has(older, RLC_PORT_REGISTERED)) {
        /* A registered number cannot be added again: it was closed and opened anew since. */
        rlc_port_assign(port, RLC_PORT_ORPHAN, true);
        for (rlc_port *other; (other = rlc_port_set_owner(set, port->fd)) != NULL;)
            rlc_port_set_orphan(set, other);
        bool was_shared = rlc_port_has(port, RLC_PORT_SHARED);
        rlc_port_assign(port, RLC_PORT_ORPHAN | RLC_PORT_SHARED, false);
        if (was_shared) /* the others' wishes were registered with its own */
            status = rlc_port_set_control(set, EPOLL_CTL_MOD, port);
    } else if (status == -EEXIST && port->fd == set->edge_fd) {
        status = -EBADF; /* nor is the edge set */
    } else if (status == -EEXIST) {
        status = rlc_port_set_control(set, EPOLL_CTL_MOD, port);
        if (status == 0 && older != NULL)
            rlc_port_assign(older, RLC_PORT_REGISTERED, false);
    }
    if (status == 0 && older != NULL && rlc_port_has(older, RLC_PORT_EDGES)) {
        rlc_port_assign(port, RLC_PORT_REGISTERED, true);
        rlc_port_set_take_over_edges(set, port, older);
    }
    return status;
}

/** A hint is not taken over: other code has closed fd, and the number is the hint's by now, or the reverse. */
static rlc_port *owner_for(rlc_port_set *set, const rlc_port *port, bool *ret_is_own) {
    rlc_port *older = rlc_port_set_owner(set, port->fd);
    *ret_is_own = older != NULL && rlc_port_is(older, RLC_PORT_HINT) && !rlc_port_is(port, RLC_PORT_HINT);
    if (!*ret_is_own || !rlc_port_set_has_lost_hint(set, older))
        return older;
    *ret_is_own = false;
    return rlc_port_set_owner(set, port->fd);
}

int rlc_port_set_enroll(rlc_port_set *set, rlc_port *port) {
    bool is_own;
    if (port->fd == set->epoll_fd)
        (void)rlc_kit_revive_if_lost(set);
    rlc_port *older = owner_for(set, port, &is_own);
    if (is_own)
        return rlc_refused(-EBADF);
    rlc_port_set_link(set, port);
    if (older != NULL)
        rlc_port_note_sharing(port);
    int status = register_new(set, port, older);
    if (status < 0) {
        rlc_port_set_unlink(set, port);
        return rlc_failed_with(status == -ECHILD ? NULL : "epoll_ctl", status);
    }
    rlc_port_assign(port, RLC_PORT_MEMBER | RLC_PORT_REGISTERED, true);
    if (rlc_port_is(port, RLC_PORT_HINT))
        set->hint_count++;
    atomic_fetch_add(&set->changes, 1);
    return 0;
}

/** A member that is not the owner has left. */
__attribute__((noinline)) static void register_without(rlc_port_set *set, rlc_port *owner) {
    rlc_port_note_sharing(owner);
    rlc_port_set_renew(set, owner);
    rlc_port_set_update_edges(set, owner);
}

/** It has left, and no other member of its number has taken over its place in the edge set. */
__attribute__((noinline)) static void forget_end(rlc_port_set *set, rlc_port *port) {
    if (rlc_port_has(port, RLC_PORT_EDGES))
        rlc_port_set_drop_edges(set, port);
    if (rlc_port_has(port, RLC_PORT_TOLD | RLC_PORT_READ_ENDED))
        rlc_port_assign(port, RLC_PORT_END, false);
}

int rlc_port_set_withdraw(rlc_port_set *set, rlc_port *port) {
    int status = 0;
    rlc_port *owner = rlc_port_set_registrant(set, port);
    rlc_port *earlier = owner == port ? rlc_port_owner_from(SLIST_NEXT(port, older), port->fd) : NULL;
    if (earlier == NULL) {
        rlc_port_set_drop(set, port);
    } else {
        rlc_port_set_pass_edges(set, port, earlier);
        rlc_port_assign(earlier, RLC_PORT_REGISTERED, rlc_port_has(port, RLC_PORT_REGISTERED));
        rlc_port_note_sharing(earlier);
        status = rlc_port_set_update(set, earlier); /* its failure is the earlier one's: lost, or to be tried again */
    }
    if (rlc_port_is(port, RLC_PORT_HINT))
        set->hint_count--;
    rlc_port_set_unlink(set, port);
    rlc_port_assign(port, RLC_PORT_MEMBER | RLC_PORT_REGISTERED | RLC_PORT_UNWATCHED, false);
    if (rlc_port_has(port, RLC_PORT_EDGES | RLC_PORT_TOLD | RLC_PORT_READ_ENDED))
        forget_end(set, port);
    if (owner != NULL && owner != port)
        register_without(set, owner);
    atomic_fetch_add(&set->changes, 1);
    return status == -EBADF ? 0 : status;
}

/* ---- the same by token ---- */

int rlc_port_set_insert(
    rlc_port_set *set, int fd, rlc_port_kind kind, uint32_t interest, void *context, rlc_token *ret_token) {
    if (fd < 0)
        return rlc_refused(-EBADF);
    rlc_port *port = rlc_port_set_claim(set);
    if (port == NULL)
        return rlc_failed_with(RLC_MALLOC, -ENOMEM);
    port->fd = fd;
    port->kind = (uint8_t)kind;
    port->interest = (uint8_t)interest;
    port->context = context;
    int status = rlc_port_set_enroll(set, port);
    if (status < 0) {
        rlc_slot_table_release(&set->ports, &port->slot);
        return status;
    }
    *ret_token = rlc_slot_token(&port->slot);
    return 0;
}

int rlc_port_set_remove(rlc_port_set *set, rlc_token token) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    if (port == NULL)
        return -ENOENT;
    int status = rlc_port_set_withdraw(set, port);
    rlc_slot_table_release(&set->ports, &port->slot);
    return status;
}

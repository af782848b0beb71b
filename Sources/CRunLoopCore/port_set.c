#include "port_set_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BATCH = 4, FIRST_BUCKETS = 4 };

static uint32_t events_of(const rlc_port *port) {
    if (port->kind != RLC_PORT_READINESS)
        return EPOLLIN | EPOLLET;
    bool reads = (port->interest & RLC_READABLE) != 0 && !rlc_port_has(port, RLC_PORT_READ_ENDED);
    uint32_t events = reads ? EPOLLIN | EPOLLRDHUP : 0;
    if ((port->interest & RLC_WRITABLE) != 0)
        events |= EPOLLOUT;
    if ((port->interest & RLC_PRIORITY) != 0)
        events |= EPOLLPRI;
    if (rlc_port_has(port, RLC_PORT_IN_ERROR) || (port->interest & RLC_EDGE) != 0)
        events |= EPOLLET;
    return events;
}

static bool is_out(const rlc_port *port) {
    return rlc_port_has(port, RLC_PORT_MUTED | RLC_PORT_RESTING | RLC_PORT_ORPHAN);
}

/** What all that share the owner's number want together; edge-triggered if all are. False if all of them are out. */
__attribute__((noinline)) static bool shared_events_of(const rlc_port *owner, struct epoll_event *ret_event) {
    uint32_t events = 0, edge = EPOLLET;
    bool any = false;
    for (const rlc_port *port = owner; port != NULL; port = rlc_port_older_sharer(port)) {
        if (is_out(port))
            continue;
        any = true;
        events |= events_of(port) & ~(uint32_t)EPOLLET;
        edge &= events_of(port);
    }
    ret_event->events = events | edge;
    return any;
}

int rlc_port_set_control(const rlc_port_set *set, int epoll_fd, int operation, const rlc_port *port) {
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

/* ---- number -> ports ---- */

static rlc_port_bucket *bucket_of(const rlc_port_set *set, int fd) {
    return &set->buckets[(uint32_t)fd & (set->bucket_count - 1)];
}

rlc_port *rlc_port_set_owner(const rlc_port_set *set, int fd) {
    return set->bucket_count == 0 ? NULL : rlc_port_owner_from(SLIST_FIRST(bucket_of(set, fd)), fd);
}

static void note_sharing(rlc_port *owner) {
    rlc_port_assign(owner, RLC_PORT_SHARED, rlc_port_older_sharer(owner) != NULL);
}

static void link_port(rlc_port_set *set, rlc_port *port) {
    SLIST_INSERT_HEAD(bucket_of(set, port->fd), port, older);
}

static void unlink_port(rlc_port_set *set, rlc_port *port) {
    SLIST_REMOVE(bucket_of(set, port->fd), port, rlc_port, older);
}

static void append(rlc_port_bucket *bucket, rlc_port *port) {
    rlc_port *last = SLIST_FIRST(bucket);
    if (last == NULL) {
        SLIST_INSERT_HEAD(bucket, port, older);
        return;
    }
    while (SLIST_NEXT(last, older) != NULL)
        last = SLIST_NEXT(last, older);
    SLIST_INSERT_AFTER(last, port, older);
}

static void distribute(rlc_port_bucket *from, rlc_port_bucket *buckets, uint32_t count) {
    rlc_port *port;
    while ((port = SLIST_FIRST(from)) != NULL) {
        SLIST_REMOVE_HEAD(from, older);
        append(&buckets[(uint32_t)port->fd & (count - 1)], port);
    }
}

/** Doubles the buckets until there is one for two ports; each keeps its order, newest first. */
static int reserve_buckets(rlc_port_set *set) {
    uint32_t count = set->bucket_count == 0 ? FIRST_BUCKETS : set->bucket_count;
    while (count < set->ports.chunk_count * RLC_SLOTS_PER_CHUNK / 2)
        count *= 2;
    if (count == set->bucket_count)
        return 0;
    rlc_port_bucket *buckets = calloc(count, sizeof *buckets);
    if (buckets == NULL)
        return -ENOMEM;
    for (uint32_t old = 0; old < set->bucket_count; old++)
        distribute(&set->buckets[old], buckets, count);
    free(set->buckets);
    set->buckets = buckets;
    set->bucket_count = count;
    return 0;
}

/** A larger batch for the owner to move into at its next wait. Without memory the old one serves as well. */
static void offer_batch(rlc_port_set *set, uint32_t members) {
    uint32_t wanted = members > RLC_BATCH_MAX ? RLC_BATCH_MAX : members;
    if (wanted <= set->next_capacity)
        return;
    uint32_t capacity = set->next_capacity;
    while (capacity < wanted)
        capacity *= 2;
    rlc_batch *batch = malloc(sizeof *batch + capacity * sizeof batch->events[0]);
    if (batch == NULL)
        return;
    batch->capacity = capacity;
    set->next_capacity = (uint16_t)capacity;
    free(atomic_exchange(&set->next_batch, batch));
}

int rlc_port_set_make_room(rlc_port_set *set) {
    int status = rlc_slot_table_reserve(&set->ports);
    if (status == 0)
        status = reserve_buckets(set);
    if (status == 0)
        offer_batch(set, set->ports.count + 1);
    return status;
}

/* ---- life ---- */

int rlc_port_set_create(const rlc_kernel *kernel, rlc_port_set **ret_set) {
    return rlc_port_set_create_for(kernel, sizeof(rlc_port), ret_set);
}

int rlc_port_set_create_for(const rlc_kernel *kernel, size_t record_size, rlc_port_set **ret_set) {
    if (kernel == NULL)
        kernel = rlc_kernel_default();
    rlc_port_set *set = calloc(1, sizeof *set);
    if (set == NULL)
        return -ENOMEM;
    set->batch = malloc(sizeof *set->batch + FIRST_BATCH * sizeof set->batch->events[0]);
    int fd = set->batch == NULL ? -ENOMEM : kernel->epoll_create(kernel->context);
    if (fd < 0) {
        free(set->batch);
        free(set);
        return fd;
    }
    set->batch->capacity = set->next_capacity = FIRST_BATCH;
    set->kernel = kernel;
    rlc_slot_table_init(&set->ports, record_size);
    set->fork_generation = rlc_fork_generation();
    set->epoll_fd = fd;
    *ret_set = set;
    return 0;
}

void rlc_port_set_destroy(rlc_port_set *set) {
    if (set == NULL)
        return;
    if (!rlc_port_set_is_forked(set))
        set->kernel->close(set->kernel->context, set->epoll_fd);
    rlc_slot_table_finish(&set->ports);
    free(set->buckets);
    free(set->batch);
    free(atomic_load(&set->next_batch));
    free(set);
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
        if (rlc_slot_is_live(&port->slot) && port->kind != RLC_PORT_HINT)
            return port->context;
    }
    return NULL;
}

uint64_t rlc_port_set_rebuilds(const rlc_port_set *set) {
    return atomic_load(&set->rebuilds);
}

/* ---- members ---- */

static int add_or_take_over(rlc_port_set *set, rlc_port *port) {
    int status = rlc_port_set_control(set, set->epoll_fd, EPOLL_CTL_ADD, port);
    if (status == -EEXIST)
        status = rlc_port_set_control(set, set->epoll_fd, EPOLL_CTL_MOD, port);
    if (status < 0)
        return status;
    rlc_port_assign(port, RLC_PORT_REGISTERED, true);
    return 0;
}

void rlc_port_set_drop(rlc_port_set *set, rlc_port *port) {
    if (!rlc_port_has(port, RLC_PORT_REGISTERED))
        return;
    /* ENOENT, EBADF: the number was closed. Most likely that removed the registration, but a duplicate keeps it. */
    if (rlc_port_set_control(set, set->epoll_fd, EPOLL_CTL_DEL, port) < 0)
        set->has_strays = true;
    rlc_port_assign(port, RLC_PORT_REGISTERED, false);
}

static bool wants_no_registration(const rlc_port *port) {
    struct epoll_event unused;
    return rlc_port_has(port, RLC_PORT_SHARED) ? !shared_events_of(port, &unused) : is_out(port);
}

int rlc_port_set_update(rlc_port_set *set, rlc_port *port) {
    int status = 0;
    if (wants_no_registration(port)) {
        rlc_port_set_drop(set, port);
    } else if (!rlc_port_has(port, RLC_PORT_REGISTERED)) {
        status = add_or_take_over(set, port);
    } else {
        status = rlc_port_set_control(set, set->epoll_fd, EPOLL_CTL_MOD, port);
    }
    atomic_fetch_add(&set->changes, 1);
    if (status != -EBADF && status != -ENOENT)
        return status;
    rlc_port_set_lose(set, port->fd); /* closed behind our back; the number is nobody's or a stranger's */
    return -EBADF;
}

/** Adds to epoll what is linked already. */
static int register_new(rlc_port_set *set, rlc_port *port, rlc_port *older) {
    int status = rlc_port_set_control(set, set->epoll_fd, EPOLL_CTL_ADD, port);
    if (status == 0 && older != NULL && rlc_port_has(older, RLC_PORT_REGISTERED)) {
        /* A registered number cannot be added again: it was closed and opened anew since. */
        rlc_port_assign(port, RLC_PORT_ORPHAN, true);
        for (rlc_port *other; (other = rlc_port_set_owner(set, port->fd)) != NULL;)
            rlc_port_set_orphan(set, other);
        bool was_shared = rlc_port_has(port, RLC_PORT_SHARED);
        rlc_port_assign(port, RLC_PORT_ORPHAN | RLC_PORT_SHARED, false);
        if (was_shared) /* the others' wishes were registered with its own */
            status = rlc_port_set_control(set, set->epoll_fd, EPOLL_CTL_MOD, port);
    } else if (status == -EEXIST) {
        status = rlc_port_set_control(set, set->epoll_fd, EPOLL_CTL_MOD, port);
        if (status == 0 && older != NULL)
            rlc_port_assign(older, RLC_PORT_REGISTERED, false);
    }
    return status;
}

int rlc_port_set_enroll(rlc_port_set *set, rlc_port *port) {
    rlc_port *older = rlc_port_set_owner(set, port->fd);
    if (older != NULL && older->kind == RLC_PORT_HINT && port->kind != RLC_PORT_HINT)
        return -EBADF; /* closed by somebody, and the owner's own by now: its marker must not be taken over */
    link_port(set, port);
    if (older != NULL)
        note_sharing(port);
    int status = register_new(set, port, older);
    if (status < 0) {
        unlink_port(set, port);
        return status;
    }
    rlc_port_assign(port, RLC_PORT_MEMBER | RLC_PORT_REGISTERED, true);
    if (port->kind == RLC_PORT_HINT)
        set->hint_count++;
    atomic_fetch_add(&set->changes, 1);
    return 0;
}

/** A member that is not the owner has left. */
__attribute__((noinline)) static void register_without(rlc_port_set *set, rlc_port *owner) {
    note_sharing(owner);
    rlc_port_set_renew(set, owner);
}

int rlc_port_set_withdraw(rlc_port_set *set, rlc_port *port) {
    int status = 0;
    rlc_port *owner = rlc_port_set_registrant(set, port);
    rlc_port *earlier = owner == port ? rlc_port_owner_from(SLIST_NEXT(port, older), port->fd) : NULL;
    if (earlier == NULL) {
        rlc_port_set_drop(set, port);
    } else {
        rlc_port_assign(earlier, RLC_PORT_REGISTERED, rlc_port_has(port, RLC_PORT_REGISTERED));
        note_sharing(earlier);
        status = rlc_port_set_update(set, earlier); /* its failure is the earlier one's: lost, or to be tried again */
    }
    if (port->kind == RLC_PORT_HINT)
        set->hint_count--;
    unlink_port(set, port);
    rlc_port_assign(port, RLC_PORT_MEMBER | RLC_PORT_REGISTERED | RLC_PORT_UNHEARD, false);
    if (owner != NULL && owner != port)
        register_without(set, owner);
    atomic_fetch_add(&set->changes, 1);
    return status == -EBADF ? 0 : status;
}

enum { ENDS = RLC_PORT_RESTING | RLC_PORT_READ_ENDED | RLC_PORT_IN_ERROR };

/** Setting it would change nothing. An edge-triggered port looks again each time. */
static bool has_interest(const rlc_port *port, const rlc_port *owner, uint32_t interest) {
    bool is_known = owner == NULL || rlc_port_has(owner, RLC_PORT_REGISTERED);
    return port->interest == interest && (interest & RLC_EDGE) == 0 && !rlc_port_has(port, ENDS) && is_known;
}

/** Whoever asks is told by the answer. */
static int answer_orphan(rlc_port *port) {
    rlc_port_assign(port, RLC_PORT_UNHEARD, false);
    return -EBADF;
}

int rlc_port_set_change_interest(rlc_port_set *set, rlc_port *port, uint32_t interest) {
    if (rlc_port_has(port, RLC_PORT_ORPHAN))
        return answer_orphan(port);
    rlc_port *owner = rlc_port_set_registrant(set, port);
    if (has_interest(port, owner, interest))
        return 0;
    bool changes = port->kind == RLC_PORT_READINESS || rlc_port_has(port, RLC_PORT_RESTING);
    const rlc_port before = *port;
    port->interest = (uint8_t)interest;
    rlc_port_assign(port, ENDS, false);
    if (!changes || rlc_port_has(port, RLC_PORT_MUTED) || owner == NULL)
        return 0;
    int status = rlc_port_set_update(set, owner);
    if (status < 0) { /* epoll knows what it knew */
        port->interest = before.interest;
        rlc_port_assign(port, before.state & ENDS, true);
    }
    return status == -EBADF ? answer_orphan(port) : status;
}

int rlc_port_set_mute(rlc_port_set *set, rlc_port *port, bool muted) {
    if (rlc_port_has(port, RLC_PORT_MUTED) == muted)
        return 0;
    rlc_port_assign(port, RLC_PORT_MUTED, muted);
    if (rlc_port_has(port, RLC_PORT_UNHEARD))
        rlc_port_set_note_unheard(set, port); /* of one that is muted nothing is told */
    rlc_port *owner = rlc_port_set_registrant(set, port);
    return owner == NULL ? 0 : rlc_port_set_update(set, owner);
}

/* ---- the same by token ---- */

int rlc_port_set_insert(
    rlc_port_set *set, int fd, rlc_port_kind kind, uint32_t interest, void *context, rlc_token *ret_token) {
    if (fd < 0)
        return -EBADF;
    rlc_port *port = rlc_port_set_claim(set);
    if (port == NULL)
        return -ENOMEM;
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

int rlc_port_set_set_interest(rlc_port_set *set, rlc_token token, uint32_t interest) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    return port == NULL ? -ENOENT : rlc_port_set_change_interest(set, port, interest);
}

int rlc_port_set_set_muted(rlc_port_set *set, rlc_token token, bool muted) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    return port == NULL ? -ENOENT : rlc_port_set_mute(set, port, muted);
}

int rlc_port_set_remove(rlc_port_set *set, rlc_token token) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    if (port == NULL)
        return -ENOENT;
    int status = rlc_port_set_withdraw(set, port);
    rlc_slot_table_release(&set->ports, &port->slot);
    return status;
}

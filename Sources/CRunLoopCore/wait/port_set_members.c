/* Creates and destroys the set, inserts and removes members, and changes their interest and muting. */
#include "failure.h"
#include "kernel_internal.h"
#include "memory.h"
#include "port_set_internal.h"
#include "wakeup_port_internal.h"

#include <crunloop_kit/pass_checks.h>

enum { FIRST_BUCKETS = 4, RESUMED = RLC_PORT_SUSPENDED | RLC_PORT_END };

/* ---- life ---- */

static rlc_batch *create_batch(const rlc_kernel *memory, uint32_t capacity) {
    rlc_batch *batch = rlc_memory_new(memory, sizeof *batch + capacity * sizeof batch->events[0]);
    if (batch != NULL)
        batch->capacity = capacity;
    return batch;
}

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
    set->batch = create_batch(memory, RLC_BATCH_MIN);
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

/* ---- room, which grows with the members: buckets by number, and the batch ---- */

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

static int reserve_buckets(rlc_port_set *set) {
    /* At least one bucket for two ports. Each bucket stays in order, the newest port first. */
    uint32_t count = set->bucket_count == 0 ? FIRST_BUCKETS : set->bucket_count;
    while (count < set->ports.chunk_count * RLC_SLOTS_PER_CHUNK / 2)
        count *= 2;
    if (count == set->bucket_count)
        return 0;
    const rlc_kernel *memory = rlc_memory_of(set->kernel);
    rlc_port_bucket *buckets = rlc_memory_zeroed(memory, count * sizeof *buckets);
    if (buckets == NULL)
        return -ENOMEM;
    for (uint32_t old = 0; old < set->bucket_count; old++)
        distribute(&set->buckets[old], buckets, count);
    rlc_memory_free(memory, set->buckets);
    set->buckets = buckets;
    set->bucket_count = count;
    return 0;
}

static void offer_batch(rlc_port_set *set, uint32_t members) {
    uint32_t wanted = members > RLC_BATCH_MAX ? RLC_BATCH_MAX : members;
    if (wanted <= set->next_capacity)
        return;
    uint32_t capacity = set->next_capacity;
    while (capacity < wanted)
        capacity *= 2;
    const rlc_kernel *memory = rlc_memory_of(set->kernel);
    rlc_batch *batch = create_batch(memory, capacity);
    if (batch == NULL)
        return; /* the smaller one serves as well */
    set->next_capacity = (uint8_t)capacity;
    rlc_memory_free(memory, atomic_exchange(&set->next_batch, batch));
    atomic_store(&set->has_chores, true);
}

int rlc_port_set_make_room(rlc_port_set *set) {
    int status = rlc_slot_table_reserve(&set->ports, rlc_memory_of(set->kernel));
    if (status == 0)
        status = reserve_buckets(set);
    if (status == 0)
        offer_batch(set, set->ports.count + 1);
    return status;
}

/* ---- joining and leaving ---- */

static void unlink_port(rlc_port_set *set, rlc_port *port) {
    SLIST_REMOVE(rlc_port_set_bucket(set, port->fd), port, rlc_port, older);
}

/** Registers a port that is in its bucket already. `older`: the former owner of its number, or NULL. */
static int register_new(rlc_port_set *set, rlc_port *port, rlc_port *older) {
    int status = rlc_port_set_control(set, EPOLL_CTL_ADD, port);
    if (status == 0 && older == NULL)
        return 0;
    if (status == 0 && rlc_port_has(older, RLC_PORT_REGISTERED)) {
        /* epoll adds a registered number again only if the number was closed and opened in between. */
        rlc_port_assign(port, RLC_PORT_ORPHAN, true);
        for (rlc_port *other; (other = rlc_port_set_owner(set, port->fd)) != NULL;)
            rlc_port_set_orphan(set, other);
        bool was_shared = rlc_port_has(port, RLC_PORT_SHARED);
        rlc_port_assign(port, RLC_PORT_ORPHAN | RLC_PORT_SHARED, false);
        if (was_shared) /* the registration still has the interest of the orphans */
            status = rlc_port_set_control(set, EPOLL_CTL_MOD, port);
    } else if (status == -EEXIST && port->fd == set->edge_fd) {
        status = -EBADF; /* the set's own descriptors cannot be members */
    } else if (status == -EEXIST) {
        status = rlc_port_set_control(set, EPOLL_CTL_MOD, port);
        if (status == 0 && older != NULL)
            rlc_port_assign(older, RLC_PORT_REGISTERED, false);
    }
    return status;
}

int rlc_port_set_enroll(rlc_port_set *set, rlc_port *port) {
    if (port->fd == set->epoll_fd)
        (void)rlc_kit_revive_if_lost(set);
    rlc_port *older = rlc_port_set_owner(set, port->fd);
    /* A hint's number accepts no other member, unless other code has closed the hint's file. */
    if (older != NULL && rlc_port_is(older, RLC_PORT_HINT) && !rlc_port_is(port, RLC_PORT_HINT)) {
        if (!rlc_port_set_has_lost_hint(set, older))
            return rlc_refused(-EBADF);
        older = rlc_port_set_owner(set, port->fd);
    }
    SLIST_INSERT_HEAD(rlc_port_set_bucket(set, port->fd), port, older);
    if (older != NULL)
        rlc_port_note_sharing(port);
    int status = register_new(set, port, older);
    if (status < 0) {
        unlink_port(set, port);
        return rlc_failed_with(status == -ECHILD ? NULL : "epoll_ctl", status);
    }
    /* Before the edges: if epoll refuses to register the number again, that drops the port's registration, too. */
    rlc_port_assign(port, RLC_PORT_MEMBER | RLC_PORT_REGISTERED, true);
    if (older != NULL && rlc_port_has(older, RLC_PORT_EDGES))
        rlc_port_set_take_over_edges(set, port, older);
    if (rlc_port_is(port, RLC_PORT_HINT))
        set->hint_count++;
    atomic_fetch_add(&set->changes, 1);
    return 0;
}

/** Registers the owner again after a sharer of its number has left. */
__attribute__((noinline)) static void register_without(rlc_port_set *set, rlc_port *owner) {
    rlc_port_note_sharing(owner);
    rlc_port_set_renew(set, owner);
    rlc_port_set_update_edges(set, owner);
}

/** Forgets the end of a port that has left the set. */
__attribute__((noinline)) static void forget_end(rlc_port_set *set, rlc_port *port) {
    rlc_port_set_drop_edges(set, port);
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
        status = rlc_port_set_update(set, earlier); /* if this fails, the port leaves nevertheless */
    }
    if (rlc_port_is(port, RLC_PORT_HINT))
        set->hint_count--;
    unlink_port(set, port);
    rlc_port_assign(port, RLC_PORT_MEMBER | RLC_PORT_REGISTERED | RLC_PORT_UNWATCHED, false);
    if (rlc_port_has(port, RLC_PORT_EDGES | RLC_PORT_ENDED | RLC_PORT_READ_ENDED))
        forget_end(set, port);
    if (owner != NULL && owner != port)
        register_without(set, owner);
    atomic_fetch_add(&set->changes, 1);
    return status == -EBADF ? 0 : status;
}

/* ---- interest and muting ---- */

/** Tells whether setting the interest would have no effect. For an edge-triggered port it makes epoll report again. */
static bool has_interest(const rlc_port *port, const rlc_port *owner, uint32_t interest) {
    bool is_known = owner == NULL || rlc_port_has(owner, RLC_PORT_REGISTERED);
    return port->interest == interest && (interest & RLC_EDGE) == 0 && !rlc_port_has(port, RESUMED) && is_known;
}

/** Returns the error by which the caller reports the orphan. So rlc_port_set_take need not report it. */
static int report_orphan(rlc_port *port) {
    rlc_port_assign(port, RLC_PORT_UNWATCHED, false);
    return -EBADF;
}

int rlc_port_set_change_interest(rlc_port_set *set, rlc_port *port, uint32_t interest) {
    if (rlc_port_has(port, RLC_PORT_ORPHAN))
        return report_orphan(port);
    rlc_port *owner = rlc_port_set_registrant(set, port);
    if (has_interest(port, owner, interest))
        return 0;
    bool changes = rlc_port_is(port, RLC_PORT_READINESS) || rlc_port_has(port, RLC_PORT_ENDED);
    const rlc_port before = *port;
    if (owner != NULL)
        rlc_port_set_hook_again(set, owner, port);
    port->interest = rlc_port_is(port, RLC_PORT_COUNTER) ? 0 : (uint8_t)interest;
    rlc_port_assign(port, RESUMED, false);
    if (!changes || rlc_port_has(port, RLC_PORT_MUTED) || owner == NULL)
        return 0;
    int status = rlc_port_set_update(set, owner);
    if (status < 0) { /* epoll has kept the registration as it was */
        port->interest = before.interest;
        rlc_port_assign(port, before.state & RESUMED, true);
    }
    return status == -EBADF ? report_orphan(port) : status;
}

int rlc_port_set_change_served_interest(rlc_port_set *set, rlc_port *port, uint32_t interest) {
    uint32_t reported = (rlc_port_has(port, RLC_PORT_END_READER) ? RLC_READABLE : 0) |
                        (rlc_port_has(port, RLC_PORT_END_WRITER) ? RLC_WRITABLE : 0);
    bool is_new = ((interest & ~reported) & (RLC_READABLE | RLC_WRITABLE)) != 0 ||
                  ((interest ^ port->interest) & ~(uint32_t)(RLC_READABLE | RLC_WRITABLE)) != 0;
    bool is_reported = rlc_port_has(port, RLC_PORT_ENDED) && !rlc_port_has(port, RLC_PORT_ORPHAN) && !is_new;
    if (is_reported && rlc_port_has(port, RLC_PORT_QUIET)) {
        port->interest = (uint8_t)interest;
        rlc_port_assign(port, RLC_PORT_SUSPENDED, false);
        return 0;
    }
    if (is_reported && interest == port->interest && !rlc_port_has(port, RLC_PORT_SUSPENDED))
        return 0;
    return rlc_port_set_change_interest(set, port, interest);
}

int rlc_port_set_mute(rlc_port_set *set, rlc_port *port, bool muted) {
    if (rlc_port_has(port, RLC_PORT_MUTED) == muted)
        return 0;
    rlc_port_assign(port, RLC_PORT_MUTED, muted);
    if (rlc_port_has(port, RLC_PORT_UNWATCHED))
        rlc_port_set_note_unwatched(set, port); /* so that rlc_port_set_take reports an unmuted port */
    rlc_port *owner = rlc_port_set_registrant(set, port);
    return owner == NULL ? 0 : rlc_port_set_update(set, owner);
}

/* ---- the functions that find the port by its token ---- */

int rlc_port_set_insert(
    rlc_port_set *set, int fd, rlc_port_kind kind, uint32_t interest, void *context, rlc_token *ret_token) {
    if (fd < 0)
        return rlc_refused(-EBADF);
    if (!rlc_port_set_has_room(set) && rlc_port_set_make_room(set) < 0)
        return rlc_failed_with(RLC_MALLOC, -ENOMEM);
    rlc_port *port = rlc_port_set_claim(set);
    port->fd = fd;
    port->kind = kind;
    port->interest = kind == RLC_PORT_COUNTER ? 0 : (uint8_t)interest;
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

int rlc_kit_set_served_interest(rlc_port_set *set, rlc_token token, uint32_t interest) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    return port == NULL ? -ENOENT : rlc_port_set_change_served_interest(set, port, interest);
}

int rlc_port_set_set_interest(rlc_port_set *set, rlc_token token, uint32_t interest) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    return port == NULL ? -ENOENT : rlc_port_set_change_interest(set, port, interest);
}

int rlc_port_set_set_muted(rlc_port_set *set, rlc_token token, bool muted) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    return port == NULL ? -ENOENT : rlc_port_set_mute(set, port, muted);
}

void rlc_kit_set_owned(rlc_port_set *set, rlc_token token, bool is_owned) {
    rlc_port *port = rlc_slot_table_find(&set->ports, token);
    if (port == NULL)
        return;
    rlc_port_assign(port, RLC_PORT_OWNED, is_owned);
}

/* ---- a wakeup port's eventfd ---- */

static int insert_wakeup(rlc_port_set *set, rlc_wakeup_port *port) {
    rlc_token unused;
    return rlc_port_set_insert(set, rlc_wakeup_port_fd(port), RLC_PORT_WAKEUP, RLC_READABLE, port, &unused);
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
        rlc_wakeup_port_report_loss(port, RLC_LOST_WAKEUP);
    return status;
}

int rlc_kit_renew_wakeup(rlc_port_set *set, rlc_wakeup_port *port) {
    const rlc_port *old = rlc_port_set_wakeup(set);
    if (old != NULL) /* even if the new eventfd has the old one's number: epoll must add the new one */
        (void)rlc_port_set_remove(set, rlc_slot_token(&old->slot));
    return rlc_kit_watch_wakeup(set, port);
}

bool rlc_kit_begin_wait(rlc_wakeup_port *port, const rlc_port_set *set) {
    return rlc_wakeup_port_is_watched_by(port, set->epoll_fd) && rlc_wakeup_word_sleeps(port);
}

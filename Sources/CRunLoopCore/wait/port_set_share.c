/* Members by number: whose a number is, and who shares it. */
#include "memory.h"
#include "port_set_internal.h"

#include <errno.h>

enum { FIRST_BUCKETS = 4 };

/* ---- number -> members ---- */

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

int rlc_port_set_reserve_buckets(rlc_port_set *set) {
    /* Doubled until there is one for two ports; each keeps its order, newest first. */
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

rlc_port *rlc_port_sharing_owner(rlc_port *owner, const rlc_port *port) {
    for (rlc_port *older = owner; (older = rlc_port_older_sharer(older)) != NULL;) {
        if (older == port)
            return owner;
    }
    return NULL;
}

rlc_port *rlc_port_set_registrant(const rlc_port_set *set, rlc_port *port) {
    rlc_port *owner = rlc_port_set_owner(set, port->fd);
    return owner == NULL || owner == port ? owner : rlc_port_sharing_owner(owner, port);
}

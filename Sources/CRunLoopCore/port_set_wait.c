/* Events are fetched in batches, which grow with the members. */
#include "port_set_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

rlc_batch *rlc_batch_create(uint32_t capacity) {
    rlc_batch *batch = malloc(sizeof *batch + capacity * sizeof batch->events[0]);
    if (batch != NULL)
        batch->capacity = capacity;
    return batch;
}

void rlc_port_set_offer_batch(rlc_port_set *set, uint32_t members) {
    uint32_t wanted = members > RLC_BATCH_MAX ? RLC_BATCH_MAX : members;
    if (wanted <= set->next_capacity)
        return;
    uint32_t capacity = set->next_capacity;
    while (capacity < wanted)
        capacity *= 2;
    rlc_batch *batch = rlc_batch_create(capacity);
    if (batch == NULL)
        return; /* the old one serves as well */
    set->next_capacity = (uint16_t)capacity;
    free(atomic_exchange(&set->next_batch, batch));
}

/* ---- the owner's thread, without the lock ---- */

bool rlc_port_set_has_batch(const rlc_port_set *set) {
    return rlc_port_set_has_events(set);
}

/* Apart, so that the usual wait saves fewer registers. */
__attribute__((noinline)) static void move_into_larger_batch(rlc_port_set *set) {
    rlc_batch *larger = atomic_exchange(&set->next_batch, NULL);
    free(set->batch);
    set->batch = larger;
}

int rlc_port_set_wait(rlc_port_set *set, uint64_t deadline_ns) {
    assert(!rlc_port_set_holds_batch(set)); /* waiting now would overwrite events that were not taken */
    if (rlc_port_set_is_forked(set))
        return -ECHILD;
    if (atomic_load_explicit(&set->next_batch, memory_order_relaxed) != NULL)
        move_into_larger_batch(set);
    set->changes_at_wait = atomic_load(&set->changes);
    const rlc_kernel *kernel = set->kernel;
    rlc_batch *batch = set->batch;
    int count = kernel->epoll_wait(kernel->context, set->epoll_fd, batch->events, (int)batch->capacity, deadline_ns);
    set->cursor = set->shared_cursor = 0;
    set->fetched = count > 0 ? (uint32_t)count : 0;
    set->is_fresh = true;
    set->is_trusted = false;
    return count;
}

#include "loop_internal.h"
#include "timer_port_internal.h"
#include "wakeup_port_internal.h"

#include <errno.h>

static rlc_watch *watch_at(const rlc_loop *loop, uint32_t slot) {
    return rlc_slot_table_at(&loop->set->ports, slot);
}

static bool is_removed(const rlc_watch *watch) {
    return watch->watch_fn == NULL;
}

/* ---- lists ---- */

enum { LINK = offsetof(rlc_watch, port.link) };

static void append(rlc_slot_list *list, rlc_watch *watch) {
    rlc_slot_list_append(list, &watch->loop->set->ports, &watch->port.slot, LINK);
}

static void detach(rlc_slot_list *list, rlc_watch *watch) {
    rlc_slot_list_remove(list, &watch->loop->set->ports, &watch->port.slot, LINK);
}

static void make_pending(rlc_watch *watch) {
    rlc_port_assign(&watch->port, RLC_PORT_SUSPENDED, false);
    append(&watch->loop->pending, watch);
    watch->loop->has_prelude = true;
    rlc_loop_end_blind_skips(watch->loop);
}

/** True if the watch is in the list of those that a pass calls with RLC_ERROR. */
static bool is_failed(const rlc_watch *watch) {
    return rlc_port_has(&watch->port, RLC_PORT_UNWATCHED) && !rlc_port_has(&watch->port, RLC_PORT_MUTED);
}

static void leave_lists(rlc_watch *watch) {
    rlc_loop *loop = watch->loop;
    if (rlc_watch_is_pending(watch))
        detach(&loop->pending, watch);
    else if (is_failed(watch))
        detach(&loop->failed, watch);
    rlc_port_assign(&watch->port, RLC_PORT_UNWATCHED, false);
}

/**
 * Refuses a watch that is not a member of the set: the loop calls it once with RLC_ERROR, and suspends it. While a
 * nested run is inside the watch's callout, the call waits for the end of that callout.
 */
static void refuse(rlc_watch *watch) {
    bool is_muted = rlc_port_has(&watch->port, RLC_PORT_MUTED);
    watch->port.state = RLC_PORT_UNWATCHED;
    rlc_port_assign(&watch->port, RLC_PORT_MUTED, is_muted);
    if (!is_muted)
        append(&watch->loop->failed, watch);
}

/**
 * Takes a member out of the set. If epoll then refuses an earlier watch of the number, takes that one out and refuses
 * it, and so on.
 */
static void withdraw(rlc_loop *loop, rlc_port *port) {
    int status = rlc_port_set_withdraw(loop->set, port);
    while (status < 0) {
        rlc_port *earlier = rlc_port_set_owner(loop->set, port->fd);
        status = rlc_port_set_withdraw(loop->set, earlier);
        refuse((rlc_watch *)earlier);
    }
}

/* ---- adding, changing, removing ---- */

enum { WATCHED_FOR = RLC_READABLE | RLC_WRITABLE | RLC_PRIORITY };

/** The interest of a watch's port. RLC_SHARED: each watch of a descriptor gets the events of its own interest. */
static inline uint32_t port_interest(uint32_t interest) {
    return (interest & WATCHED_FOR) | RLC_SHARED;
}

/**
 * True if the number still refers to a descriptor of the loop. If another file has the number by now, the loop
 * notices that here.
 */
__attribute__((noinline)) static bool is_still_own(const rlc_loop *loop, int fd) {
    if (fd == rlc_port_set_fd(loop->set))
        (void)rlc_kit_revive_if_lost(loop->set);
    if (fd == rlc_port_set_fd(loop->set))
        return true;
    rlc_port *owner = rlc_port_set_owner(loop->set, fd);
    return owner != NULL && rlc_port_is(owner, RLC_PORT_HINT) && !rlc_port_set_has_lost_hint(loop->set, owner);
}

/** True for the number of a descriptor of the loop. */
static inline bool is_own(const rlc_loop *loop, int fd) {
    bool is_number = fd == loop->set->epoll_fd || fd == atomic_load(&loop->wakeup->event_fd) ||
                     (loop->timer_port != NULL && fd == loop->timer_port->timer_fd);
    return is_number && is_still_own(loop, fd);
}

int rlc_loop_add_watch(
    rlc_loop *loop, int fd, uint32_t interest, rlc_watch_fn watch_fn, void *context, rlc_watch **ret_watch) {
    RLC_REQUIRE(loop);
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    if (watch_fn == NULL)
        return -EINVAL;
    if (fd < 0)
        return -EBADF;
    int status = rlc_loop_ensure_wakeup(loop);
    if (status < 0)
        return status;
    if (is_own(loop, fd))
        return -EBADF;
    if (!rlc_port_set_has_room(loop->set) && rlc_port_set_make_room(loop->set) < 0)
        return -ENOMEM;
    rlc_port *port = rlc_port_set_claim(loop->set);
    port->fd = fd; /* a record begins with zeros, so its kind is RLC_PORT_READINESS */
    port->interest = (uint8_t)port_interest(interest);
    port->context = context;
    rlc_watch *watch = (rlc_watch *)port;
    watch->loop = loop;
    watch->watch_fn = watch_fn;
    make_pending(watch);
    loop->watch_count++;
    *ret_watch = watch;
    return 0;
}

void rlc_loop_flush_watches(rlc_loop *loop) {
    for (uint32_t slot = loop->pending.first, next; slot != RLC_NO_SLOT; slot = next) {
        rlc_watch *watch = watch_at(loop, slot);
        next = watch->port.link.next;
        if (rlc_port_has(&watch->port, RLC_PORT_MUTED))
            continue; /* this run is inside the callout that reports the refusal */
        leave_lists(watch);
        if (rlc_port_set_enroll(loop->set, &watch->port) < 0)
            refuse(watch);
    }
    loop->has_prelude = loop->hook_count > 0 || !rlc_slot_list_is_empty(&loop->pending);
}

int rlc_watch_set_interest(rlc_watch *watch, uint32_t interest) {
    RLC_REQUIRE(watch);
    rlc_loop *loop = watch->loop;
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    if (is_removed(watch))
        return -ENOENT;
    rlc_loop_end_blind_skips(loop);
    if (rlc_port_has(&watch->port, RLC_PORT_MEMBER)) {
        bool is_served = loop->callee == (uintptr_t)watch;
        return (is_served ? rlc_port_set_change_served_interest : rlc_port_set_change_interest)(
            loop->set, &watch->port, port_interest(interest));
    }
    watch->port.interest = (uint8_t)port_interest(interest);
    if (rlc_watch_is_pending(watch))
        return 0;
    leave_lists(watch);
    make_pending(watch); /* the set has refused it: try again */
    return 0;
}

void rlc_watch_remove(rlc_watch *watch) {
    if (watch == NULL || is_removed(watch))
        return;
    rlc_loop *loop = watch->loop;
    rlc_loop_end_blind_skips(loop); /* epoll may now refuse another watch of the number */
    if (rlc_port_has(&watch->port, RLC_PORT_MEMBER))
        withdraw(loop, &watch->port);
    else
        leave_lists(watch);
    watch->watch_fn = NULL;
    loop->watch_count--;
    if (loop->at == 0) {
        rlc_slot_table_release(&loop->set->ports, &watch->port.slot);
        return;
    }
    loop->has_removed = true;
    SLIST_INSERT_HEAD(&loop->removed_watches, (rlc_unused_slot *)(void *)watch, link);
}

void rlc_loop_free_removed_watches(rlc_loop *loop) {
    rlc_unused_slot *dead;
    while ((dead = SLIST_FIRST(&loop->removed_watches)) != NULL) {
        SLIST_REMOVE_HEAD(&loop->removed_watches, link);
        rlc_slot_table_release(&loop->set->ports, &dead->slot);
    }
}

/* ---- calling ---- */

__attribute__((noinline)) /* Stack traces and profiles tell the kinds of callouts apart by these names. */
void
rlc_calling_out_to_a_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready) {
    watch->watch_fn(loop, watch, ready, watch->port.context);
    __asm__ volatile(""); /* no tail call, so that stack traces show this frame */
}

void rlc_loop_take_back(rlc_loop *loop, rlc_watch *watch) {
    if (!rlc_port_has(&watch->port, RLC_PORT_MEMBER)) {
        rlc_port_assign(&watch->port, RLC_PORT_MUTED, false);
        if (is_failed(watch))
            append(&loop->failed, watch);
    } else if (rlc_port_set_mute(loop->set, &watch->port, false) < 0) {
        withdraw(loop, &watch->port);
        refuse(watch);
    }
}

void rlc_loop_mute(rlc_loop *loop, rlc_watch *watch) {
    if (rlc_port_has(&watch->port, RLC_PORT_MEMBER)) {
        (void)rlc_port_set_mute(loop->set, &watch->port, true); /* cannot fail: epoll does not refuse to watch less */
        return;
    }
    if (is_failed(watch))
        detach(&loop->failed, watch);
    rlc_port_assign(&watch->port, RLC_PORT_MUTED, true); /* not added, and not called, before its callout ends */
}

void rlc_loop_lose(rlc_loop *loop, rlc_port *port) {
    if (rlc_port_is(port, RLC_PORT_HINT)) {
        if (rlc_port_is(port, RLC_PORT_WAKEUP))
            rlc_kit_demand_renewal(loop->wakeup);
        else
            rlc_loop_lose_timer_port(loop);
        return;
    }
    withdraw(loop, port);
    refuse((rlc_watch *)port);
}

bool rlc_loop_call_failed_watches(rlc_loop *loop) {
    bool called = false;
    while (!rlc_slot_list_is_empty(&loop->failed) && !rlc_loop_is_forked(loop)) {
        rlc_watch *watch = watch_at(loop, loop->failed.first);
        leave_lists(watch);
        rlc_port_assign(&watch->port, RLC_PORT_SUSPENDED, true);
        rlc_loop_call_watch(loop, watch, RLC_ERROR);
        called = true;
    }
    return called;
}

int rlc_loop_wait_again(rlc_loop *loop, uint64_t deadline_ns, int failure) {
    if (failure == -EINTR)
        return 0;
    if ((failure != -EBADF && failure != -EINVAL) || !rlc_kit_revive_if_lost(loop->set))
        return failure;
    int status = rlc_port_set_wait(loop->set, deadline_ns);
    return status == -EINTR ? 0 : status;
}

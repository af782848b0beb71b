/**
 * <crunloop/adapters/glib_guest_set.h>: the descriptors of a GMainContext in an rlc_loop. glib_guest.h includes this
 * header. The descriptors are in an epoll set, which the loop watches. When the set is readable, the guest polls the
 * descriptors by the context's poll function, without waiting.
 */
#ifndef CRUNLOOP_ADAPTERS_GLIB_GUEST_SET_H
#define CRUNLOOP_ADAPTERS_GLIB_GUEST_SET_H

#include <crunloop/adapters/on_stack.h>
#include <crunloop/descriptor.h>
#include <crunloop/loop_hook.h>
#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

RLC_BEGIN_DECLS

/** A context in a loop. The caller that attaches it ends it by rlc_glib_guest_detach. */
typedef struct rlc_glib_guest {
    rlc_loop *loop;
    GMainContext *context;
    rlc_hook *hook;
    rlc_watch *watch; /**< Watches the set; NULL while the set is made anew. */
    rlc_timer *timer;
    uint64_t wake_at_ns; /**< The date for which `timer` is armed. */
    GPollFD *polls;      /**< What GLib's last query returned, sorted by number. */
    GPollFD *members;    /**< The descriptors in the set, sorted. */
    gint room, count, member_count;
    GSource *counter;       /**< GLib prepares it in each iteration of the context. */
    uint64_t iterations;    /**< The number of iterations that have begun. */
    uint64_t prepared_with; /**< `iterations` after the hook's last preparation. */
    gint priority;          /**< The priority of the sources that this pass dispatches. */
    int set_fd;
    int status;         /**< 0, or the -errno with which the guest failed. Then the loop does not serve it. */
    uintptr_t calls;    /**< Calls of the hook on the stack, as <crunloop/adapters/on_stack.h> notes them. */
    bool has_ready;     /**< The loop has found the set readable. */
    bool has_unwatched; /**< epoll refuses the set or a descriptor, so the guest polls in each pass. */
    bool is_detached;
} rlc_glib_guest;

/**
 * Notes that a descriptor is ready. It is the callout of the set's watch.
 *
 * @param ready   RLC_READABLE; RLC_ERROR: epoll does not watch the set. Then the guest polls in this pass, and the next
 *                pass adds the set again.
 *
 * Thread: [loop].
 */
static inline void rlc_glib_guest_note_ready(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)loop;
    rlc_glib_guest *guest = (rlc_glib_guest *)context;
    if ((ready & RLC_ERROR) == 0) {
        guest->has_ready = true;
        return;
    }
    guest->has_unwatched = true;
    (void)rlc_watch_set_interest(watch, RLC_READABLE); /* the next pass adds it again */
}

/**
 * Makes a new set, without members.
 *
 * @return 0; -errno of epoll_create1(2) or rlc_loop_add_watch: then the loop watches no set.
 *
 * Thread: [loop].  Cost: two system calls, and those of the watch.
 */
static inline int rlc_glib_guest_open_set(rlc_glib_guest *guest) {
    rlc_watch_remove(guest->watch);
    guest->watch = NULL;
    if (guest->set_fd >= 0)
        close(guest->set_fd);
    guest->member_count = 0;
    guest->set_fd = rlc_descriptor_adopt(epoll_create1(EPOLL_CLOEXEC));
    if (guest->set_fd < 0)
        return guest->set_fd;
    return rlc_loop_add_watch(
        guest->loop, guest->set_fd, RLC_READABLE, rlc_glib_guest_note_ready, guest, &guest->watch);
}

/**
 * Adds a descriptor to the set, or changes its events there. If a member was closed meanwhile, epoll has dropped it.
 * Then the function adds its number again, even if another file has the number by now.
 *
 * @param entry     The descriptor and its events, as GLib waits for them.
 * @param is_member True if the descriptor was added before.
 * @return 0, also for a descriptor that epoll cannot watch; -ENOMEM or -ENOSPC.
 *
 * Thread: [loop].  Cost: one system call, two if the number belongs to another file.
 */
static inline int rlc_glib_guest_enroll(rlc_glib_guest *guest, const GPollFD *entry, bool is_member) {
    if (entry->fd < 0)
        return 0; /* poll(2) ignores negative numbers too */
    struct epoll_event event;
    event.events = entry->events; /* the bits of poll(2), which are those of epoll(7) */
    event.data.fd = entry->fd;
    int status = epoll_ctl(guest->set_fd, is_member ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, entry->fd, &event);
    if (status < 0 && errno == (is_member ? ENOENT : EEXIST))
        status = epoll_ctl(guest->set_fd, is_member ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, entry->fd, &event);
    if (status == 0)
        return 0;
    if (errno == ENOMEM || errno == ENOSPC)
        return -errno;
    guest->has_unwatched = true; /* a regular file, or a closed number: poll(2) reports both as ready */
    return 0;
}

/**
 * Makes the set contain what GLib waits for.
 *
 * @param guest The guest, with the new `polls`.
 * @return 0; -ENOMEM or -ENOSPC of epoll_ctl(2).
 *
 * Thread: [loop].  Cost: one system call for each descriptor that is or was in the set.
 */
static inline int rlc_glib_guest_update_set(rlc_glib_guest *guest) {
    int status = 0;
    gint old = 0;
    guest->has_unwatched = false;
    for (gint i = 0; i < guest->count && status == 0; i++) {
        gint fd = guest->polls[i].fd;
        for (; old < guest->member_count && guest->members[old].fd < fd; old++)
            (void)epoll_ctl(guest->set_fd, EPOLL_CTL_DEL, guest->members[old].fd, NULL);
        bool is_member = old < guest->member_count && guest->members[old].fd == fd;
        old += is_member ? 1 : 0;
        status = rlc_glib_guest_enroll(guest, &guest->polls[i], is_member);
    }
    for (; status == 0 && old < guest->member_count; old++)
        (void)epoll_ctl(guest->set_fd, EPOLL_CTL_DEL, guest->members[old].fd, NULL);
    for (gint i = 0; i < guest->count; i++)
        guest->members[i] = guest->polls[i];
    guest->member_count = guest->count;
    return status;
}

/**
 * Finds out which descriptors are ready. If the set is readable but no descriptor is ready, a member was closed while a
 * duplicate of it stayed open. Then the function makes a new set, because this one would be readable for ever.
 * Thread: [loop].  Cost: one system call, if a descriptor may be ready.
 */
static inline void rlc_glib_guest_poll(rlc_glib_guest *guest) {
    bool has_ready = guest->has_ready;
    guest->has_ready = false;
    for (gint i = 0; i < guest->count; i++)
        guest->polls[i].revents = 0;
    if (!has_ready && !guest->has_unwatched)
        return;
    gint found = g_main_context_get_poll_func(guest->context)(guest->polls, (guint)guest->count, 0);
    if (found == 0 && has_ready)
        guest->status = rlc_glib_guest_open_set(guest);
}

RLC_END_DECLS
#endif

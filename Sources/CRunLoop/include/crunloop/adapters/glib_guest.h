/**
 * <crunloop/adapters/glib_guest.h>: a GMainContext inside an rlc_loop, the reverse of glib.h. The events of GLib's
 * sources end the sleep of the loop, and each pass dispatches the ready sources by their priorities. Needs GLib 2.36.
 *
 * The guest keeps GLib's descriptors in an epoll set of its own (glib_guest_set.h), and uses one timer of the loop for
 * GLib's timeouts, which are in milliseconds.
 *
 * While the guest is attached, it owns the context for its thread, as a running GMainLoop does. So a source that
 * another thread attaches wakes the loop, and no other thread can iterate the context. A callout of a source may run
 * the rlc_loop or a GMainLoop of the context. Both serve the sources that may recurse; the GMainLoop does not serve the
 * rlc_loop.
 */
#ifndef CRUNLOOP_ADAPTERS_GLIB_GUEST_H
#define CRUNLOOP_ADAPTERS_GLIB_GUEST_H

#include <crunloop/adapters/glib_guest_set.h>

RLC_BEGIN_DECLS

/* ---- before the poll ---- */

/**
 * The callout of the timer: notes that GLib's timeout has ended. The check callout of this pass then serves the source.
 * Thread: [loop].
 */
static inline void rlc_glib_guest_note_timeout(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop, (void)timer, (void)deadline_ns;
    ((rlc_glib_guest *)context)->wake_at_ns = RLC_TIME_FOREVER;
}

/**
 * Arms the timer for GLib's timeout. If the new date is less than a millisecond, GLib's unit, from the armed date, the
 * function changes nothing: otherwise the loop would set the timerfd before each sleep.
 *
 * @param timeout_ms Milliseconds; 0: there is work; -1: no limit.
 *
 * Thread: [loop].
 */
static inline void rlc_glib_guest_set_timeout(rlc_glib_guest *guest, gint timeout_ms) {
    uint64_t unit_ns = 1000000, wake_at_ns = RLC_TIME_FOREVER;
    if (timeout_ms == 0 || guest->has_unwatched)
        wake_at_ns = 1; /* due already */
    else if (timeout_ms > 0)
        wake_at_ns = rlc_time_add(rlc_now(RLC_CLOCK_MONOTONIC), (uint64_t)timeout_ms * unit_ns);
    uint64_t armed_ns = guest->wake_at_ns;
    uint64_t apart_ns = wake_at_ns > armed_ns ? wake_at_ns - armed_ns : armed_ns - wake_at_ns;
    if (apart_ns < unit_ns)
        return;
    guest->wake_at_ns = wake_at_ns;
    (void)rlc_timer_arm(guest->timer, wake_at_ns, 0, 0);
}

/** GSourceFuncs.prepare of the counter, a source that is never ready: counts each iteration. Thread: [loop]. */
static inline gboolean rlc_glib_guest_count(GSource *source, gint *timeout_ms) {
    uint64_t **iterations = (uint64_t **)(void *)(source + 1);
    *timeout_ms = -1;
    ++**iterations;
    return FALSE;
}

/** GSourceFuncs.dispatch of the counter, which is never ready. Thread: [loop]. */
static inline gboolean rlc_glib_guest_never(GSource *source, GSourceFunc callback, gpointer data) {
    (void)source, (void)callback, (void)data;
    return G_SOURCE_CONTINUE;
}

/**
 * Attaches the counter at the highest priority, so that GLib prepares it even if another source is ready.
 * Thread: [loop].
 */
static inline void rlc_glib_guest_add_counter(rlc_glib_guest *guest) {
    static GSourceFuncs functions = {rlc_glib_guest_count, NULL, rlc_glib_guest_never, NULL, NULL, NULL};
    guest->counter = g_source_new(&functions, sizeof(GSource) + sizeof(uint64_t *));
    *(uint64_t **)(void *)(guest->counter + 1) = &guest->iterations;
    g_source_set_priority(guest->counter, G_MININT);
    (void)g_source_attach(guest->counter, guest->context);
}

/** Makes room for `count` descriptors. Returns 0 or -ENOMEM. Thread: [loop]. */
static inline int rlc_glib_guest_reserve(rlc_glib_guest *guest, gint count) {
    if (count <= guest->room)
        return 0;
    GPollFD *polls = (GPollFD *)realloc(guest->polls, (size_t)count * 2 * sizeof *polls);
    if (polls == NULL)
        return -ENOMEM;
    guest->polls = polls;
    GPollFD *members = (GPollFD *)realloc(guest->members, (size_t)count * 2 * sizeof *members);
    if (members == NULL)
        return -ENOMEM;
    guest->members = members;
    guest->room = count * 2;
    return 0;
}

/* ---- the guest's end ---- */

/** Takes a guest out of its loop, unless it is out already. Thread: [loop].  Cost: two system calls. */
static inline void rlc_glib_guest_leave_loop(rlc_glib_guest *guest) {
    rlc_hook_remove(guest->hook);
    rlc_watch_remove(guest->watch);
    rlc_timer_remove(guest->timer);
    guest->hook = NULL;
    guest->watch = NULL;
    guest->timer = NULL;
    if (guest->set_fd >= 0)
        close(guest->set_fd);
    guest->set_fd = -1;
    if (guest->counter != NULL) {
        g_source_destroy(guest->counter);
        g_source_unref(guest->counter);
    }
    guest->counter = NULL;
}

/** Frees a guest that is out of its loop and has no call on the stack, and releases its context. Thread: [loop]. */
static inline void rlc_glib_guest_free(rlc_glib_guest *guest) {
    g_main_context_release(guest->context);
    g_main_context_unref(guest->context);
    free(guest->polls);
    free(guest->members);
    free(guest);
}

/** Ends a call of the hook. That call may have detached the guest, or failed. Thread: [loop]. */
static inline void rlc_glib_guest_end_call(rlc_glib_guest *guest, volatile uintptr_t *mark) {
    rlc_stack_end_call(&guest->calls, mark);
    if (guest->is_detached && rlc_stack_is_left(guest->calls, RLC_STACK_HERE))
        rlc_glib_guest_free(guest);
    else if (guest->status < 0)
        rlc_glib_guest_leave_loop(guest);
}

/* ---- around the poll ---- */

/** Queries GLib's descriptors and its timeout (-1: no limit). Returns 0 or -ENOMEM. Thread: [loop]. */
static inline int rlc_glib_guest_query(rlc_glib_guest *guest, gint *timeout_ms) {
    for (;;) {
        gint count = g_main_context_query(guest->context, guest->priority, timeout_ms, guest->polls, guest->room);
        if (count <= guest->room) {
            guest->count = count;
            return 0;
        }
        int status = rlc_glib_guest_reserve(guest, count);
        if (status < 0)
            return status;
    }
}

/**
 * Makes the loop wait for what GLib waits for. It is the prepare callout of the hook.
 * Thread: [loop].  Cost: one system call for each descriptor of the context.
 */
static inline RLC_HOLDS_MARK void rlc_glib_guest_prepare(rlc_loop *loop, rlc_hook *hook, void *context) {
    (void)loop, (void)hook;
    rlc_glib_guest *guest = (rlc_glib_guest *)context;
    gint timeout_ms = -1;
    volatile uintptr_t mark;
    (void)rlc_stack_begin_call(&guest->calls, &mark, RLC_STACK_HERE);
    (void)g_main_context_prepare(guest->context, &guest->priority); /* a ready source makes the queried timeout 0 */
    guest->prepared_with = guest->iterations;
    if (!guest->is_detached)
        guest->status = rlc_glib_guest_query(guest, &timeout_ms);
    if (!guest->is_detached && guest->status == 0)
        guest->status = rlc_glib_guest_update_set(guest);
    if (!guest->is_detached && guest->status == 0)
        rlc_glib_guest_set_timeout(guest, timeout_ms);
    rlc_glib_guest_end_call(guest, &mark);
}

/**
 * Dispatches the ready sources. It is the check callout of the hook. If a callout of the pass has iterated the context,
 * the result of the query is out of date: then the function does nothing, and the next pass queries again.
 * Thread: [loop].  Re-entry: GLib's sources may run the loop, or detach the guest.
 */
static inline RLC_HOLDS_MARK void rlc_glib_guest_check(rlc_loop *loop, rlc_hook *hook, void *context) {
    (void)loop, (void)hook;
    rlc_glib_guest *guest = (rlc_glib_guest *)context;
    if (guest->iterations != guest->prepared_with) {
        guest->has_ready = false;
        return;
    }
    volatile uintptr_t mark;
    (void)rlc_stack_begin_call(&guest->calls, &mark, RLC_STACK_HERE);
    rlc_glib_guest_poll(guest);
    if (g_main_context_check(guest->context, guest->priority, guest->polls, guest->count))
        g_main_context_dispatch(guest->context);
    rlc_glib_guest_end_call(guest, &mark);
}

/* ---- attaching ---- */

/**
 * Makes all that a guest needs in its loop. Returns 0 or -errno. After an error the caller calls
 * rlc_glib_guest_leave_loop, which removes what was made.
 * Thread: [loop].
 */
static inline int rlc_glib_guest_enter_loop(rlc_glib_guest *guest) {
    rlc_glib_guest_add_counter(guest);
    int status = rlc_loop_add_timer(guest->loop, rlc_glib_guest_note_timeout, guest, &guest->timer);
    if (status == 0)
        status = rlc_glib_guest_open_set(guest);
    if (status == 0)
        status = rlc_loop_add_hook(guest->loop, rlc_glib_guest_prepare, rlc_glib_guest_check, guest, &guest->hook);
    return status;
}

/**
 * Lets a loop serve a context. The loop is not finished while the guest is attached.
 *
 * @param loop      The loop; the caller destroys it after rlc_glib_guest_detach.
 * @param context   The context, which the guest retains; NULL: the default one.
 * @param ret_guest The guest; the caller ends it by rlc_glib_guest_detach.
 * @return 0; -EBUSY (another thread owns the context), -ENOMEM, -ECHILD; -errno of epoll_create1(2), or of
 *         rlc_loop_add_watch for a loop's first watch. If it fails, nothing is attached.
 *
 * Thread: [loop].  Cost: four system calls. While the guest is attached, each pass costs one system call for each
 * descriptor of the context, and one more if a descriptor is ready.
 */
static inline int rlc_glib_guest_attach(rlc_loop *loop, GMainContext *context, rlc_glib_guest **ret_guest) {
    if (context == NULL)
        context = g_main_context_default();
    if (!g_main_context_acquire(context))
        return -EBUSY;
    rlc_glib_guest *guest = (rlc_glib_guest *)calloc(1, sizeof *guest);
    if (guest == NULL) {
        g_main_context_release(context);
        return -ENOMEM;
    }
    guest->loop = loop;
    guest->context = g_main_context_ref(context);
    guest->wake_at_ns = RLC_TIME_FOREVER;
    guest->set_fd = -1;
    int status = rlc_glib_guest_enter_loop(guest);
    if (status < 0) {
        rlc_glib_guest_leave_loop(guest);
        rlc_glib_guest_free(guest);
        return status;
    }
    *ret_guest = guest;
    return 0;
}

/**
 * Tells whether the guest has failed. The loop no longer serves the context of a guest that has failed.
 *
 * @param guest From rlc_glib_guest_attach.
 * @return 0; -ENOMEM, -ENOSPC, -EMFILE or -ENFILE: there was no room for GLib's descriptors.
 *
 * Thread: [loop].
 */
static inline int rlc_glib_guest_status(const rlc_glib_guest *guest) {
    return guest->status;
}

/**
 * Takes a context out of its loop. The sources of the context do not change. Any thread may iterate the context
 * afterwards; if a callout of a source makes the call, other threads can do so only when that callout has returned.
 *
 * @param guest The guest; NULL is allowed. The pointer is invalid afterwards.
 *
 * Thread: [loop].  Cost: three system calls. In a child of fork(2) the call changes nothing that the child shares with
 * the parent.
 */
static inline void rlc_glib_guest_detach(rlc_glib_guest *guest) {
    if (guest == NULL)
        return;
    rlc_glib_guest_leave_loop(guest);
    guest->is_detached = true;
    if (rlc_stack_is_left(guest->calls, RLC_STACK_HERE))
        rlc_glib_guest_free(guest);
}

RLC_END_DECLS
#endif

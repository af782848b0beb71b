/**
 * <crunloop/adapters/glib_model.h>: lets runs of an rlk_loop sleep in GLib. model_guest.h has put the rlk_loop into an
 * rlc_loop, and glib.h has put the rlc_loop into a GMainContext.
 *
 * A callout of the rlk_loop may run the rlk_loop, for example in RLK_MODE_TRACKING. With this adapter GLib serves its
 * timeouts, descriptors and windows, and the rlc_loop, during such a run. The run serves its own mode of the rlk_loop.
 * A callback of GLib may open a dialogue during the run; the dialogue serves the rlk_loop in the guest's mode.
 */
#ifndef CRUNLOOP_ADAPTERS_GLIB_MODEL_H
#define CRUNLOOP_ADAPTERS_GLIB_MODEL_H

#include <crunloop/adapters/glib.h>
#include <crunloop/adapters/model_guest.h>

RLC_BEGIN_DECLS

/**
 * A source that ends the iteration in which a run sleeps, when the descriptor of the run's mode is readable or the date
 * of the sleep has come. GLib wakes a context when a source with a descriptor is added or removed, so the adapter keeps
 * this source for the next sleep. The adapter removes the source if it becomes ready while no run sleeps. GLib frees
 * the source with its last reference.
 */
typedef struct rlc_glib_model_end {
    GSource source; /**< First, so that a pointer to it also points to this structure. */
    int fd;
    gint depth;           /**< The depth of GLib (`g_main_depth`) in the sleep for which the source was made. */
    uintptr_t awaited_at; /**< Where the sleep that it ends lies on the stack; a jump may have left it. 0: none. */
} rlc_glib_model_end;

/** The sleep of an rlk_loop's runs in a context. The caller that attaches it ends it by rlc_glib_model_detach. */
typedef struct rlc_glib_model {
    rlc_model_guest *guest;
    rlc_glib_source *host; /**< The source of the rlc_loop. */
    GMainContext *context;
    rlc_glib_model_end *end; /**< The source of the last sleep. */
    gint depth;              /**< The depth of GLib (`g_main_depth`) in the innermost sleep of a run. */
    uintptr_t asleep_at;     /**< Where that sleep lies on the stack; a jump may have left it. 0: no run sleeps. */
    uintptr_t calls;         /**< Sleeps on the stack, as <crunloop/adapters/on_stack.h> notes them. */
    bool is_detached;
} rlc_glib_model;

/** Destroys the source of the last sleep. Thread: [loop]. */
static inline void rlc_glib_model_drop_end(rlc_glib_model *own) {
    if (own->end == NULL)
        return;
    g_source_destroy(&own->end->source);
    g_source_unref(&own->end->source);
    own->end = NULL;
}

/** Frees the structure if it is detached, unless a sleep of it is on the stack. Thread: [loop]. */
static inline void rlc_glib_model_free_if_over(rlc_glib_model *own) {
    if (!own->is_detached || !rlc_stack_is_left(own->calls, RLC_STACK_HERE))
        return;
    rlc_glib_model_drop_end(own);
    g_main_context_unref(own->context);
    g_source_unref(&own->host->source);
    free(own);
}

/**
 * Tells whether GLib iterates because a run of the rlk_loop sleeps. Then GLib prepares and serves the rlc_loop only for
 * that sleep.
 *
 * @return True: the guest leaves the rlk_loop alone. False also in a dialogue that a callback of GLib or of the
 *         rlc_loop opens in such an iteration.
 *
 * Thread: [loop].
 */
static inline bool rlc_glib_model_is_asleep(void *context) {
    const rlc_glib_model *own = (const rlc_glib_model *)context;
    gint depth = g_main_depth();
    if (rlc_stack_is_left(own->asleep_at, RLC_STACK_HERE))
        return false; /* GLib's depth also counts dispatches that a jump has left, so it may equal own->depth */
    if (depth == own->depth)
        return true;
    return depth == own->depth + 1 && !own->host->is_preparing && g_main_current_source() == &own->host->source;
}

/**
 * GSourceFuncs.dispatch of the source that ends an iteration.
 *
 * @return G_SOURCE_CONTINUE if it has ended the iteration of its sleep. G_SOURCE_REMOVE if that sleep is over, or if a
 *         dialogue in a callback of that iteration has dispatched it.
 *
 * Thread: [loop].
 */
static inline gboolean rlc_glib_model_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
    (void)callback, (void)data;
    const rlc_glib_model_end *end = (const rlc_glib_model_end *)source;
    return !rlc_stack_is_left(end->awaited_at, RLC_STACK_HERE) && end->depth == g_main_depth() - 1;
}

/**
 * Returns the source that ends a sleep when `descriptor` is readable: the source of the last sleep if it fits, else a
 * new one. Never NULL: GLib ends the process if there is no memory.
 * Thread: [loop].
 */
static inline rlc_glib_model_end *rlc_glib_model_make_end(rlc_glib_model *own, int descriptor) {
    static GSourceFuncs functions = {NULL, NULL, rlc_glib_model_dispatch, NULL, NULL, NULL};
    if (own->end != NULL && own->end->fd == descriptor && own->end->depth == g_main_depth() &&
        !g_source_is_destroyed(&own->end->source))
        return own->end;
    rlc_glib_model_drop_end(own);
    own->end = (rlc_glib_model_end *)(void *)g_source_new(&functions, sizeof *own->end);
    own->end->fd = descriptor;
    own->end->depth = g_main_depth();
    g_source_add_unix_fd(&own->end->source, descriptor, G_IO_IN);
    g_source_attach(&own->end->source, own->context);
    return own->end;
}

/**
 * Makes one iteration of the context. It is the rlk_host_sleep_fn.
 *
 * @param descriptor Ends the iteration when it is readable.
 * @param until_ns   The date at which the iteration ends at the latest.
 * @return False, without an iteration, if this thread is not in a dispatch of the context, or if GLib is preparing.
 *
 * Thread: [loop].
 */
static inline RLC_HOLDS_MARK bool rlc_glib_model_sleep(int descriptor, uint64_t until_ns, void *context) {
    rlc_glib_model *own = (rlc_glib_model *)context;
    if (own->host->is_preparing || g_main_depth() == 0 || !g_main_context_is_owner(own->context))
        return false;
    rlc_glib_model_end *end = rlc_glib_model_make_end(own, descriptor);
    uint64_t until_us = until_ns / 1000 + (until_ns % 1000 != 0);
    g_source_set_ready_time(&end->source, until_ns == RLK_TIME_FOREVER ? -1 : (gint64)until_us);
    volatile uintptr_t mark;
    bool is_outermost = rlc_stack_begin_call(&own->calls, &mark, RLC_STACK_HERE);
    gint outer = own->depth;
    uintptr_t outer_at = is_outermost ? 0 : own->asleep_at;
    own->depth = g_main_depth();
    own->asleep_at = end->awaited_at = (uintptr_t)&mark;
    (void)g_main_context_iteration(own->context, TRUE);
    if (own->end == end) /* nested runs in the iteration may have replaced it */
        end->awaited_at = 0;
    own->depth = outer;
    own->asleep_at = outer_at;
    rlc_stack_end_call(&own->calls, &mark);
    rlc_glib_model_free_if_over(own);
    return true;
}

/**
 * Lets the runs of a guest's rlk_loop sleep in GLib.
 *
 * @param guest   From rlc_model_guest_attach.
 * @param host    From rlc_glib_attach, for the guest's rlc_loop. The structure retains it.
 * @param ret_own The sleep of the runs; the caller ends it by rlc_glib_model_detach before it detaches the guest and
 *                the host.
 * @return 0; -ENOMEM; an error of rlk_loop_set_host_sleep. If the call fails, nothing is attached.
 *
 * Thread: [loop].
 */
static inline int rlc_glib_model_attach(rlc_model_guest *guest, GSource *host, rlc_glib_model **ret_own) {
    rlc_glib_model *own = (rlc_glib_model *)calloc(1, sizeof *own);
    if (own == NULL)
        return -ENOMEM;
    int status = rlk_loop_set_host_sleep(guest->model, rlc_glib_model_sleep, own);
    if (status < 0) {
        free(own);
        return status;
    }
    own->guest = guest;
    own->host = (rlc_glib_source *)g_source_ref(host);
    own->context = g_main_context_ref(g_source_get_context(host));
    guest->is_asleep_fn = rlc_glib_model_is_asleep;
    guest->sleep_context = own;
    *ret_own = own;
    return 0;
}

/**
 * Lets the runs sleep by themselves again.
 *
 * @param own From rlc_glib_model_attach; NULL is allowed. The pointer is invalid afterwards.
 *
 * Thread: [loop].  Re-entry: allowed in callouts of the loops and of GLib.
 */
static inline void rlc_glib_model_detach(rlc_glib_model *own) {
    if (own == NULL)
        return;
    own->guest->is_asleep_fn = NULL;
    own->is_detached = true;
    (void)rlk_loop_set_host_sleep(
        own->guest->model, NULL, NULL); /* fails if the rlk_loop has ended: it sleeps no more */
    rlc_glib_model_free_if_over(own);
}

RLC_END_DECLS
#endif

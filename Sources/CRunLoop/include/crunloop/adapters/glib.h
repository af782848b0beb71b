/**
 * <crunloop/adapters/glib.h>: an rlc_loop as a GSource, for programs with a GMainLoop, GTK among them. Needs GLib 2.36.
 *
 * The source may recurse: a callout of the loop may run a GMainLoop, which serves the loop too. A prepare callout of a
 * hook must not run one, since GLib refuses to iterate inside of its own preparation. An exception or longjmp(3) must
 * not leave a prepare callout either: GLib would never iterate again.
 *
 * If an exception or longjmp(3) leaves a nested dispatch, GLib keeps the list of the sources that it was dispatching.
 * The outer dispatch would use that list in place of its own, and GLib would end the process. If the outer dispatch is
 * the adapter's, the adapter empties the list. Any other callback that catches such an exception must call
 * g_main_context_prepare before it returns.
 */
#ifndef CRUNLOOP_ADAPTERS_GLIB_H
#define CRUNLOOP_ADAPTERS_GLIB_H

#include <crunloop/adapters/hosted.h>
#include <glib-unix.h>

RLC_BEGIN_DECLS

/** The source of a loop. GLib owns it by its references. */
typedef struct rlc_glib_source {
    GSource source; /**< First, so that a pointer to it also points to this structure. */
    rlc_hosted hosted;
    gpointer descriptor;
    bool is_preparing; /**< GLib is preparing the source: the context cannot be iterated now. */
} rlc_glib_source;

/** GSourceFuncs.prepare: prepares the loop. Returns TRUE if there is work or the loop has failed. Thread: [loop]. */
static inline gboolean rlc_glib_prepare(GSource *source, gint *ret_timeout_ms) {
    *ret_timeout_ms = -1;
    rlc_glib_source *own = (rlc_glib_source *)source;
    own->is_preparing = true;
    bool has_work = rlc_hosted_prepare(&own->hosted);
    own->is_preparing = false;
    /* If the loop has failed, GLib dispatches the source once more, and that dispatch removes it. */
    return has_work || own->hosted.status < 0;
}

/** GSourceFuncs.check. Returns TRUE if the descriptor is readable or there is work. Thread: [loop]. */
static inline gboolean rlc_glib_check(GSource *source) {
    rlc_glib_source *own = (rlc_glib_source *)source;
    return own->hosted.has_work || g_source_query_unix_fd(source, own->descriptor) != 0;
}

/**
 * Empties the list of sources that the context is dispatching. The next iteration finds these sources ready again.
 * Thread: [loop].
 */
static inline void rlc_glib_forget_dispatches(GMainContext *context) {
    gint priority;
    (void)g_main_context_prepare(context, &priority);
}

/** GSourceFuncs.dispatch: makes one pass. Returns G_SOURCE_REMOVE if the loop has failed. Thread: [loop]. */
static inline gboolean rlc_glib_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
    (void)callback, (void)data;
    rlc_hosted *hosted = &((rlc_glib_source *)source)->hosted;
    GMainContext *context = g_source_get_context(source);
    gint depth = g_main_depth();
    (void)rlc_hosted_dispatch(hosted); /* GLib's reference keeps the source until this returns */
    if (g_main_depth() > depth)        /* an exception or longjmp(3) has left an inner dispatch */
        rlc_glib_forget_dispatches(context);
    return hosted->status == 0;
}

/**
 * Adds a loop to a context. The source has G_PRIORITY_DEFAULT, unless the caller changes it by g_source_set_priority.
 *
 * @param loop    The loop; the caller destroys it after rlc_glib_detach.
 * @param context The context, which GLib retains; NULL: the default one. Only the loop's thread may iterate it.
 * @return The source; the caller owns a reference, which it releases by rlc_glib_detach. Never NULL: GLib ends the
 *         process if there is no memory.
 *
 * Thread: [loop].
 */
static inline GSource *rlc_glib_attach(rlc_loop *loop, GMainContext *context) {
    static GSourceFuncs functions = {rlc_glib_prepare, rlc_glib_check, rlc_glib_dispatch, NULL, NULL, NULL};
    GSource *source = g_source_new(&functions, sizeof(rlc_glib_source));
    rlc_glib_source *own = (rlc_glib_source *)source;
    own->hosted = rlc_hosted_make(loop);
    own->descriptor = g_source_add_unix_fd(source, rlc_loop_fd(loop), G_IO_IN);
    g_source_set_can_recurse(source, TRUE);
    g_source_attach(source, context);
    return source;
}

/**
 * Tells whether the loop has failed. The source of a loop that has failed is removed from its context.
 *
 * @param source From rlc_glib_attach.
 * @return 0, or the -errno of rlc_loop_prepare or rlc_loop_dispatch, such as -ECHILD.
 *
 * Thread: [loop].
 */
static inline int rlc_glib_status(const GSource *source) {
    return ((const rlc_glib_source *)source)->hosted.status;
}

/**
 * Removes a loop from its context, and releases the caller's reference. The loop continues to exist, and can be
 * attached again.
 *
 * @param source From rlc_glib_attach; NULL is allowed. A callout of the loop may make the call.
 *
 * Thread: [loop].
 */
static inline void rlc_glib_detach(GSource *source) {
    if (source == NULL)
        return;
    (void)rlc_hosted_detach(&((rlc_glib_source *)source)->hosted);
    g_source_destroy(source);
    g_source_unref(source);
}

RLC_END_DECLS
#endif

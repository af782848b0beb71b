#include "left_dispatch.h"

#include <setjmp.h>

static _Thread_local jmp_buf outside;

static gboolean do_nothing(gpointer data) {
    (void)data;
    return G_SOURCE_REMOVE;
}

static gboolean leave(GSource *source, GSourceFunc callback, gpointer data) {
    (void)source, (void)callback, (void)data;
    longjmp(outside, 1);
}

void left_dispatch_run(GMainContext *context) {
    static GSourceFuncs functions = {NULL, NULL, leave, NULL, NULL, NULL};
    GSource *first = g_timeout_source_new(0), *last = g_source_new(&functions, sizeof *last);
    g_source_set_callback(first, do_nothing, NULL, NULL);
    g_source_set_ready_time(last, 0);
    g_source_attach(first, context);
    g_source_attach(last, context);
    g_source_unref(first);
    if (setjmp(outside) == 0)
        for (;;)
            g_main_context_iteration(context, FALSE);
    g_source_destroy(last);
    g_source_unref(last), g_source_unref(last); /* the reference of the dispatch that was left, too */
}

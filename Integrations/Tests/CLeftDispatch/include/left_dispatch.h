/* What Swift cannot do: a callback that longjmp(3) leaves. */
#ifndef LEFT_DISPATCH_H
#define LEFT_DISPATCH_H

#include <glib.h>

/** Iterates the context until its dispatch of several sources is left by the last one. */
void left_dispatch_run(GMainContext *context);

#endif

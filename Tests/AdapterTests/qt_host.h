/** An event loop of Qt with the adapter, for a test in C: see host_ops in adapters.h. */
#ifndef QT_HOST_H
#define QT_HOST_H

#include <crunloop/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

/** `passes` counts what the loop has done. */
void qt_begin(unsigned long (*passes)(void));
void qt_end(void);
void qt_nothing(void);
void qt_attach(rlc_loop *loop);
void qt_detach(void);
void qt_turn(bool may_wait);
void qt_add_load(void (*fn)(void));
void qt_remove_load(void);
void qt_after(int ms, void (*fn)(void));
/** What the loop has failed with. */
int qt_fails_with(void);
/** The dispatcher says that it is awake, which lets the adapter prepare the loop. */
void qt_tell_awake(void);
/** What the adapter has posted to itself, and gets after it was detached. */
int qt_late_passes(void);
/** Who listens to what the dispatcher says. */
int qt_listeners(void);
/** Attaches on a thread that Qt does not know. */
int qt_attach_elsewhere(rlc_loop *loop);

#ifdef __cplusplus
}
#endif
#endif

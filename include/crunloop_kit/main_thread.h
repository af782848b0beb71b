/**
 * <crunloop_kit/main_thread.h>: the end of the main thread, noticed whether or not it has made its loop.
 *
 * An async main of Swift, dispatch_main(3) and pthread_exit(3) end the main thread, and the process goes on. So the
 * main thread gets a thread-specific value when the program is loaded, whose destructor is the first to run at that
 * end: its key is older than those of the program and of libdispatch, in whose destructor the thread then sleeps for
 * ever.
 *
 * For code that is built together with the core, as RunLoopKit is, with RLC_WITH_KIT defined; not installed.
 */
#ifndef CRUNLOOP_KIT_MAIN_THREAD_H
#define CRUNLOOP_KIT_MAIN_THREAD_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * Called once by the main thread when it ends. RunLoopKit defines it; weak: the core does without.
 *
 * Not called if another thread has loaded the library, by dlopen(3): then the main thread has no value. Nor
 * in a child of fork(2) that another thread than the main one has made. Nor at exit(3), which ends no thread.
 *
 * Thread: the main thread.
 */
void rlk_kit_main_thread_ends(void) __attribute__((weak));

RLC_END_DECLS
#endif

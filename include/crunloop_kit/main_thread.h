/**
 * <crunloop_kit/main_thread.h>: notices the end of the main thread, whether or not that thread has created its loop.
 *
 * An async main of Swift, dispatch_main(3) and pthread_exit(3) end the main thread, and the process goes on. To notice
 * that, the core gives the main thread a thread-specific value when the program is loaded. When the thread ends, the
 * destructor of this value runs before all others, because its key is older than the keys of the program and of
 * libdispatch. If it ran later, it might never run: the destructor of libdispatch's key lets the thread sleep for ever.
 *
 * For code that is built together with the core, as RunLoopKit is, with RLC_WITH_KIT defined; not installed.
 */
#ifndef CRUNLOOP_KIT_MAIN_THREAD_H
#define CRUNLOOP_KIT_MAIN_THREAD_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * The main thread calls this function once, when the thread ends. RunLoopKit defines the function. The symbol is weak,
 * because the core works without it.
 *
 * The function is not called if another thread has loaded the library, by dlopen(3), because the main thread then has
 * no value. It is not called in a child of fork(2) if another thread than the main one has called fork(2). It is not
 * called at exit(3), which ends no thread.
 *
 * Thread: [loop], which is the main thread.
 */
void rlk_kit_main_thread_ends(void) __attribute__((weak));

RLC_END_DECLS
#endif

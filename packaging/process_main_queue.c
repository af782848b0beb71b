/*
 * Only for the self-contained library, which contains a libdispatch: makes it serve the main queue of the process's own
 * libdispatch, if there is one. The linker redirects the library's calls to these functions (scripts/model.mk). In a process
 * without another libdispatch they call the contained one, which other code does not see.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

int __real__dispatch_get_main_queue_handle_4CF(void);
void __real__dispatch_main_queue_callback_4CF(void *message);
int __wrap__dispatch_get_main_queue_handle_4CF(void);
void __wrap__dispatch_main_queue_callback_4CF(void *message);

static int (*get_handle)(void) = __real__dispatch_get_main_queue_handle_4CF;
static void (*call_back)(void *) = __real__dispatch_main_queue_callback_4CF;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Called once: a later lookup might find another libdispatch, and so another queue. */
static void look_up(void) {
    void *handle = dlsym(RTLD_DEFAULT, "_dispatch_get_main_queue_handle_4CF");
    void *callback = dlsym(RTLD_DEFAULT, "_dispatch_main_queue_callback_4CF");
    if (handle == NULL || callback == NULL)
        return;
    get_handle = __extension__(int (*)(void)) handle;
    call_back = __extension__(void (*)(void *)) callback;
}

int __wrap__dispatch_get_main_queue_handle_4CF(void) {
    (void)pthread_once(&once, look_up);
    return get_handle();
}

void __wrap__dispatch_main_queue_callback_4CF(void *message) {
    (void)pthread_once(&once, look_up);
    call_back(message);
}

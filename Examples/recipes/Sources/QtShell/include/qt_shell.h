/** The little of Qt that the recipe needs, in C for Swift. All calls are made by the main thread. */
#ifndef QT_SHELL_H
#define QT_SHELL_H

#ifdef __cplusplus
extern "C" {
#endif

/** A run loop that Qt's event loop serves. */
typedef struct qt_guest {
    void *context;
    int descriptor; /**< Readable when there is work. */
    /** Called before and after each sleep of Qt. Returns 1 for work, 0 for none, -1 if nothing may be served now. */
    int (*prepare)(void *context);
    void (*serve)(void *context);
} qt_guest;

/** Makes the application and a window with one line of text. */
void qt_start(void);
/** Serves the guest from now on. */
void qt_serve(qt_guest guest);
void qt_set_text(const char *text);
/** The caller frees the text. */
char *qt_copy_text(void);
/** Returns after qt_quit. */
void qt_run(void);
void qt_quit(void);

#ifdef __cplusplus
}
#endif
#endif

/** GLib between two processes: a GSocket on a SOCK_SEQPACKET pair, with a source on the context. */
#include "subject.h"

typedef int (*socket_fn)(void *socket, int condition, void *data);

#define SOCKET_SYMBOLS(X)                                                                                              \
    X(void *, g_socket_new_from_fd, (int, void **))                                                                    \
    X(void *, g_socket_create_source, (void *, int, void *))                                                           \
    X(ssize_t, g_socket_receive, (void *, char *, size_t, void *, void **))                                            \
    X(ssize_t, g_socket_send, (void *, const char *, size_t, void *, void **))
SOCKET_SYMBOLS(DECLARE)

typedef struct channel {
    int ends[2];
    void *context, *loop, *socket;
} channel;

static void channel_arrived(channel *at, const void *bytes, size_t size);

static const char *load_sockets(void) {
    void *library = open_library((const char *const[]){"libgio-2.0.so.0", NULL});
    if (library == NULL)
        return "not installed (libglib2.0-0)";
    SOCKET_SYMBOLS(FIND)
    return NULL;
}

static void channel_prepare(channel *self) {
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, self->ends) == 0, "socketpair");
}

static int channel_readable(void *socket, int condition, void *data) {
    char bytes[256];
    (void)condition;
    ssize_t size = g_socket_receive(socket, bytes, sizeof bytes, NULL, NULL);
    require(size > 0, "g_socket_receive");
    channel_arrived(data, bytes, (size_t)size);
    return 1;
}

static void channel_open(channel *self, bool is_far) {
    enum { G_IO_IN = 1 };
    close(self->ends[!is_far]);
    self->context = g_main_context_new();
    self->loop = g_main_loop_new(self->context, 0);
    self->socket = g_socket_new_from_fd(self->ends[is_far], NULL);
    require(self->socket != NULL, "g_socket_new_from_fd");
    void *source = g_socket_create_source(self->socket, G_IO_IN, NULL);
    socket_fn called = channel_readable;
    g_source_set_callback(source, (source_fn)(void *)called, self, NULL);
    g_source_attach(source, self->context);
}

static void channel_stop(channel *self) {
    g_main_loop_quit(self->loop);
}

static void channel_run(channel *self) {
    g_main_loop_run(self->loop);
}

static void channel_send(channel *self, const void *bytes, size_t size) {
    require(g_socket_send(self->socket, bytes, size, NULL, NULL) == (ssize_t)size, "g_socket_send");
}

/** sd-bus between two processes, without a broker: a method call with an array of bytes and its answer, on an sd-event loop. */
#include "subject.h"

typedef union bus_id {
    uint8_t bytes[16];
    uint64_t words[2];
} bus_id;

typedef int (*bus_fn)(void *message, void *context, void *error);

#define BUS_SYMBOLS(X)                                                                                                 \
    X(int, sd_bus_new, (void **))                                                                                      \
    X(int, sd_bus_set_fd, (void *, int, int))                                                                          \
    X(int, sd_bus_set_server, (void *, int, bus_id))                                                                   \
    X(int, sd_bus_start, (void *))                                                                                     \
    X(int, sd_bus_attach_event, (void *, void *, int))                                                                 \
    X(int, sd_bus_add_filter, (void *, void **, bus_fn, void *))                                                       \
    X(int, sd_bus_call_async, (void *, void **, void *, bus_fn, void *, uint64_t))                                     \
    X(int, sd_bus_send, (void *, void *, uint64_t *))                                                                  \
    X(int, sd_bus_message_new_method_call, (void *, void **, const char *, const char *, const char *, const char *))  \
    X(int, sd_bus_message_new_method_return, (void *, void **))                                                        \
    X(int, sd_bus_message_append_array, (void *, char, const void *, size_t))                                          \
    X(int, sd_bus_message_read_array, (void *, char, const void **, size_t *))                                         \
    X(int, sd_bus_message_is_method_call, (void *, const char *, const char *))                                        \
    X(void *, sd_bus_message_unref, (void *))
BUS_SYMBOLS(DECLARE)

typedef struct channel {
    int ends[2];
    bool is_far, is_stopped;
    void *event, *bus, *call;
} channel;

static void channel_arrived(channel *at, const void *bytes, size_t size);

static const char *load_bus(void *library) {
    BUS_SYMBOLS(FIND)
    return NULL;
}

static void channel_prepare(channel *self) {
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, self->ends) == 0, "socketpair");
}

static int channel_called(void *message, void *context, void *error) {
    channel *self = context;
    const void *bytes;
    size_t size;
    (void)error;
    require(sd_bus_message_read_array(message, 'y', &bytes, &size) > 0, "sd_bus_message_read_array");
    self->call = message;
    channel_arrived(self, bytes, size);
    return 1;
}

static void channel_open(channel *self, bool is_far) {
    static const bus_id id = {.words = {1, 2}};
    self->is_far = is_far;
    close(self->ends[!is_far]);
    require(sd_event_new(&self->event) >= 0 && sd_bus_new(&self->bus) >= 0, "sd_bus_new");
    sd_bus_set_fd(self->bus, self->ends[is_far], self->ends[is_far]);
    if (is_far) {
        sd_bus_set_server(self->bus, 1, id);
        sd_bus_add_filter(self->bus, NULL, channel_called, self);
    }
    require(sd_bus_start(self->bus) >= 0, "sd_bus_start");
    require(sd_bus_attach_event(self->bus, self->event, 0) >= 0, "sd_bus_attach_event");
}

static void channel_send(channel *self, const void *bytes, size_t size) {
    void *message = NULL;
    if (self->is_far) {
        require(sd_bus_message_new_method_return(self->call, &message) >= 0, "sd_bus_message_new_method_return");
        sd_bus_message_append_array(message, 'y', bytes, size);
        require(sd_bus_send(self->bus, message, NULL) >= 0, "sd_bus_send");
    } else {
        require(sd_bus_message_new_method_call(self->bus, &message, NULL, "/echo", "bench.Echo", "Echo") >= 0,
            "sd_bus_message_new_method_call");
        sd_bus_message_append_array(message, 'y', bytes, size);
        require(
            sd_bus_call_async(self->bus, NULL, message, channel_called, self, UINT64_MAX) >= 0, "sd_bus_call_async");
    }
    sd_bus_message_unref(message);
}

/* sd_event_exit() would end the loop for good. */
static void channel_stop(channel *self) {
    self->is_stopped = true;
}

static void channel_run(channel *self) {
    for (self->is_stopped = false; !self->is_stopped;)
        require(sd_event_run(self->event, UINT64_MAX) >= 0, "sd_event_run");
}

/** ZeroMQ between processes: a PAIR of sockets over ipc, which it serves by a thread of its own on each side. */
#include "subject.h"

#define SYMBOLS(X)                                                                                                     \
    X(void *, zmq_ctx_new, (void))                                                                                     \
    X(void *, zmq_socket, (void *, int))                                                                               \
    X(int, zmq_bind, (void *, const char *))                                                                           \
    X(int, zmq_connect, (void *, const char *))                                                                        \
    X(int, zmq_send, (void *, const void *, size_t, int))                                                              \
    X(int, zmq_recv, (void *, void *, size_t, int))
SYMBOLS(DECLARE)

enum { ZMQ_PAIR = 0 };

typedef struct channel {
    char name[64];
    void *socket;
    bool is_stopped;
} channel;

static void channel_arrived(channel *at, const void *bytes, size_t size);

static const char *load(void) {
    void *library = open_library((const char *const[]){"libzmq.so.5", NULL});
    if (library == NULL)
        return "not installed (libzmq5)";
    SYMBOLS(FIND)
    return NULL;
}

/** A name without a file. */
static void channel_prepare(channel *self) {
    snprintf(self->name, sizeof self->name, "ipc://@runloopkit-benchmarks-%d", getpid());
}

static void channel_open(channel *self, bool is_far) {
    self->socket = zmq_socket(zmq_ctx_new(), ZMQ_PAIR);
    int status = is_far ? zmq_bind(self->socket, self->name) : zmq_connect(self->socket, self->name);
    require(status == 0, "zmq_bind or zmq_connect");
}

static void channel_stop(channel *self) {
    self->is_stopped = true;
}

static void channel_send(channel *self, const void *bytes, size_t size) {
    require(zmq_send(self->socket, bytes, size, 0) == (int)size, "zmq_send");
}

static void channel_run(channel *self) {
    char bytes[256];
    for (self->is_stopped = false; !self->is_stopped;) {
        int size = zmq_recv(self->socket, bytes, sizeof bytes, 0);
        require(size > 0, "zmq_recv");
        channel_arrived(self, bytes, (size_t)size);
    }
}

#define HAS_CHANNEL 1
#include "workloads.h"

const bench_subject bench_zeromq = {load, workloads};

/** The C core between two processes: frames in packets of a message socket, which an rlc_loop watches. */
#include "subject.h"
#include <crunloop/crunloop.h>
#include <crunloop_kit/crunloop_kit.h>

typedef struct channel {
    int ends[2];
    int fd;
    rlc_loop *loop;
    unsigned char packet[RLC_FRAME_LARGEST];
} channel;

static void channel_arrived(channel *at, const void *bytes, size_t size);

static void channel_prepare(channel *self) {
    require(rlc_message_socket_pair(self->ends) == 0, "rlc_message_socket_pair");
}

static void channel_readable(rlc_loop *of, rlc_watch *called, uint32_t ready, void *context) {
    channel *self = context;
    rlc_received received;
    rlc_frame_view frame;
    (void)of, (void)called, (void)ready;
    int64_t size = rlc_message_socket_receive(self->fd, self->packet, sizeof self->packet, &received);
    require(size > 0, "rlc_message_socket_receive");
    rlc_frame_fault fault = rlc_frame_parse(self->packet, (size_t)size, received.count, UINT64_MAX, &frame);
    require(fault == RLC_FRAME_SOUND, "rlc_frame_parse");
    channel_arrived(self, frame.bytes, frame.header.payload);
}

static void channel_open(channel *self, bool is_far) {
    rlc_watch *watch;
    self->fd = self->ends[is_far];
    close(self->ends[!is_far]);
    require(rlc_loop_create(NULL, &self->loop) == 0, "rlc_loop_create");
    require(rlc_loop_add_watch(self->loop, self->fd, RLC_READABLE, channel_readable, self, &watch) == 0,
        "rlc_loop_add_watch");
}

static void channel_stop(channel *self) {
    rlc_loop_stop(self->loop);
}
static void channel_run(channel *self) {
    rlc_loop_run(self->loop, RLC_TIME_FOREVER);
}

static void channel_send(channel *self, const void *bytes, size_t size) {
    rlc_frame_header header = {.magic = RLC_FRAME_MAGIC,
        .version = RLC_FRAME_VERSION,
        .kind = RLC_FRAME_MESSAGE,
        .entries = 1,
        .payload = size};
    rlc_frame_entry entry = {.kind = RLC_FRAME_BYTES, .value = size};
    struct iovec parts[] = {{&header, sizeof header}, {&entry, sizeof entry}, {(void *)bytes, size}};
    require(rlc_message_socket_send(self->fd, parts, 3, NULL, 0) == 0, "rlc_message_socket_send");
}

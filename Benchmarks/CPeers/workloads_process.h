/** port_xrtt: a message between two processes. */
#include "subject.h"

#ifdef HAS_CHANNEL
enum { MESSAGE_BYTES = 64, ROUNDS_AT_FIRST = 200 };

static struct {
    channel channel;
    bool is_far;
    unsigned char bytes[MESSAGE_BYTES];
    uint64_t sent_at;
    uint32_t *samples;
    size_t sampled, wanted;
} hop;

static void channel_arrived(channel *at, const void *bytes, size_t size) {
    require(size == MESSAGE_BYTES, "a message of another size");
    if (hop.is_far) {
        channel_send(at, bytes, size);
        return;
    }
    uint64_t now = bench_now();
    if (hop.samples != NULL)
        hop.samples[hop.sampled] = (uint32_t)(now - hop.sent_at);
    if (++hop.sampled == hop.wanted) {
        channel_stop(at);
        return;
    }
    hop.sent_at = now;
    channel_send(at, hop.bytes, sizeof hop.bytes);
}

static void hop_run(size_t wanted) {
    hop.sampled = 0;
    hop.wanted = wanted;
    hop.sent_at = bench_now();
    channel_send(&hop.channel, hop.bytes, sizeof hop.bytes);
    channel_run(&hop.channel);
}

/** 64 bytes to a loop in another process and back; the first rounds, in which the two get to know each other, do not count. */
static void run_port_xrtt(const bench_args *args, bench_result *result) {
    channel_prepare(&hop.channel);
    int other = bench_fork();
    hop.is_far = other == 0;
    bench_pin(args->placement, hop.is_far ? 1 : 0);
    channel_open(&hop.channel, hop.is_far);
    if (hop.is_far) {
        channel_run(&hop.channel);
        _exit(0);
    }
    hop_run(ROUNDS_AT_FIRST);
    hop.samples = require_memory((size_t)args->count, sizeof *hop.samples);

    bench_begin(result);
    hop_run((size_t)args->count);
    bench_end(result);

    bench_end_other(other);
    result->operations = (uint64_t)args->count;
    result->samples = hop.samples;
    result->sample_count = hop.sampled;
}
#endif

/*
 * libFuzzer: any bytes as a packet. The first byte of an input is how many descriptors came with it, the second how large
 * a payload is taken (as a power of two). Built with -DSEEDS it writes the seed corpus instead: `frame_fuzz FOLDER`.
 */
#include <crunloop_kit/frame.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLDS(condition) ((condition) ? (void)0 : abort())

/* What every reader of a sound frame relies on. */
static void check_sound(const rlc_frame_view *view, const uint8_t *packet, size_t size, size_t descriptors) {
    const rlc_frame_header *header = &view->header;
    uint64_t bytes = 0;
    size_t wanted = (header->flags & RLC_FRAME_IN_MEMORY_FILE) != 0, replies = 0;
    bool is_message = header->kind == RLC_FRAME_MESSAGE;
    HOLDS(view->table >= packet && view->table + 16 * (size_t)header->entries <= packet + size);
    if (view->bytes != NULL)
        HOLDS(view->bytes + header->payload == packet + size);
    else
        HOLDS(header->payload > 0);
    for (size_t i = 0; i < header->entries; i++) {
        rlc_frame_entry entry = rlc_frame_entry_at(view, i);
        if (entry.kind == RLC_FRAME_BYTES)
            HOLDS(!__builtin_add_overflow(bytes, entry.value, &bytes));
        wanted += entry.kind == RLC_FRAME_DESCRIPTOR || (entry.flags & RLC_FRAME_AS_SOCKET) != 0;
        replies += (entry.flags & RLC_FRAME_REPLY) != 0;
    }
    HOLDS(replies <= 1 && header->entries - replies <= RLC_FRAME_COMPONENTS);
    if (is_message)
        HOLDS(bytes == header->payload && wanted == descriptors);
    else
        HOLDS(descriptors == (header->kind == RLC_FRAME_INTRODUCE) && header->payload <= RLC_FRAME_REASON);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    size_t descriptors = data[0];
    uint64_t largest = UINT64_C(1) << (data[1] & 63);
    rlc_frame_view view;
    rlc_frame_fault fault = rlc_frame_parse(data + 2, size - 2, descriptors, largest, &view);
    HOLDS(strlen(rlc_frame_fault_text(fault)) < RLC_FRAME_REASON);
    if (fault != RLC_FRAME_SOUND)
        return 0;
    HOLDS(view.header.kind != RLC_FRAME_MESSAGE || view.header.payload <= largest);
    check_sound(&view, data + 2, size - 2, descriptors);
    return 0;
}

#ifdef SEEDS
static const char *folder;

static void write_seed(
    const char *name, rlc_frame_header header, const rlc_frame_entry *entries, const char *bytes, size_t size) {
    char path[4096];
    HOLDS(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
    FILE *file = fopen(path, "wb");
    HOLDS(file != NULL);
    header.magic = RLC_FRAME_MAGIC;
    header.version = RLC_FRAME_VERSION;
    HOLDS(fputc(header.descriptors, file) != EOF && fputc(30, file) != EOF);
    HOLDS(fwrite(&header, sizeof header, 1, file) == 1);
    HOLDS(fwrite(entries, sizeof *entries, header.entries, file) == header.entries);
    HOLDS(fwrite(bytes, 1, size, file) == size);
    HOLDS(fclose(file) == 0);
    uint8_t packet[512];
    size_t table = header.entries * sizeof *entries;
    memcpy(packet, &header, sizeof header);
    memcpy(packet + sizeof header, entries, table);
    memcpy(packet + sizeof header + table, bytes, size);
    rlc_frame_view view;
    HOLDS(rlc_frame_parse(packet, sizeof header + table + size, header.descriptors, UINT64_C(1) << 30, &view) == 0);
}

#define SEED(name, header, bytes, ...)                                                                                 \
    do {                                                                                                               \
        const rlc_frame_entry entries[] = {__VA_ARGS__};                                                               \
        rlc_frame_header filled = header;                                                                              \
        filled.entries = sizeof entries / sizeof entries[0];                                                           \
        write_seed(name, filled, entries, bytes, strlen(bytes));                                                       \
    } while (0)
#define HEADER(...) ((rlc_frame_header){__VA_ARGS__})
#define BYTES(length)                                                                                                  \
    { .kind = RLC_FRAME_BYTES, .value = (length) }
#define RIGHT(bits, number)                                                                                            \
    { .kind = RLC_FRAME_RIGHT, .flags = (bits), .value = (number) }
#define TIMES(number, times)                                                                                           \
    { .kind = RLC_FRAME_RIGHT, .count = (times), .value = (number) }
#define DESCRIPTOR                                                                                                     \
    { .kind = RLC_FRAME_DESCRIPTOR }

int main(int count, char **arguments) {
    HOLDS(count == 2);
    folder = arguments[1];
    write_seed("nothing", HEADER(.kind = RLC_FRAME_MESSAGE, .id = 1), (const rlc_frame_entry[1]){{0}}, "", 0);
    SEED("bytes", HEADER(.kind = RLC_FRAME_MESSAGE, .id = 150, .payload = 5), "hello", BYTES(5));
    SEED("request", HEADER(.kind = RLC_FRAME_MESSAGE, .id = 2, .payload = 4), "ping",
        RIGHT(RLC_FRAME_REPLY | RLC_FRAME_ONCE, 7), BYTES(4));
    SEED("parts", HEADER(.kind = RLC_FRAME_MESSAGE, .payload = 6, .descriptors = 2, .destination = 3), "onetwo",
        BYTES(3), DESCRIPTOR, BYTES(0), DESCRIPTOR, BYTES(3));
    SEED("rights", HEADER(.kind = RLC_FRAME_MESSAGE, .descriptors = 1), "", RIGHT(0, 1), RIGHT(RLC_FRAME_YOURS, 0),
        RIGHT(RLC_FRAME_AS_SOCKET | RLC_FRAME_ONCE, 0), RIGHT(RLC_FRAME_REPLY, 2));
    SEED("file",
        HEADER(.kind = RLC_FRAME_MESSAGE, .flags = RLC_FRAME_IN_MEMORY_FILE, .payload = 1 << 24, .descriptors = 2), "",
        DESCRIPTOR, BYTES(1 << 24));
    SEED("dead", HEADER(.kind = RLC_FRAME_DEAD), "", TIMES(0, 0), TIMES(9, 0));
    SEED("drop", HEADER(.kind = RLC_FRAME_DROP), "", TIMES(4, 1), TIMES(5, 3));
    SEED("quiet", HEADER(.kind = RLC_FRAME_DROP, .flags = RLC_FRAME_IS_QUIET), "", TIMES(0, 1));
    write_seed("introduce", HEADER(.kind = RLC_FRAME_INTRODUCE, .destination = 6, .descriptors = 1),
        (const rlc_frame_entry[1]){{0}}, "", 0);
    write_seed("goodbye", HEADER(.kind = RLC_FRAME_GOODBYE, .id = 3, .payload = 12), (const rlc_frame_entry[1]){{0}},
        "not a friend", 12);
    return 0;
}
#endif

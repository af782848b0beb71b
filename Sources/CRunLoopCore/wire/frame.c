#include <crunloop_kit/frame.h>

#include <string.h>

_Static_assert(sizeof(rlc_frame_header) == 32, "a header as it stands in the packet");
_Static_assert(sizeof(rlc_frame_entry) == 16, "an entry as it stands in the packet");
_Static_assert(RLC_FRAME_LARGEST ==
                   sizeof(rlc_frame_header) + sizeof(rlc_frame_entry) * (RLC_FRAME_COMPONENTS + 1) + RLC_FRAME_INLINE,
    "the largest packet");

rlc_frame_entry rlc_frame_entry_at(const rlc_frame_view *frame, size_t index) {
    rlc_frame_entry entry;
    memcpy(&entry, frame->table + index * sizeof entry, sizeof entry); /* a packet may be unaligned */
    return entry;
}

/* The sums over the entries of a message. */
typedef struct sums {
    uint64_t bytes;
    size_t descriptors, replies;
} sums;

static rlc_frame_fault add_bytes(const rlc_frame_entry *entry, const rlc_frame_header *header, sums *sums) {
    if (entry->flags != 0)
        return RLC_FRAME_BAD_ENTRY;
    if (entry->value > header->payload - sums->bytes)
        return RLC_FRAME_BAD_LENGTH;
    sums->bytes += entry->value;
    return RLC_FRAME_SOUND;
}

static rlc_frame_fault add_right(const rlc_frame_entry *entry, sums *sums) {
    enum { ALL = RLC_FRAME_ONCE | RLC_FRAME_YOURS | RLC_FRAME_AS_SOCKET | RLC_FRAME_REPLY };
    bool is_yours = (entry->flags & RLC_FRAME_YOURS) != 0, is_socket = (entry->flags & RLC_FRAME_AS_SOCKET) != 0;
    if ((entry->flags & ~ALL) != 0 || (is_yours && is_socket))
        return RLC_FRAME_BAD_ENTRY;
    if (is_socket && entry->value != 0)
        return RLC_FRAME_BAD_ENTRY;
    sums->descriptors += is_socket;
    sums->replies += (entry->flags & RLC_FRAME_REPLY) != 0;
    return sums->replies > 1 ? RLC_FRAME_BAD_ENTRY : RLC_FRAME_SOUND;
}

static rlc_frame_fault check_message(const rlc_frame_view *frame, size_t entries) {
    const rlc_frame_header *header = &frame->header;
    bool is_in_file = (header->flags & RLC_FRAME_IN_MEMORY_FILE) != 0;
    sums sums = {.descriptors = is_in_file};
    if (is_in_file && header->payload == 0)
        return RLC_FRAME_BAD_LENGTH;
    for (size_t i = 0; i < entries; i++) {
        rlc_frame_entry entry = rlc_frame_entry_at(frame, i);
        rlc_frame_fault fault = RLC_FRAME_SOUND;
        if (entry.zero != 0 || entry.count != 0)
            return RLC_FRAME_BAD_ENTRY;
        if (entry.kind == RLC_FRAME_BYTES)
            fault = add_bytes(&entry, header, &sums);
        else if (entry.kind == RLC_FRAME_RIGHT)
            fault = add_right(&entry, &sums);
        else if (entry.kind != RLC_FRAME_DESCRIPTOR || entry.flags != 0 || entry.value != 0)
            fault = RLC_FRAME_BAD_ENTRY;
        else
            sums.descriptors++;
        if (fault != RLC_FRAME_SOUND)
            return fault;
    }
    if (entries - sums.replies > RLC_FRAME_COMPONENTS)
        return RLC_FRAME_BAD_COUNT;
    if (sums.bytes != header->payload)
        return RLC_FRAME_BAD_LENGTH;
    return sums.descriptors == header->descriptors ? RLC_FRAME_SOUND : RLC_FRAME_BAD_DESCRIPTORS;
}

/* Checks the entries of a DEAD or DROP frame. Each numbers a port; each of DROP also counts rights. */
static rlc_frame_fault check_numbers(const rlc_frame_view *frame, size_t entries) {
    const rlc_frame_header *header = &frame->header;
    bool is_drop = header->kind == RLC_FRAME_DROP;
    if (header->payload != 0)
        return RLC_FRAME_BAD_LENGTH;
    if (entries > RLC_FRAME_COMPONENTS || (entries == 0 && header->flags == 0))
        return RLC_FRAME_BAD_COUNT;
    for (size_t i = 0; i < entries; i++) {
        rlc_frame_entry entry = rlc_frame_entry_at(frame, i);
        if (entry.kind != RLC_FRAME_RIGHT || entry.flags != 0 || entry.zero != 0 || (entry.count != 0) != is_drop)
            return RLC_FRAME_BAD_ENTRY;
    }
    return RLC_FRAME_SOUND;
}

/* Only messages may have IN_MEMORY_FILE: rlc_frame_parse relies on that. */
static uint16_t allowed_flags(uint8_t kind) {
    if (kind == RLC_FRAME_MESSAGE)
        return RLC_FRAME_IN_MEMORY_FILE;
    return kind == RLC_FRAME_DROP ? RLC_FRAME_IS_QUIET : 0;
}

/*
 * Checks a frame that is no message. Only INTRODUCE has a descriptor, and may have a destination. Only GOODBYE may have
 * an id.
 */
static rlc_frame_fault check_bare(const rlc_frame_header *header) {
    bool is_introduction = header->kind == RLC_FRAME_INTRODUCE;
    if (header->descriptors != is_introduction)
        return RLC_FRAME_BAD_DESCRIPTORS;
    if (header->destination != 0 && !is_introduction)
        return RLC_FRAME_BAD_ENTRY;
    return header->id != 0 && header->kind != RLC_FRAME_GOODBYE ? RLC_FRAME_BAD_ENTRY : RLC_FRAME_SOUND;
}

static rlc_frame_fault check_body(const rlc_frame_view *frame) {
    const rlc_frame_header *header = &frame->header;
    if (header->kind == RLC_FRAME_MESSAGE)
        return check_message(frame, header->entries);
    rlc_frame_fault fault = check_bare(header);
    if (fault != RLC_FRAME_SOUND)
        return fault;
    if (header->kind == RLC_FRAME_DEAD || header->kind == RLC_FRAME_DROP)
        return check_numbers(frame, header->entries);
    if (header->entries != 0)
        return RLC_FRAME_BAD_COUNT;
    return header->payload > (header->kind == RLC_FRAME_GOODBYE ? RLC_FRAME_REASON : 0) ? RLC_FRAME_BAD_LENGTH
                                                                                        : RLC_FRAME_SOUND;
}

rlc_frame_fault rlc_frame_parse(
    const void *packet, size_t size, size_t descriptors, uint64_t largest, rlc_frame_view *ret_frame) {
    rlc_frame_view frame;
    rlc_frame_header *header = &frame.header;
    if (size < sizeof *header)
        return RLC_FRAME_BAD_SIZE;
    memcpy(header, packet, sizeof *header);
    if (header->magic != RLC_FRAME_MAGIC)
        return RLC_FRAME_BAD_MAGIC;
    if (header->version != RLC_FRAME_VERSION)
        return RLC_FRAME_BAD_VERSION;
    if (header->kind < RLC_FRAME_MESSAGE || header->kind > RLC_FRAME_GOODBYE)
        return RLC_FRAME_BAD_KIND;
    if ((header->flags & ~allowed_flags(header->kind)) != 0)
        return RLC_FRAME_BAD_FLAGS;
    if (header->entries > RLC_FRAME_COMPONENTS + 1)
        return RLC_FRAME_BAD_COUNT;
    bool is_in_file = (header->flags & RLC_FRAME_IN_MEMORY_FILE) != 0;
    if (header->payload > largest && header->kind == RLC_FRAME_MESSAGE)
        return RLC_FRAME_TOO_LARGE;
    if (!is_in_file && header->payload > RLC_FRAME_INLINE)
        return RLC_FRAME_BAD_LENGTH;
    size_t before_bytes = sizeof *header + header->entries * sizeof(rlc_frame_entry);
    if (size != before_bytes + (is_in_file ? 0 : (size_t)header->payload))
        return RLC_FRAME_BAD_SIZE;
    if (header->descriptors != descriptors || descriptors > RLC_FRAME_DESCRIPTORS)
        return RLC_FRAME_BAD_DESCRIPTORS;
    frame.table = (const uint8_t *)packet + sizeof *header;
    frame.bytes = is_in_file ? NULL : (const uint8_t *)packet + before_bytes;
    rlc_frame_fault fault = check_body(&frame);
    if (fault == RLC_FRAME_SOUND)
        *ret_frame = frame;
    return fault;
}

const char *rlc_frame_fault_text(rlc_frame_fault fault) {
    static const char *const texts[RLC_FRAME_FAULTS] = {
        [RLC_FRAME_SOUND] = "nothing is wrong",
        [RLC_FRAME_BAD_SIZE] = "the size of the packet is not what its header says",
        [RLC_FRAME_BAD_MAGIC] = "not a frame",
        [RLC_FRAME_BAD_VERSION] = "another version of the protocol",
        [RLC_FRAME_BAD_KIND] = "an unknown kind of frame",
        [RLC_FRAME_BAD_FLAGS] = "unknown flags",
        [RLC_FRAME_BAD_COUNT] = "a wrong number of entries",
        [RLC_FRAME_BAD_ENTRY] = "an entry that does not belong there",
        [RLC_FRAME_BAD_LENGTH] = "lengths that do not add up",
        [RLC_FRAME_TOO_LARGE] = "a payload larger than the receiver accepts",
        [RLC_FRAME_BAD_DESCRIPTORS] = "a wrong number of descriptors",
    };
    return (unsigned)fault < RLC_FRAME_FAULTS ? texts[fault] : "unknown";
}

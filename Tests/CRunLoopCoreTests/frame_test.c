/* The frames that processes send to each other: what is taken apart, and what is not trusted. */
#include "harness.h"

typedef struct packet {
    rlc_frame_header header;
    rlc_frame_entry entries[RLC_FRAME_COMPONENTS + 2];
    uint8_t bytes[RLC_FRAME_INLINE + 1];
} packet;

static packet scratch;
static uint8_t wire[sizeof(packet)];

static packet *frame_of(uint8_t kind) {
    memset(&scratch, 0, sizeof scratch);
    scratch.header.magic = RLC_FRAME_MAGIC;
    scratch.header.version = RLC_FRAME_VERSION;
    scratch.header.kind = kind;
    return &scratch;
}

static void add(packet *packet, rlc_frame_entry entry) {
    packet->entries[packet->header.entries++] = entry;
}

static size_t lay_out(const packet *packet) {
    size_t size = sizeof packet->header, table = packet->header.entries * sizeof(rlc_frame_entry);
    memcpy(wire, &packet->header, size);
    memcpy(wire + size, packet->entries, table);
    size += table;
    if ((packet->header.flags & RLC_FRAME_IN_MEMORY_FILE) == 0 && packet->header.payload <= sizeof packet->bytes) {
        memcpy(wire + size, packet->bytes, packet->header.payload);
        size += packet->header.payload;
    }
    return size;
}

/* From memory of exactly its size, at an odd address, so that a look beyond the end is found out. */
static rlc_frame_fault parse_bytes(const void *bytes, size_t size, size_t descriptors, uint64_t largest) {
    uint8_t *copy = malloc(size + 1);
    CHECK(copy != NULL);
    memcpy(copy + 1, bytes, size);
    rlc_frame_view view, untouched;
    memset(&view, 0x5a, sizeof view);
    memset(&untouched, 0x5a, sizeof untouched);
    rlc_frame_fault fault = rlc_frame_parse(copy + 1, size, descriptors, largest, &view);
    CHECK((memcmp(&view, &untouched, sizeof view) == 0) == (fault != RLC_FRAME_SOUND));
    if (fault == RLC_FRAME_SOUND) {
        for (size_t i = 0; i < view.header.entries; i++)
            (void)rlc_frame_entry_at(&view, i);
        if (view.bytes != NULL)
            CHECK_EQUAL(view.bytes + view.header.payload - (copy + 1), size);
    }
    free(copy);
    return fault;
}

static rlc_frame_fault parse(const packet *packet) {
    return parse_bytes(wire, lay_out(packet), packet->header.descriptors, UINT64_MAX);
}

static packet *sound_message(void) {
    packet *packet = frame_of(RLC_FRAME_MESSAGE);
    packet->header.id = 150;
    packet->header.payload = 7;
    packet->header.descriptors = 2;
    add(packet, (rlc_frame_entry){.kind = RLC_FRAME_RIGHT, .flags = RLC_FRAME_REPLY | RLC_FRAME_ONCE, .value = 3});
    add(packet, (rlc_frame_entry){.kind = RLC_FRAME_BYTES, .value = 4});
    add(packet, (rlc_frame_entry){.kind = RLC_FRAME_DESCRIPTOR});
    add(packet, (rlc_frame_entry){.kind = RLC_FRAME_RIGHT, .flags = RLC_FRAME_AS_SOCKET});
    add(packet, (rlc_frame_entry){.kind = RLC_FRAME_RIGHT, .flags = RLC_FRAME_YOURS});
    add(packet, (rlc_frame_entry){.kind = RLC_FRAME_BYTES, .value = 3});
    memcpy(packet->bytes, "onetwo!", 7);
    return packet;
}

static void test_RLC_FRAME_1_a_sound_message(void) {
    size_t size = lay_out(sound_message());
    rlc_frame_view view;
    CHECK_EQUAL(rlc_frame_parse(wire, size, 2, 7, &view), RLC_FRAME_SOUND);
    CHECK(view.header.id == 150 && view.header.entries == 6 && memcmp(view.bytes, "onetwo!", 7) == 0);
    rlc_frame_entry entry = rlc_frame_entry_at(&view, 5);
    CHECK(entry.kind == RLC_FRAME_BYTES && entry.value == 3);
    unsigned long before = allocations();
    CHECK_EQUAL(rlc_frame_parse(wire, size, 2, 7, &view), RLC_FRAME_SOUND);
    CHECK_EQUAL(allocations(), before);
}

static void test_RLC_FRAME_1_any_cut_and_any_changed_byte(void) {
    size_t size = lay_out(sound_message());
    uint8_t whole[256];
    CHECK(size < sizeof whole);
    memcpy(whole, wire, size);
    for (size_t cut = 0; cut < size; cut++)
        CHECK_EQUAL(parse_bytes(whole, cut, 2, UINT64_MAX) == RLC_FRAME_SOUND, false);
    whole[size] = 0;
    CHECK_EQUAL(parse_bytes(whole, size + 1, 2, UINT64_MAX), RLC_FRAME_BAD_SIZE);
    for (size_t at = 0; at < size * 256; at++) {
        uint8_t kept = whole[at / 256];
        whole[at / 256] = (uint8_t)at;
        (void)parse_bytes(whole, size, 2, UINT64_MAX); /* it may be sound, but reads nothing else */
        whole[at / 256] = kept;
    }
}

static void test_RLC_FRAME_2_headers(void) {
    packet *packet = sound_message();
    packet->header.magic = __builtin_bswap32(RLC_FRAME_MAGIC);
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_MAGIC);
    packet = sound_message();
    packet->header.version++;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_VERSION);
    packet = sound_message();
    packet->header.kind = 0;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_KIND);
    packet->header.kind = RLC_FRAME_GOODBYE + 1;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_KIND);
    packet = sound_message();
    packet->header.flags = RLC_FRAME_IS_QUIET;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_FLAGS);
    packet->header.flags = 0x8000;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_FLAGS);
    packet = sound_message();
    packet->header.entries = RLC_FRAME_COMPONENTS + 2;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_COUNT);
    packet = sound_message();
    packet->header.entries--;
    CHECK_EQUAL(parse_bytes(wire, lay_out(sound_message()), 1, UINT64_MAX), RLC_FRAME_BAD_DESCRIPTORS);
    CHECK_EQUAL(parse_bytes(wire, lay_out(sound_message()), 2, 6), RLC_FRAME_TOO_LARGE);
    packet = frame_of(RLC_FRAME_MESSAGE);
    CHECK_EQUAL(parse(packet), RLC_FRAME_SOUND); /* nothing but an id */
}

static rlc_frame_fault parse_only(rlc_frame_entry entry, uint64_t payload, uint16_t descriptors) {
    packet *packet = frame_of(RLC_FRAME_MESSAGE);
    add(packet, entry);
    packet->header.payload = payload;
    packet->header.descriptors = descriptors;
    return parse(packet);
}

static void test_RLC_FRAME_3_entries(void) {
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = 0}, 0, 0), RLC_FRAME_BAD_ENTRY);
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = 4}, 0, 0), RLC_FRAME_BAD_ENTRY);
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = RLC_FRAME_BYTES, .flags = 1}, 0, 0), RLC_FRAME_BAD_ENTRY);
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = RLC_FRAME_BYTES, .zero = 1}, 0, 0), RLC_FRAME_BAD_ENTRY);
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = RLC_FRAME_BYTES, .count = 1}, 0, 0), RLC_FRAME_BAD_ENTRY);
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = RLC_FRAME_BYTES}, 0, 0), RLC_FRAME_SOUND);
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = RLC_FRAME_BYTES, .value = 2}, 1, 0), RLC_FRAME_BAD_LENGTH);
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = RLC_FRAME_BYTES, .value = 1}, 2, 0), RLC_FRAME_BAD_LENGTH);
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = RLC_FRAME_DESCRIPTOR}, 0, 0), RLC_FRAME_BAD_DESCRIPTORS);
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = RLC_FRAME_DESCRIPTOR}, 0, 2), RLC_FRAME_BAD_DESCRIPTORS);
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = RLC_FRAME_DESCRIPTOR}, 0, 1), RLC_FRAME_SOUND);
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = RLC_FRAME_DESCRIPTOR, .value = 1}, 0, 1), RLC_FRAME_BAD_ENTRY);
    CHECK_EQUAL(parse_only((rlc_frame_entry){.kind = RLC_FRAME_DESCRIPTOR, .flags = 1}, 0, 1), RLC_FRAME_BAD_ENTRY);
    rlc_frame_entry right = {.kind = RLC_FRAME_RIGHT};
    CHECK_EQUAL(parse_only(right, 0, 0), RLC_FRAME_SOUND);
    right.flags = RLC_FRAME_YOURS;
    CHECK_EQUAL(parse_only(right, 0, 0), RLC_FRAME_SOUND);
    right.flags = RLC_FRAME_YOURS | RLC_FRAME_AS_SOCKET;
    CHECK_EQUAL(parse_only(right, 0, 1), RLC_FRAME_BAD_ENTRY);
    right.flags = RLC_FRAME_AS_SOCKET;
    CHECK_EQUAL(parse_only(right, 0, 1), RLC_FRAME_SOUND);
    CHECK_EQUAL(parse_only(right, 0, 0), RLC_FRAME_BAD_DESCRIPTORS);
    right.value = 1;
    CHECK_EQUAL(parse_only(right, 0, 1), RLC_FRAME_BAD_ENTRY);
    right.flags = 16;
    CHECK_EQUAL(parse_only(right, 0, 0), RLC_FRAME_BAD_ENTRY);
    packet *packet = sound_message();
    packet->entries[4].flags |= RLC_FRAME_REPLY;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_ENTRY); /* two replies */
}

static void test_RLC_FRAME_3_lengths_that_would_overflow(void) {
    packet *packet = frame_of(RLC_FRAME_MESSAGE);
    packet->header.flags = RLC_FRAME_IN_MEMORY_FILE;
    packet->header.descriptors = 1;
    add(packet, (rlc_frame_entry){.kind = RLC_FRAME_BYTES, .value = UINT64_MAX});
    add(packet, (rlc_frame_entry){.kind = RLC_FRAME_BYTES, .value = 11});
    packet->header.payload = 10;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_LENGTH);
    packet->header.payload = UINT64_MAX;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_LENGTH);
    packet->header.entries = 1;
    CHECK_EQUAL(parse(packet), RLC_FRAME_SOUND);
    packet->header.flags = 0;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_LENGTH);
    packet->header.flags = RLC_FRAME_IN_MEMORY_FILE;
    packet->header.descriptors = 0;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_DESCRIPTORS);
    packet->header.payload = packet->entries[0].value = 0; /* no file of nothing */
    packet->header.descriptors = 1;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_LENGTH);
}

static rlc_frame_fault parse_lengths(const uint64_t *lengths, size_t count, uint64_t payload, uint16_t flags) {
    packet *packet = frame_of(RLC_FRAME_MESSAGE);
    packet->header.flags = flags;
    packet->header.descriptors = flags == RLC_FRAME_IN_MEMORY_FILE;
    packet->header.payload = payload;
    for (size_t i = 0; i < count; i++)
        add(packet, (rlc_frame_entry){.kind = RLC_FRAME_BYTES, .value = lengths[i]});
    return parse(packet);
}

/* Each sum is the payload's size, in 64 bits: a component would lie outside of it. */
static void test_RLC_FRAME_3_lengths_that_wrap(void) {
    const uint64_t back[] = {10, UINT64_MAX, 1}, around[] = {10, UINT64_MAX - 9, 10};
    const uint64_t halves[] = {4, UINT64_C(1) << 63, UINT64_C(1) << 63, 6};
    for (uint16_t flags = 0; flags <= RLC_FRAME_IN_MEMORY_FILE; flags++) {
        CHECK_EQUAL(parse_lengths(back, 3, 10, flags), RLC_FRAME_BAD_LENGTH);
        CHECK_EQUAL(parse_lengths(around, 3, 10, flags), RLC_FRAME_BAD_LENGTH);
        CHECK_EQUAL(parse_lengths(halves, 4, 10, flags), RLC_FRAME_BAD_LENGTH);
    }
    const uint64_t all[] = {UINT64_MAX - 1, 1}, more[] = {UINT64_MAX, 1, UINT64_MAX};
    CHECK_EQUAL(parse_lengths(all, 2, UINT64_MAX, RLC_FRAME_IN_MEMORY_FILE), RLC_FRAME_SOUND);
    CHECK_EQUAL(parse_lengths(more, 3, UINT64_MAX, RLC_FRAME_IN_MEMORY_FILE), RLC_FRAME_BAD_LENGTH);
}

static rlc_frame_fault parse_descriptors(size_t count, uint16_t said) {
    packet *packet = frame_of(RLC_FRAME_MESSAGE);
    for (size_t i = 0; i < count; i++)
        add(packet, (rlc_frame_entry){.kind = RLC_FRAME_DESCRIPTOR});
    packet->header.descriptors = said;
    return parse(packet);
}

static void test_RLC_FRAME_3_the_most_descriptors(void) {
    CHECK_EQUAL(parse_descriptors(RLC_FRAME_DESCRIPTORS, RLC_FRAME_DESCRIPTORS), RLC_FRAME_SOUND);
    CHECK_EQUAL(parse_descriptors(RLC_FRAME_DESCRIPTORS + 1, RLC_FRAME_DESCRIPTORS + 1), RLC_FRAME_BAD_DESCRIPTORS);
    for (uint16_t said = 0; said < 3; said++) /* the sum is right in 8 bits */
        CHECK_EQUAL(parse_descriptors(said + 256u, said), RLC_FRAME_BAD_DESCRIPTORS);
}

static void test_RLC_FRAME_3_the_largest_message(void) {
    packet *packet = frame_of(RLC_FRAME_MESSAGE);
    for (int i = 0; i < RLC_FRAME_COMPONENTS; i++)
        add(packet, (rlc_frame_entry){.kind = RLC_FRAME_BYTES, .value = 64});
    packet->header.payload = RLC_FRAME_INLINE;
    CHECK_EQUAL(parse(packet), RLC_FRAME_SOUND);
    add(packet, (rlc_frame_entry){.kind = RLC_FRAME_BYTES});
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_COUNT); /* one more is the reply's */
    packet->entries[RLC_FRAME_COMPONENTS] =
        (rlc_frame_entry){.kind = RLC_FRAME_RIGHT, .flags = RLC_FRAME_REPLY, .value = UINT64_MAX};
    CHECK_EQUAL(parse(packet), RLC_FRAME_SOUND);
    CHECK_EQUAL(lay_out(packet), RLC_FRAME_LARGEST);
    packet->header.payload++;
    packet->entries[0].value++;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_LENGTH);
}

static void test_RLC_FRAME_3_frames_without_components(void) {
    rlc_frame_entry right = {.kind = RLC_FRAME_RIGHT, .value = 5};
    packet *packet = frame_of(RLC_FRAME_DEAD);
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_COUNT);
    add(packet, right);
    CHECK_EQUAL(parse(packet), RLC_FRAME_SOUND);
    packet->header.kind = RLC_FRAME_DROP;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_ENTRY);
    packet->entries[0].count = 1;
    CHECK_EQUAL(parse(packet), RLC_FRAME_SOUND);
    packet->header.kind = RLC_FRAME_DEAD;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_ENTRY);
    packet = frame_of(RLC_FRAME_DROP);
    packet->header.flags = RLC_FRAME_IS_QUIET;
    CHECK_EQUAL(parse(packet), RLC_FRAME_SOUND);
    packet->header.destination = 1;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_ENTRY);
    packet = frame_of(RLC_FRAME_INTRODUCE);
    packet->header.destination = 9;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_DESCRIPTORS);
    packet->header.descriptors = 1;
    CHECK_EQUAL(parse(packet), RLC_FRAME_SOUND);
    packet->header.payload = 1;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_LENGTH);
    packet->header.payload = 0;
    add(packet, right);
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_COUNT);
    packet = frame_of(RLC_FRAME_GOODBYE);
    packet->header.id = 3;
    packet->header.payload = RLC_FRAME_REASON;
    CHECK_EQUAL(parse(packet), RLC_FRAME_SOUND);
    CHECK_EQUAL(parse_bytes(wire, lay_out(packet), 0, 0), RLC_FRAME_SOUND); /* it is no message's payload */
    packet->header.payload++;
    CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_LENGTH);
}

static bool has_numbers(uint8_t kind) {
    return kind == RLC_FRAME_DEAD || kind == RLC_FRAME_DROP;
}

/** A sound frame of a kind that is no message. */
static packet *sound_frame(uint8_t kind) {
    packet *packet = frame_of(kind);
    packet->header.descriptors = kind == RLC_FRAME_INTRODUCE;
    if (has_numbers(kind))
        add(packet, (rlc_frame_entry){.kind = RLC_FRAME_RIGHT, .count = kind == RLC_FRAME_DROP, .value = 5});
    return packet;
}

/* Each field of the header belongs to certain kinds. */
static void test_RLC_FRAME_2_headers_of_frames_without_components(void) {
    for (uint8_t kind = RLC_FRAME_DEAD; kind <= RLC_FRAME_GOODBYE; kind++) {
        CHECK_EQUAL(parse(sound_frame(kind)), RLC_FRAME_SOUND);
        scratch.header.id = 1;
        CHECK_EQUAL(parse(&scratch), kind == RLC_FRAME_GOODBYE ? RLC_FRAME_SOUND : RLC_FRAME_BAD_ENTRY);
        sound_frame(kind)->header.destination = 1;
        CHECK_EQUAL(parse(&scratch), kind == RLC_FRAME_INTRODUCE ? RLC_FRAME_SOUND : RLC_FRAME_BAD_ENTRY);
        sound_frame(kind)->header.flags = RLC_FRAME_IS_QUIET;
        CHECK_EQUAL(parse(&scratch), kind == RLC_FRAME_DROP ? RLC_FRAME_SOUND : RLC_FRAME_BAD_FLAGS);
        sound_frame(kind)->header.flags = RLC_FRAME_IN_MEMORY_FILE;
        CHECK_EQUAL(parse(&scratch), RLC_FRAME_BAD_FLAGS);
        sound_frame(kind)->header.descriptors ^= 1;
        CHECK_EQUAL(parse(&scratch), RLC_FRAME_BAD_DESCRIPTORS);
        sound_frame(kind)->header.payload = 1;
        CHECK_EQUAL(parse(&scratch), kind == RLC_FRAME_GOODBYE ? RLC_FRAME_SOUND : RLC_FRAME_BAD_LENGTH);
    }
}

static rlc_frame_fault parse_number(uint8_t kind, rlc_frame_entry entry) {
    packet *packet = sound_frame(kind);
    packet->entries[0] = entry;
    return parse(packet);
}

static void test_RLC_FRAME_3_entries_that_are_numbers(void) {
    for (uint8_t kind = RLC_FRAME_DEAD; kind <= RLC_FRAME_DROP; kind++) {
        const rlc_frame_entry sound = sound_frame(kind)->entries[0];
        rlc_frame_entry wrong[] = {sound, sound, sound, sound, sound};
        wrong[0].kind = RLC_FRAME_BYTES;
        wrong[1].kind = RLC_FRAME_DESCRIPTOR;
        wrong[2].flags = RLC_FRAME_ONCE;
        wrong[3].zero = 1;
        wrong[4].count = !sound.count;
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
            CHECK_EQUAL(parse_number(kind, wrong[i]), RLC_FRAME_BAD_ENTRY);
        packet *packet = sound_frame(kind);
        while (packet->header.entries < RLC_FRAME_COMPONENTS)
            add(packet, sound);
        CHECK_EQUAL(parse(packet), RLC_FRAME_SOUND);
        add(packet, sound);
        CHECK_EQUAL(parse(packet), RLC_FRAME_BAD_COUNT);
    }
}

static void test_every_fault_has_words(void) {
    for (int fault = 0; fault < RLC_FRAME_FAULTS; fault++)
        CHECK(strlen(rlc_frame_fault_text((rlc_frame_fault)fault)) > 7 &&
              strlen(rlc_frame_fault_text((rlc_frame_fault)fault)) < RLC_FRAME_REASON);
    CHECK(strcmp(rlc_frame_fault_text(RLC_FRAME_FAULTS), "unknown") == 0);
}

int main(void) {
    RUN(test_RLC_FRAME_1_a_sound_message);
    RUN(test_RLC_FRAME_1_any_cut_and_any_changed_byte);
    RUN(test_RLC_FRAME_2_headers);
    RUN(test_RLC_FRAME_3_entries);
    RUN(test_RLC_FRAME_3_lengths_that_would_overflow);
    RUN(test_RLC_FRAME_3_lengths_that_wrap);
    RUN(test_RLC_FRAME_3_the_most_descriptors);
    RUN(test_RLC_FRAME_3_the_largest_message);
    RUN(test_RLC_FRAME_3_frames_without_components);
    RUN(test_RLC_FRAME_2_headers_of_frames_without_components);
    RUN(test_RLC_FRAME_3_entries_that_are_numbers);
    RUN(test_every_fault_has_words);
    return 0;
}

/**
 * <crunloop/frame.h>: what one process sends to another in one packet of a message socket, and how it is believed.
 *
 * A frame is a header, a table of entries, and bytes; all numbers are in host byte order, since both ends are one
 * machine. Rights travel as numbers of ports that one end has made known to the other ("exported"), or as descriptors
 * of new sockets. What a peer has sent is believed by rlc_frame_parse alone: pure, without allocation, safe for any
 * bytes [RLC-FRAME-1].
 */
#ifndef CRUNLOOP_FRAME_H
#define CRUNLOOP_FRAME_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

#define RLC_FRAME_MAGIC 0x504b4c52u /**< "RLKP" on a little-endian machine. */

enum {
    RLC_FRAME_VERSION = 1,
    RLC_FRAME_COMPONENTS = 1024,  /**< Components of a message; its table may have the reply right besides. */
    RLC_FRAME_DESCRIPTORS = 253,  /**< As many as one packet takes: SCM_MAX_FD of unix(7). */
    RLC_FRAME_INLINE = 64 * 1024, /**< Bytes in the packet itself; more travel in a sealed memory file. */
    RLC_FRAME_REASON = 256,       /**< Bytes of a farewell's text. */
    RLC_FRAME_LARGEST = 32 + 16 * (RLC_FRAME_COMPONENTS + 1) + RLC_FRAME_INLINE,
};

typedef enum rlc_frame_kind {
    RLC_FRAME_MESSAGE = 1,
    RLC_FRAME_DEAD,      /**< The ports of these numbers, which the sender has exported, are gone. */
    RLC_FRAME_DROP,      /**< Rights to the receiver's ports that the sender has no longer: how many of each number. */
    RLC_FRAME_INTRODUCE, /**< A socket whose other end is a stranger's, who gets a right to the port `destination`. */
    RLC_FRAME_GOODBYE,   /**< The connection ends; the bytes say why. */
} rlc_frame_kind;

enum {
    RLC_FRAME_IN_MEMORY_FILE = 1, /**< MESSAGE: the bytes are in the first descriptor. */
    RLC_FRAME_IS_QUIET = 2,       /**< DROP: the sender, which has opened the connection, has no right left. */
};

/** As it stands in the packet. */
typedef struct rlc_frame_header {
    uint32_t magic;
    uint8_t version;
    uint8_t kind; /**< rlc_frame_kind. */
    uint16_t flags;
    uint32_t id;
    uint16_t entries;
    uint16_t descriptors; /**< That come with the packet, all together. */
    uint64_t destination; /**< A number of the receiver's; 0: the port for which the connection was made. */
    uint64_t payload;     /**< Bytes. */
} rlc_frame_header;

typedef enum rlc_frame_entry_kind {
    RLC_FRAME_BYTES = 1,
    RLC_FRAME_DESCRIPTOR,
    RLC_FRAME_RIGHT,
} rlc_frame_entry_kind;

/** Of a right. */
enum {
    RLC_FRAME_ONCE = 1,      /**< Used up by the first message. */
    RLC_FRAME_YOURS = 2,     /**< `value` is the receiver's number, not the sender's. */
    RLC_FRAME_AS_SOCKET = 4, /**< It comes as a descriptor: a new connection. */
    RLC_FRAME_REPLY = 8,     /**< Where an answer goes; no component. At most one. */
};

/** As it stands in the packet. The descriptors are the memory file's, if any, then those of the entries, in order. */
typedef struct rlc_frame_entry {
    uint8_t kind; /**< rlc_frame_entry_kind. */
    uint8_t flags;
    uint16_t zero;
    uint32_t count; /**< DROP: how many, not 0. Else 0. */
    uint64_t value; /**< Bytes: how many. Right: a number. Else 0. */
} rlc_frame_entry;

typedef enum rlc_frame_fault {
    RLC_FRAME_SOUND = 0,
    RLC_FRAME_BAD_SIZE, /**< Shorter or longer than its header says, or than any header. */
    RLC_FRAME_BAD_MAGIC,
    RLC_FRAME_BAD_VERSION,
    RLC_FRAME_BAD_KIND,
    RLC_FRAME_BAD_FLAGS,
    RLC_FRAME_BAD_COUNT,       /**< More entries than allowed, or none where there must be some. */
    RLC_FRAME_BAD_ENTRY,       /**< A kind, flags or a number that does not belong there. */
    RLC_FRAME_BAD_LENGTH,      /**< The components' lengths are not the payload's. */
    RLC_FRAME_TOO_LARGE,       /**< A payload larger than the receiver takes. */
    RLC_FRAME_BAD_DESCRIPTORS, /**< Fewer or more descriptors than the header and the entries say. */
    RLC_FRAME_FAULTS,
} rlc_frame_fault;

/** What a packet says, as long as the packet is there. */
typedef struct rlc_frame_view {
    rlc_frame_header header;
    const uint8_t *table;
    const uint8_t *bytes; /**< header.payload of them; NULL if they are in a memory file. */
} rlc_frame_view;

/**
 * Takes a packet apart, and believes nothing: size, counts, lengths, descriptors and every field that must be 0
 * [RLC-FRAME-2, RLC-FRAME-3].
 *
 * @param packet      The bytes as they came; borrowed.
 * @param size        How many bytes there are.
 * @param descriptors How many have come with it.
 * @param largest     The largest payload that is taken, in the packet or not.
 * @param ret_frame   Points into the packet. Untouched unless RLC_FRAME_SOUND is returned.
 *
 * Thread: [any].  Cost: O(entries).
 */
RLC_API rlc_frame_fault rlc_frame_parse(
    const void *packet, size_t size, size_t descriptors, uint64_t largest, rlc_frame_view *ret_frame);

/** The entry at an index below header.entries.  Thread: [any]. */
RLC_API rlc_frame_entry rlc_frame_entry_at(const rlc_frame_view *frame, size_t index);

/** A fault in words, for a farewell; a constant.  Thread: [any]. */
RLC_API const char *rlc_frame_fault_text(rlc_frame_fault fault);

RLC_END_DECLS
#endif

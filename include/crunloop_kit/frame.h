/**
 * <crunloop_kit/frame.h>: the format of a packet that one process sends to another over a message socket, and its
 * decoder.
 *
 * A frame is a header, a table of entries, and bytes. Numbers are in host byte order, because both ends are on one
 * machine. A frame carries a send right as the number of an exported port, or as the descriptor of a new socket. A port
 * is exported once its process has sent its number to the other end.
 *
 * rlc_frame_parse validates what a peer has sent. It allocates nothing, depends on its arguments only, and is safe for
 * any bytes [RLC-FRAME-1]. The rest of the program may rely on a frame that rlc_frame_parse has accepted.
 */
#ifndef CRUNLOOP_KIT_FRAME_H
#define CRUNLOOP_KIT_FRAME_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/** The first four bytes of a frame: "RLKP" on a little-endian machine. */
#define RLC_FRAME_MAGIC 0x504b4c52u

/** Limits of a frame, which both ends check. */
enum {
    RLC_FRAME_VERSION = 1,
    RLC_FRAME_COMPONENTS = 1024,  /**< Components of a message. Its table may have one more entry: the reply right. */
    RLC_FRAME_DESCRIPTORS = 253,  /**< Descriptors of a packet: SCM_MAX_FD of unix(7). */
    RLC_FRAME_INLINE = 64 * 1024, /**< Bytes of a payload in the packet itself. A larger one is in a memory file. */
    RLC_FRAME_REASON = 256,       /**< Bytes of the text of RLC_FRAME_GOODBYE. */
    /** Bytes of the largest packet: a receive buffer of this size suffices. */
    RLC_FRAME_LARGEST = 32 + 16 * (RLC_FRAME_COMPONENTS + 1) + RLC_FRAME_INLINE,
};

/** What a frame is for. */
typedef enum rlc_frame_kind {
    RLC_FRAME_MESSAGE = 1, /**< A message for the port `destination`. */
    RLC_FRAME_DEAD,        /**< The entries name ports that the sender has exported and that no longer exist. */
    /** The entries name ports of the receiver to which the sender has released rights, and how many of each. */
    RLC_FRAME_DROP,
    /** Carries a socket, at whose other end a third process gets a right to the port `destination`. */
    RLC_FRAME_INTRODUCE,
    RLC_FRAME_GOODBYE, /**< The sender closes the connection. The payload is a text that says why. */
} rlc_frame_kind;

/** The flags of a header. Each belongs to one kind. */
enum {
    RLC_FRAME_IN_MEMORY_FILE = 1, /**< MESSAGE: the payload is in a sealed memory file, the first descriptor. */
    RLC_FRAME_IS_QUIET = 2,       /**< DROP: the sender has opened the connection and holds no right any more. */
};

/** The first 32 bytes of a packet. */
typedef struct rlc_frame_header {
    uint32_t magic; /**< RLC_FRAME_MAGIC. */
    uint8_t version;
    uint8_t kind;   /**< rlc_frame_kind. */
    uint16_t flags; /**< RLC_FRAME_IN_MEMORY_FILE, RLC_FRAME_IS_QUIET. */
    uint32_t id;    /**< MESSAGE: the message's id. GOODBYE: any number. Otherwise 0. */
    uint16_t entries;
    uint16_t descriptors; /**< The number of all descriptors that come with the packet. */
    /** MESSAGE, INTRODUCE: the receiver's number of the port; 0 is the port for which the connection was made. */
    uint64_t destination;
    uint64_t payload; /**< Bytes, in the packet or in the memory file. */
} rlc_frame_header;

/** What an entry of the table describes. */
typedef enum rlc_frame_entry_kind {
    RLC_FRAME_BYTES = 1,  /**< The next `value` bytes of the payload. */
    RLC_FRAME_DESCRIPTOR, /**< The next descriptor. */
    RLC_FRAME_RIGHT,      /**< A send right, or the name of a port in a DEAD or DROP frame. */
} rlc_frame_entry_kind;

/** The flags of an entry of the kind RLC_FRAME_RIGHT. */
enum {
    RLC_FRAME_ONCE = 1,      /**< The first message that is sent by this right consumes it. */
    RLC_FRAME_YOURS = 2,     /**< `value` numbers a port of the receiver; without this flag, a port of the sender. */
    RLC_FRAME_AS_SOCKET = 4, /**< The right is the next descriptor: a new connection. Not with RLC_FRAME_YOURS. */
    RLC_FRAME_REPLY = 8,     /**< The right to answer this message. It is no component. At most one in a frame. */
};

/** An entry of the table: 16 bytes. The memory file's descriptor comes first, then those of the entries in order. */
typedef struct rlc_frame_entry {
    uint8_t kind; /**< rlc_frame_entry_kind. */
    uint8_t flags;
    uint16_t zero;
    uint32_t count; /**< DROP: how many rights, at least 1. Otherwise 0. */
    uint64_t value; /**< Bytes: how many. Right: the number of a port; 0 with RLC_FRAME_AS_SOCKET. Otherwise 0. */
} rlc_frame_entry;

/** What rlc_frame_parse finds wrong with a packet. RLC_FRAME_SOUND is 0. */
typedef enum rlc_frame_fault {
    RLC_FRAME_SOUND = 0,
    RLC_FRAME_BAD_SIZE, /**< The packet is shorter than a header, or its size is not what its header says. */
    RLC_FRAME_BAD_MAGIC,
    RLC_FRAME_BAD_VERSION,
    RLC_FRAME_BAD_KIND,
    RLC_FRAME_BAD_FLAGS,
    RLC_FRAME_BAD_COUNT,       /**< There are more entries than allowed, or none where there must be one. */
    RLC_FRAME_BAD_ENTRY,       /**< A field of the header or of an entry has a value that its kind does not allow. */
    RLC_FRAME_BAD_LENGTH,      /**< The components do not add up to the payload, or the kind allows no such payload. */
    RLC_FRAME_TOO_LARGE,       /**< The payload is larger than the receiver accepts. */
    RLC_FRAME_BAD_DESCRIPTORS, /**< The number of descriptors is not what the header and the entries say. */
    RLC_FRAME_FAULTS,          /**< The number of values above. */
} rlc_frame_fault;

/** A packet that rlc_frame_parse has accepted. Its pointers point into the packet's bytes, and are valid with them. */
typedef struct rlc_frame_view {
    rlc_frame_header header;
    const uint8_t *table; /**< The entries, not aligned: see rlc_frame_entry_at. */
    const uint8_t *bytes; /**< header.payload bytes; NULL if they are in a memory file. */
} rlc_frame_view;

/**
 * Validates a packet: size, counts, lengths, number of descriptors, and every field that must be 0 [RLC-FRAME-2,
 * RLC-FRAME-3]. It reads the packet's bytes only, neither its descriptors nor a memory file: rlc_memory_file_map checks
 * the file.
 *
 * @param packet      The bytes that were received. The caller keeps them while it uses the view.
 * @param size        The size of the packet in bytes.
 * @param descriptors The number of descriptors that came with it.
 * @param largest     The largest payload of a message that the receiver accepts, in bytes.
 * @param ret_frame   The view. Not written unless the call returns RLC_FRAME_SOUND.
 * @return RLC_FRAME_SOUND, or the first fault that was found.
 *
 * Thread: [any].  Cost: O(entries).
 */
rlc_frame_fault rlc_frame_parse(
    const void *packet, size_t size, size_t descriptors, uint64_t largest, rlc_frame_view *ret_frame);

/**
 * Copies an entry of the table.
 *
 * @param frame A view from rlc_frame_parse.
 * @param index Less than header.entries. It is not checked.
 * @return The entry.
 *
 * Thread: [any].
 */
rlc_frame_entry rlc_frame_entry_at(const rlc_frame_view *frame, size_t index);

/**
 * Describes a fault, for the text of RLC_FRAME_GOODBYE or for a log.
 *
 * @param fault The fault.
 * @return A constant string, in English; "unknown" for a value that is no fault.
 *
 * Thread: [any].
 */
const char *rlc_frame_fault_text(rlc_frame_fault fault);

RLC_END_DECLS
#endif

/**
 * <crunloop_kit/frame.h>: the format of a packet that one process sends to another over a message socket, and its
 * decoder.
 *
 * A frame is a header, a table of entries, and bytes. Numbers are in host byte order, because both ends are on one
 * machine. A send right is the right to send to a port. A frame carries it as the number of an exported port, or as the
 * descriptor of a new socket. A port is exported once its process has sent the port's number to the other end.
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
    RLC_FRAME_COMPONENTS = 1024,  /**< Components of a message. The table may have one more entry: the reply right. */
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
    /** The entries name ports of the receiver, and say how many rights to each the sender has released. */
    RLC_FRAME_DROP,
    /** Carries a socket, at whose other end a third process gets a right to the port `destination`. */
    RLC_FRAME_INTRODUCE,
    RLC_FRAME_GOODBYE, /**< The sender closes the connection. The payload is a text that says why. */
} rlc_frame_kind;

/** The flags of a header. Each is allowed in one kind of frame only. */
enum {
    /** In MESSAGE: the payload is in a sealed memory file, which is the first descriptor. */
    RLC_FRAME_IN_MEMORY_FILE = 1,
    /** In DROP: the sender has opened the connection, and holds no right to the receiver's ports any more. */
    RLC_FRAME_IS_QUIET = 2,
};

/** The first 32 bytes of a packet. */
typedef struct rlc_frame_header {
    uint32_t magic; /**< RLC_FRAME_MAGIC. */
    uint8_t version;
    uint8_t kind;   /**< rlc_frame_kind. */
    uint16_t flags; /**< RLC_FRAME_IN_MEMORY_FILE, RLC_FRAME_IS_QUIET. */
    uint32_t id;    /**< In MESSAGE the message's id, in GOODBYE any number, otherwise 0. */
    uint16_t entries;
    uint16_t descriptors; /**< The number of all descriptors that come with the packet. */
    /** In MESSAGE and INTRODUCE the receiver's number of the port; 0 is the port for which the connection was made. */
    uint64_t destination;
    uint64_t payload; /**< The number of bytes in the packet, or in the memory file. */
} rlc_frame_header;

/** What an entry of the table describes. */
typedef enum rlc_frame_entry_kind {
    RLC_FRAME_BYTES = 1,  /**< The next `value` bytes of the payload. */
    RLC_FRAME_DESCRIPTOR, /**< The next descriptor. */
    RLC_FRAME_RIGHT,      /**< A send right; in DEAD and DROP the port that the entry names. */
} rlc_frame_entry_kind;

/** The flags of an entry of the kind RLC_FRAME_RIGHT. */
enum {
    RLC_FRAME_ONCE = 1,  /**< The first message that is sent by this right consumes it. */
    RLC_FRAME_YOURS = 2, /**< `value` is the number of a port of the receiver; without this flag, of the sender. */
    /** The right sends by a new connection, which is the next descriptor. Not with RLC_FRAME_YOURS. */
    RLC_FRAME_AS_SOCKET = 4,
    RLC_FRAME_REPLY = 8, /**< The right to answer this message, which is no component. At most one in a frame. */
};

/**
 * An entry of the table: 16 bytes. The packet's descriptors come in this order: the memory file, if there is one, then
 * those of the entries, in the order of the table.
 */
typedef struct rlc_frame_entry {
    uint8_t kind; /**< rlc_frame_entry_kind. */
    uint8_t flags;
    uint16_t zero;  /**< 0. */
    uint32_t count; /**< In DROP, how many rights were released, at least 1. Otherwise 0. */
    uint64_t value; /**< For bytes, how many. For a right, the number of a port; 0 with RLC_FRAME_AS_SOCKET. Else 0. */
} rlc_frame_entry;

/** What rlc_frame_parse finds wrong with a packet; RLC_FRAME_SOUND if nothing is wrong. */
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
    RLC_FRAME_FAULTS,          /**< The number of the values above. */
} rlc_frame_fault;

/** A packet that rlc_frame_parse has accepted. The pointers are valid while the caller keeps the packet's bytes. */
typedef struct rlc_frame_view {
    rlc_frame_header header;
    const uint8_t *table; /**< The entries, not aligned: see rlc_frame_entry_at. */
    const uint8_t *bytes; /**< header.payload bytes; NULL if they are in a memory file. */
} rlc_frame_view;

/**
 * Validates a packet: size, counts, lengths, number of descriptors, and every field that must be 0 [RLC-FRAME-2,
 * RLC-FRAME-3]. It reads only the packet's bytes. It checks neither the descriptors nor a memory file: for the file see
 * rlc_memory_file_map.
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

/** The port set's own records, shared by port_set.c (members) and port_set_take.c (events). */
#ifndef RLC_PORT_SET_INTERNAL_H
#define RLC_PORT_SET_INTERNAL_H

#include "slot_table.h"

#include <crunloop/port_set.h>
#include <stdatomic.h>

enum {
    RLC_BATCH_MAX = 64
}; /* epoll_wait(2) copies at most this many; the rest stay queued in the kernel, none is lost */

/** Only the owner of a number, its newest member that is no orphan, can be registered. */
enum {
    RLC_PORT_REGISTERED = 1, /**< epoll knows the number under this port's serial. */
    RLC_PORT_MUTED = 2,
    RLC_PORT_RESTING = 4,     /**< Ended and reported; set_interest wakes it. */
    RLC_PORT_ORPHAN = 8,      /**< Its number was closed and belongs to somebody else now. */
    RLC_PORT_EMPTIES = 16,    /**< A counter that one read empties. */
    RLC_PORT_READ_ENDED = 32, /**< End of file was reported; still waits to write. */
    RLC_PORT_IN_ERROR = 64,   /**< An error without hang-up was reported: edge-triggered until it is gone. */
    RLC_PORT_BLOCKS = 128, /**< A counter without O_NONBLOCK: a read may wait if the event is somebody else's by now. */
};

typedef struct rlc_port {
    rlc_slot slot;
    void *context;
    int fd;
    uint32_t serial; /**< With the number, what an event carries: no two registrations share it. */
    uint32_t next;   /**< Older slot in the same bucket. */
    uint8_t kind, interest, state;
} rlc_port;

typedef struct rlc_batch {
    uint32_t capacity;
    struct epoll_event events[];
} rlc_batch;

struct rlc_port_set {
    const rlc_kernel *kernel;
    rlc_slot_table ports;
    uint32_t *buckets; /**< By number, newest first. */
    uint32_t bucket_count;
    uint32_t last_serial;
    uint32_t hint_count;
    uint32_t fork_generation;
    int epoll_fd;
    /** A registration may have outlived its member: its number was closed while a duplicate stayed open. */
    bool has_strays;
    _Atomic uint32_t changes; /**< Registrations changed or removed so far. */
    _Atomic uint64_t rebuilds;

    /** A larger batch, made by insert under the lock, waiting for the owner to move in. */
    _Atomic(rlc_batch *) next_batch;
    uint32_t next_capacity; /**< The largest made so far. Under the lock. */

    /* From here on: the owner's thread only. */
    bool is_fresh;   /**< Nothing has been taken since the wait that fetched the batch. */
    bool is_trusted; /**< Its events are reported as they were fetched: rlc_loop's pass is not over yet. */
    uint32_t cursor, fetched;
    uint32_t changes_at_wait;
    rlc_batch *batch;
};

/** Room for `extra` more inserts, which then do not allocate. -ENOMEM. [locked] */
int rlc_port_set_reserve(rlc_port_set *set, uint32_t extra);

/** The owner of the number, or NULL. */
rlc_port *rlc_port_set_owner(const rlc_port_set *set, int fd);
/** Registers, changes or drops the owner's registration as its state asks. 0 or -errno. */
int rlc_port_set_update(rlc_port_set *set, rlc_port *port);
/** epoll_ctl(2) on `epoll_fd`; -ECHILD in a child of fork(2). */
int rlc_port_set_control(const rlc_port_set *set, int epoll_fd, int operation, const rlc_port *port);

static inline bool rlc_port_has(const rlc_port *port, unsigned state) {
    return (port->state & state) != 0;
}

static inline void rlc_port_assign(rlc_port *port, unsigned state, bool is_set) {
    port->state = (uint8_t)(is_set ? port->state | state : port->state & ~state);
}

static inline bool rlc_port_set_is_forked(const rlc_port_set *set) {
    return rlc_has_forked_since(set->fork_generation);
}

/** rlc_port_set_has_batch, in line. */
static inline bool rlc_port_set_holds_batch(const rlc_port_set *set) {
    return set->cursor < set->fetched;
}

#endif

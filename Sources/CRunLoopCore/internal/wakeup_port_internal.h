/** The wakeup word, for those who read it in passing. */
#ifndef RLC_WAKEUP_PORT_INTERNAL_H
#define RLC_WAKEUP_PORT_INTERNAL_H

#include <crunloop/wakeup_port.h>
#include <stdatomic.h>

/* Everything is sequentially consistent, and a waker's step is always a read-modify-write, also where it changes
 * nothing: the owner's exchange then has acquired what every sender published before, not only the first one. */

/** Returned by signal and kick: the eventfd was lost, and a new one has woken the owner. */
enum { RLC_WAKE_BY_ANOTHER = 2 };

enum { RLC_WORD_RUNNING, RLC_WORD_KICKED, RLC_WORD_POSTED, RLC_WORD_ASLEEP, RLC_WORD_CLOSED };

struct rlc_wakeup_port {
    _Atomic uint32_t word; /* first: rlc_kit_is_quiet */
    _Atomic uint32_t references;
    const rlc_kernel *kernel;
    _Atomic uint32_t writers; /* who is about to write, or may be */
    _Atomic bool is_ended;
    uint32_t fork_generation; /* set once in create */
    bool has_allocator;       /* set once in create: of the table's allocator */
    bool may_end;             /* set once in create: rlc_wakeup_port_end is for others, which count their writers */
    _Atomic uint32_t serial;  /* how many eventfds were lost */
    _Atomic int event_fd;     /* -1: not made yet, or closed */
    _Atomic int watched_by;   /* the epoll descriptor in which the owner sleeps; -1: not known */
    _Atomic int lost_fd, lost_error; /* of the last write that has failed */
    _Atomic bool needs_renewal;      /* there is a new eventfd, which not all sets watch yet */
};

/** Without an eventfd, which only a sleeper needs. Such a port is closed, not ended: its wakes count no writers. */
int rlc_wakeup_port_create_closed(const rlc_kernel *kernel, rlc_wakeup_port **ret_port);
/** Before the first begin_wait: makes the eventfd. 0 or -errno. */
int rlc_wakeup_port_open(rlc_wakeup_port *port);

/** Makes a new eventfd in place of a lost one, wakes the owner with it, and sets needs_renewal. 0 or -errno. */
int rlc_wakeup_port_renew(rlc_wakeup_port *port, int lost_fd);

/** Before the owner sleeps in that epoll instance. */
static inline void rlc_wakeup_port_is_watched_by(rlc_wakeup_port *port, int epoll_fd) {
    if (atomic_load_explicit(&port->watched_by, memory_order_relaxed) != epoll_fd)
        atomic_store(&port->watched_by, epoll_fd);
}

static inline uint32_t rlc_wakeup_word(const rlc_wakeup_port *port) {
    return atomic_load(&port->word);
}

/** True if the owner would not be allowed to sleep. */
static inline bool rlc_wakeup_word_is_posted(const rlc_wakeup_port *port) {
    uint32_t word = rlc_wakeup_word(port);
    return word != RLC_WORD_RUNNING && word != RLC_WORD_ASLEEP;
}

/** rlc_wakeup_port_begin_wait in line. */
static inline bool rlc_wakeup_word_sleeps(rlc_wakeup_port *port) {
    uint32_t seen = RLC_WORD_RUNNING;
    return atomic_compare_exchange_strong(&port->word, &seen, RLC_WORD_ASLEEP) || seen == RLC_WORD_ASLEEP;
}

/** rlc_wakeup_port_take in line. */
static inline rlc_wake rlc_wakeup_word_take(rlc_wakeup_port *port) {
    if (rlc_wakeup_word(port) == RLC_WORD_CLOSED)
        return RLC_WAKE_NONE; /* only the owner closes */
    uint32_t word = atomic_exchange(&port->word, RLC_WORD_RUNNING);
    return word == RLC_WORD_POSTED ? RLC_WAKE_POSTED : word == RLC_WORD_KICKED ? RLC_WAKE_KICKED : RLC_WAKE_NONE;
}

#endif

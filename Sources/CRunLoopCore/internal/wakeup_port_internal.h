/** The wakeup port's record, and the functions on its word that run inline. */
#ifndef RLC_WAKEUP_PORT_INTERNAL_H
#define RLC_WAKEUP_PORT_INTERNAL_H

#include <crunloop_kit/pass_checks.h>
#include <crunloop_kit/wakeup_port.h>

#include <assert.h>
#include <stdatomic.h>

/*
 * All atomic operations are sequentially consistent. A waker always makes a read-modify-write of the word, even if the
 * word stays as it is. So after its exchange the owner sees what all wakers have published before, not only what the
 * first one has.
 */

/**
 * Signal and interrupt return this if other code has closed the eventfd. They have made a new one, and have woken the
 * owner by it.
 */
enum { RLC_WAKE_BY_ANOTHER = 2 };

enum { RLC_WORD_RUNNING, RLC_WORD_INTERRUPTED, RLC_WORD_POSTED, RLC_WORD_ASLEEP, RLC_WORD_CLOSED };

/** Values of watched_by besides epoll descriptors. */
enum {
    RLC_NEVER_WATCHED = -1, /**< The owner has not announced a sleep in a set yet. */
    RLC_TO_BE_RENEWED = -2, /**< There is a new eventfd that not all sets watch yet. */
    RLC_RENEWED = -3        /**< All sets watch the new eventfd, and the owner has not announced a sleep since. */
};

struct rlc_wakeup_port {
    _Atomic uint32_t word; /* comes first: rlc_kit_is_quiet reads it there */
    _Atomic uint32_t references;
    const rlc_kernel *kernel;
    _Atomic uint32_t writers; /* how many wakers write, or may be about to */
    uint32_t fork_generation; /* set once in create */
    _Atomic int event_fd;     /* -1 if it is not made yet, or closed */
    _Atomic int watched_by;   /* the epoll descriptor in which the owner sleeps, or one of the values above */
    _Atomic int lost_fd;      /* the descriptor of the last write that has failed */
    _Atomic uint8_t lost_error;
    _Atomic bool is_ended;
    bool has_allocator; /* set once in create: the table's allocator has made the port */
    bool may_end;       /* set once in create: rlc_wakeup_port_end is allowed, so wakers count themselves */
};

static_assert(sizeof(struct rlc_wakeup_port) <= 40 || sizeof(void *) != 8, "malloc(3) takes 48 bytes for it");

/** A port with may_end. It reports when other code closes its eventfd, or a descriptor of its sets. */
typedef struct rlc_reporting_port {
    rlc_wakeup_port port;
    rlc_lost_fn lost_fn; /* NULL if there is none */
    void *lost_context;
} rlc_reporting_port;

/**
 * Creates a port without an eventfd, for rlc_loop. rlc_loop does not call rlc_wakeup_port_end, so wakers of this port
 * do not count themselves.
 */
int rlc_wakeup_port_create_closed(const rlc_kernel *kernel, rlc_wakeup_port **ret_port);
/** Makes the eventfd, before the first sleep. Returns 0 or -errno. */
int rlc_wakeup_port_open(rlc_wakeup_port *port);

/**
 * Makes a new eventfd in place of a lost one, wakes the owner by it, and notes RLC_TO_BE_RENEWED. Returns 0 or -errno.
 */
int rlc_wakeup_port_renew(rlc_wakeup_port *port, int lost_fd);

/**
 * Notes that the owner is about to sleep in this epoll instance. False if it must not: its sets have to watch a new
 * eventfd first.
 */
static inline bool rlc_wakeup_port_is_watched_by(rlc_wakeup_port *port, int epoll_fd) {
    int watched_by = atomic_load_explicit(&port->watched_by, memory_order_relaxed);
    if (watched_by == epoll_fd)
        return true;
    /* Fails if another thread has just changed watched_by: then the owner polls, and announces its sleep again. */
    return watched_by != RLC_TO_BE_RENEWED && atomic_compare_exchange_strong(&port->watched_by, &watched_by, epoll_fd);
}

/** Notifies the function of rlc_kit_set_lost_fn, if there is one. */
void rlc_wakeup_port_report_loss(const rlc_wakeup_port *port, rlc_lost lost);

/** Notes that a new epoll instance has replaced one in which the owner may sleep. */
void rlc_wakeup_port_move(rlc_wakeup_port *port, int epoll_fd, int new_epoll_fd);

static inline bool rlc_wakeup_port_needs_renewal(const rlc_wakeup_port *port) {
    return atomic_load(&port->watched_by) == RLC_TO_BE_RENEWED;
}

static inline uint32_t rlc_wakeup_word(const rlc_wakeup_port *port) {
    return atomic_load(&port->word);
}

/** Tells whether something is posted, or the port is closed: then the owner must not sleep. */
static inline bool rlc_wakeup_word_is_posted(const rlc_wakeup_port *port) {
    uint32_t word = rlc_wakeup_word(port);
    return word != RLC_WORD_RUNNING && word != RLC_WORD_ASLEEP;
}

/** rlc_wakeup_port_begin_wait, inline. */
static inline bool rlc_wakeup_word_sleeps(rlc_wakeup_port *port) {
    uint32_t seen = RLC_WORD_RUNNING;
    if (__builtin_expect(atomic_compare_exchange_strong(&port->word, &seen, RLC_WORD_ASLEEP), true))
        return true;
    return seen == RLC_WORD_ASLEEP;
}

/** rlc_wakeup_port_take, inline. */
static inline rlc_wake rlc_wakeup_word_take(rlc_wakeup_port *port) {
    if (rlc_wakeup_word(port) == RLC_WORD_CLOSED)
        return RLC_WAKE_NONE; /* only the owner closes */
    uint32_t word = atomic_exchange(&port->word, RLC_WORD_RUNNING);
    return word == RLC_WORD_POSTED        ? RLC_WAKE_POSTED
           : word == RLC_WORD_INTERRUPTED ? RLC_WAKE_INTERRUPTED
                                          : RLC_WAKE_NONE;
}

#endif

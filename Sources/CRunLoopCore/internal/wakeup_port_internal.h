/** The wakeup word, for those who read it in passing. */
#ifndef RLC_WAKEUP_PORT_INTERNAL_H
#define RLC_WAKEUP_PORT_INTERNAL_H

#include <assert.h>
#include <crunloop_kit/looks.h>
#include <crunloop_kit/wakeup_port.h>
#include <stdatomic.h>

/* Everything is sequentially consistent, and a waker's step is always a read-modify-write, also where it changes
 * nothing: the owner's exchange then has acquired what every sender published before, not only the first one. */

/** signal and kick return it if other code has closed the eventfd, and the port has woken the owner by a new one. */
enum { RLC_WAKE_BY_ANOTHER = 2 };

enum { RLC_WORD_RUNNING, RLC_WORD_KICKED, RLC_WORD_POSTED, RLC_WORD_ASLEEP, RLC_WORD_CLOSED };

/** In place of the epoll descriptor in which the owner sleeps. */
enum {
    RLC_NEVER_WATCHED = -1, /**< The owner has announced no sleep in a set yet. */
    RLC_TO_BE_RENEWED = -2, /**< There is a new eventfd, which not all sets watch yet. */
    RLC_RENEWED = -3        /**< They do; the owner has not announced a sleep since. */
};

struct rlc_wakeup_port {
    _Atomic uint32_t word; /* first: rlc_kit_is_quiet */
    _Atomic uint32_t references;
    const rlc_kernel *kernel;
    _Atomic uint32_t writers; /* who is about to write, or may be */
    uint32_t fork_generation; /* set once in create */
    _Atomic int event_fd;     /* -1: not made yet, or closed */
    _Atomic int watched_by;   /* the epoll descriptor in which the owner sleeps, or RLC_NEVER_WATCHED and so on */
    _Atomic int lost_fd;      /* of the last write that has failed */
    _Atomic uint8_t lost_error;
    _Atomic bool is_ended;
    bool has_allocator; /* set once in create: of the table's allocator */
    bool may_end;       /* set once in create: rlc_wakeup_port_end is for others, which count their writers */
};

static_assert(sizeof(struct rlc_wakeup_port) <= 40 || sizeof(void *) != 8, "as malloc(3) gives it in 48 bytes");

/** A port that may be ended: it reports the losses of its sets. */
typedef struct rlc_reporting_port {
    rlc_wakeup_port port;
    rlc_lost_fn lost_fn; /* NULL: to nobody */
    void *lost_context;
} rlc_reporting_port;

/** Without an eventfd, which only a sleeper needs. Such a port is closed, not ended: its wakes count no writers. */
int rlc_wakeup_port_create_closed(const rlc_kernel *kernel, rlc_wakeup_port **ret_port);
/** Before the first begin_wait: makes the eventfd. 0 or -errno. */
int rlc_wakeup_port_open(rlc_wakeup_port *port);

/** Makes a new eventfd in place of a lost one, wakes the owner with it, and notes RLC_TO_BE_RENEWED. 0 or -errno. */
int rlc_wakeup_port_renew(rlc_wakeup_port *port, int lost_fd);

/** The owner is going to sleep in that epoll instance. False, and nothing is noted: it has to renew before that. */
static inline bool rlc_wakeup_port_is_watched_by(rlc_wakeup_port *port, int epoll_fd) {
    int watched_by = atomic_load_explicit(&port->watched_by, memory_order_relaxed);
    if (watched_by == epoll_fd)
        return true;
    /* Another thread may change it meanwhile: then the owner looks, and announces its sleep again. */
    return watched_by != RLC_TO_BE_RENEWED && atomic_compare_exchange_strong(&port->watched_by, &watched_by, epoll_fd);
}
/** Reports a loss to the function of rlc_kit_set_lost_fn, if there is one. */
void rlc_wakeup_port_report_loss(const rlc_wakeup_port *port, rlc_lost lost);

/** Another epoll instance has replaced one in which the owner perhaps sleeps. */
void rlc_wakeup_port_move(rlc_wakeup_port *port, int epoll_fd, int new_epoll_fd);

static inline bool rlc_wakeup_port_needs_renewal(const rlc_wakeup_port *port) {
    return atomic_load(&port->watched_by) == RLC_TO_BE_RENEWED;
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
    if (__builtin_expect(atomic_compare_exchange_strong(&port->word, &seen, RLC_WORD_ASLEEP), true))
        return true;
    return seen == RLC_WORD_ASLEEP;
}

/** rlc_wakeup_port_take in line. */
static inline rlc_wake rlc_wakeup_word_take(rlc_wakeup_port *port) {
    if (rlc_wakeup_word(port) == RLC_WORD_CLOSED)
        return RLC_WAKE_NONE; /* only the owner closes */
    uint32_t word = atomic_exchange(&port->word, RLC_WORD_RUNNING);
    return word == RLC_WORD_POSTED ? RLC_WAKE_POSTED : word == RLC_WORD_KICKED ? RLC_WAKE_KICKED : RLC_WAKE_NONE;
}

#endif

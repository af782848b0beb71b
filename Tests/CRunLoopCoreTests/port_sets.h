/** What the tests of the port set share: a set on a spy, and members that are told apart by tags. */
#ifndef PORT_SETS_H
#define PORT_SETS_H

#include "harness.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

static spy kernel;
static int tags[200];

static inline rlc_port_set *make_set(void) {
    rlc_port_set *set;
    spy_init(&kernel);
    CHECK_EQUAL(rlc_port_set_create(&kernel.table, &set), 0);
    return set;
}

static inline rlc_token add(rlc_port_set *set, int fd, rlc_port_kind kind, uint32_t interest, int tag) {
    rlc_token token;
    CHECK_EQUAL(rlc_port_set_insert(set, fd, kind, interest, &tags[tag], &token), 0);
    return token;
}

/** Readable, as most are. */
static inline rlc_token watch(rlc_port_set *set, int fd, int tag) {
    return add(set, fd, RLC_PORT_READINESS, RLC_READABLE, tag);
}

static inline bool next_event(rlc_port_set *set, rlc_port_event *ret_event) {
    memset(ret_event, 0, sizeof *ret_event);
    if (!rlc_port_set_has_batch(set))
        (void)rlc_port_set_wait(set, 0);
    return rlc_port_set_take(set, ret_event);
}

/** The next event as 1000 * fate + 100 * tag + ready bits; -1 for none. */
static inline int next(rlc_port_set *set) {
    rlc_port_event event;
    if (!next_event(set, &event))
        return -1;
    return (int)event.fate * 1000 + (int)((int *)event.context - tags) * 100 + (int)event.ready;
}

/** What is ready next, as RLC_... bits; 0 for nothing. */
static inline uint32_t next_ready(rlc_port_set *set) {
    rlc_port_event event;
    return next_event(set, &event) ? event.ready : 0;
}

/** The context of the next event; NULL if there is none. */
static inline void *next_context(rlc_port_set *set) {
    rlc_port_event event;
    return next_event(set, &event) ? event.context : NULL;
}

static inline void drain(rlc_port_set *set) {
    rlc_port_event event;
    while (rlc_port_set_take(set, &event)) {
    }
}

/** What a wait would have cost: with nothing to say, the set must also not keep the processor busy. */
static inline void check_quiet(rlc_port_set *set) {
    CHECK_EQUAL(next(set), -1);
    CHECK(!rlc_port_set_has_unwatched(set));
    CHECK_EQUAL(rlc_port_set_wait(set, 0), 0);
}

static inline void move_to(int from, int number) {
    CHECK_EQUAL(dup3(from, number, O_CLOEXEC), number);
    close(from);
}

static inline void make_sockets(int ends[2]) {
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
}

#endif

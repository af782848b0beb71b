/**
 * One row of the table of docs/guide/descriptors.md: a descriptor in a level-triggered epoll set of its own, and in a
 * port set. After each step a test states what each of the two reports.
 */
#ifndef DESCRIPTOR_ROWS_H
#define DESCRIPTOR_ROWS_H

#include "port_sets.h"

#include <sched.h>
#include <sys/wait.h>

enum { SKIPPED = 77, FEW = 12 };

typedef struct row {
    rlc_port_set *set;
    rlc_token token;
    int epoll_fd;
    uint32_t interest;
} row;

/** The row stands in the table. */
static inline void check_is_in_table(const char *title) {
    FILE *table = fopen("docs/guide/descriptors.md", "r");
    char line[2048], cell[128];
    bool is_there = table == NULL; /* run elsewhere */
    (void)snprintf(cell, sizeof cell, "| %s |", title);
    while (!is_there && fgets(line, sizeof line, table) != NULL)
        is_there = strncmp(line, cell, strlen(cell)) == 0;
    if (table != NULL)
        (void)fclose(table);
    if (!is_there)
        check_failed("docs/guide/descriptors.md", 0, title);
}

static inline uint32_t epoll_events_of(uint32_t interest) {
    return ((interest & RLC_READABLE) != 0 ? EPOLLIN | EPOLLRDHUP : 0) |
           ((interest & RLC_WRITABLE) != 0 ? EPOLLOUT : 0) | ((interest & RLC_PRIORITY) != 0 ? EPOLLPRI : 0);
}

/** @param plain_fd For epoll; `fd` itself, unless a poll of the one takes what the other would report. */
static inline row begin_row(const char *title, int plain_fd, int fd, uint32_t interest) {
    row row = {.set = make_set(), .epoll_fd = epoll_create1(EPOLL_CLOEXEC), .interest = interest};
    struct epoll_event event = {.events = epoll_events_of(interest)};
    check_is_in_table(title);
    CHECK_EQUAL(epoll_ctl(row.epoll_fd, EPOLL_CTL_ADD, plain_fd, &event), 0);
    row.token = add(row.set, fd, RLC_PORT_READINESS, interest, 0);
    return row;
}

static inline void end_row(row *row) {
    close(row->epoll_fd);
    rlc_port_set_destroy(row->set);
}

static inline uint32_t plain_events(const row *row) {
    struct epoll_event event = {.events = 0};
    return epoll_wait(row->epoll_fd, &event, 1, 0) == 1 ? event.events : 0;
}

/** What the set reports at its next waits, which may sleep for a moment; 0 for nothing. */
static inline uint32_t reported(const row *row) {
    rlc_port_event event;
    for (int i = 0; i < 4; i++) {
        if (!rlc_port_set_has_batch(row->set))
            (void)rlc_port_set_wait(row->set, rlc_now(RLC_CLOCK_MONOTONIC) + 1);
        if (rlc_port_set_take(row->set, &event)) {
            CHECK_EQUAL(event.fate, RLC_FATE_WATCHED);
            return event.ready;
        }
    }
    return 0;
}

/** It reports nothing any more, and does not keep the processor busy. */
static inline void check_rests(const row *row) {
    CHECK_EQUAL(reported(row), 0);
    CHECK_EQUAL(rlc_port_set_wait(row->set, 0), 0);
    drain(row->set);
}

static inline void check_row_at(int line, const row *row, uint32_t events, uint32_t ready) {
    check_equal("epoll", line, "events", plain_events(row), events);
    check_equal("set", line, "ready", reported(row), ready);
}

/** The step has had this effect: the events of epoll, and what the set reports. */
#define CHECK_ROW(row, events, ready) check_row_at(__LINE__, row, events, ready)

/** The same, and the set reports it once while epoll repeats it. */
#define CHECK_ROW_ONCE(row, events, ready)                                                                             \
    do {                                                                                                               \
        check_row_at(__LINE__, row, events, ready);                                                                    \
        check_row_at(__LINE__, row, events, 0);                                                                        \
        check_rests(row);                                                                                              \
    } while (0)

/** Waits for an event, as for those that a thread of the kernel makes. */
static inline uint32_t awaited(const row *row) {
    const uint64_t minute_ns = UINT64_C(60000000000);
    uint64_t deadline_ns = rlc_now(RLC_CLOCK_MONOTONIC) + minute_ns;
    rlc_port_event event;
    while (!rlc_port_set_take(row->set, &event)) {
        int count = rlc_port_set_has_batch(row->set) ? 1 : rlc_port_set_wait(row->set, deadline_ns);
        CHECK(count > 0 || count == -EINTR);
    }
    return event.ready;
}

/** Reads `size` bytes one by one, each after a report. A program that is not called would not read. */
static inline void read_byte_by_byte(const row *row, int fd, int size) {
    for (int i = 0; i < size; i++) {
        char byte;
        uint32_t ready = awaited(row);
        if ((ready & RLC_READABLE) == 0) /* what was true before: it can be written */
            ready = awaited(row);
        CHECK((ready & RLC_READABLE) != 0);
        CHECK_EQUAL(read(fd, &byte, 1), 1);
    }
}

/** Of the child that has run the row: names one that could not be run. */
static inline void report_row(const char *title, int status) {
    check_is_in_table(title);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        (void)printf("  skipped: %s\n", title);
    else
        CHECK_EQUAL(status, 0);
}

static inline void run_test_in_child(const char *title, void (*test)(void), bool is_unshared) {
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (is_unshared && unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS) != 0)
            _exit(SKIPPED);
        test();
        (void)fflush(NULL);
        _exit(0);
    }
    int status = -1;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    report_row(title, status);
}

static inline void run_in_child(const char *title, void (*test)(void)) {
    run_test_in_child(title, test, false);
}

/** In a child with name spaces of its own, where it is root. */
static inline void run_unshared(const char *title, void (*test)(void)) {
    run_test_in_child(title, test, true);
}

#endif

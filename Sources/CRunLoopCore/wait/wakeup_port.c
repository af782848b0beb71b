#include "failure.h"
#include "kernel_internal.h"
#include "memory.h"
#include "wakeup_port_internal.h"

#include <crunloop_kit/pass_checks.h>

#include <stddef.h>

_Static_assert(offsetof(rlc_wakeup_port, word) == 0 && RLC_WORD_RUNNING == 0, "as rlc_kit_is_quiet reads it");

static int create(const rlc_kernel *kernel, size_t size, rlc_wakeup_port **ret_port) {
    const rlc_kernel *memory = rlc_memory_of(kernel);
    rlc_wakeup_port *port = rlc_memory_new(memory, size);
    if (port == NULL)
        return rlc_failed_with(RLC_MALLOC, -ENOMEM);
    port->kernel = kernel;
    atomic_init(&port->word, RLC_WORD_RUNNING);
    atomic_init(&port->references, 1);
    atomic_init(&port->writers, 0);
    atomic_init(&port->is_ended, false);
    port->fork_generation = rlc_fork_generation();
    port->may_end = false;
    port->has_allocator = memory != NULL;
    atomic_init(&port->event_fd, -1);
    atomic_init(&port->watched_by, RLC_NEVER_WATCHED);
    atomic_init(&port->lost_fd, -1);
    atomic_init(&port->lost_error, 0);
    *ret_port = port;
    return 0;
}

int rlc_wakeup_port_create_closed(const rlc_kernel *kernel, rlc_wakeup_port **ret_port) {
    return create(kernel, sizeof(rlc_wakeup_port), ret_port);
}

int rlc_wakeup_port_open(rlc_wakeup_port *port) {
    if (atomic_load(&port->event_fd) >= 0)
        return 0;
    int fd = port->kernel->eventfd_create(port->kernel->context);
    if (fd < 0)
        return rlc_failed_with("eventfd", fd);
    atomic_store(&port->event_fd, fd);
    return 0;
}

int rlc_wakeup_port_create(const rlc_kernel *kernel, rlc_wakeup_port **ret_port) {
    kernel = rlc_kernel_or_default(kernel);
    if (kernel == NULL)
        return rlc_refused(-EINVAL);
    rlc_wakeup_port *port;
    int status = create(kernel, sizeof(rlc_reporting_port), &port);
    if (status < 0)
        return status;
    port->may_end = true;
    rlc_kit_set_lost_fn(port, NULL, NULL);
    status = rlc_wakeup_port_open(port);
    if (status < 0) {
        rlc_wakeup_port_release(port);
        return status;
    }
    *ret_port = port;
    return 0;
}

rlc_wakeup_port *rlc_wakeup_port_retain(rlc_wakeup_port *port) {
    atomic_fetch_add(&port->references, 1);
    return port;
}

/** Closes the eventfd once, even if several threads call it. close(2) frees the number whatever it returns. */
static void close_descriptor(rlc_wakeup_port *port) {
    int fd = atomic_exchange(&port->event_fd, -1);
    if (fd >= 0 && !rlc_has_forked_since(port->fork_generation))
        (void)port->kernel->close(port->kernel->context, fd);
}

void rlc_wakeup_port_release(rlc_wakeup_port *port) {
    if (port == NULL || atomic_fetch_sub(&port->references, 1) != 1)
        return;
    close_descriptor(port);
    /* The kernel table may be gone by now, unless its allocator has made the port. */
    rlc_memory_free(port->has_allocator ? port->kernel : NULL, port);
}

int rlc_wakeup_port_fd(const rlc_wakeup_port *port) {
    return atomic_load(&port->event_fd);
}

/** Writes to the eventfd. Returns 1 or -errno. */
static int write_to(const rlc_wakeup_port *port, int fd) {
    static const uint64_t one = 1;
    int saved_errno = errno;
    int64_t size;
    do
        size = port->kernel->write(port->kernel->context, fd, &one, sizeof one);
    while (size == -EINTR);
    errno = saved_errno;
    return size < 0 && size != -EAGAIN ? (int)size : 1; /* EAGAIN: the eventfd is full, so it is readable */
}

/** A token that no member has, and that is not RLC_EDGE_SET_BITS. */
#define NO_MEMBER (UINT64_MAX - 1)

void rlc_wakeup_port_move(rlc_wakeup_port *port, int epoll_fd, int new_epoll_fd) {
    (void)atomic_compare_exchange_strong(&port->watched_by, &epoll_fd, new_epoll_fd);
}

/**
 * Adds the new eventfd to the epoll instance in which the owner may sleep. An owner that announces a sleep after the
 * exchange does not sleep, but makes its sets watch the new eventfd.
 */
static int show_to_sleeper(rlc_wakeup_port *port, int fd) {
    int epoll_fd = atomic_exchange(&port->watched_by, RLC_TO_BE_RENEWED);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = NO_MEMBER};
    if (epoll_fd < 0)
        return 0;
    int status = port->kernel->epoll_control(port->kernel->context, epoll_fd, EPOLL_CTL_ADD, fd, &event);
    return status == -EEXIST ? 0 : status;
}

int rlc_wakeup_port_renew(rlc_wakeup_port *port, int lost_fd) {
    const rlc_kernel *kernel = port->kernel;
    int saved_errno = errno, expected = lost_fd, fd = lost_fd < 0 ? -EBADF : kernel->eventfd_create(kernel->context);
    int status = fd < 0 ? rlc_failed_with("eventfd", fd) : write_to(port, fd);
    if (status < 0 || !atomic_compare_exchange_strong(&port->event_fd, &expected, fd)) {
        if (fd >= 0)
            (void)kernel->close(kernel->context, fd);
        errno = saved_errno;
        return status < 0 ? status : 0; /* another thread was first */
    }
    status = show_to_sleeper(port, fd);
    errno = saved_errno;
    return status;
}

/** Handles a write that has failed: other code has closed the eventfd. Returns RLC_WAKE_BY_ANOTHER or -errno. */
__attribute__((noinline)) static int wake_by_another(rlc_wakeup_port *port, int lost_fd, int failure) {
    atomic_store(&port->lost_fd, lost_fd);
    atomic_store(&port->lost_error, (uint8_t)-failure);
    if (atomic_load(&port->watched_by) == RLC_NEVER_WATCHED || rlc_wakeup_port_renew(port, lost_fd) < 0)
        return failure;
    return RLC_WAKE_BY_ANOTHER;
}

static int wake_sleeper(rlc_wakeup_port *port) {
    int fd = atomic_load(&port->event_fd), status = write_to(port, fd);
    return status > 0 ? status : wake_by_another(port, fd, status);
}

/** Closes the eventfd of an ended port without writers. A waker that counts itself later finds the word closed. */
static void close_if_over(rlc_wakeup_port *port) {
    if (atomic_load(&port->is_ended) && atomic_load(&port->writers) == 0)
        close_descriptor(port);
}

/** Changes ASLEEP to `posted`, and writes. False if the word was no longer ASLEEP. */
static inline bool post_to_sleeper(rlc_wakeup_port *port, uint32_t posted, int *ret_status) {
    uint32_t asleep = RLC_WORD_ASLEEP;
    bool has_posted = atomic_compare_exchange_strong(&port->word, &asleep, posted);
    if (has_posted)
        *ret_status = wake_sleeper(port);
    return has_posted;
}

/**
 * As post_to_sleeper, for a port that another thread may end. This thread counts itself as a writer before it changes
 * the word. So either rlc_wakeup_port_end sees the count, and this thread closes the eventfd, or this thread finds the
 * word closed.
 */
static inline bool post_as_writer(rlc_wakeup_port *port, uint32_t posted, int *ret_status) {
    atomic_fetch_add(&port->writers, 1);
    bool has_posted = post_to_sleeper(port, posted, ret_status);
    atomic_fetch_sub(&port->writers, 1);
    close_if_over(port);
    return has_posted;
}

static int post(rlc_wakeup_port *port, uint32_t posted);

/* Not inlined, so that a post to an owner that is awake saves no registers. */
__attribute__((noinline)) static int post_asleep(rlc_wakeup_port *port, uint32_t posted) {
    int status = 0;
    bool has_posted = port->may_end ? post_as_writer(port, posted, &status) : post_to_sleeper(port, posted, &status);
    return has_posted ? status : post(port, posted);
}

static int post(rlc_wakeup_port *port, uint32_t posted) {
    if (rlc_has_forked_since(port->fork_generation))
        return -ECHILD;
    uint32_t seen = atomic_load(&port->word);
    while (seen != RLC_WORD_CLOSED) {
        if (seen == RLC_WORD_ASLEEP)
            return post_asleep(port, posted);
        if (atomic_compare_exchange_weak(&port->word, &seen, seen == RLC_WORD_POSTED ? RLC_WORD_POSTED : posted))
            return 0;
    }
    return -ESHUTDOWN;
}

int rlc_wakeup_port_signal(rlc_wakeup_port *port) {
    return post(port, RLC_WORD_POSTED);
}

int rlc_wakeup_port_interrupt(rlc_wakeup_port *port) {
    return post(port, RLC_WORD_INTERRUPTED);
}

bool rlc_wakeup_port_begin_wait(rlc_wakeup_port *port) {
    return rlc_wakeup_word_sleeps(port);
}

rlc_wake rlc_wakeup_port_take(rlc_wakeup_port *port) {
    return rlc_kit_is_quiet(port) ? RLC_WAKE_NONE : rlc_wakeup_word_take(port);
}

bool rlc_wakeup_port_is_asleep(const rlc_wakeup_port *port) {
    return atomic_load(&port->word) == RLC_WORD_ASLEEP;
}

void rlc_wakeup_port_close(rlc_wakeup_port *port) {
    atomic_store(&port->word, RLC_WORD_CLOSED);
}

void rlc_wakeup_port_end(rlc_wakeup_port *port) {
    atomic_store(&port->word, RLC_WORD_CLOSED);
    atomic_store(&port->is_ended, true);
    close_if_over(port);
}

/* ---- descriptors that other code has closed ---- */

void rlc_kit_set_lost_fn(rlc_wakeup_port *port, rlc_lost_fn lost_fn, void *context) {
    rlc_reporting_port *reporting = (rlc_reporting_port *)port;
    reporting->lost_fn = lost_fn;
    reporting->lost_context = context;
}

void rlc_wakeup_port_report_loss(const rlc_wakeup_port *port, rlc_lost lost) {
    const rlc_reporting_port *reporting = (const rlc_reporting_port *)port;
    if (port->may_end && reporting->lost_fn != NULL)
        reporting->lost_fn(reporting->lost_context, lost);
}

int rlc_kit_lost_write(const rlc_wakeup_port *port, int *ret_error) {
    *ret_error = atomic_load(&port->lost_error);
    return atomic_load(&port->lost_fd);
}

void rlc_kit_demand_renewal(rlc_wakeup_port *port) {
    atomic_store(&port->watched_by, RLC_TO_BE_RENEWED);
}

bool rlc_kit_take_renewal(rlc_wakeup_port *port) {
    int expected = RLC_TO_BE_RENEWED;
    return atomic_compare_exchange_strong(&port->watched_by, &expected, RLC_RENEWED);
}

#include "failure.h"
#include "kernel_internal.h"
#include "memory.h"
#include "timer_port_internal.h"

#include <crunloop_kit/pass_checks.h>
#include <stddef.h>

_Static_assert(offsetof(rlc_timer_port, armed_ns) == offsetof(struct rlc_kit_timer_port_head, armed_ns),
    "as rlc_kit_timer_armed reads it");

int rlc_timer_port_create(const rlc_kernel *kernel, rlc_clock clock, rlc_timer_port **ret_port) {
    kernel = rlc_kernel_or_default(kernel);
    if (kernel == NULL)
        return rlc_refused(-EINVAL);
    const rlc_kernel *memory = rlc_memory_of(kernel);
    rlc_timer_port *port = rlc_memory_new(memory, sizeof *port);
    if (port == NULL)
        return rlc_failed_with(RLC_MALLOC, -ENOMEM);
    int fd = kernel->timerfd_create(kernel->context, clock);
    if (fd < 0) {
        rlc_memory_free(memory, port);
        return rlc_failed_with("timerfd_create", fd);
    }
    *port = (rlc_timer_port){
        .kernel = kernel, .armed_ns = RLC_TIME_FOREVER, .fork_generation = rlc_fork_generation(), .timer_fd = fd};
    *ret_port = port;
    return 0;
}

static bool is_forked(const rlc_timer_port *port) {
    return port->fork_generation != rlc_fork_generation();
}

void rlc_timer_port_destroy(rlc_timer_port *port) {
    if (port == NULL)
        return;
    if (port->timer_fd >= 0 && !is_forked(port))
        port->kernel->close(port->kernel->context, port->timer_fd);
    rlc_memory_free(rlc_memory_of(port->kernel), port);
}

int rlc_timer_port_fd(const rlc_timer_port *port) {
    return port->timer_fd;
}

void rlc_kit_forget_timer_fd(rlc_timer_port *port) {
    port->timer_fd = -1;
    port->armed_ns = RLC_TIME_FOREVER;
}

static int set(rlc_timer_port *port, uint64_t deadline_ns) {
    if (is_forked(port))
        return -ECHILD; /* the parent has the same timerfd, which the child must not set */
    int status =
        port->timer_fd < 0 ? -EBADF : port->kernel->timerfd_set(port->kernel->context, port->timer_fd, deadline_ns);
    if (status == 0)
        port->armed_ns = deadline_ns;
    return status;
}

int rlc_timer_port_want(rlc_timer_port *port, uint64_t deadline_ns) {
    if (deadline_ns >= port->armed_ns)
        return 0;
    int status = set(port, deadline_ns);
    return status < 0 ? status : 1;
}

void rlc_timer_port_note_expiry(rlc_timer_port *port) {
    port->armed_ns = RLC_TIME_FOREVER;
}

int rlc_timer_port_disarm(rlc_timer_port *port) {
    return port->armed_ns == RLC_TIME_FOREVER ? 0 : set(port, RLC_TIME_FOREVER);
}

uint64_t rlc_timer_port_armed(const rlc_timer_port *port) {
    return port->armed_ns;
}

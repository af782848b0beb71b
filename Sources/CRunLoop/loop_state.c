/* A loop's figures and its description. */
#include "loop_internal.h"
#include "wakeup_port_internal.h"

#include <crunloop/loop_state.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- figures ---- */

static uint32_t count_posts(const rlc_post_node *node) {
    uint32_t count = 0;
    for (; node != NULL; node = node->next)
        count++;
    return count;
}

/** Safe while others post: only this thread takes nodes, and posters insert new ones before those counted here. */
static uint32_t count_waiting_posts(const rlc_loop *loop) {
    uintptr_t head = __atomic_load_n(&loop->posts.head, __ATOMIC_SEQ_CST);
    uint32_t count = head > RLC_QUEUE_CLOSED ? count_posts((const rlc_post_node *)head) : 0;
    return count + count_posts(loop->deferred) + count_posts(loop->taken);
}

static uint32_t count_links(const rlc_slot_list *list, const rlc_slot_table *table, size_t position) {
    uint32_t count = 0;
    for (uint32_t slot = list->first; slot != RLC_NO_SLOT; slot = rlc_slot_link_at(table, slot, position)->next)
        count++;
    return count;
}

static uint32_t count_removed(const rlc_unused_slots *removed) {
    uint32_t count = 0;
    for (const rlc_unused_slot *slot = SLIST_FIRST(removed); slot != NULL; slot = SLIST_NEXT(slot, link))
        count++;
    return count;
}

static uint32_t count_runs(const rlc_loop *loop) {
    uint32_t count = loop->at != 0;
    for (const rlc_outer_run *run = loop->outer; run != NULL; run = run->outer)
        count++;
    return count;
}

static void add_timers(const rlc_loop *loop, rlc_loop_statistics *figures) {
    figures->next_deadline_ns = RLC_TIME_FOREVER;
    if (loop->heap == NULL)
        return;
    figures->timer_moves = rlc_timer_heap_moves(loop->heap);
    figures->next_deadline_ns = rlc_timer_heap_first(loop->heap);
    figures->timers = (uint32_t)rlc_timer_heap_count(loop->heap) - count_removed(&loop->removed_timers);
    figures->armed_timers = loop->heap->heaps[RLC_EXACT].count + loop->heap->heaps[RLC_TOLERANT].count;
    figures->due_timers = count_links(&loop->due, &loop->heap->timers, offsetof(rlc_timer, due_link));
}

static rlc_loop_statistics figures_of(const rlc_loop *loop) {
    rlc_loop_statistics figures = {
        .size = sizeof figures,
        .runs = loop->last_serial,
        .rebuilds = rlc_port_set_rebuilds(loop->set),
        .depth = count_runs(loop),
        .watches = loop->watch_count,
        .failed_watches = count_links(&loop->failed, &loop->set->ports, offsetof(rlc_watch, port.link)),
        .posts = count_waiting_posts(loop),
        .descriptors = 1 + (rlc_wakeup_port_fd(loop->wakeup) >= 0) + (loop->timer_port != NULL),
        .hooks = loop->hook_count,
    };
    add_timers(loop, &figures);
    return figures;
}

/** The size in version 0.1, without the members that were appended since. */
enum { FIRST_SIZE = offsetof(rlc_loop_statistics, descriptors) + sizeof(uint32_t) };

int rlc_loop_read_statistics(const rlc_loop *loop, rlc_loop_statistics *ret_statistics) {
    RLC_REQUIRE(loop);
    size_t size = ret_statistics->size;
    if (size < FIRST_SIZE)
        return -EINVAL;
    rlc_loop_statistics figures = figures_of(loop);
    if (size < figures.size)
        figures.size = size;
    memcpy(ret_statistics, &figures, figures.size);
    return 0;
}

/* ---- description ---- */

/** A text in a buffer of `size` bytes. `length` is that of the whole text. */
typedef struct text {
    char *buffer;
    size_t size, length;
} text;

__attribute__((format(printf, 2, 3))) static void append(text *text, const char *format, ...) {
    bool has_room = text->length < text->size;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(
        has_room ? text->buffer + text->length : NULL, has_room ? text->size - text->length : 0, format, arguments);
    va_end(arguments);
    text->length += length > 0 ? (size_t)length : 0;
}

/** Appends nanoseconds as milliseconds, without trailing zeroes. */
static void append_duration(text *text, const char *before, uint64_t duration_ns) {
    char digits[32];
    int end = snprintf(digits, sizeof digits, "%llu.%06llu", duration_ns / 1000000ULL, duration_ns % 1000000ULL);
    while (digits[end - 1] == '0')
        end--;
    append(text, "%s%.*s ms", before, digits[end - 1] == '.' ? end - 1 : end, digits);
}

static const char *state_of(const rlc_loop *loop) {
    if (rlc_loop_is_forked(loop))
        return "left to the parent of a fork";
    if (loop->outer != NULL)
        return rlc_loop_is_stopped(loop) ? "in a nested run that was stopped" : "in a nested run";
    if (loop->at != 0)
        return rlc_loop_is_stopped(loop) ? "in a run that was stopped" : "in a run";
    return rlc_wakeup_word(loop->wakeup) == RLC_WORD_ASLEEP ? "asleep in its host" : "not in a run";
}

static void append_summary(text *text, const rlc_loop *loop) {
    rlc_loop_statistics figures = figures_of(loop);
    append(text, "loop: %s, %u watches, %u timers (%u armed, %u due), %u posts", state_of(loop), figures.watches,
        figures.timers, figures.armed_timers, figures.due_timers, figures.posts);
    if (figures.hooks != 0)
        append(text, ", %u hooks", figures.hooks);
    append(text, "\n");
}

/** True if no file has the number of the watch's descriptor. */
static bool is_closed(const rlc_watch *watch) {
    const rlc_kernel *kernel = watch->loop->kernel;
    return kernel->status_flags(kernel->context, watch->port.fd) == -EBADF;
}

static void append_watch(text *text, const rlc_watch *watch) {
    const rlc_port *port = &watch->port;
    append(text, "watch: fd %d%s", port->fd, is_closed(watch) ? " (closed)" : "");
    if ((port->interest & RLC_READABLE) != 0)
        append(text, ", readable");
    if ((port->interest & RLC_WRITABLE) != 0)
        append(text, ", writable");
    if (rlc_watch_is_pending(watch))
        append(text, ", to be registered");
    else if (rlc_port_has(port, RLC_PORT_UNWATCHED) && !rlc_port_has(port, RLC_PORT_MEMBER))
        append(text, ", refused");
    else if (rlc_port_has(port, RLC_PORT_SUSPENDED))
        append(text, ", suspended");
    append(text, "\n");
}

static void append_watches(text *text, const rlc_loop *loop) {
    const rlc_slot_table *table = &loop->set->ports;
    for (uint32_t slot = 0; slot < table->touched; slot++) {
        const rlc_watch *watch = rlc_slot_table_at(table, slot);
        /* Hints are descriptors of the loop itself. */
        if (rlc_slot_is_live(&watch->port.slot) && !rlc_port_is(&watch->port, RLC_PORT_HINT) && watch->watch_fn != NULL)
            append_watch(text, watch);
    }
}

static void append_timer(text *text, const rlc_timer *timer, uint64_t now_ns) {
    append(text, "timer: ");
    if (timer->member.deadline_ns <= now_ns)
        append_duration(text, "due since ", now_ns - timer->member.deadline_ns);
    else
        append_duration(text, "due in ", timer->member.deadline_ns - now_ns);
    if (timer->interval_ns != 0)
        append_duration(text, ", every ", timer->interval_ns);
    uint64_t tolerance_ns = rlc_timer_heap_tolerance(timer->loop->heap, &timer->member);
    if (tolerance_ns != 0)
        append_duration(text, ", tolerance ", tolerance_ns);
    append(text, "\n");
}

static void append_timers(text *text, const rlc_loop *loop) {
    if (loop->heap == NULL)
        return;
    uint64_t now_ns = rlc_loop_now(loop);
    for (uint32_t slot = 0; slot < loop->heap->timers.touched; slot++) {
        const rlc_timer *timer = (const rlc_timer *)rlc_timer_heap_at(loop->heap, slot);
        if (!rlc_slot_is_live(&timer->member.slot) || timer->timer_fn == NULL)
            continue;
        if (rlc_heap_timer_is_armed(&timer->member) || timer->member.marks[RLC_TIMER_DUE])
            append_timer(text, timer, now_ns);
        else
            append(text, "timer: not armed\n");
    }
}

int rlc_loop_describe(const rlc_loop *loop, char *buffer, size_t size) {
    RLC_REQUIRE(loop);
    text text = {.buffer = buffer, .size = size};
    append_summary(&text, loop);
    append_watches(&text, loop);
    append_timers(&text, loop);
    return text.length > INT_MAX ? -EOVERFLOW : (int)text.length;
}

#include "loop_internal.h"

#include "port_set_internal.h"

#include <errno.h>
#include <stdlib.h>

static void move_watch(rlc_watch *watch, struct rlc_watch_list *from, struct rlc_watch_list *to) {
    TAILQ_REMOVE(from, watch, link);
    TAILQ_INSERT_TAIL(to, watch, link);
}

static struct rlc_watch_list *list_of(rlc_watch *watch) {
    rlc_loop *loop = watch->loop;
    return watch->is_pending ? &loop->pending : watch->has_failed ? &loop->failed : &loop->watches;
}

int rlc_loop_add_watch(
    rlc_loop *loop, int fd, uint32_t interest, rlc_watch_fn watch_fn, void *context, rlc_watch **ret_watch) {
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    if (fd < 0)
        return -EBADF;
    int status = rlc_port_set_reserve(loop->set, (uint32_t)loop->pending_count + 1);
    if (status < 0)
        return status;
    rlc_watch *watch = malloc(sizeof *watch);
    if (watch == NULL)
        return -ENOMEM;
    *watch = (rlc_watch){.loop = loop,
        .watch_fn = watch_fn,
        .context = context,
        .fd = fd,
        .interest = (uint8_t)interest,
        .is_pending = true};
    TAILQ_INSERT_TAIL(&loop->pending, watch, link);
    loop->pending_count++;
    loop->watch_count++;
    *ret_watch = watch;
    return 0;
}

void rlc_loop_flush_watches(rlc_loop *loop) {
    rlc_watch *watch;
    while ((watch = TAILQ_FIRST(&loop->pending)) != NULL) {
        int status =
            rlc_port_set_insert(loop->set, watch->fd, RLC_PORT_READINESS, watch->interest, watch, &watch->token);
        watch->is_pending = false;
        watch->has_failed = status < 0;
        loop->pending_count--;
        move_watch(watch, &loop->pending, list_of(watch));
    }
}

int rlc_watch_set_interest(rlc_watch *watch, uint32_t interest) {
    rlc_loop *loop = watch->loop;
    if (rlc_loop_is_forked(loop))
        return -ECHILD;
    if (watch->is_removed)
        return -ENOENT;
    watch->interest = (uint8_t)interest;
    if (watch->is_pending)
        return 0;
    if (watch->token.bits != 0)
        return rlc_port_set_set_interest(loop->set, watch->token, interest);
    int status = rlc_port_set_reserve(loop->set, (uint32_t)loop->pending_count + 1);
    if (status < 0)
        return status;
    move_watch(watch, list_of(watch), &loop->pending); /* the set refused it once: try again */
    watch->is_pending = true;
    watch->has_failed = false;
    loop->pending_count++;
    return 0;
}

void rlc_watch_remove(rlc_watch *watch) {
    if (watch == NULL || watch->is_removed)
        return;
    rlc_loop *loop = watch->loop;
    if (watch->token.bits != 0)
        (void)rlc_port_set_remove(loop->set, watch->token);
    if (watch->is_pending)
        loop->pending_count--;
    loop->watch_count--;
    watch->is_removed = true;
    TAILQ_REMOVE(list_of(watch), watch, link);
    if (loop->depth == 0)
        free(watch);
    else
        TAILQ_INSERT_TAIL(&loop->dead_watches, watch, link);
}

__attribute__((noinline)) /* Stack traces and profiles tell the kinds of callouts apart by these names. */
static void
rlc_calling_out_to_a_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready) {
    watch->watch_fn(loop, watch, ready, watch->context);
    __asm__ volatile(""); /* no tail call: the frame stays */
}

void rlc_loop_call_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready) {
    rlc_frame frame = {.watch = watch, .outer = loop->frames};
    loop->frames = &frame;
    rlc_calling_out_to_a_watch(loop, watch, ready);
    loop->frames = frame.outer;
    if (!watch->is_muted)
        return;
    watch->is_muted = false;
    if (!watch->is_removed)
        (void)rlc_port_set_set_muted(loop->set, watch->token, false);
}

void rlc_loop_mute_innermost(rlc_loop *loop) {
    /* The outer ones were muted when the runs around this one began. */
    rlc_watch *watch = loop->frames == NULL ? NULL : loop->frames->watch;
    if (watch == NULL || watch->is_muted || watch->is_removed || watch->token.bits == 0)
        return;
    watch->is_muted = rlc_port_set_set_muted(loop->set, watch->token, true) == 0;
}

bool rlc_loop_call_failed_watches(rlc_loop *loop) {
    bool called = false;
    rlc_watch *watch;
    while ((watch = TAILQ_FIRST(&loop->failed)) != NULL) {
        move_watch(watch, &loop->failed, &loop->watches);
        watch->has_failed = false;
        rlc_calling_out_to_a_watch(loop, watch, RLC_ERROR);
        called = true;
    }
    return called;
}

void rlc_loop_free_watches(rlc_loop *loop, struct rlc_watch_list *list) {
    (void)loop;
    for (rlc_watch *watch; (watch = TAILQ_FIRST(list)) != NULL;) {
        TAILQ_REMOVE(list, watch, link);
        free(watch);
    }
}

/**
 * <crunloop/adapters/model_guest.h>: a loop of the whole model, an rlk_loop, inside an rlc_loop of the same thread.
 * Events of the rlk_loop end the sleep of the rlc_loop. Each pass of the rlc_loop makes at most one pass of the
 * rlk_loop.
 *
 * So an rlc_loop that another adapter has put into another library's loop brings the model with it: modes, observers,
 * sources, timers, ports, and on the main thread the main dispatch queue and Swift's main actor. A program links the
 * libraries of both loops.
 *
 * A callout of the rlk_loop may run the rlc_loop, or its host (a dialogue, a popup, a drag). That run serves the
 * rlk_loop too, to any depth. An item whose callout is on the stack is not called again. Two hosts cannot run inside
 * their own callbacks: sd-event returns -EBUSY, and uv_run is not reentrant. A callout of the rlc_loop may run the
 * rlk_loop. The rlk_loop calls its before-waiting observers while the host prepares, so these cannot run GLib or libuv.
 * If such an observer runs the rlc_loop, work that the rlk_loop gets meanwhile ends no sleep, and waits until the
 * observer has returned.
 */
#ifndef CRUNLOOP_ADAPTERS_MODEL_GUEST_H
#define CRUNLOOP_ADAPTERS_MODEL_GUEST_H

#include <crunloop/adapters/on_stack.h>
#include <crunloop/loop_hook.h>
#include <crunloop/loop_post.h>
#include <errno.h>
#include <runloopkit/host.h>
#include <stdlib.h>
#include <string.h>

RLC_BEGIN_DECLS

/**
 * Called after any thread has called rlk_loop_stop. It may run or stop the rlc_loop, and detach the guest.
 *
 * @param loop    The rlc_loop.
 * @param context As given to rlc_model_guest_attach.
 *
 * Thread: [loop].
 */
typedef void (*rlc_model_stop_fn)(rlc_loop *loop, void *context);

/**
 * Tells whether a run of the rlk_loop sleeps in the host, which iterates only for that sleep.
 *
 * @param context The guest's `sleep_context`.
 * @return True: the guest leaves the rlk_loop alone.
 *
 * Thread: [loop].
 */
typedef bool (*rlc_model_asleep_fn)(void *context);

/** A mode of an rlk_loop in an rlc_loop. The adapter owns the structure, and the caller the rlc_loop. */
typedef struct rlc_model_guest {
    rlc_post_node work; /**< Keeps the rlc_loop awake for work that the descriptor does not show. */
    rlc_loop *loop;
    rlk_loop *model; /**< Retained. */
    char *mode;
    rlc_hook *hook;
    rlc_watch *watch; /**< Watches the descriptor. */
    uint64_t generation;
    rlc_model_stop_fn stop_fn;
    void *context;
    int status;        /**< 0, or the -errno with which the rlk_loop failed: then the guest does not serve it. */
    uintptr_t calls;   /**< Calls of the rlk_loop on the stack, as <crunloop/adapters/on_stack.h> notes them. */
    unsigned level;    /**< Passes of the rlk_loop on the stack; a pass that was left counts until an outer one ends. */
    uint64_t prepared; /**< A bit for each level on which the rlk_loop waits for this guest. */
    bool is_queued, is_muted, is_detached, is_called; /**< is_called: the callout of `watch` is on the stack. */
    rlc_model_asleep_fn is_asleep_fn;                 /**< NULL: no run of the rlk_loop sleeps in the host. */
    void *sleep_context;                              /**< For is_asleep_fn. */
} rlc_model_guest;

/* ---- the waits of the rlk_loop ---- */

/**
 * Tells whether the host iterates for the sleep of a run of the rlk_loop, which serves only the run's mode.
 *
 * @return True: the guest leaves the rlk_loop alone.
 *
 * Thread: [loop].
 */
static inline bool rlc_model_guest_is_asleep(const rlc_model_guest *guest) {
    return guest->is_asleep_fn != NULL && guest->is_asleep_fn(guest->sleep_context);
}

/**
 * Returns the bit of a level. Levels from 63 on may share a bit, since one rlk_loop_cancel_wait ends all waits.
 * Thread: [any].
 */
static inline uint64_t rlc_model_guest_bit(unsigned level) {
    return (uint64_t)1 << (level < 63 ? level : 63);
}

/**
 * Begins a call of the rlk_loop, as rlc_stack_begin_call does. If no other call is on the stack, the calls that were
 * left have ended, and so have their waits.
 * Thread: [loop].
 */
static inline void rlc_model_guest_begin_call(rlc_model_guest *guest, volatile uintptr_t *mark, uintptr_t here) {
    if (!rlc_stack_begin_call(&guest->calls, mark, here))
        return;
    guest->level = 0;
    guest->prepared &= rlc_model_guest_bit(0);
}

/* ---- the guest's end ---- */

/** Ends the waits of the rlk_loop for a guest. An observer may detach the guest. Thread: [loop]. */
static inline RLC_HOLDS_MARK void rlc_model_guest_cancel(rlc_model_guest *guest) {
    volatile uintptr_t mark;
    rlc_model_guest_begin_call(guest, &mark, RLC_STACK_HERE);
    guest->prepared = 0;
    (void)rlk_loop_cancel_wait(guest->model, guest->mode); /* fails if the rlk_loop has ended: then no wait is open */
    rlc_stack_end_call(&guest->calls, &mark);
}

/**
 * Takes a guest out of its loop, unless it is out already, and ends the waits of the rlk_loop for it.
 * Thread: [loop].  Cost: one system call.
 */
static inline void rlc_model_guest_leave_loop(rlc_model_guest *guest) {
    rlc_hook_remove(guest->hook);
    rlc_watch_remove(guest->watch);
    guest->hook = NULL;
    guest->watch = NULL;
    void (*volatile cancel)(rlc_model_guest *) = rlc_model_guest_cancel; /* not inlined: on_stack.h */
    if (guest->prepared != 0)
        cancel(guest);
}

/**
 * Frees a guest if it is detached, unless a call of it is on the stack, or its node is in the loop's queue.
 * Thread: [loop].
 */
static inline void rlc_model_guest_free_if_over(rlc_model_guest *guest) {
    if (!guest->is_detached || guest->is_queued || !rlc_stack_is_left(guest->calls, RLC_STACK_HERE))
        return;
    rlk_loop_release(guest->model);
    free(guest->mode);
    free(guest);
}

/**
 * Ends a call of the rlk_loop, which may have detached the guest, or failed.
 *
 * @param mark   As for rlc_stack_begin_call.
 * @param status The result of the call. -EBUSY, if an observer has made the call while another call notifies it, is no
 *               failure of the guest.
 *
 * Thread: [loop].
 */
static inline void rlc_model_guest_end_call(rlc_model_guest *guest, volatile uintptr_t *mark, int status) {
    rlc_stack_end_call(&guest->calls, mark);
    if (status < 0 && status != -EBUSY && guest->status == 0) {
        guest->status = status;
        rlc_model_guest_leave_loop(guest);
    }
    rlc_model_guest_free_if_over(guest);
}

/* ---- what the loop calls ---- */

/** Makes one pass of the rlk_loop, if it has work. Thread: [loop]. */
static inline RLC_HOLDS_MARK void rlc_model_guest_serve(rlc_model_guest *guest) {
    volatile uintptr_t mark;
    rlc_model_guest_begin_call(guest, &mark, RLC_STACK_HERE);
    unsigned level = guest->level;
    uint64_t prepared = guest->prepared, below = rlc_model_guest_bit(level) - 1;
    guest->level++;
    guest->prepared = prepared & below; /* the call ends the wait of this level */
    int status = rlk_loop_run_pending_work(guest->model, guest->mode);
    guest->level = level;
    if (status == -EBUSY)
        guest->prepared = prepared;
    else
        guest->prepared &= below; /* the waits that callouts have left open ended with the callouts */
    if (status == RLK_RUN_STOPPED && guest->stop_fn != NULL && !guest->is_detached)
        guest->stop_fn(guest->loop, guest->context);
    rlc_model_guest_end_call(guest, &mark, status);
}

/**
 * The callout of the watch. It makes one pass of the rlk_loop, unless the node is queued: then the node makes the pass.
 * epoll may refuse the descriptor when the rlc_loop first registers it, and when the rlc_loop registers it again after
 * a run inside this callout. Then the next pass tries again.
 *
 * @param ready   RLC_READABLE, or RLC_ERROR if epoll refuses to watch the descriptor.
 *
 * Thread: [loop].
 */
static inline RLC_HOLDS_MARK void rlc_model_guest_readable(
    rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    volatile uintptr_t mark;
    (void)loop;
    rlc_model_guest *guest = (rlc_model_guest *)context;
    if ((ready & RLC_ERROR) != 0)
        (void)rlc_watch_set_interest(watch, guest->is_muted ? 0 : RLC_READABLE); /* the next pass tries again */
    if (guest->is_queued)
        return;
    rlc_model_guest_begin_call(guest, &mark, RLC_STACK_HERE);
    guest->is_called = true;
    void (*volatile serve)(rlc_model_guest *) = rlc_model_guest_serve; /* not inlined: on_stack.h */
    serve(guest);
    guest->is_called = false;
    rlc_stack_end_call(&guest->calls, &mark);
    rlc_model_guest_free_if_over(guest);
}

/** The callout of the node: makes one pass of the rlk_loop, if the guest may still serve it. Thread: [loop]. */
static inline void rlc_model_guest_work(rlc_post_node *node, bool ran) {
    rlc_model_guest *guest = (rlc_model_guest *)(void *)node;
    guest->is_queued = false;
    void (*volatile serve)(rlc_model_guest *) = rlc_model_guest_serve; /* not inlined: on_stack.h */
    if (ran && !guest->is_detached && guest->status == 0 && !rlc_model_guest_is_asleep(guest))
        serve(guest);
    else
        rlc_model_guest_free_if_over(guest);
}

/**
 * Watches the descriptor, and watches it again if it belongs to another epoll instance by now. Inside the callout of
 * the watch the function makes a new watch too: the rlc_loop does not call the old one until the callout returns.
 *
 * @return 0; an error of rlk_loop_host_descriptor or rlc_loop_add_watch.
 *
 * Thread: [loop].
 */
static inline int rlc_model_guest_watch(rlc_model_guest *guest) {
    uint64_t generation = guest->generation;
    int fd = rlk_loop_host_descriptor(guest->model, guest->mode, &generation);
    if (fd < 0 || (guest->watch != NULL && generation == guest->generation && !guest->is_called))
        return fd < 0 ? fd : 0;
    rlc_watch_remove(guest->watch);
    guest->watch = NULL;
    guest->generation = generation;
    guest->is_muted = guest->is_called = false;
    return rlc_loop_add_watch(guest->loop, fd, RLC_READABLE, rlc_model_guest_readable, guest, &guest->watch);
}

/**
 * Suspends the watch of the rlk_loop's descriptor while an observer that the guest notifies runs the rlc_loop.
 *
 * @param mutes True to suspend the watch, false to resume it.
 * @return 0; an error of rlc_watch_set_interest.
 *
 * Thread: [loop].  Cost: one system call if the watch changes.
 */
static inline int rlc_model_guest_mute(rlc_model_guest *guest, bool mutes) {
    if (mutes == guest->is_muted)
        return 0;
    guest->is_muted = mutes;
    return rlc_watch_set_interest(guest->watch, mutes ? 0 : RLC_READABLE);
}

/** Prepares the rlk_loop for the sleep. It is the prepare callout of the hook. Thread: [loop]. */
static inline RLC_HOLDS_MARK void rlc_model_guest_prepare(rlc_loop *loop, rlc_hook *hook, void *context) {
    volatile uintptr_t mark;
    (void)hook;
    rlc_model_guest *guest = (rlc_model_guest *)context;
    if (rlc_model_guest_is_asleep(guest)) {
        (void)rlc_model_guest_mute(guest, true); /* epoll does not refuse to watch less */
        return;
    }
    rlc_model_guest_begin_call(guest, &mark, RLC_STACK_HERE);
    uint64_t prepared = guest->prepared, bit = rlc_model_guest_bit(guest->level);
    guest->prepared |= bit;
    int status = rlk_loop_prepare_to_wait(guest->model, guest->mode);
    bool is_busy = status == -EBUSY;
    if (status < 0)
        guest->prepared = is_busy ? prepared : guest->prepared & ~bit;
    if (!guest->is_detached && guest->status == 0 && (status >= 0 || is_busy)) {
        if (status > 0 && !guest->is_queued)
            guest->is_queued = rlc_loop_defer(loop, &guest->work) == 0;
        status = rlc_model_guest_watch(guest);
        if (status == 0)
            status = rlc_model_guest_mute(guest, is_busy);
    }
    rlc_model_guest_end_call(guest, &mark, status);
}

/* ---- attaching ---- */

/**
 * Lets an rlc_loop serve a mode of an rlk_loop. The rlc_loop is not finished while the guest is attached. While epoll
 * refuses the descriptor (ENOSPC, ENOMEM), the rlc_loop does not sleep, and tries again in each pass. Trying
 * again never helps (ELOOP) if the rlk_loop watches the rlc_loop, or if epoll instances are nested too deep.
 *
 * @param loop      The rlc_loop; the caller destroys it after rlc_model_guest_detach.
 * @param model     The rlk_loop, which the calling thread owns; the guest retains it. NULL: the calling thread's.
 * @param mode      The mode, which is copied; NULL: the default one. Not RLK_MODE_COMMON.
 * @param stop_fn   Called after rlk_loop_stop; NULL: none.
 * @param context   For stop_fn. The caller owns it, and keeps it until rlc_model_guest_detach.
 * @param ret_guest The guest; the caller ends it by rlc_model_guest_detach.
 * @return 0; -ENOMEM; an error of rlk_loop_host_descriptor, rlc_loop_add_watch or rlc_loop_add_hook. If the call fails,
 *         nothing is attached.
 *
 * Thread: [loop].  Cost: two system calls, and those of the first watch and the first rlk_loop_host_descriptor.
 * While the guest is attached, each pass of the rlc_loop polls the kernel.
 */
static inline int rlc_model_guest_attach(rlc_loop *loop, rlk_loop *model, const char *mode, rlc_model_stop_fn stop_fn,
    void *context, rlc_model_guest **ret_guest) {
    rlc_model_guest *guest = (rlc_model_guest *)calloc(1, sizeof *guest);
    size_t size = mode == NULL ? 0 : strlen(mode) + 1;
    if (guest == NULL)
        return -ENOMEM;
    guest->work.post_fn = rlc_model_guest_work;
    guest->loop = loop;
    guest->model = rlk_loop_retain(model != NULL ? model : rlk_loop_current());
    guest->stop_fn = stop_fn;
    guest->context = context;
    guest->mode = mode == NULL ? NULL : (char *)malloc(size);
    int status = mode != NULL && guest->mode == NULL ? -ENOMEM : 0;
    if (guest->mode != NULL)
        memcpy(guest->mode, mode, size);
    if (status == 0)
        status = rlc_model_guest_watch(guest);
    if (status == 0)
        status = rlc_loop_add_hook(loop, rlc_model_guest_prepare, NULL, guest, &guest->hook);
    if (status < 0) {
        rlc_model_guest_leave_loop(guest);
        guest->is_detached = true;
        rlc_model_guest_free_if_over(guest);
        return status;
    }
    *ret_guest = guest;
    return 0;
}

/**
 * Tells whether the guest has failed. The rlc_loop no longer serves a guest that has failed.
 *
 * @param guest From rlc_model_guest_attach.
 * @return 0; -errno of rlk_loop_prepare_to_wait, rlk_loop_run_pending_work, rlk_loop_host_descriptor,
 *         rlc_loop_add_watch or rlc_watch_set_interest. Cannot fail itself.
 *
 * Thread: [loop].
 */
static inline int rlc_model_guest_status(const rlc_model_guest *guest) {
    return guest->status;
}

/**
 * Takes the rlk_loop out of the rlc_loop. The rlk_loop continues to exist, and can be attached again. If it waits for
 * this guest, the call ends the wait and notifies the after-waiting observers, which may detach the guest too.
 *
 * @param guest The guest; NULL is allowed. The pointer is invalid afterwards.
 *
 * Thread: [loop].  Re-entry: allowed in callouts of both loops.  Cost: one system call.
 */
static inline void rlc_model_guest_detach(rlc_model_guest *guest) {
    if (guest == NULL)
        return;
    guest->is_detached = true;
    rlc_model_guest_leave_loop(guest);
    rlc_model_guest_free_if_over(guest);
}

RLC_END_DECLS
#endif

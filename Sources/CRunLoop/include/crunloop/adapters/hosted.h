/**
 * <crunloop/adapters/hosted.h>: what those adapters share that put an rlc_loop into the event loop of another library,
 * the host. Each adapter is only a header: a program compiles it against the library that it uses, and links no other
 * library for it.
 *
 * Every adapter prepares the loop before each sleep of the host, makes at most one pass in each iteration of the host,
 * and watches the descriptor again after a rebuild of the loop's port set. A host and its loop share one thread.
 *
 * In a child of fork(2) an adapter and its loop make no callouts. Detaching the adapter there frees memory, and changes
 * nothing that the host shares with the parent.
 *
 * A C++ exception, another unwinding or longjmp(3) may leave a callout of the loop through the host, if the host's
 * library allows that. epoll, libev and SDL allow it. GLib allows it except in its preparation. libuv, sd-event and Qt
 * do not allow it.
 *
 * If code of the host, such as another prepare callback, changes the loop between the adapter's preparation and the
 * host's sleep, the change takes effect after that sleep. To end the sleep, that code posts or calls rlc_loop_wake.
 */
#ifndef CRUNLOOP_ADAPTERS_HOSTED_H
#define CRUNLOOP_ADAPTERS_HOSTED_H

#include <crunloop/adapters/on_stack.h>
#include <crunloop/loop.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

RLC_BEGIN_DECLS

/** A loop in a host, as an adapter sees it. The adapter owns the structure, and the caller the loop. */
typedef struct rlc_hosted {
    rlc_loop *loop;
    uint64_t rebuilds; /**< rlc_loop_rebuilds when the host began to watch the descriptor. */
    int fd;            /**< rlc_loop_fd at that time. */
    int status;        /**< 0, or the -errno with which the loop failed: then the adapter calls it no more. */
    uintptr_t calls;   /**< Preparations and dispatches on the stack, as <crunloop/adapters/on_stack.h> notes them. */
    uint32_t process;  /**< rlc_fork_generation of the process that attached the loop. */
    bool has_work;     /**< The last preparation found work: the host must not sleep. */
    bool is_detached;
} rlc_hosted;

/**
 * Begins to host a loop.
 *
 * @param loop The loop, which the caller owns and keeps until the adapter is detached.
 * @return The structure, by value.
 *
 * Thread: [loop].
 */
static inline rlc_hosted rlc_hosted_make(rlc_loop *loop) {
    rlc_hosted hosted = {loop, rlc_loop_rebuilds(loop), rlc_loop_fd(loop), 0, 0, rlc_fork_generation(), false, false};
    return hosted;
}

/**
 * Tells whether the adapter is detached, and none of its calls is on the stack.
 *
 * @param hosted The loop in its host.
 * @return True: the adapter frees its structure, and touches nothing else.
 *
 * Thread: [loop].
 */
static inline bool rlc_hosted_is_over(const rlc_hosted *hosted) {
    return hosted->is_detached && rlc_stack_is_left(hosted->calls, RLC_STACK_HERE);
}

/**
 * Notes the result of a call of the loop. If the loop has replaced a lost epoll instance by one with another number,
 * because another file has the old number, the host cannot continue with the loop.
 *
 * @param hosted The loop in its host.
 * @param status From rlc_loop_prepare or rlc_loop_dispatch.
 *
 * Thread: [loop].
 */
static inline void rlc_hosted_note(rlc_hosted *hosted, int status) {
    if (status < 0)
        hosted->status = status;
    else if (!hosted->is_detached && rlc_loop_fd(hosted->loop) != hosted->fd)
        hosted->status = -EBADF;
}

/**
 * Calls the loop, and notes that this call is on the stack.
 *
 * @param hosted The loop in its host.
 * @param call   rlc_loop_prepare or rlc_loop_dispatch.
 * @return The result of the call, which may be an -errno of the loop, such as -ECHILD.
 *
 * Thread: [loop].
 */
static inline RLC_HOLDS_MARK int rlc_hosted_call(rlc_hosted *hosted, int (*call)(rlc_loop *)) {
    volatile uintptr_t mark;
    (void)rlc_stack_begin_call(&hosted->calls, &mark, RLC_STACK_HERE);
    int status = call(hosted->loop);
    rlc_stack_end_call(&hosted->calls, &mark);
    return status;
}

/**
 * Prepares the loop for a sleep of the host.
 *
 * @param hosted The loop in its host. A callout of a hook may detach the adapter: then `is_detached` is set, and the
 *               adapter calls rlc_hosted_is_over.
 * @return True: there is work, so the host must not sleep, and must dispatch in this iteration.
 *
 * Thread: [loop].  Cost: as rlc_loop_prepare.
 */
static inline bool rlc_hosted_prepare(rlc_hosted *hosted) {
    hosted->has_work = false;
    if (hosted->status != 0 || hosted->is_detached)
        return false;
    int (*volatile call)(rlc_hosted *, int (*)(rlc_loop *)) = rlc_hosted_call; /* not inlined: on_stack.h */
    int status = call(hosted, rlc_loop_prepare);
    rlc_hosted_note(hosted, status);
    hosted->has_work = status > 0 && hosted->status == 0 && !hosted->is_detached;
    return hosted->has_work;
}

/**
 * Tells whether the host's epoll set has lost the loop's descriptor; returns true once for each rebuild.
 *
 * @param hosted The loop in its host.
 * @return True: the adapter adds the descriptor again.
 *
 * Thread: [loop].
 */
static inline bool rlc_hosted_was_rebuilt(rlc_hosted *hosted) {
    uint64_t rebuilds = rlc_loop_rebuilds(hosted->loop);
    bool was_rebuilt = rebuilds != hosted->rebuilds;
    hosted->rebuilds = rebuilds;
    return was_rebuilt;
}

/**
 * Makes one pass of the loop.
 *
 * @param hosted The loop in its host. A callout may detach the adapter.
 * @return As rlc_hosted_is_over.
 *
 * Thread: [loop].  Re-entry: a callout may iterate the host.
 */
static inline bool rlc_hosted_dispatch(rlc_hosted *hosted) {
    if (hosted->status != 0 || hosted->is_detached)
        return false;
    hosted->has_work = false;
    int (*volatile call)(rlc_hosted *, int (*)(rlc_loop *)) = rlc_hosted_call; /* not inlined: on_stack.h */
    int status = call(hosted, rlc_loop_dispatch);
    rlc_hosted_note(hosted, status);
    return rlc_hosted_is_over(hosted);
}

/**
 * Tells whether this is a child of the process that attached the loop. The child may share the host's descriptors with
 * the parent, and has none of the parent's other threads.
 *
 * @param hosted The loop in its host.
 * @return True: the adapter only frees memory.
 *
 * Thread: [loop].
 */
static inline bool rlc_hosted_is_forked(const rlc_hosted *hosted) {
    return rlc_has_forked_since(hosted->process);
}

/**
 * Notes that the adapter is detached: after this call it does not touch the loop any more.
 *
 * @param hosted The loop in its host.
 * @return As rlc_hosted_is_over. If false, the call that is on the stack frees the structure.
 *
 * Thread: [loop].
 */
static inline bool rlc_hosted_detach(rlc_hosted *hosted) {
    hosted->is_detached = true;
    return rlc_hosted_is_over(hosted);
}

RLC_END_DECLS
#endif

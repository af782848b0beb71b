/** <crunloop/kernel.h>: the system calls and clocks of the core as a table of functions, which tests can replace. */
#ifndef CRUNLOOP_KERNEL_H
#define CRUNLOOP_KERNEL_H

#include <crunloop/clock.h>
#include <string.h>
#include <sys/epoll.h>

RLC_BEGIN_DECLS

/**
 * The system calls of the core. An embedder may pass a table of its own that replaces any of them, for example to
 * script events and time for a test. Start from rlc_kernel_copy, or fill in the whole table with its `size`. Later
 * versions append entries. If a table is too short to have an entry, the core calls the C library instead
 * [RLC-KERNEL-2].
 *
 * Each entry gets `context` as its first argument and returns a value >= 0, or a negated errno number. If a read or a
 * write returns -EINTR, the core repeats it; if a wait does, the core returns -EINTR to its caller.
 *
 * A table must stay valid and unchanged while an object that was created with it uses it. The embedder owns the table,
 * and what `context` points to.
 *
 * Thread: [any] for the entries, which several threads may call at a time; [any, signal-safe] for `write`.
 */
typedef struct rlc_kernel {
    /**
     * sizeof(rlc_kernel) where the table was compiled. Functions that create an object with a table that is shorter
     * than that of version 0.1 return -EINVAL [RLC-KERNEL-1].
     */
    size_t size;
    void *context;
    /** The time on a clock, in nanoseconds. Cannot fail. */
    uint64_t (*now)(void *context, rlc_clock clock);
    /** epoll_create1(2). Returns a descriptor that is close-on-exec. */
    int (*epoll_create)(void *context);
    /** epoll_ctl(2). Returns 0. */
    int (*epoll_control)(void *context, int epoll_fd, int operation, int fd, struct epoll_event *event);
    /**
     * Waits for events until `deadline_ns` on the monotonic clock. 0 means no wait, RLC_TIME_FOREVER no limit. Returns
     * the number of events. Returns 0 at the deadline, never before it [RLC-TIME-4]; the default table may also return
     * 0 after INT_MAX milliseconds.
     */
    int (*epoll_wait)(void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns);
    /** eventfd(2). Returns a descriptor that is close-on-exec and non-blocking, and no semaphore. */
    int (*eventfd_create)(void *context);
    /** timerfd_create(2). Returns a descriptor that is close-on-exec and non-blocking. */
    int (*timerfd_create)(void *context, rlc_clock clock);
    /**
     * Arms a timerfd for `deadline_ns` on its clock; RLC_TIME_FOREVER disarms it. Returns 0. An expiry that nobody has
     * read yet is lost.
     */
    int (*timerfd_set)(void *context, int fd, uint64_t deadline_ns);
    /** read(2). Returns the number of bytes; 0 at the end of the file. */
    int64_t (*read)(void *context, int fd, void *buffer, size_t size);
    /** write(2). Returns the number of bytes. */
    int64_t (*write)(void *context, int fd, const void *buffer, size_t size);
    /** poll(2) on one descriptor, without waiting. Returns POLL... bits; 0 if none is set. */
    int (*poll)(void *context, int fd, int events);
    /** FIONREAD. Returns how many bytes a read could return now. */
    int (*readable_bytes)(void *context, int fd);
    /** 1 if a read of eight bytes always empties `fd`, as for a timerfd, or an eventfd that is no semaphore; else 0. */
    int (*counter_empties)(void *context, int fd);
    /** F_GETFL of fcntl(2). Returns the status flags, such as O_NONBLOCK. */
    int (*status_flags)(void *context, int fd);
    /** close(2). The core ignores the result, because Linux frees the number in any case. */
    int (*close)(void *context, int fd);
    /**
     * dup3(2): makes `number` refer to the open file description of `fd` too, atomically. Returns 0. The pointer may be
     * NULL: then a loop cannot replace its epoll instance (rlc_loop_rebuilds).
     */
    int (*replace)(void *context, int fd, int number);
    /**
     * Allocates, resizes and frees the memory of the objects that are created with the table, as realloc(3) does. With
     * NULL for `memory` it allocates; with 0 for `size` it frees and returns NULL. The memory is aligned as that of
     * malloc(3). Returns NULL if there is no memory; `memory` then stays valid and unchanged. An object may be freed by
     * another thread than the one that created it, so several threads may call this entry. The pointer may be NULL:
     * then the C library allocates [RLC-MEMORY-1, RLC-MEMORY-2].
     */
    void *(*reallocate)(void *context, void *memory, size_t size);
} rlc_kernel;

/**
 * Returns the table that calls the C library.
 *
 * Its epoll_wait calls epoll_pwait2(2), whose timeout is in nanoseconds. If the kernel lacks that call (before Linux
 * 5.11, valgrind, qemu), the entry falls back at run time to epoll_wait(2), or to epoll_pwait(2) on machines without
 * epoll_wait(2). The timeout is then rounded up to milliseconds. A wait that sleeps is a cancellation point of
 * pthreads(7): one wait in 64 from its start, the others once they have slept for 20 ms [RLC-CANCEL-3]. No other entry
 * is a cancellation point [RLC-CANCEL-2].
 *
 * @return A constant; never NULL.
 *
 * Thread: [any].
 */
RLC_API const rlc_kernel *rlc_kernel_default(void);

/**
 * Copies the table that calls the C library, for an embedder that replaces some of its entries.
 *
 * If the library is newer than these headers, the copy has the entries that these headers know, and the library calls
 * the C library for the others. If the library is older, the copy has the entries that the library knows: the others
 * are NULL, `size` ends before them, and the library never calls them, whatever the embedder writes there
 * [RLC-KERNEL-2].
 *
 * @return The copy. Its `size` is that of the caller's headers or that of the library, whichever is smaller.
 *
 * Thread: [any].
 */
static inline rlc_kernel rlc_kernel_copy(void) {
    const rlc_kernel *known = rlc_kernel_default();
    rlc_kernel table;
    memset(&table, 0, sizeof table);
    memcpy(&table, known, known->size < sizeof table ? known->size : sizeof table);
    table.size = known->size < sizeof table ? known->size : sizeof table;
    return table;
}

/**
 * Names the call that failed inside rlc_main_queue_fd or rlc_signal_fd_create. Call it after one of them has returned a
 * negated errno number, before the thread calls another function of the core [RLC-FAIL-1].
 *
 * @return The name as the manual page spells it, such as "bind"; "malloc" for every function of malloc(3) and for a
 *         table's own allocator; NULL if no call has failed, and the function itself has refused an argument or what it
 *         found [RLC-FAIL-2]. The string is a constant.
 *
 * Thread: [any]; each thread has its own result.
 */
RLC_API const char *rlc_failed_call(void);

/**
 * For rlc_fork_generation: points to the process's number. The number is 0 before the first call of rlc_fork_count in
 * the process. The core owns the pointer and the number, and only the core writes them.
 *
 * Thread: [any, signal-safe], by an atomic load.
 */
RLC_API extern const uint32_t *rlc_fork_word;

/**
 * For rlc_fork_generation: gives the process its number, if it has none yet.
 *
 * @return The number; not 0.
 *
 * Thread: [any].  Cost: the first call in a process maps a page.
 */
RLC_API uint32_t rlc_fork_count(void);

/**
 * Returns a number of this process that none of its ancestors and descendants has [RLC-FORK-1]. An object that stores
 * the number can detect later that it is used in a child of fork(2).
 *
 * fork(2) resets the number, because it is on a page that the kernel wipes in the child (MADV_WIPEONFORK). For kernels
 * and emulators that do not wipe it, a handler of pthread_atfork(3) resets the number.
 *
 * @return The number; not 0.
 *
 * Thread: [any, signal-safe], but only [any] for the first call in a process, because it maps the page.  Cost: two
 * loads; the first call in a process a few system calls.
 */
static inline uint32_t rlc_fork_generation(void) {
    uint32_t generation = __atomic_load_n(__atomic_load_n(&rlc_fork_word, __ATOMIC_ACQUIRE), __ATOMIC_ACQUIRE);
    return generation != 0 ? generation : rlc_fork_count();
}

/**
 * Tells whether fork(2) has made this process since a number was read.
 *
 * @param generation The number that rlc_fork_generation returned.
 * @return True in a child of the process that read the number; false in that process itself.
 *
 * Thread: [any, signal-safe].  Cost: two loads.
 */
static inline bool rlc_has_forked_since(uint32_t generation) {
    return __atomic_load_n(__atomic_load_n(&rlc_fork_word, __ATOMIC_ACQUIRE), __ATOMIC_ACQUIRE) != generation;
}

RLC_END_DECLS
#endif

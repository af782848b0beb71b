/** <crunloop/kernel.h>: the table through which the core reaches kernel and clock, so that tests can script both. */
#ifndef CRUNLOOP_KERNEL_H
#define CRUNLOOP_KERNEL_H

#include <crunloop/clock.h>
#include <sys/epoll.h>

RLC_BEGIN_DECLS

/**
 * The system calls of the core. Every entry gets `context` first and answers >= 0 or -errno.
 *
 * A table must outlive what was made with it. Entries are called from any thread, `write` from signal handlers too.
 * EINTR is not hidden: the core decides what to do about it.
 */
typedef struct rlc_kernel {
    void *context;
    uint64_t (*now)(void *context, rlc_clock clock);
    int (*epoll_create)(void *context);
    int (*epoll_control)(void *context, int epoll_fd, int operation, int fd, struct epoll_event *event);
    /**
     * Waits until deadline_ns on the monotonic clock (0: only looks; RLC_TIME_FOREVER: without limit). The count of
     * events; 0 at the deadline, never early [RLC-TIME-4], but perhaps after INT_MAX milliseconds.
     */
    int (*epoll_wait)(void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns);
    int (*eventfd_create)(void *context);
    int (*timerfd_create)(void *context, rlc_clock clock);
    /** Absolute; RLC_TIME_FOREVER disarms. Erases an expiry that nobody has seen. */
    int (*timerfd_set)(void *context, int fd, uint64_t deadline_ns);
    int64_t (*read)(void *context, int fd, void *buffer, size_t size);
    int64_t (*write)(void *context, int fd, const void *buffer, size_t size);
    /** poll(2) on one descriptor without waiting: POLL... bits, 0 if nothing. */
    int (*poll)(void *context, int fd, int events);
    /** Bytes that can be read at once (FIONREAD). */
    int (*readable_bytes)(void *context, int fd);
    /** 1 if one eight-byte read always empties fd (an eventfd that is no semaphore, a timerfd), else 0. */
    int (*counter_empties)(void *context, int fd);
    /** O_NONBLOCK and its kin (fcntl(2), F_GETFL). */
    int (*status_flags)(void *context, int fd);
    int (*close)(void *context, int fd); /**< Its answer is not looked at: the number is free whatever it is. */
    /** Puts fd's description behind `number` too, in one step (dup3(2)). NULL: a port set cannot be rebuilt. */
    int (*replace)(void *context, int fd, int number);
} rlc_kernel;

/**
 * The table that calls the C library.
 *
 * epoll_wait uses epoll_pwait2(2) and falls back at run time to epoll_wait(2), with milliseconds rounded up, where the
 * kernel lacks it (before 5.11, valgrind, qemu).
 *
 * @return A constant; never NULL.
 *
 * Thread: [any].
 */
RLC_API const rlc_kernel *rlc_kernel_default(void);

/** Where the number is, and 0 before its first use in a process: for rlc_fork_generation. */
RLC_API extern const uint32_t *rlc_fork_word;
/** Counts this process, if nobody has. Thread: [any]. */
RLC_API uint32_t rlc_fork_count(void);

/**
 * A number that differs between a process and its children, and theirs [RLC-FORK-1].
 *
 * A page that fork(2) wipes (MADV_WIPEONFORK), and pthread_atfork(3) for kernels and emulators without it.
 *
 * @return Not 0.
 *
 * Thread: [signal] after the first use, which is [any] and maps the page.  Cost: two loads; no system call after the
 * first use in a process.
 */
static inline uint32_t rlc_fork_generation(void) {
    uint32_t generation = __atomic_load_n(__atomic_load_n(&rlc_fork_word, __ATOMIC_ACQUIRE), __ATOMIC_ACQUIRE);
    return generation != 0 ? generation : rlc_fork_count();
}

/**
 * True in a child of the process in which rlc_fork_generation has answered this.  Thread: [signal].  Cost: two loads.
 */
static inline bool rlc_has_forked_since(uint32_t generation) {
    return __atomic_load_n(__atomic_load_n(&rlc_fork_word, __ATOMIC_ACQUIRE), __ATOMIC_ACQUIRE) != generation;
}

RLC_END_DECLS
#endif

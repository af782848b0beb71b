/**
 * <CMeasure.h>: what a workload is told and what it answers, and how a region of it is measured. Shared with the
 * packages that measure a library of their own (Benchmarks/nio).
 */
#ifndef CMEASURE_H
#define CMEASURE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/** What a workload is asked to do. What it has no use for is 0. */
typedef struct bench_args {
    int64_t count;        /**< How many operations. */
    int64_t size;         /**< N: how many timers, descriptors, observers, modes or producers there are. */
    int64_t active;       /**< fd_dispatch: how many of them are active. fd_addrm: 1 = a pass after each.
                               post: 1 = the loop is in a callout until all are posted.
                               port_big: 1 = the payload is made where the other process will find it. */
    int64_t placement;    /**< Of the two threads, or processes: enum bench_placement. */
    int64_t window_ms;    /**< timer_firewin: over how long the timers are spread. */
    int64_t tolerance_us; /**< timer_firewin: how late a timer may be. */
    int64_t spin_us;      /**< wake_rtt: how long a loop may look for a wake before it sleeps. */
    int64_t pending;      /**< wake_rtt, self_post, fd_dispatch, iter: 1 = each loop has a timer 1,000 s ahead. */
} bench_args;

enum bench_placement { BENCH_FREE, BENCH_SAME_CPU, BENCH_SPLIT_CPUS };

/** What came out. Zero-initialised by the caller. */
typedef struct bench_result {
    uint64_t operations; /**< What elapsed_ns, the calls and instructions are divided by. */
    uint64_t elapsed_ns;
    uint64_t cpu_ns;   /**< Of the whole process. */
    int64_t syscalls;  /**< Exact, of all threads and of the other process; -1: not counted. */
    int64_t waits;     /**< Those of them that can wait for events; -1: not counted. */
    uint32_t *samples; /**< Nanoseconds each, for latencies; malloc'ed. */
    size_t sample_count;
    double bytes_per_item; /**< Of malloc, negative: not measured. */
    double rss_per_item;
    double descriptors_per_item;
    double moves_per_op; /**< Of heap entries, negative: not measured. */
} bench_result;

/** A result of which nothing is measured yet. */
bench_result bench_no_result(void);

/** Nanoseconds on the monotonic clock. */
uint64_t bench_now(void);

/** Count system calls in the region. NULL, or why not. Call on the thread that runs the workload, before its threads. */
const char *bench_enable_counting(void);

/** Exactly between these two is measured: time, system calls, and instructions under callgrind. */
void bench_begin(bench_result *result);
void bench_end(bench_result *result);

/** Joins a thread. Its instructions are not counted: the scheduler decides whether it has to wait. */
void bench_join(pthread_t thread);

/** True if this program was built with valgrind's header. */
bool bench_can_count_instructions(void);

/** Of a callgrind output file: the instructions, and how many of them called malloc or its kin; false if it has none. */
bool bench_callgrind_read(const char *path, int64_t *ret_instructions, int64_t *ret_allocations);

/** Memory and descriptors of the process now, subtracted: `before` is taken first. */
typedef struct bench_usage {
    double heap, rss, descriptors;
} bench_usage;
bench_usage bench_usage_now(void);
void bench_usage_per_item(bench_usage before, int64_t items, bench_result *result);

/**
 * A system call without the C library, whose read and write cost 48 instructions more in a process with two threads:
 * they are cancellation points. The handlers of all subjects read and write by this, so that little but the subject's
 * own work is measured. As the kernel answers: negative errno.
 */
static inline long bench_system_call(long number, long a, long b, long c, long d) {
#if defined __x86_64__
    long answer;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return answer;
#elif defined __aarch64__
    register long eighth __asm__("x8") = number, first __asm__("x0") = a, second __asm__("x1") = b,
                         third __asm__("x2") = c, fourth __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(first) : "r"(eighth), "r"(second), "r"(third), "r"(fourth) : "memory");
    return first;
#else
    return syscall(number, a, b, c, d);
#endif
}

static inline ssize_t bench_read(int fd, void *buffer, size_t size) {
    return bench_system_call(SYS_read, fd, (long)buffer, (long)size, 0);
}

static inline ssize_t bench_write(int fd, const void *buffer, size_t size) {
    return bench_system_call(SYS_write, fd, (long)buffer, (long)size, 0);
}

/** Pins the calling thread as the first (0) or second (1) of a placement. */
void bench_pin(int64_t placement, int side);

/** Runs body on a new thread, so that no subject is measured on the main thread, and waits for it. */
void bench_on_thread(void (*body)(void *context), void *context);

/** An eventfd, which Swift cannot make by itself. */
int bench_counter(void);

/**
 * A second process, whose system calls are counted as this one's are, and which ends with the calling thread. To be made
 * before the calling thread is pinned, since it inherits that.
 *
 * @return 0 in the second process, its number in the first.
 */
int bench_fork(void);

/** The same with a program of its own, for a language whose runtime does not survive fork(2). It calls bench_serve(). */
int bench_start(char *const *arguments);
void bench_serve(void);

/** Ends a second process at once. */
void bench_end_other(int process);

/** Fills `size` bytes, a multiple of 8, with what depends on `seed`; bench_sum() reads all of them. */
void bench_fill(void *bytes, size_t size, uint64_t seed);
uint64_t bench_sum(const void *bytes, size_t size);

/** The soft limit of descriptors is raised to the hard one; the limit. */
int64_t bench_raise_descriptor_limit(void);

/**
 * Runs a program and collects its standard output.
 *
 * @param ret_output At most capacity - 1 bytes, terminated.
 * @return Its exit status, 128 + signal, or -errno.
 */
int bench_run_child(char *const *arguments, unsigned timeout_seconds, char *ret_output, size_t capacity);

/** "Debian GNU/Linux 12, 2 CPUs (...), kernel ...": what the figures were measured on. */
const char *bench_machine(void);

/** The columns of the terminal on standard error; 0: none. */
int bench_terminal_columns(void);

#endif

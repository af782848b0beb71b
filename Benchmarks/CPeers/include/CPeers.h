/**
 * <CPeers.h>: the subjects that are written in C, and how a region of a workload is measured.
 *
 * A workload is one text (workloads_*.h) that each subject's file compiles against its own few functions, so that all
 * do the same work by the same rules, and no call through a table is part of what is timed.
 */
#ifndef CPEERS_H
#define CPEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/** What a workload is asked to do. */
typedef struct bench_args {
    int64_t count;     /**< How many operations. */
    int64_t size;      /**< N: how many timers, descriptors, observers or producers there are. */
    int64_t active;    /**< fd_dispatch: how many of them are active. fd_addrm: 1 = a pass after each. */
    int64_t placement; /**< Of the two threads: enum bench_placement. */
} bench_args;

enum bench_placement { BENCH_FREE, BENCH_SAME_CPU, BENCH_SPLIT_CPUS };

/** What came out. Zero-initialised by the caller. */
typedef struct bench_result {
    uint64_t operations; /**< What elapsed_ns, syscalls and instructions are divided by. */
    uint64_t elapsed_ns;
    uint64_t cpu_ns;   /**< Of the whole process. */
    int64_t syscalls;  /**< Exact, of all threads; -1: not counted. */
    uint32_t *samples; /**< Nanoseconds each, for latencies; malloc'ed. */
    size_t sample_count;
    double bytes_per_item; /**< Of malloc, negative: not measured. */
    double rss_per_item;
    double descriptors_per_item;
} bench_result;

typedef void (*bench_workload_fn)(const bench_args *args, bench_result *result);

typedef struct bench_workload {
    const char *name;
    bench_workload_fn run;
    /** A subject that is orders of magnitude slower does count / divisor operations; 0 and 1: all. */
    int64_t divisor;
    /** The largest `size` that it can do in reasonable time, or at all; 0: no limit. */
    int64_t largest;
    /** Only for size 0: it has no observers. */
    bool only_without;
    /** Its threads cannot be pinned one by one: only where both share a processor. */
    bool only_one_cpu;
} bench_workload;

typedef struct bench_subject {
    const char *name;
    const char *title;
    /** Finds the library. NULL, or what is missing. */
    const char *(*load)(void);
    const bench_workload *workloads; /**< Ends with name == NULL. */
} bench_subject;

/** The subjects in the order of the table; NULL after the last. */
const bench_subject *bench_subject_at(size_t index);
const bench_workload *bench_find_workload(const bench_subject *subject, const char *name);

/** Nanoseconds on the monotonic clock. */
uint64_t bench_now(void);

/** Count system calls in the region. NULL, or why not. Call on the thread that runs the workload, before its threads. */
const char *bench_enable_counting(void);

/** Exactly between these two is measured: time, system calls, and instructions under callgrind. */
void bench_begin(bench_result *result);
void bench_end(bench_result *result);

/** True in a process that valgrind runs. */
bool bench_is_under_valgrind(void);
/** True if this program was built with valgrind's header. */
bool bench_can_count_instructions(void);

/** Reads the total of a callgrind output file; -1 if it has none. */
int64_t bench_callgrind_total(const char *path);

/** Memory and descriptors of the process now, subtracted: `before` is taken first. */
typedef struct bench_usage {
    double heap, rss, descriptors;
} bench_usage;
bench_usage bench_usage_now(void);
void bench_usage_per_item(bench_usage before, int64_t items, bench_result *result);

/**
 * A system call without the C library, whose read and write cost 48 instructions more in a process with two threads:
 * they are cancellation points. The handlers of all subjects read and write by this, so that little but the subject's own
 * work is measured. As the kernel answers: negative errno.
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

/** A reproducible random number below `limit`; xorshift, one state per thread. */
uint64_t bench_random(uint64_t limit);

/** An eventfd, which Swift cannot make by itself. */
int bench_counter(void);

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

/**
 * A controlled scheduler for the production files, and the memory of C11 under it.
 *
 * The files under test are compiled with -fsanitize=thread, unchanged, and linked with this in place of the sanitizer: every
 * atomic access is a step, before which any thread may go on, and a load may read any value that C11 allows it to see;
 * every plain access is checked by vector clocks to come after what it depends on. One thread runs at a time, so a sequence
 * of choices is an execution, which can be told, and run again.
 *
 * What is simulated: coherence, release and acquire (with release sequences), fences, and sequential consistency as the order
 * of execution. membarrier(2) is a fence in all threads, futex(2) blocks here. Not simulated: orders of modification other
 * than that of execution, and loads of values that are stored later.
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { THREADS_MAX = 6 };

typedef struct scenario {
    const char *name;
    unsigned threads;
    void (*begin)(void);           /**< Before the threads: their state. */
    void (*thread)(unsigned self); /**< The body of each. */
    void (*end)(void);             /**< After all have returned: what must hold. May be NULL. */
    unsigned schedules; /**< How many schedules are run by each of the three strategies at most; 0: the usual. */
} scenario;

/** A step that is no access: a yield. */
void sched_yield_here(void);
/** Sleeps until *flag, which only sched_wake sets; clears it. No order of memory comes with it. False: nobody could. */
void sched_sleep(bool *flag);
void sched_wake(bool *flag);
/** Sleeps until a descriptor of the real kernel is readable. */
void sched_wait_readable(int fd);
/** A plain access, for who is not compiled for this. */
void sched_touch(const void *address, bool writes);
/** Plain accesses are only those that sched_touch tells of: a runtime besides hands memory from thread to thread. */
void sched_ignore_plain_accesses(void);
/** membarrier(2) answers ENOSYS from now on. */
void sched_forbid_barriers(void);

/** Fails the execution: prints the reason and the choices that led to it. From threads and from end. */
_Noreturn void sched_fail(const char *reason);
#define ASSERT(condition) ((condition) ? (void)0 : sched_fail(#condition))

/** Nobody writes there while threads run: a load is no step. */
void sched_ignore(const void *address);

/** Runs all scenarios; argv may name some: NAME, or NAME=REPLAY. The exit status. */
int sched_main(int argc, char **argv, const scenario *scenarios, size_t count);

/* ---- between scheduler.c and memory.c ---- */

unsigned sched_self(void);
/** Which of `count` values is read; 0 is the newest. */
unsigned sched_choose_value(unsigned count);
void sched_step(void);
void memory_reset(unsigned threads);
void memory_fence_all(void);
/** The threads begin after what was done so far, or have all ended before what follows. */
void memory_fork_all(void);
void memory_join_all(void);

#endif

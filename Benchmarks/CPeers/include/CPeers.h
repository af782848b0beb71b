/**
 * <CPeers.h>: the subjects that are written in C.
 *
 * A workload is one text (workloads_*.h) that each subject's file compiles against its own few functions, so that all
 * do the same work by the same rules, and no call through a table is part of what is timed.
 */
#ifndef CPEERS_H
#define CPEERS_H

#include <CMeasure.h>

typedef void (*bench_workload_fn)(const bench_args *args, bench_result *result);

/** What a subject can do of a workload; 0 and false: all. */
typedef struct bench_workload {
    const char *name;
    bench_workload_fn run;
    int64_t divisor;    /**< A subject that is orders of magnitude slower does count / divisor operations. */
    int64_t largest;    /**< The largest `size` that it can do in reasonable time, or at all. */
    bool only_without;  /**< Only size 0: it has no observers. */
    bool only_one_cpu;  /**< Its threads cannot be pinned one by one: only where both share a processor. */
    bool only_exact;    /**< Its timers know no tolerance. */
    bool only_tolerant; /**< Its timers come with the next whole millisecond. */
    bool pends;         /**< It has timers, one of which may be pending. */
    bool spins;         /**< It can look for a wake before it sleeps, or is the measure for those that can. */
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

#endif

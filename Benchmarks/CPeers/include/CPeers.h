/**
 * <CPeers.h>: the subjects that are written in C.
 *
 * A workload is one text (workloads_*.h) that each subject's file compiles against its own few functions, so that all
 * do the same work by the same rules, and no call through a table is part of what is timed. What they are called, their
 * order and what they cannot do: the table in Subject.swift.
 */
#ifndef CPEERS_H
#define CPEERS_H

#include <CMeasure.h>
#include <string.h>

typedef void (*bench_workload_fn)(const bench_args *args, bench_result *result);

typedef struct bench_workload {
    const char *name;
    bench_workload_fn run;
} bench_workload;

typedef struct __attribute__((swift_attr("@Sendable"))) bench_subject {
    /** Finds the library. NULL, or what is missing. */
    const char *(*load)(void);
    const bench_workload *workloads; /**< Ends with name == NULL. */
} bench_subject;

extern const bench_subject bench_floor, bench_core, bench_cf, bench_dispatch, bench_libuv, bench_libev, bench_glib,
    bench_sd_event;

static inline bench_workload_fn bench_find_workload(const bench_subject *subject, const char *name) {
    for (const bench_workload *each = subject->workloads; each->name != NULL; each++)
        if (strcmp(each->name, name) == 0)
            return each->run;
    return NULL;
}

#endif

/** The workloads, compiled into each subject. */
#include "workloads_pending.h"

#include "workloads_fd.h"
#include "workloads_loop.h"
#include "workloads_post.h"
#include "workloads_process.h"
#include "workloads_timer.h"

/** A line of a subject's table; further fields may follow. */
#define WORKLOAD(id, ...)                                                                                              \
    { .name = #id, .run = run_##id, __VA_ARGS__ }

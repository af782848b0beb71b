/** The subjects, in the order of the table. */
#include "CPeers.h"
#include <string.h>

extern const bench_subject bench_floor, bench_core, bench_cf, bench_dispatch, bench_libuv, bench_libev, bench_libevent,
    bench_glib, bench_sd_event, bench_zeromq;

const bench_subject *bench_subject_at(size_t index) {
    static const bench_subject *const all[] = {&bench_floor, &bench_core, &bench_cf, &bench_dispatch, &bench_libuv,
        &bench_libev, &bench_libevent, &bench_glib, &bench_sd_event, &bench_zeromq};
    return index < sizeof all / sizeof *all ? all[index] : NULL;
}

const bench_workload *bench_find_workload(const bench_subject *subject, const char *name) {
    for (const bench_workload *each = subject->workloads; each->name != NULL; each++)
        if (strcmp(each->name, name) == 0)
            return each;
    return NULL;
}

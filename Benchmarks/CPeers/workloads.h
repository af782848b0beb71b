/** The workloads, compiled into each subject, and the table of those that it has: by what its library has. */
#include "workloads_pending.h"

#include "workloads_fd.h"
#include "workloads_loop.h"
#include "workloads_post.h"
#include "workloads_process.h"
#include "workloads_timer.h"

#define WORKLOAD(id)                                                                                                   \
    { #id, run_##id }

static const bench_workload workloads[] = {
#ifdef HAS_WAKE
    WORKLOAD(wake_rtt),
#endif
#ifdef HAS_POST
    WORKLOAD(post),
#endif
#ifdef HAS_DEFER
    WORKLOAD(self_post),
    WORKLOAD(self_post2),
#endif
#ifdef HAS_TIMERS
    WORKLOAD(timer_ic),
    WORKLOAD(timer_rearm),
    WORKLOAD(timer_fire),
    WORKLOAD(timer_firewin),
    WORKLOAD(timer_late),
    WORKLOAD(mem_timer),
#endif
#ifdef HAS_REPEATING_TIMERS
    WORKLOAD(timer_drift),
#endif
#ifdef HAS_WATCHES
    WORKLOAD(fd_dispatch),
    WORKLOAD(echo),
    WORKLOAD(mem_fd),
#endif
#ifdef HAS_PIPES
    WORKLOAD(port_rtt),
#endif
#ifdef HAS_PASS
    WORKLOAD(post_queued),
    WORKLOAD(fd_addrm),
    WORKLOAD(startup),
    WORKLOAD(iter),
    WORKLOAD(mem_loop),
#endif
#ifdef HAS_MODES
    WORKLOAD(mode_switch),
    WORKLOAD(mode_event),
    WORKLOAD(mode_addrm),
#endif
#ifdef HAS_CHANNEL
    WORKLOAD(port_xrtt),
#endif
#ifdef OWN_WORKLOADS
    OWN_WORKLOADS,
#endif
    {0},
};

/** A timer that is not due while a workload is measured. */
#include "subject.h"

#ifdef HAS_TIMERS
/** Left to the end of the process. */
static void timer_pend(loop *of, int64_t pending) {
    if (pending == 0)
        return;
    timer *far = require_memory(1, sizeof *far);
    timer_open(of, far);
    timer_start(of, far, 1000ull * SECOND_NS);
}
#endif

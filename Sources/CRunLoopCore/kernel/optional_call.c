#include "optional_call.h"

#include <crunloop_kit/calls.h>

#include <errno.h>
#include <stddef.h>

/** True for errnos that any call may return although the kernel has it: because of arguments, limits or signals. */
static bool is_answer_of_any(int error) {
    switch (error) {
    case EAGAIN:
    case EBADF:
    case EFAULT:
    case EINTR:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return true;
    default:
        return false;
    }
}

/** One more such errno for each call, or 0. */
static const int answers[RLC_CALL_COUNT] = {
    [RLC_CALL_PIDFD_OPEN] = ESRCH,
    [RLC_CALL_PIDFD_SEND_SIGNAL] = ESRCH,
    [RLC_CALL_WAITID_PIDFD] = ECHILD,
};

_Atomic bool rlc_call_absent[RLC_CALL_COUNT];

bool rlc_call_is_refused(rlc_call call, int status) {
    return status < 0 && !is_answer_of_any(-status) && -status != answers[call];
}

int rlc_call_fell_back(rlc_call call, int status) {
    if (status >= 0)
        atomic_store_explicit(&rlc_call_absent[call], true, memory_order_relaxed);
    return status;
}

/* ---- for RunLoopEvents, where the fallback of pidfd_open(2) is ---- */

bool rlc_kit_has_process_descriptors(void) {
    return rlc_call_is_present(RLC_CALL_PIDFD_OPEN);
}

bool rlc_kit_refuses_process_descriptors(int status) {
    return rlc_call_is_refused(RLC_CALL_PIDFD_OPEN, status);
}

void rlc_kit_does_without_process_descriptors(void) {
    (void)rlc_call_fell_back(RLC_CALL_PIDFD_OPEN, 0);
}

/**
 * System calls that the library can replace by a fallback. For all of them, one rule decides when it does.
 *
 * An old kernel refuses such a call with ENOSYS or EINVAL, a filter of system calls with any errno, such as EPERM,
 * EACCES or EOPNOTSUPP. So the library lists for each call the errnos with which the call fails although it is present.
 * After any other errno the library tries the fallback. If the fallback succeeds, the library remembers that the call
 * is absent [RLC-KERNEL-5].
 */
#ifndef RLC_OPTIONAL_CALL_H
#define RLC_OPTIONAL_CALL_H

#include <crunloop/base.h>
#include <stdatomic.h>
#include <stdbool.h>

/** The calls, each with its fallback. */
typedef enum rlc_call {
    RLC_CALL_EPOLL_PWAIT2,      /**< epoll_wait(2), in milliseconds. */
    RLC_CALL_PIDFD_OPEN,        /**< The process's number and SIGCHLD, in RunLoopEvents. */
    RLC_CALL_PIDFD_SEND_SIGNAL, /**< kill(2), for children. */
    RLC_CALL_WAITID_PIDFD,      /**< For waitid(2) with P_PIDFD: waitid(2) with P_PID. */
    RLC_CALL_MEMFD_NOEXEC,      /**< For MFD_NOEXEC_SEAL of memfd_create(2): no flag. */
    RLC_CALL_COUNT
} rlc_call;

extern _Atomic bool rlc_call_absent[RLC_CALL_COUNT];

/** False if the call was refused before and its fallback has succeeded: then use the fallback at once. */
static inline bool rlc_call_is_present(rlc_call call) {
    return !atomic_load_explicit(&rlc_call_absent[call], memory_order_relaxed);
}

/** True if `status`, the result of the call, is an error that a present call does not return: then try the fallback. */
bool rlc_call_is_refused(rlc_call call, int status);

/** If `status`, the result of the fallback, is a success, remembers that the call is absent. Returns `status`. */
int rlc_call_fell_back(rlc_call call, int status);

#endif

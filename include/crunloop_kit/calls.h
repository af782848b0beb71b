/**
 * <crunloop_kit/calls.h>: system calls for which the Swift modules have a fallback, because some kernels lack them, and
 * calls that only these modules make. For code that is built together with the core; not installed.
 */
#ifndef CRUNLOOP_KIT_CALLS_H
#define CRUNLOOP_KIT_CALLS_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/** False once rlc_kit_does_without_process_descriptors was called in this process. Thread: [any]. */
bool rlc_kit_has_process_descriptors(void);

/**
 * Tells whether an old kernel or a filter of system calls has refused rlc_process_open, whatever errno the filter
 * returns.
 *
 * @param status The result of rlc_process_open.
 * @return True if the caller should try the fallback.
 *
 * Thread: [any].
 */
bool rlc_kit_refuses_process_descriptors(int status);

/**
 * Records that the fallback has succeeded after a refusal of rlc_process_open. The Swift modules then do not call
 * rlc_process_open again in this process.
 *
 * Thread: [any].
 */
void rlc_kit_does_without_process_descriptors(void);

/**
 * Waits until a child has ended, without taking its exit status.
 *
 * @param process_fd From rlc_process_open; -1 if process_id identifies the child.
 * @param process_id The child's number.
 * @return 0; -ECHILD (it is no child of this process, or its exit status was taken already), -EBADF.
 *
 * Thread: [any].  Blocks until the child has ended.  See: WNOWAIT in waitid(2).
 */
int rlc_kit_wait_for_process(int process_fd, int32_t process_id);

RLC_END_DECLS
#endif

/**
 * <crunloop_kit/calls.h>: optional calls of the kernel whose fallback is in the Swift modules, and calls that only
 * these make. For code that is built together with the core; not installed.
 */
#ifndef CRUNLOOP_KIT_CALLS_H
#define CRUNLOOP_KIT_CALLS_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * Tells whether rlc_process_open is worth a call.
 *
 * @return False if it was refused before and the fallback has succeeded.
 *
 * Thread: [any].
 */
bool rlc_kit_has_process_descriptors(void);

/**
 * Tells a refusal from an answer: an old kernel, or a filter of system calls, whatever errno that gives.
 *
 * @param status What rlc_process_open has returned.
 * @return True if the fallback is to be tried.
 *
 * Thread: [any].
 */
bool rlc_kit_refuses_process_descriptors(int status);

/**
 * Notes that the fallback has succeeded after a refusal: rlc_process_open is not tried again.
 *
 * Thread: [any].
 */
void rlc_kit_does_without_process_descriptors(void);

/**
 * Waits until a child has ended, without taking its exit status.
 *
 * @param process_fd From rlc_process_open; -1: the child is identified by process_id.
 * @param process_id The child's number.
 * @return 0; -ECHILD (no child of this process, or its exit status was taken), -EBADF.
 *
 * Thread: [any].  Blocks until the child has ended.  See: WNOWAIT in waitid(2).
 */
int rlc_kit_wait_for_process(int process_fd, int32_t process_id);

RLC_END_DECLS
#endif

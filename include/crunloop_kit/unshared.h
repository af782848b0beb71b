/**
 * <crunloop_kit/unshared.h>: descriptors that a child of fork(2) does not keep.
 *
 * A peer sees a socket closed only when the last process has closed it. A child that runs no other program would keep
 * its parent's connections open after the parent's end, and the peers would wait for ever. So the Swift modules list
 * each connection, each listener, and each descriptor of a message that the program has not used yet. A handler of
 * pthread_atfork(3) closes them in the child [RLC-FORK-5].
 *
 * A child of _Fork(3) or clone(2) runs no such handler. It closes the descriptors in its first call of
 * rlc_fork_generation [RLC-FORK-6], and keeps them until then.
 *
 * For code that is built together with the core, as RunLoopKit is; not installed.
 */
#ifndef CRUNLOOP_KIT_UNSHARED_H
#define CRUNLOOP_KIT_UNSHARED_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * Begins a section in which the thread creates a descriptor and lists it, or takes a descriptor off the list and closes
 * it. Another thread's fork waits for the end of the section, at most a tenth of a second, so that no child gets a
 * descriptor that is not listed yet [RLC-FORK-5].
 *
 * Keep the section short, and begin no other section within it.
 *
 * Thread: [any].  Blocks: while another thread forks.  Cost: one atomic operation.
 */
void rlc_kit_unshared_begin(void);

/**
 * Ends a section.
 *
 * Thread: [any]: the thread that has begun the section.  Cost: one atomic operation; a system call if a fork waits.
 */
void rlc_kit_unshared_end(void);

/**
 * Lists a descriptor, by its number and its file. Call it within a section.
 *
 * @param fd The descriptor. The caller still owns it, and takes it off the list by rlc_kit_unshared_close or
 *           rlc_kit_unshared_remove.
 * @return 0, also if the number is listed already, which is then listed with its present file; -ENOMEM (by mmap(2));
 *         -EBADF; -EMFILE (the number is above four million).
 *
 * Thread: [any].  Cost: one system call; the first numbers map some pages.
 */
int rlc_kit_unshared_add(int fd);

/**
 * Takes a descriptor off the list, so that children of later forks keep it. No effect if the descriptor is not listed.
 * Thread: [any].  Cost: some instructions.
 */
void rlc_kit_unshared_remove(int fd);

/**
 * Closes a descriptor, and takes it off the list if it is listed. Call it outside of a section.
 * Thread: [any].  Blocks: while another thread forks.  Cost: one system call.
 */
void rlc_kit_unshared_close(int fd);

RLC_END_DECLS
#endif

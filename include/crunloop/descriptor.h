/**
 * <crunloop/descriptor.h>: rules that the library keeps for all descriptors that it makes, receives or writes to.
 * Embedders may use them too.
 */
#ifndef CRUNLOOP_DESCRIPTOR_H
#define CRUNLOOP_DESCRIPTOR_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * Moves a new descriptor away from the numbers 0 to 2.
 *
 * If a process was started without standard descriptors, the next files that it opens get these numbers. If the process
 * then puts /dev/null on them, as daemons do, it closes what it has opened there. So no descriptor that the library
 * makes or receives is below 3 [RLC-KERNEL-3]. A descriptor that the call moves becomes close-on-exec; it refers to the
 * same open file, with the same status flags. The low number stays open for a moment, until the call closes it.
 *
 * @param made The result of a function that makes descriptors, e.g. epoll_create1(2): a number that no other code knows
 *             yet, or -1 with the cause in errno.
 * @return The descriptor, which the caller owns: `made` itself unless that is 0, 1 or 2. -errno if `made` is -1.
 *         -EMFILE if no number from 3 on is free; the call has then closed `made`.
 *
 * Thread: [any, signal-safe].  Cost: a comparison; two system calls if the number is low.  See: F_DUPFD_CLOEXEC in
 * fcntl(2).
 */
RLC_API int rlc_descriptor_adopt(int made);

/**
 * Writes bytes to a descriptor without raising a signal. It returns -EPIPE for a pipe or socket without a reader, and
 * -EFBIG for a file that would exceed the process's limit. The write may cause SIGPIPE or SIGXFSZ, whose default
 * actions end the process. So the function blocks both in the calling thread while it writes, and discards the signal
 * that the write has caused [RLC-KERNEL-4]. Signals that were pending before, the thread's mask and the process's
 * signal actions stay as they are.
 *
 * @param fd    The descriptor.
 * @param bytes The bytes.
 * @param size  The number of bytes.
 * @return 0 if all bytes were written. -EPIPE, -EFBIG, -EAGAIN (the descriptor is non-blocking and has no room for the
 *         rest), -EBADF, or another -errno of write(2); some of the bytes may have been written.
 *
 * Thread: [any, signal-safe]; keeps errno.  Blocks as write(2) does.  Cost: four system calls.
 */
RLC_API int rlc_descriptor_write(int fd, const void *bytes, size_t size);

RLC_END_DECLS
#endif

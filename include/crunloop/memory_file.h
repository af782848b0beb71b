/**
 * <crunloop/memory_file.h>: bytes that processes share without copying: a memory file that nobody can change any more.
 */
#ifndef CRUNLOOP_MEMORY_FILE_H
#define CRUNLOOP_MEMORY_FILE_H

#include <crunloop/base.h>
#include <sys/uio.h>

RLC_BEGIN_DECLS

/**
 * A memory file with these bytes, sealed: its size and content stay as they are [RLC-MEMFILE-1].
 *
 * @return The caller's descriptor; -EMFILE, -ENFILE, -ENOMEM, -ENOSPC, -EFBIG.
 *
 * Thread: [any].  Cost: four system calls and one copy.  See: memfd_create(2).
 */
RLC_API int rlc_memory_file_make(const struct iovec *parts, size_t part_count);

/**
 * A memory file of a size, not 0, and a mapping in which it is filled, until rlc_memory_file_seal.
 *
 * @return The caller's descriptor, or -errno.
 *
 * Thread: [any].  Cost: three system calls.
 */
RLC_API int rlc_memory_file_open(uint64_t size, void **ret_bytes);

/**
 * Ends the mapping, seals the file at its final size, and maps that for reading.
 *
 * @param fd         From rlc_memory_file_open.
 * @param bytes      Its mapping, which ends.
 * @param size       As it was opened.
 * @param final_size At most `size`, not 0.
 * @param ret_bytes  The caller's, until rlc_memory_file_unmap.
 * @return 0 or -errno: the descriptor is the caller's in any case, the first mapping is gone.
 *
 * Thread: [any].
 */
RLC_API int rlc_memory_file_seal(int fd, void *bytes, uint64_t size, uint64_t final_size, const void **ret_bytes);

/**
 * Maps a stranger's memory file for reading, if it is one that cannot change any more: sealed against writing, growing,
 * shrinking and further seals, of exactly this size, in ordinary memory [RLC-MEMFILE-2].
 *
 * @param fd        Of the memory file; borrowed.
 * @param size      How many bytes it must have.
 * @param ret_bytes The caller's, until rlc_memory_file_unmap. The descriptor may be closed.
 * @return 0; -EINVAL for what is no memory file, -EPERM for one without these seals, -ERANGE for another size; -ENOMEM,
 *         -ENODEV: it cannot be mapped.
 *
 * Thread: [any].  Cost: four system calls.
 */
RLC_API int rlc_memory_file_map(int fd, uint64_t size, const void **ret_bytes);

/** Ends a mapping for reading.  Thread: [any]. */
RLC_API void rlc_memory_file_unmap(const void *bytes, uint64_t size);

RLC_END_DECLS
#endif

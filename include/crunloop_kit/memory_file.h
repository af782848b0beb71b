/**
 * <crunloop_kit/memory_file.h>: memory files (memfd_create(2)). Their seals guarantee that no process can change them
 * any more, so that processes can share bytes without copying them.
 */
#ifndef CRUNLOOP_KIT_MEMORY_FILE_H
#define CRUNLOOP_KIT_MEMORY_FILE_H

#include <crunloop/base.h>
#include <sys/uio.h>

RLC_BEGIN_DECLS

/**
 * Creates a memory file with the given bytes and seals it, so that neither its size nor its content can change
 * [RLC-MEMFILE-1].
 *
 * @param parts      The bytes, one part after the other. The call copies them.
 * @param part_count The number of parts.
 * @return A descriptor that the caller owns; -EMFILE (the process has no number left), -ENFILE (the system has none
 *         left), -ENOMEM, -ENOSPC (the memory file system is full), -EFBIG (more bytes than a file may have, or than
 *         RLIMIT_FSIZE allows; SIGXFSZ is not delivered [RLC-MEMFILE-3]).
 *
 * Thread: [any].  Cost: three system calls and one for each part, and one copy of the bytes.  See: memfd_create(2).
 */
int rlc_memory_file_make(const struct iovec *parts, size_t part_count);

/**
 * Creates a memory file and maps it for writing. The caller fills the mapping, then calls rlc_memory_file_seal, or
 * unmaps it by munmap(2).
 *
 * @param size      The size of the file in bytes: 1 to SSIZE_MAX.
 * @param ret_bytes The mapping: `size` bytes, all 0.
 * @return A descriptor that the caller owns; -EINVAL (size is 0 or too large), -EMFILE, -ENFILE, -ENOMEM, -EFBIG (as
 *         from rlc_memory_file_make). A call that fails leaves no file [RLC-MEMFILE-4].
 *
 * Thread: [any].  Cost: four system calls.
 */
int rlc_memory_file_open(uint64_t size, void **ret_bytes);

/**
 * Unmaps a file that rlc_memory_file_open has mapped, seals it at its final size, and maps it for reading.
 *
 * @param fd         From rlc_memory_file_open. The caller keeps it, whatever the call returns.
 * @param bytes      The mapping from rlc_memory_file_open. It is gone afterwards, whatever the call returns.
 * @param size       The size in bytes that rlc_memory_file_open was given.
 * @param final_size The bytes to keep: 1 to `size`.
 * @param ret_bytes  The mapping for reading; the caller ends it by rlc_memory_file_unmap.
 * @return 0; -EBUSY (another mapping for writing exists), -ENOMEM, -EBADF (fd is not open), -EPERM (sealed already).
 *
 * Thread: [any].  Cost: three system calls; five if the size changes.
 */
int rlc_memory_file_seal(int fd, void *bytes, uint64_t size, uint64_t final_size, const void **ret_bytes);

/**
 * Maps a memory file of another process for reading. First it checks that the file cannot change any more. The file
 * must be sealed against writing, growing, shrinking and further seals, have exactly this size, and consist of ordinary
 * memory pages [RLC-MEMFILE-2].
 *
 * @param fd        The memory file. The caller keeps it, and may close it directly after the call.
 * @param size      The size in bytes that the file must have; not 0.
 * @param ret_bytes The mapping; the caller ends it by rlc_memory_file_unmap.
 * @return 0; -EINVAL (fd is no memory file, or one of huge pages), -EPERM (a seal is missing), -ERANGE (the file has
 *         another size); -ENOMEM, -ENODEV (the file cannot be mapped).
 *
 * Thread: [any].  Cost: four system calls.
 */
int rlc_memory_file_map(int fd, uint64_t size, const void **ret_bytes);

/**
 * Ends a mapping for reading. Cannot fail.
 *
 * @param bytes From rlc_memory_file_seal or rlc_memory_file_map.
 * @param size  The size of the mapping in bytes: `final_size` of rlc_memory_file_seal, or `size` of
 *              rlc_memory_file_map.
 *
 * Thread: [any].  Cost: one system call.
 */
void rlc_memory_file_unmap(const void *bytes, uint64_t size);

RLC_END_DECLS
#endif

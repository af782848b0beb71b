#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "optional_call.h"

#include <crunloop/descriptor.h>
#include <crunloop/memory_file.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static int closed_with(int fd, int status) {
    (void)close(fd);
    return status;
}

/* From Linux 6.3 on. With vm.memfd_noexec = 2 the kernel refuses files without it. */
enum { NEVER_EXECUTED = 8 };

static int create_with(unsigned flags) {
    return rlc_descriptor_adopt(memfd_create("runloopkit", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
}

static int create(void) {
    int fd = -EINVAL;
    if (rlc_call_is_present(RLC_CALL_MEMFD_NOEXEC)) {
        fd = create_with(NEVER_EXECUTED);
        if (!rlc_call_is_refused(RLC_CALL_MEMFD_NOEXEC, fd))
            return fd;
    }
    return rlc_call_fell_back(RLC_CALL_MEMFD_NOEXEC, create_with(0));
}

/* write(2) fills pages that no process has mapped: cheaper than to fault them in. It takes at most INT_MAX bytes at
 * once. */
static int write_whole(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -ENOSPC;
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

int rlc_memory_file_make(const struct iovec *parts, size_t part_count) {
    int fd = create(), status = 0;
    if (fd < 0)
        return fd;
    for (size_t i = 0; i < part_count && status == 0; i++)
        status = write_whole(fd, parts[i].iov_base, parts[i].iov_len);
    if (status == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        status = -errno;
    return status == 0 ? fd : closed_with(fd, status);
}

int rlc_memory_file_open(uint64_t size, void **ret_bytes) {
    if (size == 0 || size > (uint64_t)SSIZE_MAX)
        return -EINVAL;
    int fd = create();
    if (fd < 0)
        return fd;
    if (ftruncate(fd, (off_t)size) < 0)
        return closed_with(fd, -errno);
    void *bytes = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return closed_with(fd, -errno);
    *ret_bytes = bytes;
    return fd;
}

/* Private, though no process writes: kernels before 6.7 refuse a shared mapping of what is sealed against writing. */
static int map(int fd, uint64_t size, const void **ret_bytes) {
    void *bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return -errno;
    *ret_bytes = bytes;
    return 0;
}

int rlc_memory_file_seal(int fd, void *bytes, uint64_t size, uint64_t final_size, const void **ret_bytes) {
    (void)munmap(bytes, (size_t)size); /* a mapping for writing keeps the seal from being set */
    if (final_size != size && ftruncate(fd, (off_t)final_size) < 0)
        return -errno;
    if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        return -errno;
    return map(fd, final_size, ret_bytes);
}

int rlc_memory_file_map(int fd, uint64_t size, const void **ret_bytes) {
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0)
        return -EINVAL;
    if ((seals & SEALS) != SEALS)
        return -EPERM;
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (status.st_size < 0 || (uint64_t)status.st_size != size || size == 0)
        return -ERANGE;
    /* Huge pages would be taken from a pool at the first touch, which ends in SIGBUS if it is empty. */
    struct statfs system;
    if (fstatfs(fd, &system) < 0)
        return -errno;
    if (system.f_type != TMPFS_MAGIC)
        return -EINVAL;
    return map(fd, size, ret_bytes);
}

void rlc_memory_file_unmap(const void *bytes, uint64_t size) {
    (void)munmap((void *)bytes, (size_t)size);
}

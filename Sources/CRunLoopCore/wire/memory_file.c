#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failure.h"
#include "file_limit.h"
#include "kernel_numbers.h"
#include "optional_call.h"

#include <crunloop_kit/memory_file.h>

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static int closed_with(int fd, int status) {
    (void)close(fd);
    return status;
}

/* MFD_NOEXEC_SEAL, from Linux 6.3 on. With vm.memfd_noexec = 2 the kernel refuses files without it. */
enum { NEVER_EXECUTED = 8 };

static int create_with(unsigned flags) {
    return rlc_made("memfd_create", memfd_create("runloopkit", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
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

/*
 * Uses write(2), which costs less than page faults in a mapping. Loops, because one call writes at most INT_MAX bytes.
 */
static int write_whole(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return rlc_failed_with("write", written < 0 ? -errno : -ENOSPC);
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

static int write_parts(int fd, const struct iovec *parts, size_t part_count) {
    rlc_file_limit limit;
    int status = 0;
    uint64_t size = 0;
    for (size_t i = 0; i < part_count; i++)
        size += parts[i].iov_len;
    rlc_file_limit_begin(&limit, size);
    for (size_t i = 0; i < part_count && status == 0; i++)
        status = write_whole(fd, parts[i].iov_base, parts[i].iov_len);
    rlc_file_limit_end(&limit, status);
    return status;
}

static int set_size(int fd, uint64_t size) {
    rlc_file_limit limit;
    rlc_file_limit_begin(&limit, size);
    int status = ftruncate(fd, (off_t)size) < 0 ? rlc_failed("ftruncate") : 0;
    rlc_file_limit_end(&limit, status);
    return status;
}

int rlc_memory_file_make(const struct iovec *parts, size_t part_count) {
    int fd = create();
    if (fd < 0)
        return fd;
    int status = write_parts(fd, parts, part_count);
    if (status == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        status = rlc_failed("fcntl");
    return status == 0 ? fd : closed_with(fd, status);
}

int rlc_memory_file_open(uint64_t size, void **ret_bytes) {
    if (size == 0 || size > (uint64_t)SSIZE_MAX)
        return rlc_refused(-EINVAL);
    int fd = create();
    if (fd < 0)
        return fd;
    int status = set_size(fd, size);
    if (status < 0)
        return closed_with(fd, status);
    void *bytes = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return closed_with(fd, rlc_failed("mmap"));
    *ret_bytes = bytes;
    return fd;
}

/* Maps privately, because kernels before 6.7 refuse shared mappings of files that are sealed against writing. */
static int map(int fd, uint64_t size, const void **ret_bytes) {
    void *bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return rlc_failed("mmap");
    *ret_bytes = bytes;
    return 0;
}

int rlc_memory_file_seal(int fd, void *bytes, uint64_t size, uint64_t final_size, const void **ret_bytes) {
    (void)munmap(bytes, (size_t)size); /* the kernel does not seal a file that is mapped for writing */
    int status = final_size != size ? set_size(fd, final_size) : 0;
    if (status < 0)
        return status;
    if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        return rlc_failed("fcntl");
    return map(fd, final_size, ret_bytes);
}

int rlc_memory_file_map(int fd, uint64_t size, const void **ret_bytes) {
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0)
        return rlc_refused(-EINVAL);
    if ((seals & SEALS) != SEALS)
        return rlc_refused(-EPERM);
    struct stat status;
    if (fstat(fd, &status) < 0)
        return rlc_failed("fstat");
    if (status.st_size < 0 || (uint64_t)status.st_size != size || size == 0)
        return rlc_refused(-ERANGE);
    /* Refuses files of huge pages: the first access raises SIGBUS if the pool of such pages is empty. */
    struct statfs system;
    if (fstatfs(fd, &system) < 0)
        return rlc_failed("fstatfs");
    if (system.f_type != TMPFS_MAGIC)
        return rlc_refused(-EINVAL);
    return map(fd, size, ret_bytes);
}

void rlc_memory_file_unmap(const void *bytes, uint64_t size) {
    (void)munmap((void *)bytes, (size_t)size);
}

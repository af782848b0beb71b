/* Memory files: sealed by us, trusted of others only if nobody can change them any more. */
#include "harness.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { ALL = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static void test_RLC_MEMFILE_1_made_of_parts(void) {
    struct iovec parts[3] = {{"sealed ", 7}, {"", 0}, {"bytes", 5}};
    int fd = rlc_memory_file_make(parts, 3);
    CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK_EQUAL(fcntl(fd, F_GET_SEALS) & ALL, ALL);
    CHECK(write(fd, "x", 1) < 0 && ftruncate(fd, 1) < 0 && ftruncate(fd, 100) < 0 && fcntl(fd, F_ADD_SEALS, 0) < 0);
    CHECK(mmap(NULL, 12, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    const void *bytes;
    CHECK_EQUAL(rlc_memory_file_map(fd, 12, &bytes), 0);
    close(fd);
    CHECK(memcmp(bytes, "sealed bytes", 12) == 0);
    rlc_memory_file_unmap(bytes, 12);
}

/** How many are mapped, with these permissions as /proc/self/maps has them. */
static int mappings(const char *permissions) {
    char line[512];
    int count = 0;
    FILE *file = fopen("/proc/self/maps", "re");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        count += strstr(line, "/memfd:runloopkit") != NULL && strstr(line, permissions) != NULL;
    fclose(file);
    return count;
}

/* Nothing of it stays mapped, though the file was larger before, by whole pages. */
static void test_RLC_MEMFILE_1_mapped_at_its_final_size(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *open;
    const void *bytes;
    int fd = rlc_memory_file_open(5 * page, &open);
    CHECK(fd >= 0);
    CHECK_EQUAL(mappings(" rw-s "), 1);
    CHECK_EQUAL(rlc_memory_file_seal(fd, open, 5 * page, page + 1, &bytes), 0);
    CHECK(mappings(" ") == 1 && mappings(" r--p ") == 1);
    rlc_memory_file_unmap(bytes, page + 1);
    CHECK_EQUAL(mappings(" "), 0);
    close(fd);
}

static void test_RLC_MEMFILE_1_filled_in_place(void) {
    void *open;
    const void *bytes;
    int fd = rlc_memory_file_open(10000, &open);
    CHECK(fd >= 0);
    memset(open, 7, 10000);
    CHECK_EQUAL(rlc_memory_file_seal(fd, open, 10000, 5000, &bytes), 0);
    CHECK(((const char *)bytes)[4999] == 7);
    CHECK_EQUAL(lseek(fd, 0, SEEK_END), 5000);
    CHECK_EQUAL(fcntl(fd, F_GET_SEALS) & ALL, ALL);
    rlc_memory_file_unmap(bytes, 5000);
    CHECK_EQUAL(rlc_memory_file_map(fd, 5000, &bytes), 0);
    rlc_memory_file_unmap(bytes, 5000);
    close(fd);
    CHECK_EQUAL(rlc_memory_file_open(0, &open), -EINVAL);
    CHECK_EQUAL(rlc_memory_file_open(UINT64_MAX, &open), -EINVAL);
}

static int unsealed(void) {
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(fd >= 0);
    CHECK_EQUAL(ftruncate(fd, 4096), 0);
    return fd;
}

static void test_RLC_MEMFILE_2_seals(void) {
    static const int seals[] = {0, F_SEAL_SEAL, ALL & ~F_SEAL_SEAL, ALL & ~F_SEAL_SHRINK, ALL & ~F_SEAL_GROW,
        ALL & ~F_SEAL_WRITE, (ALL & ~F_SEAL_WRITE) | 0x10 /* F_SEAL_FUTURE_WRITE */};
    const void *bytes = "untouched";
    for (size_t i = 0; i < sizeof seals / sizeof seals[0]; i++) {
        int fd = unsealed();
        CHECK_EQUAL(fcntl(fd, F_ADD_SEALS, seals[i]), 0);
        CHECK_EQUAL(rlc_memory_file_map(fd, 4096, &bytes), -EPERM);
        close(fd);
    }
    CHECK(memcmp(bytes, "untouched", 9) == 0);
}

static void test_RLC_MEMFILE_2_sizes_and_other_files(void) {
    const void *bytes;
    int fd = unsealed(), ends[2];
    CHECK_EQUAL(fcntl(fd, F_ADD_SEALS, ALL), 0);
    CHECK_EQUAL(rlc_memory_file_map(fd, 4095, &bytes), -ERANGE);
    CHECK_EQUAL(rlc_memory_file_map(fd, 4097, &bytes), -ERANGE);
    CHECK_EQUAL(rlc_memory_file_map(fd, 0, &bytes), -ERANGE);
    CHECK_EQUAL(rlc_memory_file_map(fd, UINT64_MAX, &bytes), -ERANGE);
    CHECK_EQUAL(rlc_memory_file_map(fd, 4096, &bytes), 0);
    rlc_memory_file_unmap(bytes, 4096);
    close(fd);
    make_pipe(ends);
    CHECK_EQUAL(rlc_memory_file_map(ends[0], 4096, &bytes), -EINVAL);
    close(ends[0]);
    close(ends[1]);
    fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK_EQUAL(rlc_memory_file_map(fd, 4096, &bytes), -EINVAL);
    close(fd);
    CHECK_EQUAL(rlc_memory_file_map(9999, 4096, &bytes), -EINVAL);
    fd = memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
    if (fd >= 0 && ftruncate(fd, 2 << 20) == 0 && fcntl(fd, F_ADD_SEALS, ALL) == 0)
        CHECK_EQUAL(rlc_memory_file_map(fd, 2 << 20, &bytes), -EINVAL);
    else
        printf("skipped 1: no huge pages here\n");
    if (fd >= 0)
        close(fd);
}

/* So large that no address space has room for it. */
static void test_RLC_MEMFILE_4_what_cannot_be_mapped_leaves_no_file(void) {
    void *bytes;
    const uint64_t size = UINT64_C(1) << (sizeof(void *) * 8 - 2);
    int fd = rlc_memory_file_open(size, &bytes);
    if (fd >= 0) {
        printf("skipped 1: %llu bytes can be mapped here\n", (unsigned long long)size);
        CHECK_EQUAL(munmap(bytes, (size_t)size), 0);
        close(fd);
        return;
    }
    CHECK_EQUAL(fd, -ENOMEM); /* no descriptor is left: see RUN */
    CHECK_EQUAL(strcmp(rlc_failed_call(), "mmap"), 0);
}

static volatile sig_atomic_t exceeded;

static void note(int signal) {
    exceeded = signal;
}

/* What the program has done about the signal stays, and one that it waits for itself is not taken. The limit is the soft one. */
static void exceed(bool is_blocked) {
    struct rlimit limit;
    CHECK_EQUAL(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 40960;
    struct iovec part = {calloc(1, 100000), 100000};
    void *bytes;
    sigset_t set, pending;
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_EQUAL(sigemptyset(&set) | sigaddset(&set, SIGXFSZ), 0);
    if (is_blocked) {
        CHECK_EQUAL(sigprocmask(SIG_BLOCK, &set, NULL), 0);
        CHECK_EQUAL(raise(SIGXFSZ), 0);
    }
    CHECK_EQUAL(rlc_memory_file_make(&part, 1), -EFBIG);
    struct iovec parts[2] = {{part.iov_base, 30000}, {part.iov_base, 30000}};
    CHECK_EQUAL(rlc_memory_file_make(parts, 2), -EFBIG);
    parts[0].iov_len = 50000;
    parts[1].iov_len = 0; /* the first failure counts */
    CHECK_EQUAL(rlc_memory_file_make(parts, 2), -EFBIG);
    CHECK_EQUAL(rlc_memory_file_open(100000, &bytes), -EFBIG);
    CHECK_EQUAL(exceeded, 0);
    CHECK_EQUAL(sigpending(&pending), 0);
    CHECK_EQUAL(sigismember(&pending, SIGXFSZ), is_blocked);
    CHECK_EQUAL(sigprocmask(SIG_BLOCK, NULL, &pending), 0);
    CHECK_EQUAL(sigismember(&pending, SIGXFSZ), is_blocked);
    part.iov_len = 40960;
    CHECK(rlc_memory_file_make(&part, 1) >= 0);
}

static void test_RLC_MEMFILE_3_more_than_the_limit_of_files_is_an_error(void) {
    for (int way = 0; way < 3; way++) {
        pid_t child = fork();
        if (child == 0) {
            CHECK(signal(SIGXFSZ, way == 1 ? note : SIG_DFL) != SIG_ERR);
            exceed(way == 2);
            _exit(0);
        }
        int status;
        CHECK_EQUAL(waitpid(child, &status, 0), child);
        CHECK_EQUAL(status, 0);
    }
}

int main(void) {
    RUN(test_RLC_MEMFILE_1_made_of_parts);
    RUN(test_RLC_MEMFILE_1_filled_in_place);
    RUN(test_RLC_MEMFILE_1_mapped_at_its_final_size);
    RUN(test_RLC_MEMFILE_2_seals);
    RUN(test_RLC_MEMFILE_2_sizes_and_other_files);
    RUN(test_RLC_MEMFILE_4_what_cannot_be_mapped_leaves_no_file);
    RUN(test_RLC_MEMFILE_3_more_than_the_limit_of_files_is_an_error);
    return 0;
}

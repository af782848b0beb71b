#include <stdbool.h>
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CTestSupport.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a debug build hints are on from the start. The tests, and the programs that they start, switch them on themselves. */
__attribute__((constructor)) static void begin_without_hints(void) {
    setenv("RUNLOOPKIT_DIAGNOSTICS", "0", 0);
}

static _Thread_local jmp_buf *place_to_leave_to;

int test_call_or_leave(void (*body)(void *), void *context) {
    jmp_buf here;
    jmp_buf *outer = place_to_leave_to;
    place_to_leave_to = &here;
    int has_returned = setjmp(here) == 0;
    if (has_returned)
        body(context);
    place_to_leave_to = outer;
    return has_returned;
}

void test_leave(void) {
    longjmp(*place_to_leave_to, 1);
}

/* More than a page, so that a stack without room for them differs from one with it. */
static _Thread_local char thread_local_bytes[1 << 15];

long test_thread_local_size(void) {
    thread_local_bytes[0] = 1;
    return sizeof thread_local_bytes;
}

int test_ask_for_stacks(size_t size) {
    pthread_attr_t attributes;
    int status = pthread_getattr_default_np(&attributes);
    if (status == 0)
        status = pthread_attr_setstacksize(&attributes, size);
    return status == 0 ? pthread_setattr_default_np(&attributes) : status;
}

long test_stack_left(void) {
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return -1;
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    return (char *)__builtin_frame_address(0) - (char *)lowest;
}

static bool is_forked;

pid_t test_fork(void) {
    pid_t child = fork();
    is_forked |= child == 0;
    return child;
}

int test_is_forked(void) {
    return is_forked;
}

int test_memory_file(long size, int seals) {
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && ftruncate(fd, size) == 0 && fcntl(fd, F_ADD_SEALS, seals) == 0)
        return fd;
    return -1;
}

int test_pipe(int ret_ends[2]) {
    return pipe2(ret_ends, O_NONBLOCK | O_CLOEXEC);
}

int64_t test_memory_in_use(void) {
    malloc_trim(0);
    return (int64_t)mallinfo2().uordblks;
}

static int write_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t size = write(fd, text, strlen(text));
    close(fd);
    return size == (ssize_t)strlen(text);
}

static int limit_inotify(const char *what, const char *most) {
    char path[64];
    snprintf(path, sizeof path, "/proc/sys/user/max_inotify_%s", what);
    return unshare(CLONE_NEWUSER) == 0 && write_text(path, most);
}

int test_limit_inotify(const char *what, const char *most, int in_a_child) {
    if (!in_a_child)
        return limit_inotify(what, most);
    pid_t child = fork();
    if (child == 0)
        _exit(limit_inotify(what, most));
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int test_forbid_pidfds(int error) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

pid_t test_fork_as(pid_t process_id) {
    struct clone_args arguments = {
        .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&process_id, .set_tid_size = 1};
    return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

/* As the Swift runtime declares them. */
#define SWIFT_CC __attribute__((swiftcall))
typedef SWIFT_CC void (*enqueue_original)(void *job);
typedef SWIFT_CC void (*enqueue_hook)(void *job, enqueue_original original);
extern enqueue_hook swift_task_enqueueGlobal_hook __attribute__((weak));
static atomic_long global_jobs;

static SWIFT_CC void count_global_job(void *job, enqueue_original original) {
    atomic_fetch_add(&global_jobs, 1);
    original(job);
}

int test_count_global_jobs(void) {
    if (!&swift_task_enqueueGlobal_hook || swift_task_enqueueGlobal_hook)
        return 0;
    swift_task_enqueueGlobal_hook = count_global_job;
    return 1;
}

long test_global_jobs(void) {
    return atomic_load(&global_jobs);
}

int test_may_choose_process_ids(void) {
    return test_fork_as(getpid()) < 0 && errno == EEXIST;
}

int test_own_mounts(void) {
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

int test_mount(const char *path) {
    return mount("none", path, "tmpfs", 0, NULL) == 0;
}

int test_unmount(const char *path) {
    return umount2(path, MNT_DETACH) == 0;
}

int test_may_have_threads_after_fork(void) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    return 0;
#endif
#endif
    return 1;
}

int test_stay_on_this_processor(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    return sched_setaffinity(0, sizeof one, &one);
}

#define REFUSE(call)                                                                                                   \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)

static int forbid_new_calls(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(SYS_epoll_pwait2),
        REFUSE(SYS_pidfd_open),
        REFUSE(SYS_pidfd_send_signal),
        REFUSE(SYS_membarrier),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int test_forbid_new_calls(int in_a_child) {
    if (!in_a_child)
        return forbid_new_calls();
    pid_t child = fork();
    if (child == 0)
        _exit(forbid_new_calls());
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int test_eventfd(int is_semaphore) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | (is_semaphore ? EFD_SEMAPHORE : 0));
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OWN_MALLOC 1
#endif
#endif

#ifdef HAS_OWN_MALLOC
int64_t test_allocations(void) {
    return -1;
}
#else
#include <stddef.h>

/* glibc's allocator under its other names: the executable's definitions come before the library's. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static _Thread_local int64_t allocations __attribute__((tls_model("initial-exec")));

int64_t test_allocations(void) {
    return allocations;
}

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    allocations++;
    return __libc_realloc(block, size);
}

int posix_memalign(void **ret_block, size_t alignment, size_t size) {
    allocations++;
    *ret_block = __libc_memalign(alignment, size);
    return *ret_block == NULL ? 12 : 0;
}

void *aligned_alloc(size_t alignment, size_t size) {
    allocations++;
    return __libc_memalign(alignment, size);
}
#endif

int test_is_timerfd(int fd) {
    struct itimerspec setting;
    return timerfd_gettime(fd, &setting) == 0;
}

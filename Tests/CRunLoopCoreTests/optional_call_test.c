/* Calls that the library can do without, refused by a filter of system calls with whatever errno: in a child each. */
#include "harness.h"

#include "../../Sources/CRunLoopCore/internal/kernel_internal.h"
#include "../../Sources/CRunLoopCore/internal/optional_call.h"

#include <crunloop_kit/calls.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

static const int refusals[] = {EPERM, EACCES, ENOSYS, EOPNOTSUPP, EINVAL, ENOENT, ENODEV, EBUSY, EIO, EPROTO};
static const int answers[] = {EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN, EBADF, EFAULT};

enum { COUNT_REFUSALS = sizeof refusals / sizeof *refusals, COUNT_ANSWERS = sizeof answers / sizeof *answers };

/** Which calls: of the number, those whose argument has a value in the bits of a mask. A mask of 0: all. */
typedef struct call {
    long number;
    uint32_t argument, mask, value;
} call;

static bool refuse(call refused, int error) {
    uint32_t place = (uint32_t)(offsetof(struct seccomp_data, args) + refused.argument * sizeof(uint64_t));
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refused.number, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, refused.mask),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused.value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

enum { SKIPPED = 77 };
static bool is_skipped;

static void in_child(call refused, int error, void (*body)(int error)) {
    (void)fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (!refuse(refused, error))
            _exit(SKIPPED);
        body(error);
        _exit(0);
    }
    int status = -1;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        is_skipped = true;
    else
        CHECK_EQUAL(status, 0);
}

static void for_each_refusal(call refused, void (*body)(int error)) {
    for (int i = 0; i < COUNT_REFUSALS; i++)
        in_child(refused, refusals[i], body);
}

/* ---- epoll_pwait2(2) ---- */

static int wait_a_little(int epoll_fd) {
    struct epoll_event event;
    return rlc_kernel_default()->epoll_wait(NULL, epoll_fd, &event, 1, rlc_now(RLC_CLOCK_MONOTONIC) + 100000);
}

static void wait_without(int error) {
    (void)error;
    int epoll_fd = epoll_create1(0);
    CHECK_EQUAL(rlc_kernel_wait_slack(rlc_kernel_default()), RLC_TIME_FOREVER);
    CHECK(rlc_call_is_present(RLC_CALL_EPOLL_PWAIT2)); /* a question is no success of the fallback */
    CHECK_EQUAL(wait_a_little(-1), -EBADF);
    CHECK(rlc_call_is_present(RLC_CALL_EPOLL_PWAIT2)); /* nor is its failure */
    CHECK_EQUAL(wait_a_little(epoll_fd), 0);
    CHECK(!rlc_call_is_present(RLC_CALL_EPOLL_PWAIT2));
    rlc_loop *loop;
    CHECK_EQUAL(rlc_loop_create(NULL, &loop), 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    (void)rlc_loop_destroy(loop);
}

static void wait_answered(int error) {
    int epoll_fd = epoll_create1(0);
    CHECK_EQUAL(wait_a_little(epoll_fd), -error);
    CHECK(rlc_call_is_present(RLC_CALL_EPOLL_PWAIT2));
}

static void test_RLC_KERNEL_5_a_wait_goes_on_without_nanoseconds(void) {
    call refused = {.number = SYS_epoll_pwait2};
    for_each_refusal(refused, wait_without);
    for (int i = 0; i < COUNT_ANSWERS; i++)
        in_child(refused, answers[i], wait_answered);
}

/* ---- processes ---- */

static pid_t start_child(void) {
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)pause();
        _exit(0);
    }
    return child;
}

static void open_without(int error) {
    int status = rlc_process_open(getpid());
    CHECK_EQUAL(status, -error);
    CHECK(rlc_kit_refuses_process_descriptors(status));
    CHECK(rlc_kit_has_process_descriptors());
    rlc_kit_does_without_process_descriptors();
    CHECK(!rlc_kit_has_process_descriptors());
}

static void open_answered(int error) {
    CHECK_EQUAL(rlc_process_open(getpid()), -error);
    CHECK(!rlc_kit_refuses_process_descriptors(-error));
}

/** Also what a filter cannot tell from the process's own: EPERM, EINVAL. */
static void send_without(int error) {
    pid_t child = start_child();
    int process = rlc_process_open(child), parent = rlc_process_open(getppid());
    rlc_process_exit exit;
    CHECK_EQUAL(rlc_process_send(parent, 0), -error); /* no child: its number may be another process's at any time */
    CHECK(rlc_call_is_present(RLC_CALL_PIDFD_SEND_SIGNAL));
    CHECK_EQUAL(rlc_process_send(process, 0), 0);
    CHECK(!rlc_call_is_present(RLC_CALL_PIDFD_SEND_SIGNAL));
    CHECK_EQUAL(rlc_process_send(process, SIGKILL), 0);
    CHECK_EQUAL(rlc_kit_wait_for_process(process, child), 0);
    CHECK_EQUAL(rlc_process_take_exit(process, child, &exit), 1);
    CHECK(exit.end == RLC_PROCESS_SIGNALLED && exit.number == SIGKILL);
    CHECK_EQUAL(rlc_process_send(process, 0), -ESRCH);
}

static void take_without(int error) {
    (void)error;
    pid_t child = start_child();
    int process = rlc_process_open(child);
    rlc_process_exit exit;
    CHECK_EQUAL(rlc_process_take_exit(process, -1, &exit), 0);
    CHECK(!rlc_call_is_present(RLC_CALL_WAITID_PIDFD));
    CHECK_EQUAL(kill(child, SIGTERM), 0);
    CHECK_EQUAL(rlc_kit_wait_for_process(process, child), 0);
    CHECK_EQUAL(rlc_process_take_exit(process, -1, &exit), 1);
    CHECK(exit.end == RLC_PROCESS_SIGNALLED && exit.number == SIGTERM);
    CHECK_EQUAL(rlc_process_take_exit(process, -1, &exit), -ECHILD);
}

static void test_RLC_KERNEL_5_processes_without_their_descriptors(void) {
    call opens = {.number = SYS_pidfd_open};
    for_each_refusal(opens, open_without);
    for (int i = 0; i < COUNT_ANSWERS; i++)
        in_child(opens, answers[i], open_answered);
    in_child(opens, ESRCH, open_answered);
    for_each_refusal((call){.number = SYS_pidfd_send_signal}, send_without);
    for_each_refusal((call){.number = SYS_waitid, .argument = 0, .mask = ~0U, .value = 3}, take_without);
}

/* ---- memory files ---- */

static void make_file_without(int error) {
    (void)error;
    char byte = 'a';
    struct iovec part = {&byte, 1};
    int fd = rlc_memory_file_make(&part, 1);
    const void *bytes;
    CHECK(fd >= 0);
    CHECK(!rlc_call_is_present(RLC_CALL_MEMFD_NOEXEC));
    CHECK_EQUAL(rlc_memory_file_map(fd, 1, &bytes), 0);
}

/** There is nothing in its place: the error of the call is the operation's. */
static void make_no_file(int error) {
    char byte = 'a';
    struct iovec part = {&byte, 1};
    CHECK_EQUAL(rlc_memory_file_make(&part, 1), -error);
    CHECK(rlc_call_is_present(RLC_CALL_MEMFD_NOEXEC));
}

static void test_RLC_KERNEL_5_memory_files_without_the_newest_flag(void) {
    for_each_refusal((call){.number = SYS_memfd_create, .argument = 1, .mask = 8, .value = 8}, make_file_without);
    for_each_refusal((call){.number = SYS_memfd_create}, make_no_file);
    for_each_refusal((call){.number = SYS_fcntl, .argument = 1, .mask = ~0U, .value = F_ADD_SEALS}, make_no_file);
}

/* ---- calls whose fallback asks for no errno ---- */

static void pass_no_barrier(int error) {
    CHECK(!rlc_thread_has_barrier());
    CHECK_EQUAL(rlc_thread_barrier(), -error);
}

static void fork_without_wiping(int error) {
    (void)error;
    uint32_t generation = rlc_fork_generation();
    pid_t child = fork();
    if (child == 0)
        _exit(rlc_has_forked_since(generation) ? 0 : 1);
    int status = -1;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

static void know_no_slack(int error) {
    (void)error;
    CHECK_EQUAL(rlc_kernel_wait_slack(rlc_kernel_default()), RLC_TIME_FOREVER);
}

static void test_RLC_KERNEL_5_barriers_forks_and_slack(void) {
    for_each_refusal((call){.number = SYS_membarrier}, pass_no_barrier);
    for_each_refusal(
        (call){.number = SYS_madvise, .argument = 2, .mask = ~0U, .value = MADV_WIPEONFORK}, fork_without_wiping);
    for_each_refusal(
        (call){.number = SYS_prctl, .argument = 0, .mask = ~0U, .value = PR_GET_TIMERSLACK}, know_no_slack);
}

int main(void) {
    RUN(test_RLC_KERNEL_5_a_wait_goes_on_without_nanoseconds);
    RUN(test_RLC_KERNEL_5_processes_without_their_descriptors);
    RUN(test_RLC_KERNEL_5_memory_files_without_the_newest_flag);
    RUN(test_RLC_KERNEL_5_barriers_forks_and_slack);
    if (is_skipped)
        (void)printf("optional_call_test: skipped: no filters of system calls here\n");
    return 0;
}

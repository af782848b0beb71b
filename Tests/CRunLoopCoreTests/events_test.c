/* What the sources of system events are made of: event ports, signals, processes. What starts programs: spawn_test.c. */
#include "harness.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static bool is_readable(int fd) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

static void test_event_port_is_readable_by_inner_or_flag(void) {
    rlc_event_port port;
    int inner = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK_EQUAL(rlc_event_port_create(inner, &port), 0);
    CHECK(!is_readable(port.fd));
    bump(inner);
    CHECK(is_readable(port.fd));
    uint64_t count;
    CHECK_EQUAL(read(inner, &count, sizeof count), 8);
    CHECK(!is_readable(port.fd));
    rlc_event_port_set_flag(&port, true);
    rlc_event_port_set_flag(&port, true);
    CHECK(is_readable(port.fd));
    rlc_event_port_set_flag(&port, false);
    CHECK(!is_readable(port.fd));
    rlc_event_port_set_flag(&port, false);
    CHECK((fcntl(port.fd, F_GETFD) & FD_CLOEXEC) != 0 && (fcntl(port.flag, F_GETFD) & FD_CLOEXEC) != 0);
    rlc_event_port_close(&port);
    CHECK_EQUAL(port.fd, -1);
    CHECK_EQUAL(rlc_event_port_create(9999, &port), -EBADF);
}

static void test_RLC_EVENT_1_a_port_of_a_flag_is_one_descriptor(void) {
    rlc_event_port port;
    CHECK_EQUAL(rlc_event_port_create(-1, &port), 0);
    CHECK_EQUAL(port.fd, port.flag);
    CHECK(!is_readable(port.fd));
    rlc_event_port_set_flag(&port, true);
    CHECK(is_readable(port.fd));
    rlc_event_port_set_flag(&port, false);
    CHECK(!is_readable(port.fd));
    int fd = port.fd;
    rlc_event_port_close(&port);
    CHECK(port.fd == -1 && port.flag == -1 && fcntl(fd, F_GETFD) < 0);
}

static void test_an_event_port_is_not_nested_too_deep(void) {
    rlc_event_port port;
    int nested[16], count = 0, status;
    do {
        nested[count] = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event event = {.events = EPOLLIN};
        status = count == 0 ? 0 : epoll_ctl(nested[count], EPOLL_CTL_ADD, nested[count - 1], &event);
    } while (status == 0 && ++count < 16);
    CHECK(status < 0 && errno == ELOOP); /* as deep as they may be */
    CHECK_EQUAL(rlc_event_port_create(nested[count - 1], &port), -ELOOP);
    while (count >= 0)
        close(nested[count--]);
}

static rlc_signals only(int signal) {
    return RLC_SIGNAL(signal);
}

static bool is_blocked(int signal) {
    sigset_t mask;
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    return sigismember(&mask, signal) == 1;
}

static void test_signals_are_read_with_their_senders(void) {
    rlc_signals changed = 0;
    CHECK_EQUAL(rlc_signals_block(only(SIGUSR1) | only(SIGUSR2), &changed), 0);
    CHECK_EQUAL(changed, only(SIGUSR1) | only(SIGUSR2));
    CHECK_EQUAL(rlc_signals_block(only(SIGUSR1) | only(SIGHUP), &changed), 0);
    CHECK_EQUAL(changed, only(SIGHUP));
    int fd = rlc_signal_fd_create(only(SIGUSR1) | only(SIGUSR2));
    CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    rlc_signal_info info;
    CHECK_EQUAL(rlc_signal_fd_take(fd, &info), 0);
    CHECK_EQUAL(kill(getpid(), SIGUSR2), 0);
    CHECK_EQUAL(rlc_signal_fd_take(fd, &info), 1);
    CHECK(info.signal == SIGUSR2 && info.process_id == getpid() && info.user_id == getuid() && info.code == SI_USER);
    CHECK_EQUAL(rlc_signal_fd_take(fd, &info), 0);
    CHECK_EQUAL(kill(getpid(), SIGUSR1), 0); /* would end this process */
    rlc_signals_unblock(only(SIGUSR1) | only(SIGUSR2) | only(SIGHUP));
    CHECK(!is_blocked(SIGUSR1) && !is_blocked(SIGUSR2) && !is_blocked(SIGHUP));
    close(fd);
    CHECK_EQUAL(rlc_signal_fd_take(fd, &info), -EBADF);
}

/** Sends this process what another process, or the kernel, might. */
static void queue(siginfo_t *info, int signal, int code) {
    info->si_signo = signal;
    info->si_code = code;
    info->si_pid = 4711;
    info->si_uid = 54321;
    CHECK_EQUAL(syscall(SYS_rt_sigqueueinfo, getpid(), signal, info), 0);
}

static void test_RLC_SIGNAL_1_each_field_is_what_was_sent(void) {
    const union sigval sent = {.sival_ptr = (void *)(uintptr_t)UINT64_C(0x1234567887654321)};
    siginfo_t info = {.si_errno = 0};
    rlc_signal_info taken;
    CHECK_EQUAL(rlc_signals_block(only(SIGUSR1) | only(SIGCHLD), NULL), 0);
    int fd = rlc_signal_fd_create(only(SIGUSR1) | only(SIGCHLD));
    info.si_value = sent;
    queue(&info, SIGUSR1, SI_QUEUE);
    CHECK_EQUAL(rlc_signal_fd_take(fd, &taken), 1);
    CHECK(taken.signal == SIGUSR1 && taken.code == SI_QUEUE && taken.process_id == 4711 && taken.user_id == 54321);
    CHECK_EQUAL(taken.value, sent.sival_int);
    CHECK_EQUAL(taken.pointer, (uintptr_t)sent.sival_ptr);
    info.si_status = 7;
    queue(&info, SIGCHLD, CLD_EXITED);
    CHECK_EQUAL(rlc_signal_fd_take(fd, &taken), 1);
    CHECK(taken.signal == SIGCHLD && taken.code == CLD_EXITED && taken.process_id == 4711 && taken.user_id == 54321);
    CHECK_EQUAL(taken.status, 7);
    rlc_signals_unblock(only(SIGUSR1) | only(SIGCHLD));
    close(fd);
}

/** False in emulators that keep the signal for themselves. */
static bool can_be_blocked(int signal) {
    sigset_t set, before;
    CHECK_EQUAL(sigemptyset(&set) | sigaddset(&set, signal), 0);
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &set, &before), 0);
    bool can = is_blocked(signal);
    CHECK_EQUAL(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    return can;
}

static void test_RLC_SIGNAL_2_the_largest_signal_is_one_too(void) {
    const int last = 64;
    const rlc_signals signals = only(last) | only(SIGUSR1);
    rlc_signals changed;
    rlc_signal_info info;
    rlc_thread_mask mask;
    if (!can_be_blocked(last)) {
        printf("skipped 1: signal 64 cannot be blocked here\n");
        return;
    }
    CHECK(rlc_signals_find_unblocked(only(last), &mask) && mask.unblocked == only(last));
    CHECK_EQUAL(rlc_signals_block(signals, &changed), 0);
    CHECK(changed == signals && is_blocked(last) && !rlc_signals_find_unblocked(only(last), &mask));
    int fd = rlc_signal_fd_create(signals);
    CHECK_EQUAL(kill(getpid(), last), 0);
    CHECK_EQUAL(rlc_signal_fd_take(fd, &info), 1);
    CHECK_EQUAL(info.signal, last);
    CHECK_EQUAL(kill(getpid(), last), 0); /* would end this process */
    rlc_signals_unblock(signals);
    CHECK(!is_blocked(last));
    close(fd);
}

/** The signals that unblocking them must discard, and one that it must not. */
enum { UNTOUCHED = SIGTERM };

static bool is_pending(int signal) {
    sigset_t pending;
    CHECK_EQUAL(sigpending(&pending), 0);
    return sigismember(&pending, signal) == 1;
}

/* The default action of each of them would end this process. */
static void test_unblocking_discards_all_that_are_pending(void) {
    int realtime = rlc_signal_realtime_min();
    rlc_signals asked = only(SIGHUP) | only(SIGUSR1) | only(SIGUSR2) | only(SIGALRM) | only(realtime);
    CHECK_EQUAL(rlc_signals_block(asked | only(UNTOUCHED), NULL), 0);
    CHECK(kill(getpid(), SIGUSR1) == 0 && kill(getpid(), SIGUSR2) == 0 && kill(getpid(), UNTOUCHED) == 0);
    CHECK(raise(SIGHUP) == 0 && raise(SIGALRM) == 0); /* of the thread, not of the process */
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(sigqueue(getpid(), realtime, (union sigval){.sival_int = i}), 0);
    rlc_signals_unblock(asked);
    CHECK(!is_blocked(SIGHUP) && !is_blocked(SIGUSR1) && !is_blocked(SIGUSR2) && !is_blocked(realtime));
    CHECK(is_blocked(UNTOUCHED) && is_pending(UNTOUCHED));
    rlc_signals_unblock(only(UNTOUCHED));
    CHECK(!is_pending(UNTOUCHED));
}

/* The last real-time signal. An emulator keeps some of the host's signals, and refuses to send the last ones. */
static int last_signal_that_is_sent(int value) {
    int last = rlc_signal_realtime_max();
    while (sigqueue(getpid(), last, (union sigval){.sival_int = value}) != 0 && last > rlc_signal_realtime_min() + 1)
        last--;
    if (last != rlc_signal_realtime_max())
        printf("skipped 1: signal %d cannot be sent here\n", rlc_signal_realtime_max());
    return last;
}

static void test_real_time_signals_come_as_often_as_they_were_sent(void) {
    int first = rlc_signal_realtime_min();
    rlc_signals realtime = ~(only(first) - 1);
    CHECK_EQUAL(rlc_signals_block(realtime, NULL), 0);
    int last = last_signal_that_is_sent(9);
    int fd = rlc_signal_fd_create(only(first) | only(last));
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(sigqueue(getpid(), first, (union sigval){.sival_ptr = (void *)(UINTPTR_MAX - (unsigned)i)}), 0);
    rlc_signal_info info;
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(rlc_signal_fd_take(fd, &info), 1);
        CHECK(info.signal == first && info.code == SI_QUEUE && info.process_id == getpid());
        CHECK(info.value == -1 - i && (uintptr_t)info.pointer == UINTPTR_MAX - (unsigned)i);
    }
    CHECK(rlc_signal_fd_take(fd, &info) == 1 && info.signal == last && info.value == 9);
    CHECK_EQUAL(rlc_signal_fd_take(fd, &info), 0);
    rlc_signals_unblock(realtime);
    close(fd);
}

static void test_no_signals(void) {
    CHECK_EQUAL(rlc_signal_fd_create(0), -EINVAL);
    CHECK_EQUAL(rlc_signal_fd_create(only(SIGKILL)), -EINVAL);
    CHECK_EQUAL(rlc_signal_fd_create(only(SIGSTOP) | only(SIGUSR1)), -EINVAL);
    CHECK_EQUAL(rlc_signals_block(only(SIGKILL) | only(SIGUSR1), NULL), -EINVAL);
    CHECK_EQUAL(rlc_signals_block(only(32), NULL), -EINVAL); /* the C library's own */
    CHECK(!is_blocked(SIGUSR1));
    CHECK_EQUAL(rlc_signals_block(only(SIGUSR1), NULL), 0);
    rlc_signals_unblock(only(SIGKILL) | only(SIGUSR1));
    CHECK(is_blocked(SIGUSR1));
    rlc_signals_unblock(only(SIGUSR1));
    CHECK(rlc_signal_realtime_min() > 32 && rlc_signal_realtime_max() == 64);
}

static int child_that_exits(int code) {
    pid_t child = fork();
    if (child == 0)
        _exit(code);
    return child;
}

static void test_a_child_that_ends_is_told_by_its_signal(void) {
    CHECK_EQUAL(rlc_signals_block(only(SIGCHLD), NULL), 0);
    int fd = rlc_signal_fd_create(only(SIGCHLD)), child = child_that_exits(9);
    siginfo_t end;
    CHECK_EQUAL(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    CHECK_EQUAL(poll(&entry, 1, 30000), 1);
    rlc_signal_info info;
    CHECK_EQUAL(rlc_signal_fd_take(fd, &info), 1);
    CHECK(info.signal == SIGCHLD && info.code == CLD_EXITED && info.process_id == child && info.status == 9);
    CHECK_EQUAL(rlc_process_take_exit(-1, child, NULL), 1);
    rlc_signals_unblock(only(SIGCHLD));
    close(fd);
}

static void test_processes_are_taken_once(void) {
    int child = child_that_exits(7), fd = rlc_process_open(child);
    if (fd == -ENOSYS || fd == -EPERM) {
        printf("no pidfds here: left out\n");
        CHECK_EQUAL(waitpid(child, NULL, 0), child);
        return;
    }
    CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    CHECK_EQUAL(poll(&entry, 1, 30000), 1);
    rlc_process_exit end;
    CHECK_EQUAL(rlc_process_take_exit(fd, child, &end), 1);
    CHECK(end.end == RLC_PROCESS_EXITED && end.number == 7);
    CHECK_EQUAL(rlc_process_take_exit(fd, child, &end), -ECHILD);
    CHECK_EQUAL(rlc_process_send(fd, SIGTERM), -ESRCH);
    close(fd);
    CHECK_EQUAL(rlc_process_open(child), -ESRCH);
    CHECK_EQUAL(rlc_process_open(-1), -EINVAL);
}

static void test_processes_without_descriptors(void) {
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    rlc_process_exit end;
    CHECK_EQUAL(rlc_process_take_exit(-1, child, &end), 0);
    CHECK_EQUAL(kill(child, SIGKILL), 0);
    int status;
    while ((status = rlc_process_take_exit(-1, child, &end)) == 0)
        (void)poll(NULL, 0, 1);
    CHECK_EQUAL(status, 1);
    CHECK(end.end == RLC_PROCESS_SIGNALLED && end.number == SIGKILL);
}

static uint64_t start_of(int32_t process_id) {
    uint64_t start = 0;
    CHECK_EQUAL(rlc_process_start(process_id, &start), 0);
    return start;
}

static void test_since_when_a_process_runs(void) {
    CHECK_EQUAL(prctl(PR_SET_NAME, ") 1 2 (x) "), 0); /* a name is no reason to read other fields */
    uint64_t own = start_of(getpid());
    CHECK(own > 0 && own <= rlc_now(RLC_CLOCK_BOOTTIME) / 10000000);
    CHECK_EQUAL(own, start_of(getpid()));
    const uint64_t two_ticks_ns = 20000000;
    pid_t children[2];
    uint64_t starts[2];
    for (int i = 0; i < 2; i++) {
        uint64_t before = rlc_now(RLC_CLOCK_BOOTTIME);
        while (rlc_now(RLC_CLOCK_BOOTTIME) - before < two_ticks_ns)
            continue;
        children[i] = fork();
        if (children[i] == 0)
            _exit(0);
        siginfo_t info;
        CHECK_EQUAL(waitid(P_PID, (id_t)children[i], &info, WEXITED | WNOWAIT), 0);
        starts[i] = start_of(children[i]); /* also one that nobody has waited for */
    }
    CHECK(own < starts[0] && starts[0] < starts[1]);
    for (int i = 0; i < 2; i++) {
        uint64_t start = 77;
        CHECK_EQUAL(waitpid(children[i], NULL, 0), children[i]);
        CHECK_EQUAL(rlc_process_start(children[i], &start), -ENOENT);
        CHECK_EQUAL(start, 77);
    }
}

static void *wait_without_blocking(void *gate) {
    sigset_t none;
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    int *ends = gate;
    write_all(ends[3], "x", 1);
    char byte;
    (void)!read(ends[0], &byte, 1);
    return NULL;
}

static void test_a_thread_that_does_not_block_a_signal_is_found(void) {
    rlc_thread_mask found = {.thread_id = 77};
    rlc_signals asked = only(SIGUSR1) | only(SIGHUP), changed;
    CHECK(rlc_signals_find_unblocked(asked, &found));
    CHECK(found.thread_id == gettid() && found.unblocked == asked);
    CHECK_EQUAL(rlc_signals_block(asked, &changed), 0);
    found.thread_id = 77;
    CHECK(!rlc_signals_find_unblocked(asked, &found));
    CHECK_EQUAL(found.thread_id, 77);
    int ends[4];
    CHECK(pipe2(ends, O_CLOEXEC) == 0 && pipe2(ends + 2, O_CLOEXEC) == 0);
    pthread_t thread;
    char byte;
    CHECK_EQUAL(pthread_create(&thread, NULL, wait_without_blocking, ends), 0);
    CHECK_EQUAL(pthread_setname_np(thread, "careless"), 0);
    CHECK_EQUAL(read(ends[2], &byte, 1), 1);
    CHECK(rlc_signals_find_unblocked(asked, &found));
    CHECK(found.thread_id != 77 && found.thread_id != gettid() && found.unblocked == asked);
    CHECK(strcmp(found.name, "careless") == 0);
    write_all(ends[1], "x", 1);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 4; i++)
        close(ends[i]);
    rlc_signals_unblock(changed);
}

int main(void) {
    RUN(test_event_port_is_readable_by_inner_or_flag);
    RUN(test_RLC_EVENT_1_a_port_of_a_flag_is_one_descriptor);
    RUN(test_an_event_port_is_not_nested_too_deep);
    RUN(test_signals_are_read_with_their_senders);
    RUN(test_RLC_SIGNAL_1_each_field_is_what_was_sent);
    RUN(test_RLC_SIGNAL_2_the_largest_signal_is_one_too);
    RUN(test_unblocking_discards_all_that_are_pending);
    RUN(test_real_time_signals_come_as_often_as_they_were_sent);
    RUN(test_no_signals);
    RUN(test_a_child_that_ends_is_told_by_its_signal);
    RUN(test_processes_are_taken_once);
    RUN(test_processes_without_descriptors);
    RUN(test_since_when_a_process_runs);
    RUN(test_a_thread_that_does_not_block_a_signal_is_found);
    return 0;
}

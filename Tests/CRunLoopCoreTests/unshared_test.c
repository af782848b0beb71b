/* Descriptors that a child of fork(2) does not keep. */
#include "asleep.h"
#include "wipes_pages.h"

#include <crunloop_kit/unshared.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void make_pair(int ends[2]) {
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
}

static void list(int fd) {
    rlc_kit_unshared_begin();
    CHECK_EQUAL(rlc_kit_unshared_add(fd), 0);
    rlc_kit_unshared_end();
}

static bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

static bool has_ended(int fd) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, 0) == 1 && (entry.revents & POLLHUP) != 0;
}

static void wait_for(pid_t child) {
    int status = 0;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

/* The child lives until its input ends. */
static pid_t helper(int input[2], pid_t (*fork_function)(void), void (*at_first)(void)) {
    int ready[2];
    char byte;
    CHECK_EQUAL(pipe2(input, O_CLOEXEC), 0);
    CHECK_EQUAL(pipe2(ready, O_CLOEXEC), 0);
    pid_t child = fork_function();
    if (child == 0) {
        (void)alarm(60);
        close(input[1]);
        if (at_first != NULL)
            at_first();
        write_all(ready[1], "x", 1);
        _exit(read(input[0], &byte, 1) != 0);
    }
    CHECK_EQUAL(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end_helper(pid_t child, int input[2]) {
    close(input[1]);
    wait_for(child);
    close(input[0]);
}

static void test_RLC_FORK_5_a_child_keeps_no_listed_descriptor(void) {
    int ends[2], others[2], input[2];
    make_pair(ends);
    make_pair(others);
    list(ends[0]);
    list(others[0]);
    rlc_kit_unshared_remove(others[0]);
    pid_t child = helper(input, fork, NULL);
    rlc_kit_unshared_close(ends[0]);
    rlc_kit_unshared_close(others[0]);
    CHECK(has_ended(ends[1]));
    CHECK(!has_ended(others[1])); /* was taken off the list */
    end_helper(child, input);
    CHECK(has_ended(others[1]));
    close(ends[1]);
    close(others[1]);
}

/* The program has closed a listed number itself, and another file has it now: the child keeps that. */
static void test_RLC_FORK_5_a_number_with_another_file_is_left_alone(void) {
    int ends[2];
    make_pair(ends);
    list(ends[0]);
    close(ends[0]);
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK_EQUAL(other, ends[0]);
    pid_t child = fork();
    if (child == 0)
        _exit(!is_open(other));
    wait_for(child);
    rlc_kit_unshared_close(other);
    CHECK(!is_open(other));
    close(ends[1]);
}

/* As above, and what has the number now is listed, too: a child closes it. */
static void test_RLC_FORK_5_a_number_that_is_listed_again(void) {
    int ends[2], others[2], input[2];
    make_pair(ends);
    list(ends[0]);
    close(ends[0]);
    close(ends[1]);
    make_pair(others);
    CHECK_EQUAL(others[0], ends[0]);
    list(others[0]);
    pid_t child = helper(input, fork, NULL);
    rlc_kit_unshared_close(others[0]);
    CHECK(has_ended(others[1]));
    end_helper(child, input);
    close(others[1]);
}

/* The program has closed it: what the handler finds leaves no trace in errno. */
static void test_RLC_FORK_5_a_child_keeps_errno(void) {
    int ends[2];
    make_pair(ends);
    list(ends[0]);
    close(ends[0]);
    errno = 77;
    pid_t child = fork();
    if (child == 0)
        _exit(errno != 77);
    wait_for(child);
    rlc_kit_unshared_remove(ends[0]);
    close(ends[1]);
}

/* What was closed is listed no more: the program may have the same file at the number again. */
static void test_RLC_FORK_5_a_closed_number_is_listed_no_more(void) {
    int ends[2];
    make_pair(ends);
    int copy = dup(ends[0]);
    list(ends[0]);
    rlc_kit_unshared_close(ends[0]);
    CHECK_EQUAL(dup3(copy, ends[0], O_CLOEXEC), ends[0]);
    pid_t child = fork();
    if (child == 0)
        _exit(!is_open(ends[0]));
    wait_for(child);
    close(copy);
    close(ends[0]);
    close(ends[1]);
}

/* A child lists its own, and has none of its parent's on its list. */
static void test_RLC_FORK_5_a_child_has_a_list_of_its_own(void) {
    int ends[2];
    make_pair(ends);
    list(ends[0]);
    pid_t child = fork();
    if (child == 0) {
        int own[2], input[2];
        CHECK(!is_open(ends[0]));
        make_pair(own);
        CHECK_EQUAL(own[0], ends[0]);
        pid_t first = helper(input, fork, NULL); /* keeps it: not listed */
        close(own[0]);
        CHECK(!has_ended(own[1]));
        end_helper(first, input);
        close(own[1]);
        make_pair(own);
        list(own[0]);
        pid_t second = helper(input, fork, NULL);
        rlc_kit_unshared_close(own[0]);
        CHECK(has_ended(own[1]));
        end_helper(second, input);
        _exit(0);
    }
    wait_for(child);
    CHECK(is_open(ends[0]) && !has_ended(ends[1]));
    rlc_kit_unshared_close(ends[0]);
    close(ends[1]);
}

/* The system call itself: no handler of pthread_atfork(3) runs. */
static pid_t fork_without_handlers(void) {
    return (pid_t)syscall(SYS_clone, 17 /* SIGCHLD */, NULL, NULL, NULL, NULL);
}

static void ask_for_generation(void) {
    (void)rlc_fork_generation();
}

static void test_RLC_FORK_6_without_handlers_the_first_use_closes_them(void) {
    int ends[2], input[2];
    if (!wipes_pages_on_fork()) {
        printf("skipped 1: the kernel has no MADV_WIPEONFORK\n");
        return;
    }
    make_pair(ends);
    list(ends[0]);
    pid_t child = helper(input, fork_without_handlers, ask_for_generation);
    rlc_kit_unshared_close(ends[0]);
    CHECK(has_ended(ends[1]));
    end_helper(child, input);
    close(ends[1]);
}

static struct section {
    pid_t forker; /* sleeps until the section ends */
    int ends[2];
} section;

static void *make_within_a_section(void *begun) {
    rlc_kit_unshared_begin();
    make_pair(section.ends);
    write_all(*(int *)begun, "x", 1);
    while (!is_asleep(section.forker))
        (void)sched_yield();
    CHECK_EQUAL(rlc_kit_unshared_add(section.ends[0]), 0);
    rlc_kit_unshared_end();
    return NULL;
}

/* What another thread has made, and is about to list. */
static void test_RLC_FORK_5_a_fork_waits_for_the_end_of_a_section(void) {
    pthread_t thread;
    int begun[2];
    char byte;
    CHECK_EQUAL(pipe2(begun, O_CLOEXEC), 0);
    section.forker = (pid_t)syscall(SYS_gettid);
    CHECK_EQUAL(pthread_create(&thread, NULL, make_within_a_section, &begun[1]), 0);
    CHECK_EQUAL(read(begun[0], &byte, 1), 1);
    pid_t child = fork();
    if (child == 0) /* ThreadSanitizer's _exit would report the thread, which the parent joins */
        (void)syscall(SYS_exit_group, is_open(section.ends[0]) || !is_open(section.ends[1]));
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    wait_for(child);
    rlc_kit_unshared_close(section.ends[0]);
    close(section.ends[1]);
    close(begun[0]);
    close(begun[1]);
}

static void *begin_and_end(void *nothing) {
    rlc_kit_unshared_begin();
    rlc_kit_unshared_end();
    return nothing;
}

/* A signal handler may have interrupted the section: the fork goes on after a while, and so do child and parent. */
static void test_RLC_FORK_5_a_fork_within_a_section_does_not_hang(void) {
    pthread_t thread;
    rlc_kit_unshared_begin();
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(60);
        rlc_kit_unshared_end();
        rlc_kit_unshared_begin();
        rlc_kit_unshared_end();
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(0);
        wait_for(grandchild);
        _exit(0);
    }
    rlc_kit_unshared_end();
    wait_for(child);
    CHECK_EQUAL(pthread_create(&thread, NULL, begin_and_end, NULL), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

static void test_unusual_numbers(void) {
    CHECK_EQUAL(rlc_kit_unshared_add(-1), -EBADF);
    CHECK_EQUAL(rlc_kit_unshared_add(1 << 30), -EMFILE);
    CHECK_EQUAL(rlc_kit_unshared_add(1000000), -EBADF);
    rlc_kit_unshared_remove(-1);
    rlc_kit_unshared_remove(1 << 30);
    struct rlimit limit;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int ends[2];
    make_pair(ends);
    int high = fcntl(ends[0], F_DUPFD_CLOEXEC, (int)(limit.rlim_cur - 1));
    CHECK(high >= 0);
    list(high);
    pid_t child = fork();
    if (child == 0)
        _exit(is_open(high) || !is_open(ends[0]));
    wait_for(child);
    rlc_kit_unshared_close(high);
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    RUN(test_RLC_FORK_5_a_child_keeps_no_listed_descriptor);
    RUN(test_RLC_FORK_5_a_number_with_another_file_is_left_alone);
    RUN(test_RLC_FORK_5_a_child_keeps_errno);
    RUN(test_RLC_FORK_5_a_number_that_is_listed_again);
    RUN(test_RLC_FORK_5_a_closed_number_is_listed_no_more);
    RUN(test_RLC_FORK_5_a_child_has_a_list_of_its_own);
    RUN(test_RLC_FORK_6_without_handlers_the_first_use_closes_them);
    RUN(test_RLC_FORK_5_a_fork_waits_for_the_end_of_a_section);
    RUN(test_RLC_FORK_5_a_fork_within_a_section_does_not_hang);
    RUN(test_unusual_numbers);
    return 0;
}

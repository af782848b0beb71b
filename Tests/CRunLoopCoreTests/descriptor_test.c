/* What holds for each descriptor of the library: none is below 3, and a write to one sends no signal. */
#include "harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { FIRST = 3 };

/** Runs the body in a child, which succeeds. */
static void in_child(void (*body)(void)) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        body();
        _exit(0);
    }
    int status = -1;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

/** What fails now is reported to the descriptor that standard error was. */
static void close_standard_ones(void) {
    (void)fcntl(STDERR_FILENO, F_DUPFD, 100);
    for (int fd = 0; fd < FIRST; fd++)
        (void)close(fd);
}

static void check_standard_ones_are_free(int line) {
    for (int fd = 0; fd < FIRST; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            _exit(line % 250 + 1);
    }
}

/** In a child without standard error a CHECK could not say what has failed: the exit status says in which line. */
#define REQUIRE(condition) ((condition) ? check_standard_ones_are_free(__LINE__) : _exit(__LINE__ % 250 + 1))

static void adopt_low_ones(void) {
    close_standard_ones();
    int fd = eventfd(0, EFD_NONBLOCK);
    if (fd != 0)
        _exit(255);
    int moved = rlc_descriptor_adopt(fd);
    REQUIRE(moved >= FIRST);
    REQUIRE((fcntl(moved, F_GETFL) & O_NONBLOCK) != 0);
    REQUIRE(fcntl(moved, F_GETFD) == FD_CLOEXEC);
    REQUIRE(rlc_descriptor_adopt(moved) == moved);
    errno = ENFILE;
    REQUIRE(rlc_descriptor_adopt(-1) == -ENFILE);
    struct rlimit limit = {.rlim_cur = FIRST, .rlim_max = FIRST};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    REQUIRE(rlc_descriptor_adopt(eventfd(0, 0)) == -EMFILE); /* and it is closed */
}

static void never(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop, (void)timer, (void)deadline_ns, (void)context;
}

static void make_descriptors_of_loops(void) {
    close_standard_ones();
    rlc_loop *loop;
    rlc_timer *timer;
    REQUIRE(rlc_loop_create(NULL, &loop) == 0);
    REQUIRE(rlc_loop_add_timer(loop, never, NULL, &timer) == 0);
    REQUIRE(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + 3600000000000, 0, 0) == 0);
    REQUIRE(rlc_loop_run(loop, rlc_now(RLC_CLOCK_MONOTONIC) + 1000000) == RLC_RUN_TIMED_OUT);
    int counter = rlc_kernel_default()->eventfd_create(NULL);
    REQUIRE(counter >= FIRST);
    REQUIRE(rlc_kernel_default()->counter_empties(NULL, counter) >= 0);
    rlc_event_port port;
    REQUIRE(rlc_event_port_create(-1, &port) == 0);
    REQUIRE(rlc_main_queue_fd() == -ENOSYS || rlc_main_queue_fd() >= FIRST);
}

static void make_descriptors_of_events(void) {
    close_standard_ones();
    rlc_thread_mask thread;
    uint64_t start;
    REQUIRE(rlc_signal_fd_create(RLC_SIGNAL(SIGUSR1)) >= FIRST);
    (void)rlc_signals_find_unblocked(RLC_SIGNAL(SIGUSR1), &thread);
    REQUIRE(rlc_process_start(getpid(), &start) == 0);
    int process = rlc_process_open(getpid());
    REQUIRE(process >= FIRST || process == -ENOSYS || process == -EPERM);
    int32_t child;
    char *const arguments[] = {"true", NULL};
    REQUIRE(rlc_process_spawn("true", arguments, NULL, NULL, 0, &child) == 0);
    REQUIRE(waitpid(child, NULL, 0) == child);
}

static void make_descriptors_of_messages(void) {
    close_standard_ones();
    char folder[] = "/tmp/rlc-descriptor-XXXXXX", byte = 'a';
    REQUIRE(mkdtemp(folder) != NULL && setenv("XDG_RUNTIME_DIR", folder, 1) == 0);
    int names = rlc_port_folder_open(), ends[2];
    rlc_port_name name;
    REQUIRE(names >= FIRST);
    REQUIRE(rlc_port_name_claim(names, "low", &name) == 0);
    int watch = rlc_port_name_watch(&name), client = rlc_port_name_connect(names, "low");
    REQUIRE(watch >= FIRST);
    REQUIRE(client >= FIRST);
    int server = rlc_message_socket_accept(name.listener);
    REQUIRE(server >= FIRST);
    REQUIRE(rlc_message_socket_pair(ends) == 0);
    struct iovec part = {&byte, 1};
    void *bytes;
    int file = rlc_memory_file_make(&part, 1), shared = rlc_memory_file_open(4096, &bytes);
    REQUIRE(file >= FIRST);
    REQUIRE(shared >= FIRST);
    int sent[4] = {file, shared, ends[0], ends[1]};
    REQUIRE(rlc_message_socket_send(client, &part, 1, sent, 4) == 0);
    rlc_received received;
    REQUIRE(rlc_message_socket_receive(server, &byte, 1, &received) == 1);
    REQUIRE(received.count == 4 && !received.has_lost);
    for (size_t i = 0; i < 4; i++)
        REQUIRE(received.descriptors[i] >= FIRST);
    REQUIRE(rlc_message_socket_unread(client) == 0);
    REQUIRE(rlc_message_socket_wait_read(client, 1, 0) == 1);
    rlc_port_name_release(&name);
    char inner[64];
    (void)snprintf(inner, sizeof inner, "%s/runloopkit", folder);
    REQUIRE(rmdir(inner) == 0 && rmdir(folder) == 0);
}

static void test_RLC_KERNEL_3_no_descriptor_takes_the_number_of_a_standard_one(void) {
    in_child(adopt_low_ones);
    in_child(make_descriptors_of_loops);
    in_child(make_descriptors_of_events);
    in_child(make_descriptors_of_messages);
}

/** Closes the standard descriptors. Their numbers are the only ones left then: a descriptor there cannot be moved. */
static void leave_only_standard_numbers(int some_fd) {
    int last = fcntl(some_fd, F_DUPFD, FIRST);
    (void)close(last);
    for (int fd = 0; fd < last; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)dup2(some_fd, fd);
    }
    close_standard_ones();
    (void)close(100);
    struct rlimit limit = {.rlim_cur = (rlim_t)last, .rlim_max = (rlim_t)last};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/** A packet's descriptor that cannot be moved is closed, and the packet's descriptors count as lost. */
static void receive_without_a_number(void) {
    int ends[2], counter = eventfd(0, 0);
    char byte = 'a';
    struct iovec part = {&byte, 1};
    CHECK_EQUAL(rlc_message_socket_pair(ends), 0);
    CHECK_EQUAL(rlc_message_socket_send(ends[0], &part, 1, &counter, 1), 0);
    (void)close(counter);
    leave_only_standard_numbers(ends[1]);
    rlc_received received;
    REQUIRE(rlc_message_socket_receive(ends[1], &byte, 1, &received) == 1);
    REQUIRE(received.count == 0 && received.has_lost);
}

static void test_RLC_KERNEL_3_a_received_one_that_cannot_be_moved_is_lost(void) {
    in_child(receive_without_a_number);
}

/** One end gets a number above the standard ones, the other cannot be moved there: both are closed. */
static void make_a_pair_without_a_number(void) {
    int some = eventfd(0, 0), free_number = dup(some), ends[2];
    leave_only_standard_numbers(some);
    (void)close(free_number);
    int taken = dup2(some, 1) + dup2(some, 2); /* so 0 and free_number are left */
    int status = rlc_message_socket_pair(ends);
    bool is_closed = fcntl(0, F_GETFD) < 0 && fcntl(free_number, F_GETFD) < 0;
    (void)close(1);
    (void)close(2);
    REQUIRE(taken == 3 && status == -EMFILE);
    REQUIRE(is_closed);
}

static void test_RLC_KERNEL_3_a_pair_with_an_end_that_cannot_be_moved_leaves_nothing_open(void) {
    in_child(make_a_pair_without_a_number);
}

/* ---- writing ---- */

static bool is_pending(int number) {
    sigset_t pending;
    (void)sigpending(&pending);
    return sigismember(&pending, number) == 1;
}

static void block(int number, int how) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    CHECK_EQUAL(pthread_sigmask(how, &set, NULL), 0);
}

static void write_to_nobody(void) {
    int ends[2];
    make_pipe(ends);
    CHECK_EQUAL(rlc_descriptor_write(ends[1], "ab", 2), 0);
    (void)close(ends[0]);
    (void)signal(SIGPIPE, SIG_DFL);
    errno = ERANGE;
    CHECK_EQUAL(rlc_descriptor_write(ends[1], "ab", 2), -EPIPE); /* the default action would end this process */
    CHECK_EQUAL(errno, ERANGE);
    CHECK(!is_pending(SIGPIPE));
    block(SIGPIPE, SIG_BLOCK);
    CHECK_EQUAL(rlc_descriptor_write(ends[1], "ab", 2), -EPIPE);
    CHECK(!is_pending(SIGPIPE));
    (void)raise(SIGPIPE); /* this one was there before, and stays */
    CHECK_EQUAL(rlc_descriptor_write(ends[1], "ab", 2), -EPIPE);
    CHECK(is_pending(SIGPIPE));
    (void)signal(SIGPIPE, SIG_IGN);
    block(SIGPIPE, SIG_UNBLOCK);
    CHECK_EQUAL(rlc_descriptor_write(ends[1], "ab", 2), -EPIPE);
}

static void write_too_much(void) {
    char path[] = "/tmp/rlc-descriptor-XXXXXX";
    int fd = mkstemp(path);
    struct rlimit limit = {.rlim_cur = 3, .rlim_max = 3};
    CHECK_EQUAL(unlink(path), 0);
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_EQUAL(rlc_descriptor_write(fd, "abcdef", 6), -EFBIG);
    CHECK(!is_pending(SIGXFSZ));
}

static void test_RLC_KERNEL_4_a_write_sends_no_signal(void) {
    in_child(write_to_nobody);
    in_child(write_too_much);
}

int main(void) {
    RUN(test_RLC_KERNEL_3_no_descriptor_takes_the_number_of_a_standard_one);
    RUN(test_RLC_KERNEL_3_a_received_one_that_cannot_be_moved_is_lost);
    RUN(test_RLC_KERNEL_3_a_pair_with_an_end_that_cannot_be_moved_leaves_nothing_open);
    RUN(test_RLC_KERNEL_4_a_write_sends_no_signal);
    return 0;
}

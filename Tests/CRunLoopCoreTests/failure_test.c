/* The name of the call by which a function has failed. */
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct rlimit usual;

/** The process can open `count` more descriptors. */
static void leave_descriptors(rlim_t count) {
    int next = dup(0);
    close(next);
    struct rlimit limit = usual;
    limit.rlim_cur = (rlim_t)next + count;
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/** As many as usual. */
static void give_back(void) {
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

static void check_failed_in(const char *call, int status, int error) {
    give_back();
    CHECK_EQUAL(status, -error);
    if (rlc_failed_call() == NULL || strcmp(rlc_failed_call(), call) != 0)
        (void)fprintf(stderr, "%s, not %s\n", rlc_failed_call() == NULL ? "none" : rlc_failed_call(), call);
    CHECK(rlc_failed_call() != NULL && strcmp(rlc_failed_call(), call) == 0);
}

static void test_RLC_FAIL_1_without_descriptors(void) {
    static const struct iovec part = {"x", 1};
    int ends[2];
    void *bytes;
    uint64_t start;
    rlc_event_port event_port;
    rlc_port_set *set;
    rlc_timer_port *timer_port;
    rlc_wakeup_port *wakeup_port;
    leave_descriptors(0);
    check_failed_in("epoll_create1", rlc_event_port_create(STDIN_FILENO, &event_port), EMFILE);
    leave_descriptors(1);
    check_failed_in("eventfd", rlc_event_port_create(STDIN_FILENO, &event_port), EMFILE);
    leave_descriptors(0);
    check_failed_in("memfd_create", rlc_memory_file_make(&part, 1), EMFILE);
    leave_descriptors(0);
    check_failed_in("memfd_create", rlc_memory_file_open(1, &bytes), EMFILE);
    leave_descriptors(1);
    check_failed_in("socketpair", rlc_message_socket_pair(ends), EMFILE);
    leave_descriptors(0);
    check_failed_in("epoll_create1", rlc_message_socket_wait_read(0, 0, 0), EMFILE);
    leave_descriptors(0);
    check_failed_in("open", rlc_process_start(getpid(), &start), EMFILE);
    leave_descriptors(0);
    check_failed_in("signalfd", rlc_signal_fd_create(1u << (SIGUSR1 - 1)), EMFILE);
    leave_descriptors(0);
    check_failed_in("epoll_create1", rlc_port_set_create(NULL, &set), EMFILE);
    leave_descriptors(0);
    check_failed_in("timerfd_create", rlc_timer_port_create(NULL, RLC_CLOCK_MONOTONIC, &timer_port), EMFILE);
    leave_descriptors(0);
    check_failed_in("eventfd", rlc_wakeup_port_create(NULL, &wakeup_port), EMFILE);
}

static void test_RLC_FAIL_1_without_memory(void) {
    rlc_port_set *set;
    rlc_timer_port *timer_port;
    rlc_wakeup_port *wakeup_port;
    rlc_token token;
    for (unsigned long k = 1; k <= 2; k++) {
        fail_allocation(k);
        check_failed_in("malloc", rlc_port_set_create(NULL, &set), ENOMEM);
    }
    fail_allocation(1);
    check_failed_in("malloc", rlc_timer_port_create(NULL, RLC_CLOCK_MONOTONIC, &timer_port), ENOMEM);
    fail_allocation(1);
    check_failed_in("malloc", rlc_wakeup_port_create(NULL, &wakeup_port), ENOMEM);
    CHECK_EQUAL(rlc_port_set_create(NULL, &set), 0);
    fail_allocation(1);
    check_failed_in("malloc", rlc_port_set_insert(set, 0, RLC_PORT_READINESS, RLC_READABLE, NULL, &token), ENOMEM);
    fail_allocation(0);
    check_failed_in("epoll_ctl", rlc_port_set_insert(set, 9999, RLC_PORT_READINESS, RLC_READABLE, NULL, &token), EBADF);
    rlc_port_set_destroy(set);
}

/* Who has no standard descriptor gets one of its numbers, and can have no other one. */
static void test_RLC_FAIL_1_a_number_that_cannot_be_moved(void) {
    static const struct iovec part = {"x", 1};
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {3, 3};
        close(STDIN_FILENO);
        CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
        CHECK_EQUAL(rlc_memory_file_make(&part, 1), -EMFILE);
        _exit(rlc_failed_call() == NULL || strcmp(rlc_failed_call(), "fcntl") != 0);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

static void *fail_in_another_call(void *unused) {
    void *bytes;
    CHECK(rlc_failed_call() == NULL);
    CHECK(rlc_memory_file_open(INT64_MAX, &bytes) < 0); /* by ftruncate(2) or by mmap(2) */
    CHECK(rlc_failed_call() != NULL && strcmp(rlc_failed_call(), "open") != 0);
    return unused;
}

static void test_RLC_FAIL_1_each_thread_has_its_own(void) {
    uint64_t start;
    pthread_t thread;
    CHECK_EQUAL(rlc_process_start(INT32_MAX, &start), -ENOENT);
    CHECK_EQUAL(pthread_create(&thread, NULL, fail_in_another_call, NULL), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    check_failed_in("open", -ENOENT, ENOENT);
}

/* What is refused without a call, or what was found is no call's failure. */
static void test_RLC_FAIL_2_without_a_call(void) {
    static const struct iovec part = {"x", 1};
    static const rlc_kernel short_table = {.size = 1};
    void *bytes;
    const void *mapped;
    rlc_port_set *set;
    CHECK_EQUAL(rlc_signal_fd_create(0), -EINVAL);
    CHECK(rlc_failed_call() == NULL);
    leave_descriptors(0);
    check_failed_in("memfd_create", rlc_memory_file_make(&part, 1), EMFILE);
    CHECK_EQUAL(rlc_memory_file_open(0, &bytes), -EINVAL);
    CHECK(rlc_failed_call() == NULL);
    int file = rlc_memory_file_make(&part, 1);
    CHECK(file >= 0);
    CHECK_EQUAL(rlc_memory_file_map(file, 2, &mapped), -ERANGE);
    CHECK(rlc_failed_call() == NULL);
    close(file);
    CHECK_EQUAL(rlc_port_set_create(&short_table, &set), -EINVAL);
    CHECK(rlc_failed_call() == NULL);
}

static void test_RLC_FAIL_1_spawning(void) {
    char *const arguments[] = {"none", NULL};
    const rlc_spawn_action closes = {.kind = RLC_SPAWN_CLOSE, .fd = -1};
    int32_t child;
    int status = rlc_process_spawn("/no/program", arguments, NULL, NULL, 0, &child);
    if (status == 0) /* emulators: the child finds out */
        printf("skipped 1: posix_spawn does not tell here that there is no such file\n");
    else
        check_failed_in("posix_spawnp", status, ENOENT);
    check_failed_in(
        "posix_spawn_file_actions_addclose", rlc_process_spawn("true", arguments, NULL, &closes, 1, &child), EBADF);
}

/** Opens the folder as another user, where that can be had: none is refused anything. */
static void open_under(mode_t mask) {
    char base[] = "/tmp/failure_test.XXXXXX", path[64];
    CHECK(mkdtemp(base) != NULL);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", base, 1), 0);
    (void)snprintf(path, sizeof path, "%s/runloopkit", base);
    CHECK(geteuid() != 0 || chown(base, 65534, 65534) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
            _exit(2);
        (void)umask(mask);
        rlc_port_name name;
        int folder = rlc_port_folder_open();
        if (folder < 0 || rlc_port_name_claim(folder, "port", &name) < 0)
            _exit(1);
        rlc_port_name_release(&name);
        (void)umask(022);
        folder = rlc_port_folder_open();
        _exit(folder < 0 || rlc_port_name_claim(folder, "port", &name) < 0 ? 3 : 0); /* its files stay, as of a crash */
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    struct stat folder;
    CHECK_EQUAL(stat(path, &folder), 0);
    CHECK_EQUAL(folder.st_mode & 0777, 0700);
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", base);
    CHECK_EQUAL(system(command), 0);
}

/* A umask may take rights from the owner: the folder is usable all the same, now and later. */
static void test_RLC_FAIL_3_the_folder_under_any_umask(void) {
    static const mode_t masks[] = {0, 022, 077, 0100, 0200, 0300, 0400, 0700, 0777};
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
        open_under(masks[i]);
}

static void test_RLC_FAIL_1_the_folder(void) {
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", "/no/such/folder", 1), 0);
    check_failed_in("mkdir", rlc_port_folder_open(), ENOENT);
}

int main(void) {
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &usual), 0);
    RUN(test_RLC_FAIL_1_without_descriptors);
    RUN(test_RLC_FAIL_1_without_memory);
    RUN(test_RLC_FAIL_1_a_number_that_cannot_be_moved);
    RUN(test_RLC_FAIL_1_each_thread_has_its_own);
    RUN(test_RLC_FAIL_1_spawning);
    RUN(test_RLC_FAIL_1_the_folder);
    RUN(test_RLC_FAIL_2_without_a_call);
    RUN(test_RLC_FAIL_3_the_folder_under_any_umask);
    return 0;
}

/* Names of ports: one living owner each, in a folder that is the user's alone. */
#include "port_folders.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static void test_names(void) {
    static const char *const good[] = {"a", "com.example.port-1", "A_b.c", "9"};
    static const char *const bad[] = {"", ".", "..", ".a", "a/b", "a b", "\xc3\xa4", "a\n", "x.lock", ".lock"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK(rlc_port_name_is_valid(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!rlc_port_name_is_valid(bad[i]));
    char name[RLC_PORT_NAME_LONGEST + 2];
    memset(name, 'x', sizeof name);
    name[RLC_PORT_NAME_LONGEST] = 0;
    CHECK(rlc_port_name_is_valid(name));
    int folder = open_folder();
    rlc_port_name longest;
    CHECK_EQUAL(rlc_port_name_claim(folder, name, &longest), 0);
    int fd = rlc_port_name_connect(folder, name);
    CHECK(fd >= 0);
    close(fd);
    rlc_port_name_release(&longest);
    name[RLC_PORT_NAME_LONGEST] = 'x';
    name[RLC_PORT_NAME_LONGEST + 1] = 0;
    CHECK(!rlc_port_name_is_valid(name));
    CHECK_EQUAL(rlc_port_name_claim(folder, "../x", &longest), -EINVAL);
    CHECK_EQUAL(rlc_port_name_connect(folder, "../x"), -EINVAL);
    close(folder);
}

static void test_RLC_NAME_1_claimed_connected_released(void) {
    int folder = open_folder();
    rlc_port_name name;
    CHECK_EQUAL(rlc_port_name_connect(folder, "port"), -ENOENT);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
    struct stat status;
    CHECK_EQUAL(fstatat(folder, "port", &status, AT_SYMLINK_NOFOLLOW), 0);
    CHECK(S_ISSOCK(status.st_mode) && (status.st_mode & 0777) == 0600);
    CHECK_EQUAL(rlc_message_socket_accept(name.listener), -EAGAIN);
    int client = rlc_port_name_connect(folder, "port");
    CHECK(client >= 0 && (fcntl(client, F_GETFD) & FD_CLOEXEC) != 0);
    int server = rlc_message_socket_accept(name.listener);
    CHECK(server >= 0 && rlc_message_socket_is_one(server) && !rlc_message_socket_is_one(name.listener));
    rlc_credentials peer;
    CHECK_EQUAL(rlc_message_socket_peer(server, &peer), 0);
    CHECK_EQUAL(peer.process_id, getpid());
    CHECK_EQUAL(rlc_message_socket_peer(client, &peer), 0);
    CHECK_EQUAL(peer.process_id, getpid());
    close(client);
    close(server);
    rlc_port_name_release(&name);
    CHECK(!exists(folder, "port") && !exists(folder, "port.lock") && !exists(folder, ".port.new"));
    CHECK_EQUAL(rlc_port_name_connect(folder, "port"), -ENOENT);
    close(folder);
}

static void test_release_leaves_a_stranger_alone(void) {
    int folder = open_folder();
    rlc_port_name name;
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
    CHECK_EQUAL(unlinkat(folder, "port", 0), 0);
    int other = openat(folder, "port", O_CREAT | O_CLOEXEC | O_RDWR, 0600);
    CHECK(other >= 0);
    rlc_port_name_release(&name);
    CHECK(exists(folder, "port"));
    CHECK_EQUAL(rlc_port_name_connect(folder, "port"), -ENOENT); /* a file, no socket */
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
    rlc_port_name_release(&name);
    CHECK(!exists(folder, "port"));
    close(other);
    close(folder);
}

/* Another program's, with the name of a port. */
static void test_RLC_NAME_1_a_socket_of_another_kind_owns_no_name(void) {
    static const int kinds[] = {SOCK_STREAM, SOCK_DGRAM};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int folder = open_folder();
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/runloopkit/port", base);
    for (int i = 0; i < 2; i++) {
        rlc_port_name name;
        int other = socket(AF_UNIX, kinds[i] | SOCK_CLOEXEC, 0);
        CHECK_EQUAL(bind(other, (struct sockaddr *)&address, sizeof address), 0);
        CHECK(kinds[i] == SOCK_DGRAM || listen(other, 1) == 0);
        CHECK_EQUAL(rlc_port_name_connect(folder, "port"), -ENOENT);
        CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
        rlc_port_name_release(&name);
        CHECK(!exists(folder, "port"));
        close(other);
    }
    close(folder);
}

static void test_RLC_NAME_10_a_claim_that_fails_leaves_no_file(void) {
    int folder = open_folder();
    rlc_port_name name;
    CHECK_EQUAL(mkdirat(folder, "port", 0700), 0);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), -EISDIR);
    CHECK(!exists(folder, ".port.new") && !exists(folder, "port.lock"));
    CHECK_EQUAL(unlinkat(folder, "port", AT_REMOVEDIR), 0);
    close(folder);
}

/* The child owns the name until it is killed. */
static pid_t owner_in_a_child(int folder) {
    int ready[2];
    char byte;
    CHECK_EQUAL(pipe2(ready, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
        rlc_port_name name;
        if (rlc_port_name_claim(folder, "port", &name) == 0)
            write_all(ready[1], "x", 1);
        close(ready[1]);
        pause();
        _exit(0);
    }
    close(ready[1]);
    CHECK_EQUAL(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

/** Nobody else has ended it. */
static void end_owner(pid_t owner) {
    int status;
    CHECK_EQUAL(kill(owner, SIGKILL), 0);
    CHECK_EQUAL(waitpid(owner, &status, 0), owner);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_RLC_NAME_2_a_dead_owner_is_replaced_a_living_one_is_not(void) {
    int folder = open_folder();
    rlc_port_name name;
    pid_t owner = owner_in_a_child(folder);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), -EADDRINUSE);
    int client = rlc_port_name_connect(folder, "port");
    CHECK(client >= 0);
    close(client);
    end_owner(owner);
    CHECK(exists(folder, "port"));
    CHECK_EQUAL(rlc_port_name_connect(folder, "port"), -ENOENT);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
    client = rlc_port_name_connect(folder, "port");
    CHECK(client >= 0);
    close(client);
    rlc_port_name_release(&name);
    close(folder);
}

/* A cleaner of temporary files takes the lock: the living owner keeps its name. */
static void test_RLC_NAME_4_without_its_lock_a_living_owner_keeps_its_name(void) {
    int folder = open_folder();
    rlc_port_name name;
    pid_t owner = owner_in_a_child(folder);
    for (int round = 0; round < 2; round++) {
        CHECK_EQUAL(unlinkat(folder, "port.lock", 0), round == 0 ? 0 : -1);
        CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), -EADDRINUSE);
        CHECK(!exists(folder, "port.lock") && exists(folder, "port")); /* the next one looks as carefully */
    }
    /* A lock that somebody has made and died before he looked. */
    int made = openat(folder, "port.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), -EADDRINUSE);
    close(made);
    end_owner(owner);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
    rlc_port_name_release(&name);
    CHECK(!exists(folder, "port.lock") && !exists(folder, "port"));
    close(folder);
}

/* It accepts nobody for a while, and more processes have come than its queue has room for. */
static void test_RLC_NAME_4_without_its_lock_an_owner_with_a_full_queue_keeps_its_name(void) {
    enum { MOST = 8 };
    int folder = open_folder(), clients[MOST], count = 0, status;
    rlc_port_name name, second;
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
    CHECK_EQUAL(listen(name.listener, 0), 0);
    while ((status = rlc_port_name_connect(folder, "port")) >= 0) {
        CHECK(count < MOST);
        clients[count++] = status;
    }
    CHECK_EQUAL(status, -EAGAIN);
    CHECK_EQUAL(unlinkat(folder, "port.lock", 0), 0);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &second), -EADDRINUSE);
    CHECK(rlc_port_name_is_owned(&name));
    while (count > 0)
        close(clients[--count]);
    rlc_port_name_release(&name);
    close(folder);
}

/* It takes lock and socket: the name is the next one's, and the old owner's end takes nothing away from that. */
static void test_RLC_NAME_4_an_owner_that_has_lost_its_name_leaves_the_new_one_alone(void) {
    int folder = open_folder();
    rlc_port_name lost, third;
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &lost), 0);
    CHECK(rlc_port_name_is_owned(&lost));
    CHECK_EQUAL(unlinkat(folder, "port.lock", 0), 0);
    CHECK(rlc_port_name_is_owned(&lost));
    CHECK_EQUAL(unlinkat(folder, "port", 0), 0);
    CHECK(!rlc_port_name_is_owned(&lost));
    pid_t owner = owner_in_a_child(folder);
    CHECK(!rlc_port_name_is_owned(&lost));
    rlc_port_name_release(&lost);
    CHECK(exists(folder, "port.lock") && exists(folder, "port"));
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &third), -EADDRINUSE);
    end_owner(owner);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &third), 0);
    rlc_port_name_release(&third);
    close(folder);
}

static bool is_readable(int fd) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, 0) == 1;
}

static void test_RLC_NAME_4_the_loss_of_a_name_is_told(void) {
    int folder = open_folder();
    for (int way = 0; way < 3; way++) {
        rlc_port_name name;
        CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
        int watch = rlc_port_name_watch(&name);
        CHECK(watch >= 0 && (fcntl(watch, F_GETFD) & FD_CLOEXEC) != 0 && !is_readable(watch));
        if (way == 0) {
            CHECK_EQUAL(unlinkat(folder, "port", 0), 0);
        } else if (way == 1) {
            CHECK_EQUAL(renameat(folder, "port", folder, "away"), 0);
        } else {
            close(openat(folder, "other", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
            CHECK_EQUAL(renameat(folder, "other", folder, "port"), 0);
        }
        CHECK(is_readable(watch) && !rlc_port_name_is_owned(&name));
        rlc_port_name_drain(watch);
        CHECK(!is_readable(watch));
        CHECK_EQUAL(rlc_port_name_watch(&name), -ESTALE);
        close(watch);
        rlc_port_name_release(&name);
        (void)unlinkat(folder, "away", 0);
        (void)unlinkat(folder, "port", 0);
    }
    close(folder);
}

/* The XDG base directory specification: a file with the sticky bit is left where it is. */
static void test_RLC_NAME_5_cleaners_are_asked_to_leave_both_files(void) {
    int folder = open_folder();
    mode_t mask = umask(0077);
    for (int round = 0; round < 2; round++) {
        if (round == 1) /* as another version has left it */
            close(openat(folder, "port.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        rlc_port_name name;
        CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
        struct stat lock, socket;
        CHECK_EQUAL(fstatat(folder, "port.lock", &lock, AT_SYMLINK_NOFOLLOW), 0);
        CHECK_EQUAL(fstatat(folder, "port", &socket, AT_SYMLINK_NOFOLLOW), 0);
        CHECK_EQUAL(lock.st_mode & 07777, 01600);
        CHECK_EQUAL(socket.st_mode & 07777, 01600);
        rlc_port_name_release(&name);
    }
    umask(mask);
    close(folder);
}

/* Of several that ask at the same time, again and again, one has it. */
static void test_RLC_NAME_2_a_race_has_one_winner(void) {
    enum { RIVALS = 8, ROUNDS = 50 };
    int folder = open_folder(), token[2];
    CHECK_EQUAL(pipe2(token, O_CLOEXEC | O_NONBLOCK), 0);
    write_all(token[1], "x", 1);
    pid_t rivals[RIVALS];
    for (int i = 0; i < RIVALS; i++) {
        rivals[i] = fork();
        if (rivals[i] != 0)
            continue;
        for (int won = 0; won < ROUNDS;) {
            rlc_port_name name;
            char byte;
            int status = rlc_port_name_claim(folder, "port", &name);
            if (status == -EADDRINUSE)
                continue;
            /* The token is there only if nobody else has the name. */
            if (status != 0 || read(token[0], &byte, 1) != 1 || write(token[1], "x", 1) != 1)
                _exit(1);
            rlc_port_name_release(&name);
            won++;
        }
        _exit(0);
    }
    for (int i = 0; i < RIVALS; i++) {
        int status;
        CHECK_EQUAL(waitpid(rivals[i], &status, 0), rivals[i]);
        CHECK_EQUAL(status, 0);
    }
    close(token[0]);
    close(token[1]);
    close(folder);
}

static void test_RLC_NAME_3_folders(void) {
    char path[256], other[256];
    inside(path, "runloopkit");
    inside(other, "other");
    close(open_folder());
    const mode_t modes[] = {0755, 0750, 0740, 0710, 0720, 0701, 0702, 0704};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        CHECK_EQUAL(chmod(path, modes[i]), 0);
        CHECK_EQUAL(rlc_port_folder_open(), -EPERM);
    }
    CHECK_EQUAL(chmod(path, 0700), 0);
    if (geteuid() == 0) {
        CHECK_EQUAL(chown(path, 65534, 65534), 0);
        CHECK_EQUAL(rlc_port_folder_open(), -EPERM);
        CHECK_EQUAL(chown(path, 0, 0), 0);
    } else {
        printf("skipped 1: a folder of another user needs root\n");
    }
    CHECK_EQUAL(rename(path, other), 0);
    CHECK_EQUAL(symlink("other", path), 0);
    int status = rlc_port_folder_open();
    CHECK(status == -ELOOP || status == -ENOTDIR);
    CHECK_EQUAL(unlink(path), 0);
    int file = open(path, O_CREAT | O_CLOEXEC | O_RDWR, 0700);
    close(file);
    CHECK_EQUAL(rlc_port_folder_open(), -ENOTDIR);
    CHECK_EQUAL(unlink(path), 0);
    CHECK_EQUAL(rename(other, path), 0);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", "/nowhere/at/all", 1), 0);
    CHECK_EQUAL(rlc_port_folder_open(), -ENOENT);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", "relative", 1), 0);
    int folder = rlc_port_folder_open();
    CHECK(folder >= 0);
    close(folder);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", base, 1), 0);
}

/** The folder of names is in `base`, by a path of that length. */
static void lengthen_path(size_t length) {
    char given[PATH_MAX + 1];
    size_t own = strlen(base), without_name = length - strlen("/runloopkit");
    memcpy(given, base, own);
    memset(given + own, '/', without_name - own);
    given[without_name] = 0;
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", given, 1), 0);
}

/* What is cut off would be another folder. */
static void test_RLC_NAME_3_a_path_that_is_too_long(void) {
    char path[PATH_MAX];
    lengthen_path(PATH_MAX - 1);
    CHECK_EQUAL(rlc_port_folder_path(path, sizeof path), 0);
    CHECK_EQUAL(strlen(path), sizeof path - 1);
    CHECK_EQUAL(rlc_port_folder_path(path, sizeof path - 1), -ENAMETOOLONG);
    close(open_folder());
    lengthen_path(PATH_MAX);
    CHECK_EQUAL(rlc_port_folder_path(path, sizeof path), -ENAMETOOLONG);
    CHECK_EQUAL(rlc_port_folder_open(), -ENAMETOOLONG);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", base, 1), 0);
}

int main(void) {
    char path[256];
    CHECK(mkdtemp(base) != NULL);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", base, 1), 0);
    RUN(test_names);
    RUN(test_RLC_NAME_1_claimed_connected_released);
    RUN(test_RLC_NAME_1_a_socket_of_another_kind_owns_no_name);
    RUN(test_RLC_NAME_10_a_claim_that_fails_leaves_no_file);
    RUN(test_release_leaves_a_stranger_alone);
    RUN(test_RLC_NAME_2_a_dead_owner_is_replaced_a_living_one_is_not);
    RUN(test_RLC_NAME_2_a_race_has_one_winner);
    RUN(test_RLC_NAME_4_without_its_lock_a_living_owner_keeps_its_name);
    RUN(test_RLC_NAME_4_without_its_lock_an_owner_with_a_full_queue_keeps_its_name);
    RUN(test_RLC_NAME_4_an_owner_that_has_lost_its_name_leaves_the_new_one_alone);
    RUN(test_RLC_NAME_4_the_loss_of_a_name_is_told);
    RUN(test_RLC_NAME_5_cleaners_are_asked_to_leave_both_files);
    RUN(test_RLC_NAME_3_folders);
    RUN(test_RLC_NAME_3_a_path_that_is_too_long);
    inside(path, "runloopkit");
    CHECK_EQUAL(rmdir(path), 0); /* nothing is left behind */
    CHECK_EQUAL(rmdir(base), 0);
    return 0;
}

/* Names of ports: one living owner each, in a folder that is the user's alone. */
#include "harness.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static char base[] = "/tmp/port_name_test.XXXXXX";

static void inside(char path[256], const char *name) {
    (void)snprintf(path, 256, "%s/%s", base, name);
}

static int open_folder(void) {
    int folder = rlc_port_folder_open();
    CHECK(folder >= 0);
    return folder;
}

static bool exists(int folder, const char *name) {
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

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

/* The child owns the name until it is killed. */
static pid_t owner_in_a_child(int folder) {
    int ready[2];
    char byte;
    CHECK_EQUAL(pipe2(ready, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
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

static void test_RLC_NAME_2_a_dead_owner_is_replaced_a_living_one_is_not(void) {
    int folder = open_folder();
    rlc_port_name name;
    pid_t owner = owner_in_a_child(folder);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), -EADDRINUSE);
    int client = rlc_port_name_connect(folder, "port");
    CHECK(client >= 0);
    close(client);
    CHECK_EQUAL(kill(owner, SIGKILL), 0);
    CHECK_EQUAL(waitpid(owner, NULL, 0), owner);
    CHECK(exists(folder, "port"));
    CHECK_EQUAL(rlc_port_name_connect(folder, "port"), -ENOENT);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
    client = rlc_port_name_connect(folder, "port");
    CHECK(client >= 0);
    close(client);
    rlc_port_name_release(&name);
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
    CHECK_EQUAL(chmod(path, 0755), 0);
    CHECK_EQUAL(rlc_port_folder_open(), -EPERM);
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

int main(void) {
    char path[256];
    CHECK(mkdtemp(base) != NULL);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", base, 1), 0);
    RUN(test_names);
    RUN(test_RLC_NAME_1_claimed_connected_released);
    RUN(test_release_leaves_a_stranger_alone);
    RUN(test_RLC_NAME_2_a_dead_owner_is_replaced_a_living_one_is_not);
    RUN(test_RLC_NAME_2_a_race_has_one_winner);
    RUN(test_RLC_NAME_3_folders);
    inside(path, "runloopkit");
    CHECK_EQUAL(rmdir(path), 0); /* nothing is left behind */
    CHECK_EQUAL(rmdir(base), 0);
    return 0;
}

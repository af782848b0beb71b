/* Names of ports where paths lead elsewhere: links, renamed folders, mounts, masks, and a child that holds the listener. */
#define bind bind_of_the_library /* whose declaration takes a union in glibc */
#include "port_folders.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#undef bind

static bool is_readable(int fd) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, 0) == 1;
}

/* Instead of the C library's: what another process does directly after it. */
static void (*after_bind)(void), (*after_lock)(void);

int bind(int fd, const struct sockaddr *address, socklen_t size);
int bind(int fd, const struct sockaddr *address, socklen_t size) {
    int status = (int)syscall(SYS_bind, fd, address, size);
    if (after_bind != NULL)
        after_bind();
    return status;
}

#ifndef SYS_fcntl
#define SYS_fcntl SYS_fcntl64
#endif

int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    int status = (int)syscall(SYS_fcntl, fd, command, argument);
    if (command == F_SETLK && after_lock != NULL)
        after_lock();
    return status;
}

static mode_t mode_of(const char *path) {
    struct stat status;
    CHECK_EQUAL(lstat(path, &status), 0);
    return status.st_mode & 07777;
}

static void replace_by_link(void) {
    char temporary[256], victim[256];
    inside(temporary, "runloopkit/.port.new");
    inside(victim, "victim");
    CHECK_EQUAL(unlink(temporary), 0);
    CHECK_EQUAL(symlink(victim, temporary), 0);
}

static void replace_by_link_to_a_socket(void) {
    char temporary[256], other[256];
    inside(temporary, "runloopkit/.port.new");
    inside(other, "socket");
    CHECK_EQUAL(unlink(temporary), 0);
    CHECK_EQUAL(symlink(other, temporary), 0);
}

static void put_a_file_back(void) {
    char temporary[256];
    inside(temporary, "runloopkit/.port.new");
    CHECK_EQUAL(unlink(temporary), 0);
    close(open(temporary, O_CREAT | O_CLOEXEC | O_RDWR, 0640));
}

/* Whatever lies under the names that a claim uses, and whenever it comes there: no other file is changed. */
static void test_RLC_NAME_6_a_claim_changes_no_other_file(void) {
    char victim[256], other[256], lock[256], temporary[256];
    int folder = open_folder();
    rlc_port_name name;
    inside(victim, "victim");
    inside(lock, "runloopkit/port.lock");
    inside(temporary, "runloopkit/.port.new");
    int fd = open(victim, O_CREAT | O_CLOEXEC | O_RDWR, 0644);
    write_all(fd, "untouched", 9);
    CHECK_EQUAL(fchmod(fd, 0644), 0);
    after_bind = replace_by_link;
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), -EBUSY);
    inside(other, "socket");
    CHECK_EQUAL(mknod(other, S_IFSOCK | 0644, 0), 0);
    after_bind = replace_by_link_to_a_socket;
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), -EBUSY);
    CHECK_EQUAL(mode_of(other), 0644);
    CHECK_EQUAL(unlink(other), 0);
    after_bind = put_a_file_back;
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), -EBUSY);
    after_bind = NULL;
    CHECK_EQUAL(symlink(victim, temporary), 0);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
    rlc_port_name_release(&name);
    CHECK_EQUAL(symlink(victim, lock), 0);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), -ELOOP);
    CHECK_EQUAL(unlink(lock), 0);
    CHECK_EQUAL(link(victim, lock), 0);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), -EMLINK);
    CHECK_EQUAL(unlink(lock), 0);
    CHECK_EQUAL(mode_of(victim), 0644);
    CHECK_EQUAL(lseek(fd, 0, SEEK_END), 9);
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
    rlc_port_name_release(&name);
    close(fd);
    CHECK_EQUAL(unlink(victim), 0);
    close(folder);
}

static void replace_lock_by_link(void) {
    char lock[256], away[256];
    inside(lock, "runloopkit/port.lock");
    inside(away, "away");
    CHECK_EQUAL(rename(lock, away), 0);
    CHECK_EQUAL(symlink(away, lock), 0);
    after_lock = NULL;
}

/* A lock holds a file, and whoever comes next asks for the one that has the name. */
static void test_RLC_NAME_6_a_lock_that_becomes_a_link_is_none(void) {
    char lock[256], away[256];
    int folder = open_folder();
    rlc_port_name name;
    inside(lock, "runloopkit/port.lock");
    inside(away, "away");
    after_lock = replace_lock_by_link;
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), -ELOOP);
    CHECK(after_lock == NULL && !exists(folder, "port"));
    CHECK_EQUAL(unlink(lock), 0);
    CHECK_EQUAL(unlink(away), 0);
    close(folder);
}

/* A process with an odd mask leaves nothing that the next one cannot use. */
static void test_RLC_NAME_6_the_umask_takes_nothing_away(void) {
    char path[256], lock[256], socket[256];
    inside(path, "runloopkit");
    inside(lock, "runloopkit/port.lock");
    inside(socket, "runloopkit/port");
    close(open_folder());
    CHECK_EQUAL(rmdir(path), 0);
    mode_t mask = umask(0777);
    int folder = open_folder();
    rlc_port_name name;
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
    (void)umask(mask);
    CHECK_EQUAL(mode_of(path), 0700);
    CHECK_EQUAL(mode_of(lock), 01600);
    CHECK_EQUAL(mode_of(socket), 01600);
    rlc_port_name_release(&name);
    close(folder);
}

static void test_RLC_NAME_6_a_limit_of_files_is_an_error(void) {
    int folder = open_folder();
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {0, 0};
        rlc_port_name name;
        CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
        CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), -EFBIG);
        _exit(0);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    CHECK(!exists(folder, "port.lock") && !exists(folder, "port"));
    close(folder);
}

/* The folder, or one around it, has another path, or the path leads to another folder; and back. */
static void test_RLC_NAME_7_a_folder_that_is_renamed_takes_the_name_away(void) {
    char around[256], path[256], away[256];
    inside(around, "around");
    inside(path, "around/runloopkit");
    inside(away, "away");
    CHECK_EQUAL(mkdir(around, 0700), 0);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", around, 1), 0);
    int folder = open_folder();
    for (int way = 0; way < 3; way++) {
        rlc_port_name name;
        CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
        int watch = rlc_port_name_watch(&name);
        CHECK(watch >= 0 && !is_readable(watch) && rlc_port_name_is_owned(&name));
        CHECK_EQUAL(rename(way == 1 ? around : path, away), 0);
        if (way == 2)
            CHECK_EQUAL(symlink(away, path), 0); /* which no process takes for the folder */
        CHECK(is_readable(watch) && !rlc_port_name_is_owned(&name));
        CHECK_EQUAL(rlc_port_name_watch(&name), -ESTALE);
        if (way == 2)
            CHECK_EQUAL(unlink(path), 0);
        CHECK_EQUAL(rename(away, way == 1 ? around : path), 0);
        CHECK(rlc_port_name_is_owned(&name));
        close(watch);
        rlc_port_name_release(&name);
    }
    close(folder);
    CHECK_EQUAL(rmdir(path), 0);
    CHECK_EQUAL(rmdir(around), 0);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", base, 1), 0);
}

/* A link in the path: it is renamed, not what it leads to. */
static void test_RLC_NAME_7_a_link_that_is_renamed_takes_the_name_away(void) {
    char real[256], link[256], path[256];
    inside(real, "real");
    inside(link, "link");
    inside(path, "real/runloopkit");
    CHECK_EQUAL(mkdir(real, 0700), 0);
    CHECK_EQUAL(symlink(real, link), 0);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", link, 1), 0);
    int folder = open_folder();
    for (int way = 0; way < 2; way++) {
        char away[256];
        rlc_port_name name;
        inside(away, "away");
        CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
        int watch = rlc_port_name_watch(&name);
        CHECK(watch >= 0 && !is_readable(watch) && rlc_port_name_is_owned(&name));
        CHECK_EQUAL(rename(way == 0 ? link : real, away), 0);
        CHECK(is_readable(watch) && !rlc_port_name_is_owned(&name));
        CHECK_EQUAL(rename(away, way == 0 ? link : real), 0);
        close(watch);
        rlc_port_name_release(&name);
    }
    close(folder);
    CHECK_EQUAL(rmdir(path), 0);
    CHECK_EQUAL(rmdir(real), 0);
    CHECK_EQUAL(unlink(link), 0);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", base, 1), 0);
}

/* A folder around it may be searched, and not read: that one cannot be watched, and all others are. */
static void test_RLC_NAME_7_a_folder_that_may_not_be_read_is_left_out(void) {
    char own[256], path[256], away[256];
    bool is_root = geteuid() == 0;
    inside(own, "own");
    inside(path, "own/runloopkit");
    inside(away, "own/away");
    CHECK_EQUAL(mkdir(own, 0700), 0);
    CHECK(!is_root || chown(own, 65534, 65534) == 0);
    CHECK_EQUAL(chmod(base, is_root ? 0711 : 0311), 0);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", own, 1), 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK(!is_root || (setgid(65534) == 0 && setuid(65534) == 0));
        int folder = open_folder();
        rlc_port_name name;
        CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
        int watch = rlc_port_name_watch(&name);
        CHECK(watch >= 0 && !is_readable(watch));
        CHECK_EQUAL(rename(path, away), 0);
        CHECK(is_readable(watch));
        CHECK_EQUAL(rename(away, path), 0);
        rlc_port_name_release(&name);
        _exit(rmdir(path) != 0);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    CHECK_EQUAL(chmod(base, 0700), 0);
    CHECK_EQUAL(rmdir(own), 0);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", base, 1), 0);
}

static void mount_over(void) {
    int folder = open_folder();
    rlc_port_name name;
    CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
    char path[256];
    for (int around = 0; around < 2; around++) {
        inside(path, around ? "" : "runloopkit");
        CHECK(rlc_port_name_is_owned(&name));
        CHECK_EQUAL(mount("none", path, "tmpfs", 0, NULL), 0);
        CHECK(!rlc_port_name_is_owned(&name));
        CHECK_EQUAL(umount2(path, MNT_DETACH), 0);
    }
    CHECK(rlc_port_name_is_owned(&name));
    rlc_port_name_release(&name);
    close(folder);
}

static void test_RLC_NAME_7_a_mount_over_the_folder_takes_the_name_away(void) {
    pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
            _exit(77);
        mount_over();
        _exit(0);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        printf("skipped 1: mounts need privileges\n");
    else
        CHECK_EQUAL(status, 0);
}

/* No handler of pthread_atfork(3) runs in it, and it executes no other program. */
static pid_t helper(void) {
    pid_t child = (pid_t)syscall(SYS_clone, 17 /* SIGCHLD */, NULL, NULL, NULL, NULL);
    if (child == 0) {
        (void)alarm(60);
        (void)pause();
        _exit(0);
    }
    return child;
}

static void test_RLC_NAME_8_a_child_that_holds_the_listener_is_no_owner(void) {
    for (int is_awaited = 0; is_awaited < 2; is_awaited++) {
        int folder = open_folder(), ready[2];
        rlc_port_name name;
        pid_t child;
        CHECK_EQUAL(pipe2(ready, O_CLOEXEC), 0);
        pid_t owner = fork();
        if (owner == 0) {
            CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
            child = helper();
            write_all(ready[1], &child, sizeof child);
            (void)pause();
            _exit(0);
        }
        CHECK_EQUAL(read(ready[0], &child, sizeof child), (ssize_t)sizeof child);
        int client = rlc_port_name_connect(folder, "port");
        CHECK(client >= 0);
        close(client);
        siginfo_t info;
        CHECK_EQUAL(kill(owner, SIGKILL), 0);
        CHECK_EQUAL(waitid(P_PID, (id_t)owner, &info, WEXITED | WNOWAIT), 0); /* a zombie */
        if (is_awaited)
            CHECK_EQUAL(waitpid(owner, NULL, 0), owner);
        CHECK_EQUAL(rlc_port_name_connect(folder, "port"), -ENOENT);
        CHECK_EQUAL(unlinkat(folder, "port.lock", 0), 0);
        CHECK_EQUAL(rlc_port_name_claim(folder, "port", &name), 0);
        rlc_port_name_release(&name);
        if (!is_awaited)
            CHECK_EQUAL(waitpid(owner, NULL, 0), owner);
        CHECK_EQUAL(kill(child, SIGKILL), 0);
        close(ready[0]);
        close(ready[1]);
        close(folder);
    }
}

int main(void) {
    char path[256];
    CHECK(mkdtemp(base) != NULL);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", base, 1), 0);
    RUN(test_RLC_NAME_6_a_claim_changes_no_other_file);
    RUN(test_RLC_NAME_6_a_lock_that_becomes_a_link_is_none);
    RUN(test_RLC_NAME_6_the_umask_takes_nothing_away);
    RUN(test_RLC_NAME_6_a_limit_of_files_is_an_error);
    RUN(test_RLC_NAME_7_a_folder_that_is_renamed_takes_the_name_away);
    RUN(test_RLC_NAME_7_a_link_that_is_renamed_takes_the_name_away);
    RUN(test_RLC_NAME_7_a_folder_that_may_not_be_read_is_left_out);
    RUN(test_RLC_NAME_7_a_mount_over_the_folder_takes_the_name_away);
    RUN(test_RLC_NAME_8_a_child_that_holds_the_listener_is_no_owner);
    inside(path, "runloopkit");
    CHECK_EQUAL(rmdir(path), 0); /* nothing is left behind */
    CHECK_EQUAL(rmdir(base), 0);
    return 0;
}

/*
 * Children of fork(2) for tests whose other threads run Swift. One of these may hold a lock of Swift's runtime at the fork, and the
 * child would wait for it for ever: what the child does is C.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CTestSupport.h"

#include <crunloop_kit/message_socket.h>

#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int become(uid_t user, gid_t group) {
    return (group == (gid_t)-1 || setgid(group) == 0) && (user == (uid_t)-1 || setuid(user) == 0);
}

int test_set_group_of_thread(gid_t group) {
    return syscall(SYS_setresgid, group, (gid_t)-1, (gid_t)-1) == 0 ? 0 : -1;
}

static int has_ended_well(pid_t child) {
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
}

static int connect_to(int socket, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return 0;
    strcpy(address.sun_path, path);
    return connect(socket, (const struct sockaddr *)&address, sizeof address) == 0;
}

/* In the parent: the child, when it has said a word in the pipe; -1 if it ends without one, which ends the pipe's data. */
static pid_t has_begun(pid_t child, const int ends[2]) {
    char word = 0;
    close(ends[1]);
    int is_said = child > 0 && read(ends[0], &word, 1) == 1;
    close(ends[0]);
    if (child > 0 && !is_said)
        has_ended_well(child);
    return is_said ? child : -1;
}

pid_t test_helper(const int *descriptors, size_t count) {
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < count; i++)
            if (write(descriptors[i], "y", 1) != 1)
                _exit(1);
        if (write(ends[1], "h", 1) != 1)
            _exit(1);
        sleep(60);
        _exit(0);
    }
    return has_begun(child, ends);
}

pid_t test_connect_as(uid_t user, int socket, const char *path) {
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        if (!become(user, (gid_t)user) || !connect_to(socket, path) || write(ends[1], "c", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    return has_begun(child, ends);
}

static int send_packet(int socket, const void *bytes, size_t size, const int *descriptors, size_t count) {
    const struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
    return rlc_message_socket_send(socket, &part, 1, descriptors, count) == 0;
}

pid_t test_send_as(
    uid_t user, gid_t group, int socket, const void *bytes, size_t size, const int *descriptors, size_t count) {
    pid_t child = fork();
    if (child == 0)
        _exit(become(user, group) && send_packet(socket, bytes, size, descriptors, count) ? 0 : 1);
    return child > 0 && has_ended_well(child) ? child : -1;
}

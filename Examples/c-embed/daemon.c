/*
 * A daemon on crunloop.h: it answers on a socket of the local domain until SIGTERM or SIGINT, and then says how many it
 * has served. Everything runs on one thread; signals come as events, so no handler has to be careful.
 *
 *   cc daemon.c $(pkg-config --cflags --libs crunloop) -o daemon
 *   ./daemon /tmp/socket &      serves
 *   ./daemon /tmp/socket ask    is a client: prints the answer
 */
#define _GNU_SOURCE /* accept4 */
#include <crunloop/crunloop.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void require(int status, const char *what) {
    if (status >= 0)
        return;
    fprintf(stderr, "daemon: %s: %s\n", what, strerror(-status));
    exit(1);
}

static int or_errno(int status) {
    return status < 0 ? -errno : status;
}

static struct sockaddr_un address_of(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        require(-ENAMETOOLONG, path);
    strcpy(address.sun_path, path);
    return address;
}

static int make_socket(int flags) {
    int fd = or_errno(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
    require(fd, "socket");
    return fd;
}

/* A watch has its descriptor as the context. */
static int *keep(int fd) {
    int *kept = malloc(sizeof fd);
    if (kept != NULL)
        *kept = fd;
    return kept;
}

static unsigned served;
static bool has_failed;

/* The daemon ends in order, with the cause and a status that is not 0. */
static void give_up(rlc_loop *loop, const char *what, int status) {
    fprintf(stderr, "daemon: %s: %s\n", what, strerror(-status));
    has_failed = true;
    rlc_loop_stop(loop);
}

static void peer_speaks(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)loop, (void)ready;
    int *fd = context;
    char question[64], answer[64];
    ssize_t size = read(*fd, question, sizeof question);
    if (size < 0 && errno == EAGAIN)
        return;
    if (size > 0) {
        int length = snprintf(answer, sizeof answer, "answer %u\n", ++served);
        if (send(*fd, answer, (size_t)length, MSG_NOSIGNAL) == length)
            return; /* a peer that does not read is not waited for */
    }
    rlc_watch_remove(watch); /* before the descriptor is closed */
    close(*fd);
    free(fd);
}

static void peer_comes(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)watch, (void)ready;
    rlc_watch *added;
    int fd = accept4(*(int *)context, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        give_up(loop, "accept", -errno); /* the peer stays in front, and the listener would be ready in each pass */
    if (fd < 0)
        return;
    int *kept = keep(fd);
    int status = kept != NULL ? rlc_loop_add_watch(loop, fd, RLC_READABLE, peer_speaks, kept, &added) : -ENOMEM;
    if (status >= 0)
        return;
    give_up(loop, "watch a peer", status);
    free(kept);
    close(fd);
}

static void signal_comes(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)watch, (void)ready;
    rlc_signal_info info;
    if (rlc_signal_fd_take(*(int *)context, &info) == 1)
        rlc_loop_stop(loop);
}

static int ask(const char *path) {
    struct sockaddr_un address = address_of(path);
    int fd = make_socket(0);
    char answer[64];
    require(or_errno(connect(fd, (struct sockaddr *)&address, sizeof address)), path);
    require(or_errno((int)write(fd, "?", 1)), "write");
    ssize_t size = read(fd, answer, sizeof answer);
    require(or_errno((int)size), "read");
    fwrite(answer, 1, (size_t)size, stdout);
    close(fd);
    return size > 0 ? 0 : 1;
}

static int serve(const char *path) {
    const rlc_signals ends = RLC_SIGNAL(SIGTERM) | RLC_SIGNAL(SIGINT);
    struct sockaddr_un address = address_of(path);
    int listener = make_socket(SOCK_NONBLOCK), signals;
    rlc_loop *loop;
    rlc_watch *watch;
    require(rlc_signals_block(ends, NULL), "block the signals"); /* before there is another thread */
    require(signals = rlc_signal_fd_create(ends), "signals");
    require(or_errno(bind(listener, (struct sockaddr *)&address, sizeof address)), path);
    require(or_errno(listen(listener, 16)), "listen");
    require(rlc_loop_create(NULL, &loop), "create");
    require(rlc_loop_add_watch(loop, listener, RLC_READABLE, peer_comes, &listener, &watch), "watch the socket");
    require(rlc_loop_add_watch(loop, signals, RLC_READABLE, signal_comes, &signals, &watch), "watch the signals");
    puts("ready");
    fflush(stdout);

    require(rlc_loop_run(loop, RLC_TIME_FOREVER), "run");

    unlink(path);
    printf("served %u\n", served);
    require(rlc_loop_destroy(loop), "destroy");
    close(signals);
    close(listener);
    return fflush(stdout) == 0 && !has_failed ? 0 : 1;
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[2], "ask") == 0)
        return ask(arguments[1]);
    if (count == 2)
        return serve(arguments[1]);
    fprintf(stderr, "usage: daemon PATH [ask]\n");
    return 2;
}

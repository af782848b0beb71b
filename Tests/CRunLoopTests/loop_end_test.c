/* Ends of the watches of an rlc_loop: in its own runs, in a callout that sets its interest or runs the loop, in a host. */
#include "fifo.h"
#include "harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

enum { PASSES = 50 };

static spy kernel;

typedef struct probe {
    int fd, calls, bytes, errors, sent;
    uint32_t ready;
    rlc_watch *watch;
    void (*then)(rlc_loop *loop, struct probe *probe);
} probe;

static void called(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    probe *probe = context;
    char byte;
    probe->watch = watch;
    probe->calls++;
    probe->ready = ready;
    if ((ready & RLC_READABLE) != 0 && read(probe->fd, &byte, 1) == 1)
        probe->bytes++;
    if (probe->then != NULL)
        probe->then(loop, probe);
}

static rlc_loop *make_loop(probe *probe, uint32_t interest) {
    rlc_loop *loop;
    spy_init(&kernel);
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
    CHECK_EQUAL(rlc_loop_add_watch(loop, probe->fd, interest, called, probe, &probe->watch), 0);
    return loop;
}

static void run_some(rlc_loop *loop) {
    for (int i = 0; i < PASSES; i++)
        CHECK(rlc_loop_run(loop, 0) == RLC_RUN_TIMED_OUT);
}

static void end(rlc_loop *loop, int fd) {
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
    unlink(path);
}

/* ---- interest that is set in the callout ---- */

static void set_the_same(rlc_loop *loop, probe *probe) {
    (void)loop;
    CHECK_EQUAL(rlc_watch_set_interest(probe->watch, RLC_READABLE), 0);
}

static void pause_and_resume(rlc_loop *loop, probe *probe) {
    (void)loop;
    CHECK_EQUAL(rlc_watch_set_interest(probe->watch, 0), 0);
    CHECK_EQUAL(rlc_watch_set_interest(probe->watch, RLC_READABLE), 0);
}

static void test_RLC_END_8_interest_set_in_the_callout(void) {
    void (*const actions[])(rlc_loop *, probe *) = {NULL, set_the_same, pause_and_resume};
    for (int i = 0; i < 3; i++) {
        probe probe = {.fd = make_fifo(), .then = actions[i]};
        rlc_loop *loop = make_loop(&probe, RLC_READABLE);
        for (int round = 1; round <= 3; round++) {
            int before = probe.calls;
            visit("abcdef");
            run_some(loop);
            CHECK_EQUAL(probe.bytes, 6 * round);
            CHECK_EQUAL(probe.calls, before + 7);
            visit("");
            run_some(loop);
            CHECK_EQUAL(probe.calls, before + 8);
        }
        /* Outside of it, it is a question, which is answered. */
        int before = probe.calls;
        CHECK_EQUAL(rlc_watch_set_interest(probe.watch, RLC_READABLE), 0);
        run_some(loop);
        CHECK_EQUAL(probe.calls, before + 1);
        end(loop, probe.fd);
    }
}

static void pause_once(rlc_loop *loop, probe *probe) {
    (void)loop;
    if (probe->calls == 1)
        CHECK_EQUAL(rlc_watch_set_interest(probe->watch, 0), 0);
}

static void test_RLC_END_8_paused_in_the_callout(void) {
    probe probe = {.fd = make_fifo(), .then = pause_once};
    rlc_loop *loop = make_loop(&probe, RLC_READABLE);
    visit("");
    run_some(loop);
    CHECK_EQUAL(probe.calls, 1);
    int writer = open_fifo(O_WRONLY);
    for (int i = 0; i < 6; i++) {
        write_all(writer, "a", 1);
        run_some(loop);
    }
    CHECK_EQUAL(probe.calls, 1);
    CHECK_EQUAL(rlc_watch_set_interest(probe.watch, RLC_READABLE), 0);
    run_some(loop);
    CHECK_EQUAL(probe.bytes, 6);
    close(writer);
    run_some(loop);
    CHECK_EQUAL(probe.calls, 8);
    end(loop, probe.fd);
}

/* ---- a run in the callout ---- */

static void run_inside(rlc_loop *loop, probe *probe) {
    if (probe->sent++ == 0) {
        run_some(loop);
        visit("");
        run_some(loop); /* left out: it is reported afterwards */
    } else {
        run_some(loop);
    }
}

static void test_RLC_END_6_a_run_in_the_callout(void) {
    probe probe = {.fd = make_fifo(), .then = run_inside};
    rlc_loop *loop = make_loop(&probe, RLC_READABLE);
    visit("");
    run_some(loop);
    CHECK_EQUAL(probe.calls, 2);
    visit("abc");
    run_some(loop);
    CHECK_EQUAL(probe.bytes, 3);
    CHECK_EQUAL(probe.calls, 6);
    end(loop, probe.fd);
}

/* ---- an error that the callout takes and causes again ---- */

static int refused_socket(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int closed = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK_EQUAL(bind(closed, (struct sockaddr *)&address, size), 0);
    CHECK_EQUAL(getsockname(closed, (struct sockaddr *)&address, &size), 0);
    close(closed);
    CHECK_EQUAL(connect(fd, (struct sockaddr *)&address, size), 0);
    return fd;
}

static void take_error_and_send(rlc_loop *loop, probe *probe) {
    (void)loop;
    int error = 0;
    socklen_t size = sizeof error;
    if ((probe->ready & RLC_ERROR) == 0)
        return;
    probe->errors++;
    CHECK_EQUAL(getsockopt(probe->fd, SOL_SOCKET, SO_ERROR, &error, &size), 0);
    CHECK_EQUAL(error, ECONNREFUSED);
    if (probe->sent++ < 6)
        CHECK_EQUAL(send(probe->fd, "x", 1, 0), 1);
}

static void test_RLC_END_5_an_error_caused_again_in_the_callout(void) {
    probe probe = {.fd = refused_socket(), .then = take_error_and_send};
    rlc_loop *loop = make_loop(&probe, RLC_READABLE);
    probe.sent = 1;
    CHECK_EQUAL(send(probe.fd, "x", 1, 0), 1);
    run_some(loop);
    CHECK_EQUAL(probe.errors, 6);
    CHECK_EQUAL(probe.calls, 6);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(probe.fd);
}

/* ---- in a host ---- */

static void host(rlc_loop *loop) {
    struct pollfd entry = {.fd = rlc_loop_fd(loop), .events = POLLIN};
    for (int passes = 0;; passes++) {
        int has_work = rlc_loop_prepare(loop);
        CHECK(has_work >= 0);
        if (has_work == 0 && poll(&entry, 1, 0) == 0)
            return;
        CHECK(rlc_loop_dispatch(loop) >= 0);
        CHECK(passes < PASSES);
    }
}

static void test_RLC_END_1_in_a_host(void) {
    probe probe = {.fd = make_fifo()};
    rlc_loop *loop = make_loop(&probe, RLC_READABLE);
    for (int round = 1; round <= 3; round++) {
        visit("abcdef");
        host(loop);
        CHECK_EQUAL(probe.bytes, 6 * round);
        CHECK_EQUAL(probe.calls, 8 * round - 1);
        visit("");
        host(loop);
        CHECK_EQUAL(probe.calls, 8 * round);
    }
    end(loop, probe.fd);
}

static void fail_to_send(rlc_loop *loop, probe *probe) {
    (void)loop;
    if ((probe->ready & RLC_ERROR) != 0)
        CHECK_EQUAL(send(probe->fd, "x", 1, 0), -1); /* takes the error */
    else if (probe->sent++ >= 2)
        CHECK_EQUAL(rlc_watch_set_interest(probe->watch, 0), 0);
}

static void test_RLC_END_4_a_writer_in_a_host(void) {
    probe probe = {.fd = refused_socket(), .then = fail_to_send};
    rlc_loop *loop = make_loop(&probe, RLC_WRITABLE);
    CHECK_EQUAL(send(probe.fd, "x", 1, 0), 1);
    host(loop);
    CHECK_EQUAL(probe.sent, 3); /* it can be written again, without an edge */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(probe.fd);
}

int main(void) {
    RUN(test_RLC_END_8_interest_set_in_the_callout);
    RUN(test_RLC_END_8_paused_in_the_callout);
    RUN(test_RLC_END_6_a_run_in_the_callout);
    RUN(test_RLC_END_5_an_error_caused_again_in_the_callout);
    RUN(test_RLC_END_1_in_a_host);
    RUN(test_RLC_END_4_a_writer_in_a_host);
    return 0;
}

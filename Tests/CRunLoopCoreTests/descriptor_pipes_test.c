/* The table of descriptor kinds beside plain epoll: pipes, terminals, counters, processes. */
#include "descriptor_rows.h"

#include <linux/aio_abi.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

static char fifo_path[64];

static int open_fifo(int flags) {
    int fd = open(fifo_path, flags | O_NONBLOCK | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static void make_fifo(void) {
    (void)snprintf(fifo_path, sizeof fifo_path, "/tmp/crunloop-row.%d", (int)getpid());
    CHECK_EQUAL(mkfifo(fifo_path, 0600), 0);
}

static void test_RLC_END_9_fifo_reader(void) {
    make_fifo();
    int fd = open_fifo(O_RDONLY);
    row row = begin_row("FIFO, reader", fd, fd, RLC_READABLE);
    CHECK_ROW(&row, 0, 0);
    for (int round = 0; round < 3; round++) {
        int writer = open_fifo(O_WRONLY);
        CHECK_ROW(&row, 0, 0);
        write_all(writer, "abcdef", 6);
        if (round == 1) /* also after the writer has left */
            close(writer);
        read_byte_by_byte(&row, fd, 6);
        if (round != 1)
            close(writer);
        CHECK_ROW_ONCE(&row, EPOLLHUP, RLC_HANGUP);
        close(open_fifo(O_WRONLY)); /* writes nothing */
        CHECK_ROW_ONCE(&row, EPOLLHUP, RLC_HANGUP);
    }
    end_row(&row);
    close(fd);
    unlink(fifo_path);
}

static void test_RLC_END_9_fifo_writer(void) {
    make_fifo();
    int reader = open_fifo(O_RDONLY), fd = open_fifo(O_WRONLY);
    row row = begin_row("FIFO or pipe, writer", fd, fd, RLC_WRITABLE);
    CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
    for (int round = 0; round < 3; round++) {
        close(reader);
        CHECK_ROW_ONCE(&row, EPOLLOUT | EPOLLERR, RLC_WRITABLE | RLC_ERROR);
        reader = open_fifo(O_RDONLY); /* the kernel wakes nobody for this: the next wait finds it */
        CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
        CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
    }
    end_row(&row);
    close(fd), close(reader);
    unlink(fifo_path);
}

static void test_RLC_END_9_pipe_reader(void) {
    int ends[2];
    make_pipe(ends);
    row row = begin_row("pipe, reader", ends[0], ends[0], RLC_READABLE);
    write_all(ends[1], "abc", 3);
    close(ends[1]);
    read_byte_by_byte(&row, ends[0], 3);
    CHECK_ROW_ONCE(&row, EPOLLHUP, RLC_HANGUP);
    end_row(&row);
    close(ends[0]);
}

static int open_slave(int terminal) {
    char name[64];
    CHECK_EQUAL(ptsname_r(terminal, name, sizeof name), 0);
    int fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    CHECK(fd >= 0);
    return fd;
}

static int open_terminal(void) {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    CHECK(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    return terminal;
}

static void test_RLC_END_9_terminal_master(void) {
    int fd = open_terminal(), slave = open_slave(fd);
    row row = begin_row("pseudo terminal, master", fd, fd, RLC_READABLE);
    for (int round = 0; round < 3; round++) {
        write_all(slave, "abcdef", 6);
        read_byte_by_byte(&row, fd, 6);
        close(slave);
        CHECK_ROW_ONCE(&row, EPOLLHUP, RLC_HANGUP);
        slave = open_slave(fd);
        CHECK_ROW(&row, 0, 0);
    }
    end_row(&row);
    close(slave), close(fd);
}

static void test_RLC_END_9_terminal_slave(void) {
    int master = open_terminal(), fd = open_slave(master);
    row row = begin_row("terminal whose other end is gone", fd, fd, RLC_READABLE);
    close(master);
    CHECK((plain_events(&row) & EPOLLHUP) != 0);
    CHECK((reported(&row) & RLC_HANGUP) != 0);
    check_rests(&row);
    end_row(&row);
    close(fd);
}

/** A write cannot reach the last count; a request of asynchronous input that is done can. */
static bool count_up_by_kernel(int fd) {
    aio_context_t context = 0;
    char byte;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct iocb request = {.aio_lio_opcode = IOCB_CMD_PREAD,
        .aio_fildes = (uint32_t)file,
        .aio_buf = (uint64_t)(uintptr_t)&byte,
        .aio_nbytes = 1,
        .aio_flags = IOCB_FLAG_RESFD,
        .aio_resfd = (uint32_t)fd};
    struct iocb *requests[] = {&request};
    struct io_event event;
    bool is_done = file >= 0 && syscall(SYS_io_setup, 1, &context) == 0 &&
                   syscall(SYS_io_submit, context, 1, requests) == 1 &&
                   syscall(SYS_io_getevents, context, 1, 1, &event, NULL) == 1;
    if (context != 0)
        (void)syscall(SYS_io_destroy, context);
    close(file);
    return is_done;
}

static void test_RLC_END_9_eventfd(void) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    row row = begin_row("eventfd", fd, fd, RLC_READABLE | RLC_WRITABLE);
    uint64_t value = UINT64_MAX - 1;
    CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
    write_all(fd, &value, sizeof value);
    CHECK_ROW(&row, EPOLLIN, RLC_READABLE); /* full, as far as a write goes */
    CHECK_EQUAL(read(fd, &value, sizeof value), 8);
    CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
    value = UINT64_MAX - 1;
    write_all(fd, &value, sizeof value);
    if (count_up_by_kernel(fd)) {
        CHECK_ROW(&row, EPOLLIN | EPOLLERR, RLC_READABLE | RLC_ERROR);
        CHECK_ROW(&row, EPOLLIN | EPOLLERR, RLC_READABLE | RLC_ERROR);
    } else {
        (void)printf("  skipped: eventfd, counted up to its limit\n");
    }
    CHECK_EQUAL(read(fd, &value, sizeof value), 8);
    CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
    end_row(&row);
    close(fd);
}

static void test_RLC_END_9_timerfd(void) {
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    row row = begin_row("timerfd", fd, fd, RLC_READABLE);
    struct itimerspec past = {.it_value = {.tv_nsec = 1}};
    uint64_t expiries;
    for (int round = 0; round < 2; round++) {
        CHECK_EQUAL(timerfd_settime(fd, TFD_TIMER_ABSTIME, &past, NULL), 0);
        CHECK_ROW(&row, EPOLLIN, RLC_READABLE);
        CHECK_EQUAL(read(fd, &expiries, sizeof expiries), 8);
        CHECK_ROW(&row, 0, 0);
    }
    end_row(&row);
    close(fd);
}

static void test_RLC_END_9_signalfd(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    CHECK_EQUAL(sigprocmask(SIG_BLOCK, &signals, NULL), 0);
    int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    row row = begin_row("signalfd", fd, fd, RLC_READABLE);
    struct signalfd_siginfo info;
    CHECK_EQUAL(raise(SIGUSR1), 0);
    CHECK_ROW(&row, EPOLLIN, RLC_READABLE);
    CHECK_EQUAL(read(fd, &info, sizeof info), (ssize_t)sizeof info);
    CHECK_ROW(&row, 0, 0);
    end_row(&row);
    close(fd);
}

static void test_RLC_END_9_inotify(void) {
    make_fifo();
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    char events[512];
    CHECK(inotify_add_watch(fd, fifo_path, IN_DELETE_SELF | IN_ATTRIB) >= 0);
    row row = begin_row("inotify", fd, fd, RLC_READABLE);
    unlink(fifo_path);
    CHECK_ROW(&row, EPOLLIN, RLC_READABLE);
    CHECK(read(fd, events, sizeof events) > 0);
    CHECK_ROW(&row, 0, 0); /* a watch that has ended is no end of the instance */
    end_row(&row);
    close(fd);
}

static void test_RLC_END_9_pidfd(void) {
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    int fd = (int)syscall(SYS_pidfd_open, child, 0);
    CHECK(fd >= 0);
    row row = begin_row("pidfd", fd, fd, RLC_READABLE);
    siginfo_t info;
    CHECK_EQUAL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    CHECK_ROW(&row, EPOLLIN, RLC_READABLE);
    CHECK_ROW(&row, EPOLLIN, RLC_READABLE); /* as long as it is a member: it cannot be read */
    CHECK_EQUAL(waitpid(child, NULL, 0), child);
    uint32_t events = plain_events(&row); /* reaped: newer kernels say so */
    CHECK(events == EPOLLIN || events == (EPOLLIN | EPOLLHUP));
    if (events == (EPOLLIN | EPOLLHUP))
        CHECK_ROW_ONCE(&row, EPOLLIN | EPOLLHUP, RLC_READABLE | RLC_HANGUP);
    end_row(&row);
    close(fd);
}

static void test_RLC_END_9_epoll(void) {
    int ends[2], fd = epoll_create1(EPOLL_CLOEXEC);
    char byte;
    make_pipe(ends);
    struct epoll_event event = {.events = EPOLLIN};
    CHECK_EQUAL(epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &event), 0);
    row row = begin_row("epoll", fd, fd, RLC_READABLE);
    for (int round = 0; round < 2; round++) {
        write_all(ends[1], "x", 1);
        CHECK_ROW(&row, EPOLLIN, RLC_READABLE);
        CHECK_EQUAL(read(ends[0], &byte, 1), 1);
        CHECK_ROW(&row, 0, 0);
    }
    end_row(&row);
    close(fd), close(ends[0]), close(ends[1]);
}

static void test_RLC_END_9_message_queue(void) {
    char name[64], bytes[16];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = sizeof bytes};
    (void)snprintf(name, sizeof name, "/crunloop-row.%d", (int)getpid());
    int fd = (int)mq_open(name, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0600, &attributes);
    if (fd < 0) {
        (void)printf("  skipped: message queue\n");
        return;
    }
    row row = begin_row("message queue", fd, fd, RLC_READABLE | RLC_WRITABLE);
    CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
    CHECK_EQUAL(mq_send(fd, "x", 1, 0), 0);
    CHECK_ROW(&row, EPOLLIN, RLC_READABLE);
    CHECK_EQUAL(mq_receive(fd, bytes, sizeof bytes, NULL), 1);
    CHECK_ROW(&row, EPOLLOUT, RLC_WRITABLE);
    end_row(&row);
    close(fd);
    mq_unlink(name);
}

int main(void) {
    RUN(test_RLC_END_9_fifo_reader);
    RUN(test_RLC_END_9_fifo_writer);
    RUN(test_RLC_END_9_pipe_reader);
    RUN(test_RLC_END_9_terminal_master);
    RUN(test_RLC_END_9_terminal_slave);
    RUN(test_RLC_END_9_eventfd);
    RUN(test_RLC_END_9_timerfd);
    RUN(test_RLC_END_9_signalfd);
    RUN(test_RLC_END_9_inotify);
    RUN(test_RLC_END_9_pidfd);
    RUN(test_RLC_END_9_epoll);
    RUN(test_RLC_END_9_message_queue);
    return 0;
}

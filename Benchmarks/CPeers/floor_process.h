/** What the floor does between two processes: bare recvmsg(2) and sendmsg(2) on a SOCK_SEQPACKET pair in an epoll set. */
#include "subject.h"
#include <sys/epoll.h>
#include <sys/mman.h>

typedef struct channel {
    int ends[2];
    int fd, epoll_fd;
    bool is_stopped;
} channel;

static void channel_arrived(channel *at, const void *bytes, size_t size);

static void channel_prepare(channel *self) {
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, self->ends) == 0, "socketpair");
}

static void channel_open(channel *self, bool is_far) {
    self->fd = self->ends[is_far];
    close_descriptor(self->ends[!is_far]);
    self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = self};
    control(self->epoll_fd, EPOLL_CTL_ADD, self->fd, &event);
}

static void channel_stop(channel *self) {
    self->is_stopped = true;
}

static void send_message(int fd, const struct msghdr *message, size_t size) {
    require(bench_system_call(SYS_sendmsg, fd, (long)message, MSG_NOSIGNAL, 0) == (long)size, "sendmsg");
}

static void channel_send(channel *self, const void *bytes, size_t size) {
    struct iovec part = {(void *)bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    send_message(self->fd, &message, size);
}

/** Waits for the next one. */
static size_t receive_message(channel *self, struct msghdr *message) {
    struct epoll_event event;
    require(wait_events(self->epoll_fd, &event, 1, -1) == 1, "epoll_wait");
    long size = bench_system_call(SYS_recvmsg, self->fd, (long)message, MSG_CMSG_CLOEXEC, 0);
    require(size > 0, "recvmsg");
    return (size_t)size;
}

static void channel_run(channel *self) {
    char bytes[256];
    for (self->is_stopped = false; !self->is_stopped;) {
        struct iovec part = {bytes, sizeof bytes};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        size_t size = receive_message(self, &message);
        channel_arrived(self, bytes, size);
    }
}

/** A descriptor and one word. */
typedef struct parcel {
    uint64_t word;
    struct iovec part;
    struct msghdr message;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
} parcel;

static void parcel_open(parcel *self) {
    self->part = (struct iovec){&self->word, sizeof self->word};
    self->message = (struct msghdr){
        .msg_iov = &self->part, .msg_iovlen = 1, .msg_control = self->control, .msg_controllen = sizeof self->control};
}

static void send_descriptor(channel *over, int fd) {
    parcel sent = {0};
    parcel_open(&sent);
    struct cmsghdr *header = CMSG_FIRSTHDR(&sent.message);
    *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    send_message(over->fd, &sent.message, sizeof sent.word);
}

/** The word of the next message; of its descriptor, if it has one, `ret_fd`. */
static uint64_t receive_parcel(channel *over, int *ret_fd) {
    parcel received = {0};
    parcel_open(&received);
    receive_message(over, &received.message);
    struct cmsghdr *header = CMSG_FIRSTHDR(&received.message);
    if (header != NULL)
        memcpy(ret_fd, CMSG_DATA(header), sizeof *ret_fd);
    return received.word;
}

/** The other process: maps what comes, reads it once, and answers with its sum. */
static void sum_parcels(channel *over, size_t size) {
    for (;;) {
        int fd = -1;
        receive_parcel(over, &fd);
        require(fd >= 0, "no descriptor");
        void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
        require(bytes != MAP_FAILED, "mmap");
        close_descriptor(fd);
        uint64_t sum = bench_sum(bytes, size);
        channel_send(over, &sum, sizeof sum);
        munmap(bytes, size); /* while the other side fills the next one */
    }
}

/** Made in its place, or made elsewhere and written. */
static void fill_file(int fd, size_t size, uint64_t seed, bool in_place) {
    if (in_place) {
        require(ftruncate(fd, (off_t)size) == 0, "ftruncate");
        void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        require(bytes != MAP_FAILED, "mmap");
        bench_fill(bytes, size, seed);
        munmap(bytes, size);
    } else {
        void *bytes = malloc(size);
        require(bytes != NULL, "malloc");
        bench_fill(bytes, size, seed);
        require(bench_write(fd, bytes, size) == (ssize_t)size, "write");
        free(bytes);
    }
}

/** A payload of `size` bytes by a sealed memfd, to a process that reads all of it and answers. */
static void run_port_big(const bench_args *args, bench_result *result) {
    channel over = {0};
    size_t size = (size_t)args->size;
    channel_prepare(&over);
    int other = bench_fork();
    bench_pin(args->placement, other == 0 ? 1 : 0);
    channel_open(&over, other == 0);
    if (other == 0)
        sum_parcels(&over, size);

    bench_begin(result);
    for (uint64_t i = 0; i < (uint64_t)args->count; i++) {
        int fd = memfd_create("benchmarks", MFD_CLOEXEC | MFD_ALLOW_SEALING), none;
        require(fd >= 0, "memfd_create");
        fill_file(fd, size, i, args->active != 0);
        int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
        require(fcntl(fd, F_ADD_SEALS, seals) == 0, "F_ADD_SEALS");
        send_descriptor(&over, fd);
        close_descriptor(fd);
        uint64_t words = size / sizeof(uint64_t);
        require(receive_parcel(&over, &none) == i * words + words * (words - 1) / 2, "another sum");
    }
    bench_end(result);

    bench_end_other(other);
    result->operations = (uint64_t)args->count;
}

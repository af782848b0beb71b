/* The table of descriptor kinds beside plain epoll: files of /proc and /sys, devices. Some need name spaces of their own. */
#include "descriptor_rows.h"

#include <linux/if.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static char text[1 << 16];

static void read_all(int fd) {
    CHECK_EQUAL(lseek(fd, 0, SEEK_SET), 0);
    while (read(fd, text, sizeof text) > 0) {
    }
}

static int open_file(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        _exit(SKIPPED);
    return fd;
}

/* ---- files that say a change by an error, to the first who asks ---- */

static void change_mounts(int round) {
    if (round % 2 == 0)
        CHECK_EQUAL(mount("none", "/tmp", "tmpfs", 0, "size=4k"), 0);
    else
        CHECK_EQUAL(umount("/tmp"), 0);
}

static void change_name(int round) {
    CHECK_EQUAL(sethostname(round % 2 == 0 ? "one" : "two", 3), 0);
}

static void follow(const char *title, const char *path, void (*change)(int round), uint32_t interest, bool reads) {
    int plain_fd = open_file(path, O_RDONLY), fd = open_file(path, O_RDONLY);
    read_all(plain_fd), read_all(fd);
    row row = begin_row(title, plain_fd, fd, interest);
    (void)plain_events(&row), (void)reported(&row); /* of the time before */
    uint32_t priority = (interest & RLC_PRIORITY) != 0 ? EPOLLPRI : 0;
    for (int round = 0; round < 6; round++) {
        change(round);
        CHECK_ROW(&row, EPOLLERR | priority, (interest & RLC_PRIORITY) | RLC_ERROR);
        if (round == 4)
            change(6), change(7); /* before the callout reads */
        if (reads)
            read_all(plain_fd), read_all(fd);
        if (round == 4)
            (void)plain_events(&row), (void)reported(&row);
        check_rests(&row);
    }
    end_row(&row);
    close(fd), close(plain_fd);
}

/** Behind another event, whose callout may have changed anything: the set looks again, and the change is not lost. */
static void follow_behind_another(const char *path, void (*change)(int round)) {
    int fd = open_file(path, O_RDONLY), first = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_port_set *set = make_set();
    (void)watch(set, first, 1);
    (void)add(set, fd, RLC_PORT_READINESS, 0, 2);
    drain(set);
    for (int round = 0; round < 4; round++) {
        uint64_t count;
        while (next(set) != -1) {
        }
        bump(first);
        change(round);
        CHECK_EQUAL(next(set), 100 + RLC_READABLE);
        CHECK_EQUAL(read(first, &count, sizeof count), 8);
        CHECK_EQUAL(next(set), 200 + RLC_ERROR);
        read_all(fd);
    }
    rlc_port_set_destroy(set);
    close(fd), close(first);
}

static void of_mounts(void) {
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        _exit(SKIPPED);
    follow("/proc/self/mountinfo, /proc/self/mounts", "/proc/self/mountinfo", change_mounts, RLC_PRIORITY, true);
    follow("/proc/self/mountinfo, /proc/self/mounts", "/proc/self/mounts", change_mounts, 0, true);
}

static void of_names(void) {
    follow("/proc/sys/kernel/hostname", "/proc/sys/kernel/hostname", change_name, RLC_PRIORITY, true);
    follow("/proc/sys/kernel/hostname", "/proc/sys/kernel/hostname", change_name, 0, true);
    follow_behind_another("/proc/sys/kernel/hostname", change_name);
}

/* ---- files that say it until they are read ---- */

static char group[64];

static const char *root_group(void) {
    const char *mixed = "/sys/fs/cgroup/unified";
    return access(mixed, F_OK) == 0 ? mixed : "/sys/fs/cgroup";
}

static void change_group(int round) {
    char path[96];
    (void)snprintf(path, sizeof path, "%s/cgroup.procs", round % 2 == 0 ? group : root_group());
    int fd = open_file(path, O_WRONLY);
    bool is_denied = write(fd, "0", 1) != 1;
    close(fd);
    if (is_denied && round == 0)
        (void)rmdir(group);
    if (is_denied)
        _exit(SKIPPED);
}

/** `cgroup.events` says when the group becomes populated, and empty again. As root of a machine with cgroups only. */
static void of_control_groups(void) {
    char path[96];
    (void)snprintf(group, sizeof group, "%s/crunloop-row.%d", root_group(), (int)getpid());
    if (mkdir(group, 0700) != 0)
        _exit(SKIPPED);
    (void)snprintf(path, sizeof path, "%s/cgroup.events", group);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    read_all(fd);
    row row = begin_row("/sys, cgroup.events, memory.events", fd, fd, RLC_PRIORITY);
    (void)reported(&row);
    for (int round = 0; round < 6; round++) {
        change_group(round);
        CHECK_EQUAL(awaited(&row), RLC_PRIORITY | RLC_ERROR);
        if (round == 2)
            check_rests(&row); /* it lasts, and is reported once */
        read_all(fd);
        if (round == 4)
            change_group(5), round++; /* after the callout has read, before the loop waits */
        if (round == 5)
            CHECK_EQUAL(awaited(&row), RLC_PRIORITY | RLC_ERROR), read_all(fd);
        check_rests(&row);
    }
    end_row(&row);
    close(fd);
    rmdir(group);
}

/* ---- network devices ---- */

static void set_up(const char *name, bool is_up) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_flags = (short)(is_up ? IFF_UP : 0)};
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
        _exit(SKIPPED);
    close(fd);
}

static void take_error(int fd) {
    int error = 0;
    socklen_t size = sizeof error;
    CHECK_EQUAL(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size), 0);
}

static void of_packets(void) {
    set_up("lo", true);
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = 0x0300 /* all */, .sll_ifindex = 1};
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        _exit(SKIPPED);
    row row = begin_row("packet socket, its device goes down", fd, fd, RLC_READABLE);
    for (int round = 0; round < 3; round++) {
        set_up("lo", false);
        CHECK_ROW_ONCE(&row, EPOLLERR, RLC_ERROR);
        if (round > 0)
            take_error(fd);
        set_up("lo", true);
        check_rests(&row);
    }
    end_row(&row);
    close(fd);
}

static void of_netlink(void) {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE), small = 1 << 13;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        _exit(SKIPPED);
    CHECK_EQUAL(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    row row = begin_row("netlink, more than fits", fd, fd, RLC_READABLE);
    for (int round = 0; round < 3; round++) {
        int messages = 0;
        for (int i = 0; i < 40; i++)
            set_up("lo", i % 2 == 0);
        CHECK_ROW(&row, EPOLLIN | EPOLLERR, RLC_READABLE | RLC_ERROR);
        CHECK_EQUAL(recv(fd, text, sizeof text, 0), -1);
        CHECK_EQUAL(errno, ENOBUFS);
        while (reported(&row) != 0) { /* one message a report */
            CHECK(recv(fd, text, sizeof text, 0) > 0);
            messages++;
        }
        CHECK(messages > 1);
        CHECK_EQUAL(recv(fd, text, sizeof text, 0), -1);
    }
    end_row(&row);
    close(fd);
}

static void attach_tun(int fd) {
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI, .ifr_name = "row0"};
    if (ioctl(fd, TUNSETIFF, &request) != 0)
        _exit(SKIPPED);
}

static void delete_link(const char *name) {
    struct {
        struct nlmsghdr header;
        struct ifinfomsg link;
    } request = {.header.nlmsg_len = sizeof request, .header.nlmsg_type = RTM_DELLINK};
    struct ifreq index = {.ifr_flags = 0};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    (void)snprintf(index.ifr_name, sizeof index.ifr_name, "%s", name);
    CHECK_EQUAL(ioctl(fd, SIOCGIFINDEX, &index), 0);
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    request.link.ifi_index = index.ifr_ifindex;
    CHECK_EQUAL(send(fd, &request, sizeof request, 0), (int)sizeof request);
    CHECK(recv(fd, text, sizeof text, 0) > 0); /* it is done */
    close(fd);
}

/** Its packets come: of several members of the number, each gets them. */
static void check_tun_reads(const row *row, int fd) {
    set_up("row0", true); /* the system sends a packet or two to what has come up */
    CHECK((awaited(row) & RLC_READABLE) != 0);
    while (read(fd, text, sizeof text) > 0) {
    }
}

/** The kernel tells only those of the new device who have polled the file while it had the old one. */
static void of_tun_deleted(uint32_t sharing) {
    int fd = open_file("/dev/net/tun", O_RDWR | O_NONBLOCK);
    attach_tun(fd);
    row row = begin_row("tun, tap", fd, fd, RLC_READABLE | sharing);
    if (sharing != 0)
        (void)add(row.set, fd, RLC_PORT_READINESS, sharing, 1);
    for (int round = 0; round < 3; round++) {
        check_tun_reads(&row, fd);
        delete_link("row0");
        for (uint32_t ready, count = 0; (ready = reported(&row)) != 0; count++)
            CHECK((ready == RLC_ERROR || ready == RLC_READABLE) && count < 4);
        check_rests(&row);
        attach_tun(fd);
        check_rests(&row);
    }
    end_row(&row);
    close(fd);
}

static void of_tun(void) {
    int fd = open_file("/dev/net/tun", O_RDWR | O_NONBLOCK);
    row row = begin_row("tun, tap", fd, fd, RLC_READABLE);
    CHECK_ROW_ONCE(&row, EPOLLERR, RLC_ERROR); /* it has no device yet */
    attach_tun(fd);
    CHECK_EQUAL(rlc_port_set_set_interest(row.set, row.token, RLC_READABLE), 0); /* the kernel wakes nobody for this */
    CHECK_ROW(&row, 0, 0);
    for (int round = 0; round < 2; round++) {
        check_tun_reads(&row, fd);
        set_up("row0", false);
        while (read(fd, text, sizeof text) > 0) {
        }
    }
    end_row(&row);
    close(fd);
    of_tun_deleted(0);
    of_tun_deleted(RLC_SHARED);
}

/* ---- faults of memory ---- */

static void of_faults(void) {
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API};
    if (fd < 0)
        _exit(SKIPPED);
    row row = begin_row("userfaultfd", fd, fd, RLC_READABLE);
    CHECK_ROW_ONCE(&row, EPOLLERR, RLC_ERROR); /* before UFFDIO_API */
    CHECK_EQUAL(syscall(SYS_ioctl, fd, UFFDIO_API, &api), 0);
    CHECK_ROW(&row, 0, 0);
    end_row(&row);
    close(fd);
}

static void test_RLC_END_9_files_and_devices(void) {
    run_unshared("/proc/self/mountinfo, /proc/self/mounts", of_mounts);
    run_unshared("/proc/sys/kernel/hostname", of_names);
    run_in_child("/sys, cgroup.events, memory.events", of_control_groups);
    run_unshared("packet socket, its device goes down", of_packets);
    run_unshared("netlink, more than fits", of_netlink);
    run_unshared("tun, tap", of_tun);
    run_in_child("userfaultfd", of_faults);
}

int main(void) {
    RUN(test_RLC_END_9_files_and_devices);
    return 0;
}

/** What measures: clock, system calls by the kernel's own tracepoint, instructions by callgrind's client requests. */
#define _GNU_SOURCE 1
#include "CMeasure.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define HAS_CALLGRIND 1
#else
#define HAS_CALLGRIND 0
#endif

/** Two counters of the tracepoint: of all calls, and of those that wait for events. */
static int calls_fd = -1, waits_fd = -1;

bench_result bench_no_result(void) {
    return (bench_result){.syscalls = -1, .waits = -1, .bytes_per_item = -1, .moves_per_op = -1};
}

uint64_t bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t cpu_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/** The number of raw_syscalls:sys_enter, or -1. */
static int tracepoint_number(void) {
    static const char *const paths[] = {"/sys/kernel/tracing/events/raw_syscalls/sys_enter/id",
        "/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        FILE *file = fopen(paths[i], "re");
        if (file == NULL)
            continue;
        int number = -1;
        if (fscanf(file, "%d", &number) != 1)
            number = -1;
        fclose(file);
        return number;
    }
    return -1;
}

static int open_counter(int number) {
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_TRACEPOINT,
        .size = sizeof attributes,
        .config = (uint64_t)number,
        .disabled = 1,
        .inherit = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/** The filter of a counter of waits. */
static const char *waiting_calls(void) {
    static const int numbers[] = {
        SYS_epoll_pwait,
        SYS_ppoll,
#ifdef SYS_epoll_wait
        SYS_epoll_wait,
#endif
#ifdef SYS_poll
        SYS_poll,
#endif
#ifdef SYS_epoll_pwait2
        SYS_epoll_pwait2,
#endif
    };
    static char text[128];
    size_t used = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%sid == %d", i == 0 ? "" : " || ", numbers[i]);
    return text;
}

const char *bench_enable_counting(void) {
    int number = tracepoint_number();
    if (number < 0 && geteuid() == 0) {
        (void)mount("nodev", "/sys/kernel/tracing", "tracefs", 0, NULL);
        number = tracepoint_number();
    }
    if (number < 0)
        return "/sys/kernel/tracing is not mounted or not readable";
    waits_fd = open_counter(number);
    if (waits_fd >= 0)
        ioctl(waits_fd, PERF_EVENT_IOC_SET_FILTER, waiting_calls());
    calls_fd = open_counter(number);
    if (calls_fd < 0)
        return errno == EACCES || errno == EPERM ? "perf_event_open is forbidden here" : "perf_event_open failed";
    return NULL;
}

void bench_begin(bench_result *result) {
    result->cpu_ns = cpu_now();
    if (waits_fd >= 0)
        ioctl(waits_fd, PERF_EVENT_IOC_ENABLE, 0);
    if (calls_fd >= 0)
        ioctl(calls_fd, PERF_EVENT_IOC_ENABLE, 0);
#if HAS_CALLGRIND
    CALLGRIND_START_INSTRUMENTATION;
#endif
    result->elapsed_ns = bench_now();
}

static int64_t end_count(int fd) {
    uint64_t count = 0;
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    return read(fd, &count, sizeof count) == sizeof count ? (int64_t)count : 0;
}

void bench_end(bench_result *result) {
    result->elapsed_ns = bench_now() - result->elapsed_ns;
#if HAS_CALLGRIND
    CALLGRIND_STOP_INSTRUMENTATION;
#endif
    if (calls_fd >= 0)
        result->syscalls = end_count(calls_fd) - 1; /* the ioctl that ends it is seen, the one that begins it not */
    if (waits_fd >= 0)
        result->waits = end_count(waits_fd);
    result->cpu_ns = cpu_now() - result->cpu_ns;
}

void bench_join(pthread_t thread) {
#if HAS_CALLGRIND
    CALLGRIND_TOGGLE_COLLECT;
#endif
    pthread_join(thread, NULL);
#if HAS_CALLGRIND
    CALLGRIND_TOGGLE_COLLECT;
#endif
}

bool bench_can_count_instructions(void) {
    return HAS_CALLGRIND;
}

static double descriptors_now(void) {
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 0;
    double count = -3; /* ".", "..", and the folder's own */
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static double rss_now(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

bench_usage bench_usage_now(void) {
    bench_usage usage = {.rss = rss_now(), .descriptors = descriptors_now()};
    struct mallinfo2 info = mallinfo2();
    usage.heap = (double)info.uordblks + (double)info.hblkhd;
    return usage;
}

void bench_usage_per_item(bench_usage before, int64_t items, bench_result *result) {
    bench_usage now = bench_usage_now();
    result->operations = (uint64_t)items;
    result->bytes_per_item = (now.heap - before.heap) / (double)items;
    result->rss_per_item = (now.rss - before.rss) / (double)items;
    result->descriptors_per_item = (now.descriptors - before.descriptors) / (double)items;
}

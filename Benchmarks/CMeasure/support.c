/** What surrounds a measurement: threads and their processors, limits, child processes, the machine's name. */
#define _GNU_SOURCE 1
#include "CMeasure.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/** Of the process before any of its threads was pinned: the main one may be the first. */
static cpu_set_t allowed;
static pthread_once_t has_asked = PTHREAD_ONCE_INIT;

static void ask_what_is_allowed(void) {
    if (sched_getaffinity(getpid(), sizeof allowed, &allowed) != 0)
        CPU_ZERO(&allowed);
}

void bench_pin(int64_t placement, int side) {
    if (placement == BENCH_FREE)
        return;
    cpu_set_t one;
    CPU_ZERO(&one);
    pthread_once(&has_asked, ask_what_is_allowed);
    int wanted = placement == BENCH_SPLIT_CPUS ? side : 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        if (wanted-- == 0)
            CPU_SET(cpu, &one);
    }
    if (CPU_COUNT(&one) == 1)
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

typedef struct thread_call {
    void (*body)(void *context);
    void *context;
} thread_call;

static void *run_thread(void *argument) {
    thread_call *call = argument;
    call->body(call->context);
    return NULL;
}

void bench_on_thread(void (*body)(void *context), void *context) {
    thread_call call = {body, context};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_thread, &call) != 0)
        abort();
    pthread_join(thread, NULL);
}

int bench_counter(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/** For 100,000 in one loop, where the machine's administrator measures. */
enum { WANTED_DESCRIPTORS = 110000 };

int64_t bench_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1024;
    struct rlimit raised = {.rlim_cur = WANTED_DESCRIPTORS, .rlim_max = WANTED_DESCRIPTORS};
    if (limit.rlim_max >= WANTED_DESCRIPTORS || setrlimit(RLIMIT_NOFILE, &raised) != 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    getrlimit(RLIMIT_NOFILE, &limit);
    return (int64_t)limit.rlim_cur;
}

/** Reads until the end or the deadline; false at the deadline. */
static bool collect(int fd, uint64_t deadline_ns, char *output, size_t capacity) {
    size_t used = 0;
    for (;;) {
        uint64_t now = bench_now();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int count = now >= deadline_ns ? 0 : poll(&ready, 1, (int)((deadline_ns - now) / 1000000 + 1));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        char chunk[4096];
        ssize_t size = read(fd, chunk, sizeof chunk);
        if (size <= 0)
            return true;
        size_t room = capacity - 1 - used;
        size_t kept = (size_t)size < room ? (size_t)size : room;
        memcpy(output + used, chunk, kept);
        used += kept;
        output[used] = '\0';
    }
}

int bench_run_child(char *const *arguments, unsigned timeout_seconds, char *ret_output, size_t capacity) {
    ret_output[0] = '\0';
    int ends[2];
    if (pipe(ends) != 0)
        return -errno;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    pid_t child;
    int status = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (status != 0) {
        close(ends[0]);
        return -status;
    }
    if (!collect(ends[0], bench_now() + timeout_seconds * 1000000000ull, ret_output, capacity))
        kill(child, SIGKILL);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/** The value of the first line that begins with `key`, without quotes; false if there is none. */
static bool find_value(const char *path, const char *key, const char *separators, char *ret_value, size_t capacity) {
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    char line[256];
    bool is_found = false;
    while (!is_found && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *value = line + strlen(key);
        value += strspn(value, separators);
        size_t length = strcspn(value, "\"\n");
        snprintf(ret_value, capacity, "%.*s", (int)length, value);
        is_found = true;
    }
    fclose(file);
    return is_found;
}

const char *bench_machine(void) {
    static char text[512];
    char system[128] = "Linux", processor[128] = "unknown processor";
    struct utsname names;
    uname(&names);
    find_value("/etc/os-release", "PRETTY_NAME", "=\"", system, sizeof system);
    find_value("/proc/cpuinfo", "model name", "\t :", processor, sizeof processor);
    snprintf(text, sizeof text, "%s, %ld CPUs (%s), kernel %s", system, sysconf(_SC_NPROCESSORS_ONLN), processor,
        names.release);
    return text;
}

int bench_terminal_columns(void) {
    struct winsize size;
    if (!isatty(STDERR_FILENO))
        return 0;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

#include "CFailingLibc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

enum { MOST_CALLS = 4096 };

static _Atomic int is_noting;
static pthread_t beginner;
static const char *wanted_name;
static int wanted_number, wanted_error;
static _Atomic int seen, failed;
static _Atomic size_t count;
static const char *names[MOST_CALLS];

void failing_libc_begin(const char *name, int number, int error) {
    beginner = pthread_self();
    wanted_name = name;
    wanted_number = number;
    wanted_error = error;
    atomic_store(&seen, 0);
    atomic_store(&failed, 0);
    atomic_store(&count, 0);
    atomic_store(&is_noting, 1);
}

int failing_libc_end(void) {
    atomic_store(&is_noting, 0);
    return atomic_load(&failed);
}

size_t failing_libc_count(void) {
    size_t noted = atomic_load(&count);
    return noted < MOST_CALLS ? noted : MOST_CALLS;
}

const char *failing_libc_name(size_t place) {
    return names[place];
}

/** The error with which this call fails; 0: it does not. */
static int fails(const char *name) {
    if (!atomic_load(&is_noting))
        return 0;
    size_t place = atomic_fetch_add(&count, 1);
    if (place < MOST_CALLS)
        names[place] = name;
    if (wanted_name == NULL || strcmp(name, wanted_name) != 0)
        return 0;
    int number = atomic_fetch_add(&seen, 1);
    if (wanted_number >= 0 && number != wanted_number)
        return 0;
    atomic_store(&failed, 1);
    errno = wanted_error;
    return wanted_error;
}

const char *failing_libc_error_name(int error) {
    return strerrorname_np(error);
}

int failing_libc_forbid_processes(int are_forbidden) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NPROC, &limit) < 0)
        return 0;
    limit.rlim_cur = are_forbidden ? 0 : limit.rlim_max;
    uid_t user = are_forbidden ? 65534 : 0;
    if (are_forbidden)
        return setrlimit(RLIMIT_NPROC, &limit) == 0 && setresuid(user, user, 0) == 0;
    return setresuid(user, user, 0) == 0 && setrlimit(RLIMIT_NPROC, &limit) == 0;
}

void *failing_libc_reallocate(void *context, void *memory, size_t size) {
    (void)context;
    if (size == 0) {
        free(memory);
        return NULL;
    }
    return fails("malloc") ? NULL : realloc(memory, size);
}

#ifdef HAS_SANITIZER

int failing_libc_is_here(void) {
    return 0;
}

#else

int failing_libc_is_here(void) {
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/** One that returns -1 and sets errno, as `type`. */
#define CALL(type, name, parameters, arguments)                                                                        \
    type name parameters {                                                                                             \
        static __typeof__(&name) real;                                                                                 \
        if (real == NULL)                                                                                              \
            real = REAL(name);                                                                                         \
        return fails(#name) ? (type)-1 : real arguments;                                                               \
    }

/** One that returns an error number. */
#define NUMBERED(name, parameters, arguments)                                                                          \
    int name parameters {                                                                                              \
        static __typeof__(&name) real;                                                                                 \
        if (real == NULL)                                                                                              \
            real = REAL(name);                                                                                         \
        int saved = errno, error = fails(#name);                                                                       \
        errno = saved;                                                                                                 \
        return error != 0 ? error : real arguments;                                                                    \
    }

CALL(int, epoll_create1, (int flags), (flags))
CALL(int, epoll_ctl, (int set, int operation, int fd, struct epoll_event *event), (set, operation, fd, event))
CALL(int, epoll_wait, (int set, struct epoll_event *events, int most, int timeout), (set, events, most, timeout))
CALL(int, eventfd, (unsigned value, int flags), (value, flags))
CALL(int, timerfd_create, (int clock, int flags), (clock, flags))
CALL(int, timerfd_settime, (int fd, int flags, const struct itimerspec *new, struct itimerspec *old),
    (fd, flags, new, old))
CALL(int, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags))
CALL(int, inotify_init1, (int flags), (flags))
CALL(int, inotify_add_watch, (int fd, const char *path, uint32_t mask), (fd, path, mask))
CALL(int, memfd_create, (const char *name, unsigned flags), (name, flags))
CALL(int, ftruncate, (int fd, off_t size), (fd, size))
CALL(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
CALL(int, socketpair, (int domain, int type, int protocol, int ends[2]), (domain, type, protocol, ends))
CALL(int, bind, (int fd, const struct sockaddr *address, socklen_t size), (fd, address, size))
CALL(int, listen, (int fd, int most), (fd, most))
CALL(int, connect, (int fd, const struct sockaddr *address, socklen_t size), (fd, address, size))
CALL(int, accept4, (int fd, struct sockaddr *address, socklen_t *size, int flags), (fd, address, size, flags))
CALL(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t size), (fd, level, name, value, size))
CALL(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *size), (fd, level, name, value, size))
CALL(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
CALL(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
CALL(ssize_t, read, (int fd, void *bytes, size_t size), (fd, bytes, size))
CALL(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode))
CALL(int, chmod, (const char *path, mode_t mode), (path, mode))
CALL(int, fchmod, (int fd, mode_t mode), (fd, mode))
CALL(int, fchmodat, (int folder, const char *path, mode_t mode, int flags), (folder, path, mode, flags))
CALL(int, fstat, (int fd, struct stat *status), (fd, status))
CALL(int, lstat, (const char *path, struct stat *status), (path, status))
CALL(int, fstatat, (int folder, const char *path, struct stat *status, int flags), (folder, path, status, flags))
CALL(int, fstatfs, (int fd, struct statfs *status), (fd, status))
CALL(int, renameat, (int from, const char *old, int to, const char *new), (from, old, to, new))
CALL(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags))
CALL(int, poll, (struct pollfd *entries, nfds_t number, int timeout), (entries, number, timeout))
CALL(int, ppoll, (struct pollfd *entries, nfds_t number, const struct timespec *timeout, const sigset_t *mask),
    (entries, number, timeout, mask))
CALL(int, waitid, (idtype_t kind, id_t id, siginfo_t *info, int options), (kind, id, info, options))
CALL(int, kill, (pid_t process, int signal), (process, signal))
CALL(void *, mmap, (void *place, size_t size, int protection, int flags, int fd, off_t offset),
    (place, size, protection, flags, fd, offset))

NUMBERED(pthread_create, (pthread_t * thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument),
    (thread, attributes, body, argument))
NUMBERED(pthread_attr_setstacksize, (pthread_attr_t * attributes, size_t size), (attributes, size))
NUMBERED(posix_spawnp,
    (pid_t * process, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
        char *const arguments[], char *const environment[]),
    (process, path, actions, attributes, arguments, environment))
NUMBERED(posix_spawn_file_actions_init, (posix_spawn_file_actions_t * actions), (actions))
NUMBERED(posix_spawn_file_actions_addopen,
    (posix_spawn_file_actions_t * actions, int fd, const char *path, int flags, mode_t mode),
    (actions, fd, path, flags, mode))
NUMBERED(posix_spawn_file_actions_adddup2, (posix_spawn_file_actions_t * actions, int fd, int as), (actions, fd, as))
NUMBERED(posix_spawn_file_actions_addclose, (posix_spawn_file_actions_t * actions, int fd), (actions, fd))
NUMBERED(posix_spawn_file_actions_addchdir_np, (posix_spawn_file_actions_t * actions, const char *path), (actions, path))
NUMBERED(posix_spawnattr_init, (posix_spawnattr_t * attributes), (attributes))

static mode_t mode_of(int flags, va_list *rest) {
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(*rest, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, &rest);
    va_end(rest);
    return fails("open") ? -1 : REAL(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, &rest);
    va_end(rest);
    return fails("openat") ? -1 : REAL(openat)(folder, path, flags, mode);
}

int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return fails("fcntl") ? -1 : REAL(fcntl)(fd, command, argument);
}

int ioctl(int fd, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return fails("ioctl") ? -1 : REAL(ioctl)(fd, request, argument);
}

/** What goes by number, by the name of its manual page; NULL: not to be noted. */
static const char *name_of(long number) {
    switch (number) {
    case SYS_epoll_pwait:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
        return pthread_equal(pthread_self(), beginner) ? "epoll_wait" : "epoll_wait elsewhere";
    case SYS_read: return "read";
    case SYS_openat: return "open";
#ifdef SYS_poll
    case SYS_poll: return "poll";
#else
    case SYS_ppoll: return "poll";
#endif
#ifdef SYS_pidfd_open
    case SYS_pidfd_open: return "pidfd_open";
    case SYS_pidfd_send_signal: return "pidfd_send_signal";
#endif
    default: return NULL;
    }
}

long syscall(long number, ...) {
    va_list rest;
    va_start(rest, number);
    long a[6];
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    static long (*real)(long, ...);
    if (real == NULL)
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    const char *name = name_of(number);
    return name != NULL && fails(name) ? -1 : real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#endif

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failure.h"
#include "file_limit.h"
#include "folder_path.h"

#include <crunloop_kit/message_socket.h>
#include <crunloop_kit/port_name.h>
#include <crunloop_kit/process.h>

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAITING_CONNECTIONS = 4096 }; /* the kernel takes the smaller of this and somaxconn */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

static bool ends_in(const char *name, size_t length, const char *end) {
    size_t size = strlen(end);
    return length >= size && strcmp(name + length - size, end) == 0;
}

bool rlc_port_name_is_valid(const char *name) {
    size_t length = strnlen(name, RLC_PORT_NAME_LONGEST + 1);
    return length > 0 && length <= RLC_PORT_NAME_LONGEST && name[0] != '.' && strspn(name, letters) == length &&
           !ends_in(name, length, ".lock");
}

/* ---- the lock ---- */

static void write_name(char *target, size_t capacity, const char *format, const char *name) {
    (void)snprintf(target, capacity, format, name); /* the capacity suffices for the longest name */
}

/*
 * The mode of the lock file and the socket. The XDG base directory specification tells cleaners to spare files with the
 * sticky bit. Without the bit the owner would have to touch the files every six hours.
 */
enum { KEPT = 01600 };

/* The size of a lock file whose name has had an owner. A new lock file is empty. */
enum { LOCK_OF_AN_OWNER = 1 };

static int try_lock(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_SETLK, &lock) == 0)
        return 0;
    return errno == EACCES || errno == EAGAIN ? rlc_refused(-EADDRINUSE) : rlc_failed("fcntl");
}

/*
 * Locks the file and checks that the path still names it, as flopen(3) does. Returns 1; 0 if the file was removed
 * meanwhile; or -errno.
 */
static int lock_file(int fd, int folder, const char *lock_name, bool *ret_had_owner) {
    int status = try_lock(fd);
    if (status < 0)
        return status;
    struct stat opened, named;
    if (fstat(fd, &opened) < 0)
        return rlc_failed("fstat");
    if (fstatat(folder, lock_name, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : rlc_failed("fstatat");
    if (!rlc_is_same_file(&opened, &named))
        return 0;
    if (!S_ISREG(opened.st_mode) || opened.st_nlink > 1) /* a change would reach the file's other names, too */
        return rlc_refused(-EMLINK);
    *ret_had_owner = opened.st_size >= LOCK_OF_AN_OWNER;
    if ((opened.st_mode & 07777) != KEPT)
        (void)fchmod(fd, KEPT); /* fails if the file system lacks the sticky bit; then no cleaner looks for it */
    return 1;
}

static int open_lock(int folder, const char *lock_name, int *ret_fd, bool *ret_had_owner) {
    for (;;) {
        int fd = rlc_made("openat", openat(folder, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, KEPT));
        if (fd < 0)
            return fd;
        int status = lock_file(fd, folder, lock_name, ret_had_owner);
        if (status > 0) {
            *ret_fd = fd;
            return 0;
        }
        /* Another process may own the file, so it is not removed. Its mode has to let later claims open it. */
        if (status < 0 && status != -EADDRINUSE && status != -EMLINK)
            (void)fchmod(fd, KEPT);
        (void)close(fd);
        if (status < 0)
            return status;
    }
}

static bool is_at(int folder, const char *name, uint64_t device, uint64_t inode) {
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_dev == device &&
           status.st_ino == inode;
}

/*
 * Removes the lock file while it is locked, so that a process that has opened it meanwhile sees that it is gone. If the
 * path names another file, that one belongs to a new owner and stays.
 */
static void remove_lock(const rlc_port_name *name) {
    char lock_name[RLC_PORT_NAME_LONGEST + 8];
    write_name(lock_name, sizeof lock_name, "%s.lock", name->name);
    struct stat status;
    if (fstat(name->lock, &status) == 0 && is_at(name->folder, lock_name, status.st_dev, status.st_ino))
        (void)unlinkat(name->folder, lock_name, 0);
}

/* ---- the socket ---- */

/*
 * The address leads through the folder's descriptor, because the folder's path may be too long for an address, and
 * another process may rename the folder at any time.
 */
static socklen_t make_address(struct sockaddr_un *address, int folder, const char *name) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", folder, name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length + 1);
}

/*
 * Makes a socket that delivers the sender's credentials with each packet. A listener's connections inherit this, also
 * for packets that are sent before the accept.
 */
static int make_socket(void) {
    int fd = rlc_made("socket", socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return fd;
    int status = rlc_message_socket_pass_credentials(fd);
    if (status == 0)
        return fd;
    (void)close(fd);
    return rlc_failed_with("setsockopt", status);
}

/*
 * Restores the permissions that the umask has taken from the socket. -EBUSY if the path does not lead to it any more.
 */
static int restore_mode(int folder, const char *temporary, const struct stat *found) {
    int fd = rlc_made("openat", openat(folder, temporary, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status;
    if (fd < 0)
        return fd == -ENOENT ? rlc_refused(-EBUSY) : fd;
    bool is_found = fstat(fd, &status) == 0 && rlc_is_same_file(&status, found);
    if (is_found)
        rlc_set_mode(fd, KEPT);
    (void)close(fd);
    return is_found ? 0 : rlc_refused(-EBUSY);
}

/* Identifies the socket that was bound to `temporary`. -EBUSY if another process has put another file in its place. */
static int identify(int folder, const char *temporary, rlc_port_name *name) {
    struct stat status;
    if (fstatat(folder, temporary, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? rlc_refused(-EBUSY) : rlc_failed("fstatat");
    if (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid())
        return rlc_refused(-EBUSY);
    name->device = status.st_dev;
    name->inode = status.st_ino;
    return (status.st_mode & 07777) == KEPT ? 0 : restore_mode(folder, temporary, &status);
}

static int bind_to(int listener, int folder, const char *temporary) {
    struct sockaddr_un address;
    socklen_t size = make_address(&address, folder, temporary);
    if (unlinkat(folder, temporary, 0) < 0 && errno != ENOENT)
        return rlc_failed("unlinkat");
    (void)fchmod(listener, KEPT); /* bind(2) gives this mode to the file */
    if (bind(listener, (struct sockaddr *)&address, size) == 0)
        return 0;
    return errno == EADDRINUSE ? rlc_refused(-EBUSY) : rlc_failed("bind");
}

static int show(int folder, const char *temporary, rlc_port_name *name) {
    int status = identify(folder, temporary, name);
    if (status < 0)
        return status;
    if (listen(name->listener, WAITING_CONNECTIONS) < 0)
        return rlc_failed("listen");
    return renameat(folder, temporary, folder, name->name) < 0 ? rlc_failed("renameat") : 0;
}

/* Checks that the name still leads to this socket: another process may put a file in its place at any time. */
static int check_place(int folder, const rlc_port_name *name) {
    struct stat status;
    if (fstatat(folder, name->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? rlc_refused(-EBUSY) : rlc_failed("fstatat");
    return status.st_dev == name->device && status.st_ino == name->inode ? 0 : rlc_refused(-EBUSY);
}

/* Called under the lock, so no other owner uses the temporary name. The socket gets its final name once it listens. */
static int listen_as(int folder, const char *temporary, rlc_port_name *name) {
    int status = bind_to(name->listener, folder, temporary);
    if (status < 0)
        return status;
    status = show(folder, temporary, name);
    if (status == 0)
        return check_place(folder, name);
    if (status < 0)
        (void)unlinkat(folder, temporary, 0);
    return status;
}

/*
 * Checks that no process listens under the name, such as an owner whose lock file a cleaner has removed. 0 or -errno.
 */
static int check_no_listener(int folder, const char *name) {
    int fd = rlc_port_name_connect(folder, name);
    if (fd >= 0)
        (void)close(fd);
    if (fd >= 0 || fd == -EAGAIN)
        return rlc_refused(-EADDRINUSE);
    return fd == -ENOENT ? 0 : fd;
}

static int mark_owned(int lock) {
    rlc_file_limit limit;
    rlc_file_limit_begin(&limit, LOCK_OF_AN_OWNER);
    int status = ftruncate(lock, LOCK_OF_AN_OWNER) < 0 ? rlc_failed("ftruncate") : 0;
    rlc_file_limit_end(&limit, status);
    return status;
}

static int listen_under(rlc_port_name *name, bool had_owner) {
    char temporary[RLC_PORT_NAME_LONGEST + 8];
    write_name(temporary, sizeof temporary, ".%s.new", name->name);
    int status = had_owner ? 0 : check_no_listener(name->folder, name->name);
    if (status < 0)
        return status;
    name->listener = make_socket();
    if (name->listener < 0)
        return name->listener;
    status = mark_owned(name->lock);
    return status < 0 ? status : listen_as(name->folder, temporary, name);
}

int rlc_port_name_claim(int folder, const char *name, rlc_port_name *ret_name) {
    if (!rlc_port_name_is_valid(name))
        return rlc_refused(-EINVAL);
    rlc_port_name claimed = {.folder = folder, .lock = -1, .listener = -1};
    char lock_name[RLC_PORT_NAME_LONGEST + 8];
    write_name(claimed.name, sizeof claimed.name, "%s", name);
    write_name(lock_name, sizeof lock_name, "%s.lock", name);
    bool had_owner = false;
    int status = rlc_folder_path_note(folder, &claimed.path);
    if (status == 0)
        status = open_lock(folder, lock_name, &claimed.lock, &had_owner);
    if (status < 0) {
        free(claimed.path);
        return status;
    }
    status = listen_under(&claimed, had_owner);
    if (status < 0) {
        remove_lock(&claimed);
        rlc_port_name_abandon(&claimed);
        return status;
    }
    *ret_name = claimed;
    return 0;
}

static bool has_socket(const rlc_port_name *name) {
    return is_at(name->folder, name->name, name->device, name->inode);
}

bool rlc_port_name_is_owned(const rlc_port_name *name) {
    return has_socket(name) && rlc_folder_path_holds(name->path, name->folder);
}

int rlc_port_name_watch(const rlc_port_name *name) {
    char path[64 + RLC_PORT_NAME_LONGEST];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d/%s", name->folder, name->name);
    int fd = rlc_made("inotify_init1", inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (fd < 0)
        return fd;
    /* Removing the name of an open socket causes no IN_DELETE_SELF. It changes the link count: IN_ATTRIB. */
    int status = 0;
    if (inotify_add_watch(fd, path, IN_ATTRIB | IN_MOVE_SELF | IN_DONT_FOLLOW) < 0)
        status = rlc_failed("inotify_add_watch");
    if (status == 0)
        status = rlc_folder_path_watch(name->path, name->folder, fd);
    bool is_owned = rlc_port_name_is_owned(name);
    if (status == 0 && is_owned)
        return fd;
    (void)close(fd);
    /* ENOENT for a name that is owned means that there is no /proc. */
    return status == 0 || (status == -ENOENT && !is_owned) ? rlc_refused(-ESTALE) : status;
}

void rlc_port_name_drain(int watch_fd) {
    char events[4096];
    ssize_t size;
    do
        size = read(watch_fd, events, sizeof events);
    while (size > 0 || (size < 0 && errno == EINTR));
}

void rlc_port_name_abandon(rlc_port_name *name) {
    if (name->listener >= 0)
        (void)close(name->listener);
    if (name->lock >= 0)
        (void)close(name->lock);
    name->listener = name->lock = -1;
    free(name->path);
    name->path = NULL;
}

void rlc_port_name_release(rlc_port_name *name) {
    if (has_socket(name))
        (void)unlinkat(name->folder, name->name, 0);
    remove_lock(name);
    rlc_port_name_abandon(name);
}

/*
 * True if the process that made the listener has ended: then only a child of it holds the listener, and accepts
 * nothing. False if this process cannot see that process, or another process has its number by now.
 */
static bool owner_is_gone(int fd) {
    rlc_credentials owner;
    if (rlc_message_socket_peer(fd, &owner) < 0 || owner.process_id <= 0 || owner.process_id == getpid())
        return false;
    if (kill(owner.process_id, 0) < 0 && errno == ESRCH)
        return true;
    struct pollfd process = {.fd = rlc_process_open(owner.process_id), .events = POLLIN};
    if (process.fd < 0)
        return process.fd == -ESRCH;
    bool is_gone = poll(&process, 1, 0) == 1 && (process.revents & POLLIN) != 0; /* true for a zombie as well */
    (void)close(process.fd);
    return is_gone;
}

static int connect_to(int fd, int folder, const char *name) {
    struct sockaddr_un address;
    socklen_t size = make_address(&address, folder, name);
    int status;
    do
        status = connect(fd, (struct sockaddr *)&address, size) < 0 ? rlc_failed("connect") : 0;
    while (status == -EINTR);
    if (status == 0 && owner_is_gone(fd))
        return rlc_refused(-ENOENT);
    return status == -ECONNREFUSED || status == -ENOTSOCK || status == -EPROTOTYPE ? rlc_refused(-ENOENT) : status;
}

int rlc_port_name_connect(int folder, const char *name) {
    if (!rlc_port_name_is_valid(name))
        return rlc_refused(-EINVAL);
    int fd = make_socket();
    if (fd < 0)
        return fd;
    int status = connect_to(fd, folder, name);
    if (status == 0)
        return fd;
    (void)close(fd);
    return status;
}

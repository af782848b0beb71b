/* The folder for the names of a user's ports. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failure.h"
#include "folder_path.h"

#include <crunloop_kit/port_name.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_path(char path[PATH_MAX], const char *format, const char *folder, unsigned user) {
    int length = folder != NULL ? snprintf(path, PATH_MAX, format, folder) : snprintf(path, PATH_MAX, format, user);
    return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int find_folder(char path[PATH_MAX]) {
    const char *given = getenv("XDG_RUNTIME_DIR");
    if (given != NULL && given[0] == '/') /* the specification says to ignore a relative path */
        return write_path(path, "%s/runloopkit", given, 0);
    unsigned user = geteuid();
    struct stat status;
    (void)write_path(path, "/run/user/%u", NULL, user);
    if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == user)
        return write_path(path, "/run/user/%u/runloopkit", NULL, user);
    return write_path(path, "/tmp/runloopkit-%u", NULL, user);
}

int rlc_port_folder_path(char *path, size_t capacity) {
    char found[PATH_MAX];
    int status = find_folder(found);
    if (status == 0)
        status = (size_t)snprintf(path, capacity, "%s", found) < capacity ? 0 : -ENAMETOOLONG;
    return status;
}

void rlc_set_mode(int path_fd, mode_t mode) {
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", path_fd);
    (void)chmod(path, mode); /* the caller notices a failure when it uses the file */
}

static int open_private(const char *path) {
    int fd = rlc_made("open", open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0)
        return fd;
    struct stat folder;
    int status = fstat(fd, &folder) < 0 ? rlc_failed("fstat") : 0;
    if (status == 0 && (folder.st_uid != geteuid() || (folder.st_mode & 0777) != 0700))
        status = rlc_refused(-EPERM);
    if (status == 0)
        return fd;
    (void)close(fd);
    return status;
}

/* Restores the permissions that a umask has taken from the folder. Leaves a folder alone that another user owns. */
static void give_rights(const char *path) {
    int fd = rlc_descriptor_adopt(open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat folder;
    if (fd < 0)
        return;
    if (fstat(fd, &folder) == 0 && S_ISDIR(folder.st_mode) && folder.st_uid == geteuid() &&
        (folder.st_mode & 0077) == 0 && (folder.st_mode & 0700) != 0700)
        rlc_set_mode(fd, 0700);
    (void)close(fd);
}

int rlc_port_folder_open(void) {
    char path[PATH_MAX];
    int status = find_folder(path);
    if (status < 0)
        return rlc_refused(status);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return rlc_failed("mkdir");
    int fd = open_private(path);
    if (fd != -EACCES && fd != -EPERM)
        return fd;
    give_rights(path);
    return open_private(path);
}

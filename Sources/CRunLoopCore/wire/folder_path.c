#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "folder_path.h"
#include "failure.h"

#include <crunloop_kit/port_name.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

int rlc_folder_path_note(int folder, char **ret_path) {
    char path[PATH_MAX];
    struct stat opened, found;
    *ret_path = NULL;
    if (fstat(folder, &opened) < 0)
        return rlc_failed("fstat");
    if (rlc_port_folder_path(path, sizeof path) < 0 || lstat(path, &found) < 0 || !rlc_is_same_file(&opened, &found))
        return 0;
    *ret_path = malloc(strlen(path) + 1);
    if (*ret_path == NULL)
        return rlc_failed_with(RLC_MALLOC, -ENOMEM);
    memcpy(*ret_path, path, strlen(path) + 1);
    return 0;
}

bool rlc_folder_path_holds(const char *path, int folder) {
    struct stat opened, found;
    return path == NULL ||
           (fstat(folder, &opened) == 0 && lstat(path, &found) == 0 && rlc_is_same_file(&opened, &found));
}

/*
 * Watches each folder and link on the path, because each can be renamed; skips those that this process may not read,
 * and those that are gone.
 */
static int watch_along(int fd, char *path) {
    enum { MOVED = IN_MOVE_SELF | IN_DELETE_SELF | IN_ATTRIB | IN_DONT_FOLLOW | IN_MASK_ADD };
    for (char *end = path + strlen(path); end != NULL && end > path; end = strrchr(path, '/')) {
        *end = 0;
        if (inotify_add_watch(fd, path, MOVED) < 0 && errno != EACCES && errno != ENOENT && errno != ENOTDIR)
            return rlc_failed("inotify_add_watch");
    }
    return 0;
}

int rlc_folder_path_watch(const char *path, int folder, int inotify_fd) {
    char link[32], copy[PATH_MAX];
    if (path == NULL)
        return 0;
    (void)snprintf(copy, sizeof copy, "%s", path);
    int status = watch_along(inotify_fd, copy);
    if (status < 0)
        return status;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t size = readlink(link, copy, sizeof copy - 1);
    if (size <= 0)
        return 0;
    copy[size] = 0; /* the path without links */
    return watch_along(inotify_fd, copy);
}

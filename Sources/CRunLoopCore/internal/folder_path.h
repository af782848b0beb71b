/**
 * The path by which other processes find the folder of port names. The owner of a name has the folder open: it would
 * not notice that the path leads elsewhere.
 */
#ifndef RLC_FOLDER_PATH_H
#define RLC_FOLDER_PATH_H

#include <crunloop/base.h>
#include <sys/stat.h>

static inline bool rlc_is_same_file(const struct stat *left, const struct stat *right) {
    return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

/** The path, to be freed; NULL if `folder` is another one than rlc_port_folder_open opens now. 0, or -errno. */
int rlc_folder_path_note(int folder, char **ret_path);

/** The path leads to the folder still: it was not renamed, nor was anything mounted over it. True without a path. */
bool rlc_folder_path_holds(const char *path, int folder);

/** Makes an inotify descriptor report renames of the folder, and of those and the links along its path. */
int rlc_folder_path_watch(const char *path, int folder, int inotify_fd);

/**
 * Sets the mode of an open file, which may be open by O_PATH. It follows no symbolic link: chmod(2) follows one, and
 * the flag against that is of Linux 6.6. Needs /proc; a failure shows when the file is used.
 */
void rlc_set_mode(int path_fd, mode_t mode);

#endif

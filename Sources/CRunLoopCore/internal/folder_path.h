/**
 * The path by which other processes find the folder of port names. The owner of a name keeps the folder open, so it has
 * to check whether the path still leads there.
 */
#ifndef RLC_FOLDER_PATH_H
#define RLC_FOLDER_PATH_H

#include <crunloop/base.h>
#include <sys/stat.h>

static inline bool rlc_is_same_file(const struct stat *left, const struct stat *right) {
    return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

/** Stores a copy of the path, which the caller frees; NULL if it does not lead to `folder`. Returns 0 or -errno. */
int rlc_folder_path_note(int folder, char **ret_path);

/** False if the path does not lead to the folder, for example after a rename or a mount. True if `path` is NULL. */
bool rlc_folder_path_holds(const char *path, int folder);

/** Makes an inotify descriptor report renames of the folder, and of the folders and links along its path. */
int rlc_folder_path_watch(const char *path, int folder, int inotify_fd);

/**
 * Sets the mode of the file behind a descriptor, which may be open by O_PATH. So it follows no symbolic link, as
 * chmod(2) would. It needs /proc: fchmodat2(2), which does not, needs Linux 6.6. Reports no failure: the caller notices
 * it when it uses the file.
 */
void rlc_set_mode(int path_fd, mode_t mode);

#endif

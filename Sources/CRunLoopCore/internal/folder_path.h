/**
 * The path by which other processes find the folder of port names. The owner of a name has the folder open, and so does
 * not notice by itself that the path leads elsewhere.
 */
#ifndef RLC_FOLDER_PATH_H
#define RLC_FOLDER_PATH_H

#include <crunloop/base.h>
#include <sys/stat.h>

static inline bool rlc_is_same_file(const struct stat *left, const struct stat *right) {
    return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

/** Stores the path, which the caller frees, or NULL if rlc_port_folder_open would open another. Returns 0 or -errno. */
int rlc_folder_path_note(int folder, char **ret_path);

/** True if the path still leads to the folder: no rename, no mount over it. True if `path` is NULL. */
bool rlc_folder_path_holds(const char *path, int folder);

/** Makes an inotify descriptor report renames of the folder, and of the folders and links along its path. */
int rlc_folder_path_watch(const char *path, int folder, int inotify_fd);

/**
 * Sets the mode of an open file, even if it is open by O_PATH. Unlike chmod(2), does not follow symbolic links; the
 * flag of fchmodat2(2) for that needs Linux 6.6. Needs /proc. Reports no failure: the use of the file shows it.
 */
void rlc_set_mode(int path_fd, mode_t mode);

#endif

/* Which folder has the names of a user's ports. */
#include "harness.h"

#include <limits.h>
#include <sys/stat.h>

/* What lstat(2) finds at /run/user/UID; a mode of 0: nothing. */
static struct stat runtime;
static int questions;

/* Instead of the C library's. */
int lstat(const char *path, struct stat *status) {
    if (strncmp(path, "/run/user/", 10) != 0)
        return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
    questions++;
    *status = runtime;
    errno = ENOENT;
    return runtime.st_mode != 0 ? 0 : -1;
}

static bool is_folder(const char *format, unsigned user) {
    char path[PATH_MAX], expected[64];
    CHECK_EQUAL(rlc_port_folder_path(path, sizeof path), 0);
    (void)snprintf(expected, sizeof expected, format, user);
    return strcmp(path, expected) == 0;
}

/* Another user, who makes a folder in the place of this one's, gets nobody to look there. */
static void test_RLC_NAME_9_the_runtime_folder_is_this_users(void) {
    unsigned user = geteuid();
    static const mode_t others[] = {0, S_IFREG | 0700, S_IFLNK | 0777};
    CHECK_EQUAL(unsetenv("XDG_RUNTIME_DIR"), 0);
    runtime = (struct stat){.st_mode = S_IFDIR | 0700, .st_uid = user};
    bool is_found = is_folder("/run/user/%u/runloopkit", user);
    if (questions == 0) {
        printf("skipped 1: this C library's lstat cannot be replaced\n");
        return;
    }
    CHECK(is_found);
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", "relative", 1), 0);
    CHECK(is_folder("/run/user/%u/runloopkit", user));
    runtime.st_uid = user + 1;
    CHECK(is_folder("/tmp/runloopkit-%u", user));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        runtime = (struct stat){.st_mode = others[i], .st_uid = user};
        CHECK(is_folder("/tmp/runloopkit-%u", user));
    }
}

static void test_RLC_NAME_9_the_environment_comes_first(void) {
    char path[PATH_MAX], given[PATH_MAX + 1];
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", "/given", 1), 0);
    CHECK(is_folder("/given/runloopkit", 0));
    size_t size = sizeof "/given/runloopkit";
    CHECK_EQUAL(rlc_port_folder_path(path, size), 0);
    CHECK_EQUAL(rlc_port_folder_path(path, size - 1), -ENAMETOOLONG);
    memset(given, '/', PATH_MAX);
    given[PATH_MAX] = 0;
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", given, 1), 0);
    CHECK_EQUAL(rlc_port_folder_path(path, sizeof path), -ENAMETOOLONG);
    CHECK_EQUAL(rlc_port_folder_open(), -ENAMETOOLONG);
    given[PATH_MAX - sizeof "/runloopkit"] = 0; /* just fits */
    CHECK_EQUAL(setenv("XDG_RUNTIME_DIR", given, 1), 0);
    CHECK_EQUAL(rlc_port_folder_path(path, sizeof path), 0);
}

int main(void) {
    RUN(test_RLC_NAME_9_the_runtime_folder_is_this_users);
    RUN(test_RLC_NAME_9_the_environment_comes_first);
    return 0;
}

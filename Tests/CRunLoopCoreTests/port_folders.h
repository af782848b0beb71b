/** The folder of port names, in a temporary folder of the test's own. */
#ifndef RLC_TEST_PORT_FOLDERS_H
#define RLC_TEST_PORT_FOLDERS_H

#include "harness.h"

#include <sys/stat.h>

/** For mkdtemp(3). */
static char base[] = "/tmp/port_folders.XXXXXX";

static inline void inside(char path[256], const char *name) {
    (void)snprintf(path, 256, "%s/%s", base, name);
}

static inline int open_folder(void) {
    int folder = rlc_port_folder_open();
    CHECK(folder >= 0);
    return folder;
}

static inline bool exists(int folder, const char *name) {
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

#endif

#include "failure.h"

/* Written only when a function fails. */
static __thread const char *failed_call __attribute__((tls_model("initial-exec"))); /* read without a call */

int rlc_failed_with(const char *call, int status) {
    failed_call = call;
    return status;
}

const char *rlc_failed_call(void) {
    return failed_call;
}

int rlc_failed(const char *call) {
    return rlc_failed_with(call, -errno);
}

int rlc_made(const char *call, int made) {
    int fd = rlc_descriptor_adopt(made);
    return fd < 0 ? rlc_failed_with(made < 0 ? call : "fcntl", fd) : fd;
}

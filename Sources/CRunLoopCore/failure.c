#include "failure.h"

/* Written only where a function fails. */
static __thread const char *failed_call;

int rlc_failed_with(const char *call, int status) {
    failed_call = call;
    return status;
}

const char *rlc_failed_call(void) {
    return failed_call;
}

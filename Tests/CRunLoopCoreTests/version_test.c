/* The version: of the headers and of the library. Tests/LibraryTests has that of what make installs. */
#include "harness.h"

static void test_RLC_VERSION_1_the_library_tells_the_version_of_its_headers(void) {
    CHECK_EQUAL(rlc_version(), RLC_VERSION);
    CHECK_EQUAL(rlc_version(), RLC_VERSION_NUMBER(RLC_VERSION_MAJOR, RLC_VERSION_MINOR, RLC_VERSION_PATCH));
}

/** The number is one that the preprocessor can compare. */
static void test_RLC_VERSION_2_numbers_grow_with_versions(void) {
#if RLC_VERSION < RLC_VERSION_NUMBER(0, 1, 0) || RLC_VERSION_NUMBER(0, 999, 999) >= RLC_VERSION_NUMBER(1, 0, 0) ||     \
    RLC_VERSION_NUMBER(1, 1, 999) >= RLC_VERSION_NUMBER(1, 2, 0)
    CHECK(!"versions compare as numbers");
#endif
    CHECK(RLC_VERSION_PATCH < 1000 && RLC_VERSION_MINOR < 1000);
}

int main(void) {
    RUN(test_RLC_VERSION_1_the_library_tells_the_version_of_its_headers);
    RUN(test_RLC_VERSION_2_numbers_grow_with_versions);
    return 0;
}

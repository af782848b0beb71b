/* rlc_kernel_copy, compiled into a program that meets a library of another version: this file stands for the library. */
#define rlc_kernel_default default_of_another_version
#include <crunloop/kernel.h>
#undef rlc_kernel_default

#include "harness.h"

static struct {
    rlc_kernel table;
    void (*later)(void);
} others;

const rlc_kernel *default_of_another_version(void) {
    return &others.table;
}

static void *reallocates(void *context, void *memory, size_t size) {
    (void)context, (void)memory, (void)size;
    return NULL;
}

static void test_RLC_KERNEL_2_a_copy_of_a_newer_table_ends_with_these_headers(void) {
    others.table.size = sizeof others;
    others.table.reallocate = reallocates;
    rlc_kernel copy = rlc_kernel_copy();
    CHECK_EQUAL(copy.size, sizeof copy);
    CHECK(copy.reallocate == reallocates);
}

static void test_RLC_KERNEL_2_a_copy_of_an_older_table_ends_where_it_does(void) {
    others.table.size = offsetof(rlc_kernel, reallocate);
    others.table.reallocate = reallocates; /* stands for what lies behind the table */
    rlc_kernel copy = rlc_kernel_copy();
    CHECK_EQUAL(copy.size, offsetof(rlc_kernel, reallocate));
    CHECK(copy.reallocate == NULL);
}

int main(void) {
    RUN(test_RLC_KERNEL_2_a_copy_of_a_newer_table_ends_with_these_headers);
    RUN(test_RLC_KERNEL_2_a_copy_of_an_older_table_ends_where_it_does);
    return 0;
}

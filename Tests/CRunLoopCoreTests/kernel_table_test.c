/* Tables of system calls of programs that were compiled with other headers. */
#include "loops.h"

static void test_RLC_KERNEL_1_a_table_that_is_too_short_is_refused(void) {
    rlc_loop *loop;
    rlc_port_set *set;
    rlc_timer_port *timer;
    rlc_wakeup_port *wakeup;
    for (size_t size = 0; size < offsetof(rlc_kernel, reallocate); size += sizeof(void *)) {
        rlc_kernel table = rlc_kernel_copy();
        table.size = size;
        CHECK_EQUAL(rlc_loop_create(&table, &loop), -EINVAL);
        CHECK_EQUAL(rlc_port_set_create(&table, &set), -EINVAL);
        CHECK_EQUAL(rlc_timer_port_create(&table, RLC_CLOCK_MONOTONIC, &timer), -EINVAL);
        CHECK_EQUAL(rlc_wakeup_port_create(&table, &wakeup), -EINVAL);
    }
}

static void test_RLC_KERNEL_2_a_copy_has_the_size_of_its_headers(void) {
    rlc_kernel table = rlc_kernel_copy();
    CHECK_EQUAL(table.size, sizeof table);
    CHECK_EQUAL(rlc_kernel_default()->size, sizeof table);
    CHECK(memcmp(&table, rlc_kernel_default(), sizeof table) == 0);
}

static void *never_called(void *context, void *memory, size_t size) {
    (void)context, (void)memory, (void)size;
    CHECK(!"an entry behind the table's end");
    return NULL;
}

static void check_loop(const rlc_kernel *table) {
    rlc_loop *loop;
    CHECK_EQUAL(rlc_loop_create(table, &loop), 0);
    job job = make_job(loop);
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(job.runs, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/** A program with headers of an earlier version, whose tables end before the later entries. */
static void test_RLC_KERNEL_2_a_shorter_table_is_taken(void) {
    rlc_kernel table = rlc_kernel_copy();
    table.size = offsetof(rlc_kernel, reallocate);
    table.reallocate = never_called;
    check_loop(&table);
}

/** A program with headers of a later version, whose tables have entries that this library does not know. */
static void test_RLC_KERNEL_2_a_longer_table_is_taken(void) {
    struct {
        rlc_kernel table;
        void (*later)(void);
    } longer = {.table = rlc_kernel_copy()};
    longer.table.size = sizeof longer;
    check_loop(&longer.table);
}

int main(void) {
    RUN(test_RLC_KERNEL_1_a_table_that_is_too_short_is_refused);
    RUN(test_RLC_KERNEL_2_a_copy_has_the_size_of_its_headers);
    RUN(test_RLC_KERNEL_2_a_shorter_table_is_taken);
    RUN(test_RLC_KERNEL_2_a_longer_table_is_taken);
    return 0;
}

/* Tables of system calls of programs that were compiled with other headers. */
#include "loops.h"

static void test_RLC_KERNEL_1_a_table_that_is_too_short_is_refused(void) {
    rlc_loop *loop;
    rlc_port_set *set;
    rlc_timer_port *timer;
    rlc_wakeup_port *wakeup;
    for (size_t size = 0; size < sizeof(rlc_kernel); size += sizeof(void *)) {
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

/** A program with headers of a later version, whose tables have entries that this library does not know. */
static void test_RLC_KERNEL_2_a_longer_table_is_taken(void) {
    struct {
        rlc_kernel table;
        void (*later)(void);
    } longer = {.table = rlc_kernel_copy()};
    longer.table.size = sizeof longer;
    rlc_loop *loop;
    CHECK_EQUAL(rlc_loop_create(&longer.table, &loop), 0);
    job job = make_job(loop);
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(job.runs, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

int main(void) {
    RUN(test_RLC_KERNEL_1_a_table_that_is_too_short_is_refused);
    RUN(test_RLC_KERNEL_2_a_copy_has_the_size_of_its_headers);
    RUN(test_RLC_KERNEL_2_a_longer_table_is_taken);
    return 0;
}

#include "harness.h"

#include <limits.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

static void test_RLC_TIME_1_add_saturates(void) {
    CHECK_EQUAL(rlc_time_add(1, 2), 3);
    CHECK(rlc_time_add(RLC_TIME_FOREVER, 1) == RLC_TIME_FOREVER);
    CHECK(rlc_time_add(RLC_TIME_FOREVER - 1, 1) == RLC_TIME_FOREVER);
    CHECK(rlc_time_add(UINT64_MAX / 2 + 1, UINT64_MAX / 2 + 1) == RLC_TIME_FOREVER);
}

static void test_RLC_TIME_1_until_saturates(void) {
    CHECK_EQUAL(rlc_time_until(5, 3), 2);
    CHECK_EQUAL(rlc_time_until(3, 5), 0);
    CHECK_EQUAL(rlc_time_until(0, 0), 0);
    CHECK(rlc_time_until(RLC_TIME_FOREVER, 7) == RLC_TIME_FOREVER);
}

static void test_RLC_TIME_2_timeout_rounds_up(void) {
    CHECK_EQUAL(rlc_timeout_ms(0), 0);
    CHECK_EQUAL(rlc_timeout_ms(1), 1);
    CHECK_EQUAL(rlc_timeout_ms(1000000), 1);
    CHECK_EQUAL(rlc_timeout_ms(1000001), 2);
    CHECK_EQUAL(rlc_timeout_ms(RLC_TIME_FOREVER), -1);
    CHECK_EQUAL(rlc_timeout_ms(RLC_TIME_FOREVER - 1), INT_MAX);
    CHECK_EQUAL(rlc_timeout_ms((uint64_t)INT_MAX * 1000000 + 1), INT_MAX);
}

static void test_RLC_TIME_3_next_keeps_phase(void) {
    CHECK_EQUAL(rlc_time_next_in_phase(100, 10, 0), 110); /* n >= 1, also before the phase */
    CHECK_EQUAL(rlc_time_next_in_phase(100, 10, 100), 110);
    CHECK_EQUAL(rlc_time_next_in_phase(100, 10, 109), 110);
    CHECK_EQUAL(rlc_time_next_in_phase(100, 10, 110), 120); /* after now, not at it */
    CHECK_EQUAL(rlc_time_next_in_phase(100, 10, 1234567), 1234570);
    CHECK(rlc_time_next_in_phase(100, 0, 5) == RLC_TIME_FOREVER);
    CHECK(rlc_time_next_in_phase(100, RLC_TIME_FOREVER, 5) == RLC_TIME_FOREVER);
    CHECK(rlc_time_next_in_phase(RLC_TIME_FOREVER - 1, 2, RLC_TIME_FOREVER - 1) == RLC_TIME_FOREVER);
    const uint64_t half = UINT64_C(1) << 63; /* twice that is 0 */
    CHECK(rlc_time_next_in_phase(5, half, half + 6) == RLC_TIME_FOREVER);
    CHECK(rlc_time_next_in_phase(5, half, half + 4) == half + 5);
}

static void test_RLC_TIME_3_next_against_counting(void) {
    for (uint64_t phase = 0; phase < 12; phase++) {
        for (uint64_t interval = 1; interval < 7; interval++) {
            for (uint64_t now = 0; now < 60; now++) {
                uint64_t expected = phase + interval;
                while (expected <= now)
                    expected += interval;
                CHECK_EQUAL(rlc_time_next_in_phase(phase, interval, now), expected);
            }
        }
    }
}

static void test_clocks_do_not_go_back(void) {
    const rlc_clock clocks[] = {RLC_CLOCK_MONOTONIC, RLC_CLOCK_BOOTTIME, RLC_CLOCK_REALTIME};
    for (size_t i = 0; i < 3; i++)
        CHECK(rlc_now(clocks[i]) > 0);
    uint64_t first = rlc_now(RLC_CLOCK_MONOTONIC);
    CHECK(rlc_now(RLC_CLOCK_MONOTONIC) >= first);
}

static void test_the_time_of_day(void) {
    const uint64_t second_ns = UINT64_C(1000000000);
    time_t before = time(NULL);
    uint64_t now = rlc_now(RLC_CLOCK_REALTIME);
    CHECK(now / second_ns >= (uint64_t)before && now / second_ns <= (uint64_t)time(NULL) + 1);
}

/* As after a suspension of a day: in a namespace in which the one clock is ahead of the other. */
static void test_a_suspended_machine(void) {
    const uint64_t day_s = 86400, second_ns = UINT64_C(1000000000);
    const int new_time = 0x80 /* CLONE_NEWTIME */, skipped = 77;
    pid_t child = fork();
    if (child == 0) {
        int offsets = unshare(new_time) < 0 ? -1 : open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
        if (offsets < 0 || write(offsets, "boottime 86400 0\n", 17) != 17)
            _exit(skipped);
        pid_t grandchild = fork(); /* the first one inside */
        if (grandchild == 0) {
            uint64_t monotonic = rlc_now(RLC_CLOCK_MONOTONIC);
            _exit(rlc_now(RLC_CLOCK_BOOTTIME) - monotonic < day_s * second_ns);
        }
        int status;
        CHECK_EQUAL(waitpid(grandchild, &status, 0), grandchild);
        _exit(status != 0);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == skipped)
        printf("skipped 1: a namespace of clocks needs root, and a newer kernel\n");
    else
        CHECK_EQUAL(status, 0);
}

int main(void) {
    RUN(test_RLC_TIME_1_add_saturates);
    RUN(test_RLC_TIME_1_until_saturates);
    RUN(test_RLC_TIME_2_timeout_rounds_up);
    RUN(test_RLC_TIME_3_next_keeps_phase);
    RUN(test_RLC_TIME_3_next_against_counting);
    RUN(test_clocks_do_not_go_back);
    RUN(test_the_time_of_day);
    RUN(test_a_suspended_machine);
    return 0;
}

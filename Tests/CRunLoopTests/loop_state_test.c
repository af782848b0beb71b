/* What a loop tells of itself: its figures and its description. */
#include "loops.h"

#include <sys/eventfd.h>
#include <sys/wait.h>

static rlc_loop_statistics figures_of(const rlc_loop *loop) {
    rlc_loop_statistics figures = {.size = sizeof figures};
    CHECK_EQUAL(rlc_loop_read_statistics(loop, &figures), 0);
    CHECK_EQUAL(figures.size, sizeof figures);
    return figures;
}

static void check_text(const rlc_loop *loop, const char *expected) {
    char text[1024];
    int length = rlc_loop_describe(loop, text, sizeof text);
    if (strcmp(text, expected) != 0)
        fprintf(stderr, "%s", text);
    CHECK(strcmp(text, expected) == 0);
    CHECK_EQUAL(length, strlen(expected));
}

static rlc_timer *armed_timer(rlc_loop *loop, uint64_t deadline_ns, uint64_t interval_ns, uint64_t tolerance_ns) {
    static int ignored;
    rlc_timer *timer;
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &ignored, &timer), 0);
    CHECK_EQUAL(rlc_timer_arm(timer, deadline_ns, interval_ns, tolerance_ns), 0);
    return timer;
}

static void test_RLC_STAT_1_figures_are_what_is_there(void) {
    rlc_loop *loop = make_loop();
    rlc_loop_statistics figures = figures_of(loop);
    CHECK_EQUAL(figures.watches + figures.timers + figures.posts + figures.runs + figures.depth, 0);
    CHECK_EQUAL(figures.descriptors, 1);
    CHECK(figures.next_deadline_ns == RLC_TIME_FOREVER);

    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_watch *watch = idle_watch(loop, fd);
    CHECK_EQUAL(figures_of(loop).descriptors, 2);
    armed_timer(loop, 5000, 0, 0);
    armed_timer(loop, 4000, 0, 3000);
    armed_timer(loop, RLC_TIME_FOREVER, 0, 0);
    job posted = make_job(loop), deferred = make_job(loop);
    CHECK_EQUAL(rlc_loop_post(loop, &posted.node), 0);
    CHECK_EQUAL(rlc_loop_defer(loop, &deferred.node), 0);
    figures = figures_of(loop);
    CHECK_EQUAL(figures.watches, 1);
    CHECK_EQUAL(figures.timers, 3);
    CHECK_EQUAL(figures.armed_timers, 2);
    CHECK_EQUAL(figures.next_deadline_ns, 4000);
    CHECK_EQUAL(figures.posts, 2);
    CHECK_EQUAL(figures.descriptors, 3);
    CHECK_EQUAL(figures.timer_moves, rlc_loop_timer_moves(loop));

    CHECK_EQUAL(rlc_loop_run(loop, 6000), RLC_RUN_TIMED_OUT);
    rlc_watch_remove(watch);
    figures = figures_of(loop);
    CHECK_EQUAL(figures.runs, 1);
    CHECK_EQUAL(figures.watches, 0);
    CHECK_EQUAL(figures.timers, 3);
    CHECK_EQUAL(figures.armed_timers + figures.due_timers + figures.posts, 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

/** A program of an earlier version has a shorter structure, one of a later version a longer one. */
static void test_RLC_STAT_2_no_more_is_written_than_there_is_room_for(void) {
    rlc_loop *loop = make_loop();
    struct {
        rlc_loop_statistics figures;
        uint64_t later;
    } longer = {.later = 77};
    longer.figures.size = sizeof longer;
    CHECK_EQUAL(rlc_loop_read_statistics(loop, &longer.figures), 0);
    CHECK_EQUAL(longer.figures.size, sizeof longer.figures);
    CHECK_EQUAL(longer.later, 77);

    const size_t first_size = offsetof(rlc_loop_statistics, hooks);
    rlc_loop_statistics shorter = {.size = first_size, .runs = 77, .hooks = 78};
    CHECK_EQUAL(rlc_loop_read_statistics(loop, &shorter), 0);
    CHECK_EQUAL(shorter.size, first_size);
    CHECK_EQUAL(shorter.runs, 0);
    CHECK_EQUAL(shorter.hooks, 78);

    rlc_loop_statistics too_short = {.size = first_size - 1, .runs = 77};
    CHECK_EQUAL(rlc_loop_read_statistics(loop, &too_short), -EINVAL);
    CHECK_EQUAL(too_short.size, first_size - 1);
    CHECK_EQUAL(too_short.runs, 77);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void ignore_poll(rlc_loop *loop, rlc_hook *hook, void *context) {
    (void)loop, (void)hook, (void)context;
}

static void test_RLC_STAT_1_hooks_are_counted_and_described(void) {
    rlc_loop *loop = make_loop();
    rlc_hook *hook, *other;
    CHECK_EQUAL(rlc_loop_add_hook(loop, ignore_poll, NULL, NULL, &hook), 0);
    CHECK_EQUAL(rlc_loop_add_hook(loop, NULL, ignore_poll, NULL, &other), 0);
    CHECK_EQUAL(figures_of(loop).hooks, 2);
    check_text(loop, "loop: not in a run, 0 watches, 0 timers (0 armed, 0 due), 0 posts, 2 hooks\n");
    rlc_hook_remove(hook);
    CHECK_EQUAL(figures_of(loop).hooks, 1);
    rlc_hook_remove(other);
    check_text(loop, "loop: not in a run, 0 watches, 0 timers (0 armed, 0 due), 0 posts\n");
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_STAT_3_a_child_may_look(void) {
    rlc_loop *loop = make_loop();
    armed_timer(loop, 5000, 0, 0);
    pid_t child = fork();
    if (child == 0) {
        check_text(loop, "loop: left to the parent of a fork, 0 watches, 1 timers (1 armed, 0 due), 0 posts\n"
                         "timer: due in 0.004 ms\n");
        _exit(figures_of(loop).timers == 1 ? 0 : 1);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/** As many as are armed, and one line for each. */
static void check_timers(const rlc_loop *loop, uint32_t count) {
    static char text[65536];
    rlc_loop_statistics figures = figures_of(loop);
    CHECK_EQUAL(figures.timers, count);
    CHECK_EQUAL(figures.armed_timers, count);
    char expected[128];
    int length = rlc_loop_describe(loop, text, sizeof text);
    CHECK(length > 0 && (size_t)length < sizeof text);
    (void)snprintf(expected, sizeof expected, ", %u timers (%u armed, 0 due)", count, count);
    CHECK(strstr(text, expected) != NULL);
    uint32_t lines = 0;
    for (const char *line = text; (line = strstr(line, "\ntimer: due in ")) != NULL; line++)
        lines++;
    CHECK_EQUAL(lines, count);
}

/* More at a time than a loop keeps the memory of. */
static void test_RLC_STAT_1_timers_are_counted_however_many_there_were(void) {
    enum { COUNT = 1000, KEPT = 7 };
    static rlc_timer *timers[COUNT];
    rlc_loop *loop = make_loop();
    for (uint32_t i = 0; i < COUNT; i++) {
        timers[i] = armed_timer(loop, 5000 + i, 0, i % 2 * 100);
        if (i % 100 == 0)
            check_timers(loop, i + 1);
    }
    for (uint32_t i = 0; i < COUNT - KEPT; i++)
        rlc_timer_remove(timers[i]);
    check_timers(loop, KEPT);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* A watch that could not be registered and was not called yet, and an epoll instance that had to be replaced. */
static void test_RLC_STAT_1_refused_watches_and_rebuilds(void) {
    rlc_loop *loop = make_loop();
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    rlc_watch *refused = idle_watch(loop, file);
    CHECK_EQUAL(figures_of(loop).failed_watches, 0);
    CHECK_EQUAL(rlc_loop_prepare(loop), 1);
    CHECK_EQUAL(figures_of(loop).failed_watches, 1);
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
    CHECK_EQUAL(figures_of(loop).failed_watches, 0);
    rlc_watch_remove(refused);
    close(file);
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), kept = dup(fd);
    rlc_watch *watch = idle_watch(loop, fd);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    close(fd); /* before its watch is gone, and a duplicate stays */
    rlc_watch_remove(watch);
    bump(kept);
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
    CHECK(rlc_loop_rebuilds(loop) > 0);
    CHECK_EQUAL(figures_of(loop).rebuilds, rlc_loop_rebuilds(loop));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(kept);
}

static rlc_timer *first_timer, *second_timer;

/** Two timers are due: the first's callout finds the second waiting, and removes it. */
static void look_from_a_callout(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)timer, (void)deadline_ns;
    ++*(int *)context;
    rlc_loop_statistics figures = figures_of(loop);
    CHECK_EQUAL(figures.depth, 1);
    CHECK_EQUAL(figures.due_timers, 1);
    CHECK_EQUAL(figures.posts, 1);
    check_text(loop, "loop: in a run, 0 watches, 2 timers (0 armed, 1 due), 1 posts\n"
                     "timer: not armed\n"
                     "timer: due since 1.5 ms, every 20 ms\n");
    rlc_timer_remove(second_timer);
    CHECK_EQUAL(rlc_loop_stop(loop), 0);
    check_text(loop, "loop: in a run that was stopped, 0 watches, 1 timers (0 armed, 0 due), 1 posts\n"
                     "timer: not armed\n");
}

static void test_RLC_DESCRIBE_1_in_a_callout(void) {
    rlc_loop *loop = make_loop();
    int calls_of_first = 0;
    CHECK_EQUAL(rlc_loop_add_timer(loop, look_from_a_callout, &calls_of_first, &first_timer), 0);
    CHECK_EQUAL(rlc_timer_arm(first_timer, 1000000, 0, 0), 0);
    second_timer = armed_timer(loop, 1500000, 20000000, 0);
    job job = make_job(loop);
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    spy_advance(&kernel, 3000000);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(calls_of_first, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_DESCRIBE_1_between_runs(void) {
    rlc_loop *loop = make_loop();
    check_text(loop, "loop: not in a run, 0 watches, 0 timers (0 armed, 0 due), 0 posts\n");
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    rlc_watch *watch = idle_watch(loop, fd), *refused = idle_watch(loop, file);
    CHECK_EQUAL(rlc_watch_set_interest(watch, RLC_READABLE | RLC_WRITABLE), 0);
    armed_timer(loop, 2501000, 0, 250000);
    char expected[256];
    snprintf(expected, sizeof expected,
        "loop: not in a run, 2 watches, 1 timers (1 armed, 0 due), 0 posts\n"
        "watch: fd %d, readable, writable, to be registered\n"
        "watch: fd %d, readable, to be registered\n"
        "timer: due in 2.5 ms, tolerance 0.25 ms\n",
        fd, file);
    check_text(loop, expected);

    CHECK_EQUAL(rlc_watch_set_interest(watch, RLC_READABLE), 0);
    calls = 0;
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(calls, 1); /* the file, which epoll refuses */
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    snprintf(expected, sizeof expected,
        "loop: asleep in its host, 2 watches, 1 timers (1 armed, 0 due), 0 posts\n"
        "watch: fd %d, readable\n"
        "watch: fd %d, readable, suspended\n"
        "timer: due in 2.5 ms, tolerance 0.25 ms\n",
        fd, file);
    check_text(loop, expected);
    rlc_watch_remove(refused);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
    close(file);
}

static void test_RLC_DESCRIBE_4_a_closed_descriptor_is_shown(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), other = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_watch *watch = idle_watch(loop, fd);
    char open[128], closed[128];
    snprintf(open, sizeof open,
        "loop: not in a run, 1 watches, 0 timers (0 armed, 0 due), 0 posts\n"
        "watch: fd %d, readable\n",
        fd);
    snprintf(closed, sizeof closed,
        "loop: not in a run, 1 watches, 0 timers (0 armed, 0 due), 0 posts\n"
        "watch: fd %d (closed), readable\n",
        fd);
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
    check_text(loop, open);
    close(fd);
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
    check_text(loop, closed);
    CHECK_EQUAL(dup3(other, fd, O_CLOEXEC), fd);
    check_text(loop, open); /* the number is another file's */
    rlc_watch_remove(watch);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
    close(other);
}

static void test_RLC_DESCRIBE_2_a_long_text_is_cut_off_as_by_snprintf(void) {
    rlc_loop *loop = make_loop();
    armed_timer(loop, 5000, 0, 0);
    char whole[256], part[256];
    int length = rlc_loop_describe(loop, whole, sizeof whole);
    CHECK_EQUAL(rlc_loop_describe(loop, NULL, 0), length);
    for (int size = 1; size <= length + 1; size++) {
        memset(part, '#', sizeof part);
        CHECK_EQUAL(rlc_loop_describe(loop, part, (size_t)size), length);
        CHECK_EQUAL(strlen(part), size - 1);
        CHECK(memcmp(part, whole, (size_t)size - 1) == 0);
        CHECK_EQUAL(part[size], '#');
    }
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_DESCRIBE_3_looking_allocates_and_changes_nothing(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rlc_watch *watch = idle_watch(loop, fd);
    armed_timer(loop, 5000, 0, 0);
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
    char text[1024];
    unsigned long before = allocations(), calls_before = count_of(&kernel.calls);
    unsigned long questions_before = count_of(&kernel.questions);
    CHECK(rlc_loop_describe(loop, text, sizeof text) > 0);
    CHECK_EQUAL(figures_of(loop).watches, 1);
    CHECK_EQUAL(allocations(), before);
    CHECK_EQUAL(count_of(&kernel.calls), calls_before + 1);         /* and the clock */
    CHECK_EQUAL(count_of(&kernel.questions), questions_before + 1); /* whether the watch's descriptor is open */
    rlc_watch_remove(watch);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

int main(void) {
    RUN(test_RLC_STAT_1_figures_are_what_is_there);
    RUN(test_RLC_STAT_2_no_more_is_written_than_there_is_room_for);
    RUN(test_RLC_STAT_1_hooks_are_counted_and_described);
    RUN(test_RLC_STAT_1_refused_watches_and_rebuilds);
    RUN(test_RLC_STAT_1_timers_are_counted_however_many_there_were);
    RUN(test_RLC_STAT_3_a_child_may_look);
    RUN(test_RLC_DESCRIBE_1_in_a_callout);
    RUN(test_RLC_DESCRIBE_1_between_runs);
    RUN(test_RLC_DESCRIBE_2_a_long_text_is_cut_off_as_by_snprintf);
    RUN(test_RLC_DESCRIBE_3_looking_allocates_and_changes_nothing);
    RUN(test_RLC_DESCRIBE_4_a_closed_descriptor_is_shown);
    return 0;
}

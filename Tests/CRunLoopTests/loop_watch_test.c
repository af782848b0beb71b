/* Watches: adding late, removing from anywhere, nested runs. */
#include "loop_internal.h"
#include "loops.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

typedef struct probe {
    rlc_watch *watch;
    int calls;
    uint32_t ready;
    void (*then)(rlc_loop *loop, struct probe *probe);
} probe;

static void call_probe(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    probe *probe = context;
    CHECK(watch == probe->watch);
    probe->calls++;
    probe->ready = ready;
    if (probe->then != NULL)
        probe->then(loop, probe);
}

static void add(rlc_loop *loop, int fd, uint32_t interest, probe *probe) {
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, interest, call_probe, probe, &probe->watch), 0);
}

static int ready_fd(void) {
    return eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
}

static void test_RLC_WATCH_1_adding_waits_and_removing_cancels(void) {
    rlc_loop *loop = make_loop();
    int fd = ready_fd();
    unsigned long made = count_of(&kernel.calls) + 2; /* the first one makes what wakes the loop */
    for (int i = 0; i < 10; i++) {
        probe probe = {0};
        add(loop, fd, RLC_READABLE, &probe);
        CHECK_EQUAL(rlc_watch_set_interest(probe.watch, RLC_READABLE | RLC_WRITABLE), 0);
        rlc_watch_remove(probe.watch);
    }
    CHECK_EQUAL(count_of(&kernel.calls), made); /* no other system call at all */
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
    rlc_watch_remove(NULL);
}

static void test_RLC_WATCH_2_what_cannot_be_watched_is_told_late(void) {
    rlc_loop *loop = make_loop();
    probe probe = {0};
    int ends[2];
    make_pipe(ends);
    int number = ends[0];
    CHECK_EQUAL(rlc_loop_prepare(loop), 0); /* its eventfd does not take the number */
    close(number);
    add(loop, number, RLC_READABLE, &probe);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(probe.calls, 1);
    CHECK_EQUAL(probe.ready, RLC_ERROR);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 10), RLC_RUN_TIMED_OUT); /* once */
    CHECK_EQUAL(dup3(ends[1], number, O_CLOEXEC), number);
    CHECK_EQUAL(rlc_watch_set_interest(probe.watch, RLC_WRITABLE), 0); /* tries again */
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK((probe.ready & RLC_WRITABLE) != 0);
    rlc_watch_remove(probe.watch);
    rlc_watch *watch = NULL;
    CHECK_EQUAL(rlc_loop_add_watch(loop, -1, RLC_READABLE, call_probe, NULL, &watch), -EBADF);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(ends[1]), close(number);
}

static void test_RLC_WATCH_2_the_loops_own_descriptors(void) {
    rlc_loop *loop = make_loop();
    probe probe = {0};
    rlc_watch *own = NULL;
    rlc_timer *timer;
    int number = ready_fd(), fired = 0;
    add(loop, number, RLC_READABLE, &probe);
    close(number);
    CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &fired, &timer), 0);
    CHECK_EQUAL(rlc_timer_port_fd(loop->timer_port), number); /* before the watch has reached the kernel */
    const int numbers[] = {rlc_wakeup_port_fd(loop->wakeup), number, rlc_loop_fd(loop)};
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(rlc_loop_add_watch(loop, numbers[i], RLC_READABLE, call_probe, NULL, &own), -EBADF);
    CHECK_EQUAL(rlc_timer_arm(timer, kernel.time_ns + 100, 0, 0), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(probe.calls, 1);
    CHECK_EQUAL(probe.ready, RLC_ERROR);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 1000), RLC_RUN_HANDLED);
    CHECK_EQUAL(fired, 1);
    CHECK_EQUAL(probe.calls, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_WATCH_2_a_circle_of_epoll_descriptors(void) {
    rlc_loop *loop = make_loop();
    probe probe = {0};
    struct epoll_event event = {.events = EPOLLIN};
    int circle = epoll_create1(EPOLL_CLOEXEC);
    CHECK_EQUAL(epoll_ctl(circle, EPOLL_CTL_ADD, rlc_loop_fd(loop), &event), 0);
    add(loop, circle, RLC_READABLE, &probe);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(probe.calls, 1);
    CHECK_EQUAL(probe.ready, RLC_ERROR);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(circle);
}

enum { MOST_MEMBERS = 64 };

/** With as many watches as `members`; the k-th allocation of one more fails. False if it makes fewer. */
static bool fails_cleanly(int fd, int members, unsigned long k) {
    rlc_loop *loop = make_loop();
    probe probe = {0}, others[MOST_MEMBERS] = {{0}};
    for (int i = 0; i < members; i++)
        add(loop, fd, RLC_READABLE, &others[i]);
    unsigned long first = allocations();
    fail_allocation(k);
    int status = rlc_loop_add_watch(loop, fd, RLC_READABLE, call_probe, &probe, &probe.watch);
    fail_allocation(0);
    bool has_failed = allocations() - first >= k;
    CHECK(status == 0 || (status == -ENOMEM && has_failed));
    if (status < 0)
        add(loop, fd, RLC_READABLE, &probe);
    unsigned long blocks = allocations();
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(allocations(), blocks); /* what the late adding needs was reserved */
    CHECK_EQUAL(probe.ready, RLC_READABLE);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    return has_failed;
}

static void test_RLC_WATCH_3_adding_fails_cleanly_and_only_at_once(void) {
    int fd = ready_fd(), failures = 0;
    for (int members = 0; members <= MOST_MEMBERS; members++) {
        for (unsigned long k = 1; fails_cleanly(fd, members, k); k++)
            failures++;
    }
    CHECK(failures >= 16);
    close(fd);
}

static void remove_itself(rlc_loop *loop, probe *probe) {
    (void)loop;
    rlc_watch_remove(probe->watch);
    rlc_watch_remove(probe->watch); /* once more does no harm while it is on the stack */
    CHECK_EQUAL(rlc_watch_set_interest(probe->watch, RLC_READABLE), -ENOENT);
}

static probe *victim;

static void remove_victim(rlc_loop *loop, probe *probe) {
    (void)loop, (void)probe;
    rlc_watch_remove(victim->watch);
}

static void test_RLC_WATCH_4_no_callout_after_removal(void) {
    rlc_loop *loop = make_loop();
    int first_fd = ready_fd(), second_fd = ready_fd();
    probe first = {.then = remove_victim}, second = {0}, third = {.then = remove_itself};
    add(loop, first_fd, RLC_READABLE, &first);
    add(loop, second_fd, RLC_READABLE, &second);
    victim = &second; /* its event is fetched already */
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(first.calls, 1);
    CHECK_EQUAL(second.calls, 0);
    rlc_watch_remove(first.watch);
    add(loop, first_fd, RLC_READABLE, &third);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(third.calls, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(first_fd), close(second_fd);
}

static probe fresh;
static int fresh_fd;

/** The watch on the stack, and one whose event is fetched, make room; a new one comes at once. */
static void replace_victim(rlc_loop *loop, probe *probe) {
    rlc_watch *removed = probe->watch, *also_removed = victim->watch;
    rlc_watch_remove(victim->watch);
    rlc_watch_remove(probe->watch);
    add(loop, fresh_fd, RLC_READABLE, &fresh);
    CHECK(fresh.watch != removed && fresh.watch != also_removed); /* their callouts' frames may still name them */
    CHECK_EQUAL(rlc_watch_set_interest(removed, RLC_WRITABLE), -ENOENT);
    rlc_watch_remove(removed); /* once more: nothing, and nobody else */
}

static void test_RLC_WATCH_4_a_slot_is_not_used_again_inside_the_pass(void) {
    rlc_loop *loop = make_loop();
    int first_fd = ready_fd(), second_fd = ready_fd();
    fresh_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fresh = (probe){0};
    probe first = {.then = replace_victim}, second = {0};
    add(loop, first_fd, RLC_READABLE, &first);
    add(loop, second_fd, RLC_READABLE, &second);
    victim = &second;
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(first.calls + second.calls, 1);
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(fresh.calls, 0); /* not by an event of those before it */
    bump(fresh_fd);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(fresh.calls, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(first_fd), close(second_fd), close(fresh_fd);
}

static int inner_calls;

static void run_inside(rlc_loop *loop, probe *probe) {
    int before = probe->calls;
    CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(probe->calls, before); /* muted, although it stays readable: no call, no spinning */
    inner_calls++;
    if (inner_calls == 2)
        rlc_loop_stop(loop);
}

static void test_RLC_WATCH_5_muted_while_its_callout_runs_a_loop(void) {
    rlc_loop *loop = make_loop();
    int fd = ready_fd();
    probe probe = {.then = run_inside};
    add(loop, fd, RLC_READABLE, &probe);
    inner_calls = 0;
    unsigned long waits = count_of(&kernel.waits);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(probe.calls, 2); /* and back afterwards */
    CHECK(count_of(&kernel.waits) - waits <= 6);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static void try_again_and_run_inside(rlc_loop *loop, probe *probe) {
    CHECK(++inner_calls < 10);
    CHECK_EQUAL(probe->ready, RLC_ERROR);
    CHECK_EQUAL(rlc_watch_set_interest(probe->watch, RLC_READABLE), 0);
    int before = probe->calls;
    CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(probe->calls, before);
}

static void test_RLC_WATCH_5_a_refusal_is_not_told_again_while_it_is_told(void) {
    rlc_loop *loop = make_loop();
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* epoll refuses it */
    probe probe = {.then = try_again_and_run_inside};
    add(loop, fd, RLC_READABLE, &probe);
    inner_calls = 0;
    for (int i = 1; i <= 3; i++) {
        CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
        CHECK_EQUAL(probe.calls, i); /* the next pass has tried again */
    }
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static void run_inside_without_return(rlc_loop *loop, probe *probe) {
    CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    atomic_store(&kernel.fail_at, 1);
    probe->then = NULL;
}

static void test_RLC_WATCH_10_one_that_is_not_taken_back_is_told(void) {
    rlc_loop *loop = make_loop();
    int fd = ready_fd();
    probe probe = {.then = run_inside_without_return};
    add(loop, fd, RLC_READABLE, &probe);
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
        CHECK_EQUAL(probe.ready, i == 0 ? RLC_READABLE : RLC_ERROR);
    }
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(rlc_watch_set_interest(probe.watch, RLC_READABLE), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
    CHECK_EQUAL(probe.ready, RLC_READABLE);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

/** The kernel knows the number under the later one's token: removing that one registers the earlier one. */
static void test_RLC_WATCH_11_an_earlier_one_that_is_not_taken_back_is_told(void) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    probe earlier = {.then = NULL}, later = {.then = NULL};
    add(loop, fd, RLC_READABLE, &earlier);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    add(loop, fd, RLC_READABLE, &later);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    fail_next(&kernel, -ENOMEM);
    rlc_watch_remove(later.watch);
    bump(fd);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
    CHECK_EQUAL(earlier.ready, RLC_ERROR);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(rlc_watch_set_interest(earlier.watch, RLC_READABLE), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
    CHECK_EQUAL(earlier.ready, RLC_READABLE);
    CHECK_EQUAL(later.calls, 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static rlc_watch *later_watch;

static void lose_the_later_watch(void) {
    fail_next(&kernel, -ENOMEM); /* epoll refuses to register the earlier watch instead */
    rlc_watch_remove(later_watch);
}

static void be_refused_and_run_inside(rlc_loop *loop, probe *probe) {
    if (probe->ready == RLC_ERROR)
        return;
    lose_the_later_watch();
    int before = probe->calls;
    CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(probe->calls, before);
}

static void lose_on_post(rlc_post_node *node, bool ran) {
    (void)node;
    if (ran)
        lose_the_later_watch();
}

static void run_inside_and_be_refused(rlc_loop *loop, probe *probe) {
    if (probe->ready == RLC_ERROR)
        return;
    static rlc_post_node node;
    node = (rlc_post_node){.post_fn = lose_on_post};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    int before = probe->calls;
    CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(probe->calls, before);
}

/** `then` makes epoll refuse the watch in its own callout. The watch is called with the error after that callout. */
static void check_refusal_in_own_callout(void (*then)(rlc_loop *, probe *)) {
    rlc_loop *loop = make_loop();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    probe earliest = {.then = NULL}, earlier = {.then = then}, later = {.then = NULL};
    add(loop, fd, RLC_PRIORITY, &earliest); /* never ready: without it, nothing is left to watch inside the callout */
    add(loop, fd, RLC_READABLE, &earlier);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    add(loop, fd, RLC_WRITABLE, &later);
    later_watch = later.watch;
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
    CHECK_EQUAL(earlier.calls, 0);
    bump(fd);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
    CHECK_EQUAL(earlier.calls, 1);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
    CHECK_EQUAL(earlier.calls, 2);
    CHECK_EQUAL(earlier.ready, RLC_ERROR);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(rlc_watch_set_interest(earlier.watch, RLC_READABLE), 0);
    earlier.then = NULL;
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
    CHECK_EQUAL(earlier.ready, RLC_READABLE);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static void test_RLC_WATCH_11_a_refusal_in_the_own_callout_is_told_after_it(void) {
    check_refusal_in_own_callout(be_refused_and_run_inside);
    check_refusal_in_own_callout(run_inside_and_be_refused);
}

/** What epoll ceases to watch while the loop asks it to: a writer without readers, which is to be heard by edges from now on. */
static void test_RLC_WATCH_12_one_that_epoll_loses_is_told(void) {
    const int errors[] = {-ENOENT, -EBADF, -ENOMEM};
    for (int i = 0; i < 3; i++) {
        rlc_loop *loop = make_loop();
        int ends[2];
        make_pipe(ends);
        close(ends[0]);
        probe probe = {.then = NULL};
        add(loop, ends[1], RLC_WRITABLE, &probe);
        kernel.fail_with = errors[i];
        CHECK_EQUAL(rlc_loop_prepare(loop), 0); /* adds it */
        atomic_store(&kernel.fail_at, 1);
        CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
        CHECK_EQUAL(probe.ready, RLC_WRITABLE | RLC_ERROR);
        CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
        CHECK_EQUAL(probe.ready, RLC_ERROR);
        CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
        CHECK_EQUAL(rlc_watch_set_interest(probe.watch, RLC_WRITABLE), 0); /* anew, whatever has the number now */
        CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
        CHECK_EQUAL(probe.ready, RLC_WRITABLE | RLC_ERROR);
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
        close(ends[1]);
    }
}

static int posted;

static int64_t refuse_write(void *context, int fd, const void *buffer, size_t size) {
    (void)context, (void)fd, (void)buffer, (void)size;
    return -EBADF;
}

static void count_post(rlc_post_node *node, bool is_called) {
    (void)node;
    posted += is_called;
}

/** Its eventfd was closed: the post is the loop's, and who posts is told that nobody has heard it. */
static void test_RLC_LOOP_17_a_sleeper_that_cannot_be_woken_is_told_of(void) {
    rlc_loop *loop = make_loop();
    rlc_post_node nodes[2] = {{.post_fn = count_post}, {.post_fn = count_post}};
    posted = 0;
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    kernel.table.write = refuse_write;
    CHECK_EQUAL(rlc_loop_post(loop, &nodes[0]), EBADF);
    CHECK_EQUAL(rlc_loop_post(loop, &nodes[1]), 0); /* told once a sleep */
    CHECK(rlc_loop_dispatch(loop) >= 0);
    CHECK_EQUAL(posted, 2);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static int refuse_epoll(void *context) {
    (void)context;
    return -EMFILE;
}

static void test_RLC_LOOP_16_without_a_new_descriptor_the_run_ends(void) {
    rlc_loop *loop = make_loop();
    int fd = ready_fd();
    probe probe = {.then = NULL};
    add(loop, fd, RLC_READABLE, &probe);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(close(rlc_loop_fd(loop)), 0);
    kernel.table.epoll_create = refuse_epoll;
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), -EBADF);
    CHECK_EQUAL(rlc_loop_run_once(loop, 0), -EBADF);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK_EQUAL(rlc_loop_dispatch(loop), -EBADF);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static probe outer_probe, inner_probe;

static void inner_removes_outer(rlc_loop *loop, probe *probe) {
    rlc_watch_remove(outer_probe.watch); /* its callout is on the stack */
    rlc_watch_remove(probe->watch);
    rlc_loop_stop(loop);
}

static void outer_runs_inside(rlc_loop *loop, probe *probe) {
    (void)probe;
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_STOPPED);
    CHECK_EQUAL(inner_probe.calls, 1);
}

static void test_RLC_WATCH_6_removal_from_a_nested_run(void) {
    rlc_loop *loop = make_loop();
    int first_fd = ready_fd(), second_fd = ready_fd();
    outer_probe = (probe){.then = outer_runs_inside};
    inner_probe = (probe){.then = inner_removes_outer};
    add(loop, first_fd, RLC_READABLE, &outer_probe);
    add(loop, second_fd, RLC_READABLE, &inner_probe);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(outer_probe.calls, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(first_fd), close(second_fd);
}

static void recurse(rlc_loop *loop, probe *probe) {
    if (++inner_calls < 3)
        (void)rlc_loop_run_once(loop, kernel.time_ns);
    (void)probe;
}

static void test_RLC_WATCH_7_fetched_events_go_to_nested_runs_once(void) {
    enum { COUNT = 12 };
    rlc_loop *loop = make_loop();
    int fds[COUNT], total = 0;
    probe probes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        fds[i] = ready_fd();
        probes[i] = (probe){.then = recurse};
        add(loop, fds[i], RLC_READABLE, &probes[i]);
    }
    inner_calls = 0;
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    for (int i = 0; i < COUNT; i++) {
        CHECK(probes[i].calls == 1);
        total += probes[i].calls;
    }
    CHECK_EQUAL(total, COUNT);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
}

static void test_RLC_WATCH_8_interest(void) {
    rlc_loop *loop = make_loop();
    int fd = ready_fd();
    probe probe = {0};
    add(loop, fd, RLC_READABLE | RLC_WRITABLE, &probe);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(probe.ready, RLC_READABLE | RLC_WRITABLE);
    CHECK_EQUAL(rlc_watch_set_interest(probe.watch, RLC_WRITABLE), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(probe.ready, RLC_WRITABLE);
    CHECK_EQUAL(rlc_watch_set_interest(probe.watch, 0), 0);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 10), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static int drained_fd;

static void drain_other(rlc_loop *loop, probe *probe) {
    uint64_t count;
    (void)loop, (void)probe;
    CHECK_EQUAL(read(drained_fd, &count, sizeof count), 8);
}

static void test_RLC_WATCH_9_a_batch_is_trusted_in_its_pass_only(void) {
    rlc_loop *loop = make_loop();
    int fds[4];
    probe probes[4] = {{0}};
    for (int i = 0; i < 4; i++)
        fds[i] = ready_fd();
    for (int i = 0; i < 4; i++)
        add(loop, fds[i], RLC_READABLE, &probes[i]);
    probes[0].then = drain_other;
    drained_fd = fds[1];
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(probes[1].calls, 1); /* told what the look has found */
    CHECK_EQUAL(count_of(&kernel.polls), 0);
    probes[0].then = NULL;
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(probes[1].calls, 1); /* and not again */
    CHECK_EQUAL(probes[3].calls, 2);

    /* What is left over from earlier is looked at again. */
    CHECK_EQUAL(rlc_port_set_wait(loop->set, 0), 3);
    drained_fd = fds[2];
    drain_other(loop, NULL);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK_EQUAL(probes[0].calls, 3);
    CHECK_EQUAL(probes[2].calls, 2);
    CHECK_EQUAL(probes[3].calls, 3);
    CHECK(count_of(&kernel.polls) >= 2);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
}

static void test_RLC_WATCH_13_urgent_data(void) {
    rlc_loop *loop = make_loop();
    int ends[2];
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    probe probe = {0};
    add(loop, ends[0], RLC_PRIORITY, &probe);
    if (send(ends[1], "!", 1, MSG_OOB) == 1) { /* a kernel may be built without it */
        char byte;
        (void)rlc_loop_run(loop, 0);
        CHECK_EQUAL(probe.ready, RLC_PRIORITY);
        CHECK_EQUAL(recv(ends[0], &byte, 1, MSG_OOB), 1);
        CHECK_EQUAL(rlc_watch_set_interest(probe.watch, RLC_READABLE), 0);
        CHECK_EQUAL(send(ends[1], "!", 1, MSG_OOB), 1);
        probe.ready = 0;
        (void)rlc_loop_run(loop, 0);
        CHECK_EQUAL(probe.ready & RLC_PRIORITY, 0);
        CHECK_EQUAL(rlc_watch_set_interest(probe.watch, RLC_PRIORITY | RLC_EDGE | RLC_ONE_SHOT), 0);
        for (int round = 0; round < 2; round++) { /* level-triggered, and more than once */
            probe.ready = 0;
            (void)rlc_loop_run(loop, 0);
            CHECK_EQUAL(probe.ready, RLC_PRIORITY);
        }
    }
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(ends[0]), close(ends[1]);
}

static probe *called[4];
static int called_count;

static void note_order(rlc_loop *loop, probe *probe) {
    (void)loop;
    called[called_count++] = probe;
}

/** Makes one pass, and forgets who was called before. */
static void pass(rlc_loop *loop) {
    called_count = 0;
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
}

static void test_RLC_WATCH_14_watches_of_one_descriptor_share_it(void) {
    rlc_loop *loop = make_loop();
    int ends[2];
    char byte;
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    probe writer = {.then = note_order}, reader = {.then = note_order};
    add(loop, ends[0], RLC_WRITABLE, &writer);
    add(loop, ends[0], RLC_READABLE, &reader);
    write_all(ends[1], "x", 1);
    pass(loop);
    CHECK_EQUAL(called_count, 2);
    CHECK(called[0] == &writer && called[1] == &reader); /* in the order of adding */
    CHECK_EQUAL(writer.ready, RLC_WRITABLE);
    CHECK_EQUAL(reader.ready, RLC_READABLE);
    /* Each has an interest of its own. */
    CHECK_EQUAL(rlc_watch_set_interest(reader.watch, 0), 0);
    pass(loop);
    CHECK_EQUAL(called_count, 1);
    CHECK(called[0] == &writer);
    CHECK_EQUAL(rlc_watch_set_interest(writer.watch, 0), 0);
    CHECK_EQUAL(rlc_watch_set_interest(reader.watch, RLC_READABLE), 0);
    pass(loop);
    CHECK_EQUAL(called_count, 1);
    CHECK(called[0] == &reader);
    CHECK_EQUAL(read(ends[0], &byte, 1), 1);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    /* An end is told to both, once. */
    close(ends[1]);
    pass(loop);
    CHECK_EQUAL(called_count, 2);
    CHECK_EQUAL(writer.ready, RLC_HANGUP);
    CHECK_EQUAL(reader.ready & RLC_HANGUP, RLC_HANGUP);
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(ends[0]);
}

static void remove_other(rlc_loop *loop, probe *probe) {
    note_order(loop, probe);
    rlc_watch_remove(victim->watch);
    probe->then = note_order;
}

static void test_RLC_WATCH_14_one_that_goes_leaves_the_others(void) {
    rlc_loop *loop = make_loop();
    int fd = ready_fd();
    probe probes[3];
    for (int gone = 0; gone < 3; gone++) { /* by the callout of the first one, or of the second one for the first one */
        for (int i = 0; i < 3; i++) {
            probes[i] = (probe){.then = i == (gone == 0 ? 1 : 0) ? remove_other : note_order};
            add(loop, fd, RLC_READABLE, &probes[i]);
        }
        victim = &probes[gone];
        pass(loop);
        for (int i = 0; i < called_count; i++)
            CHECK(gone == 0 || called[i] != victim); /* not afterwards */
        pass(loop);
        CHECK_EQUAL(called_count, 2);
        CHECK(called[0] != victim && called[1] != victim && called[0] != called[1]);
        for (int i = 0; i < 3; i++) {
            if (i != gone)
                rlc_watch_remove(probes[i].watch);
        }
        CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 100), RLC_RUN_FINISHED);
    }
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static void run_pass_inside(rlc_loop *loop, probe *probe) {
    note_order(loop, probe);
    probe->then = note_order;
    CHECK_EQUAL(rlc_loop_run_once(loop, kernel.time_ns + 100), RLC_RUN_HANDLED);
}

/** A run inside the callout of one calls the other one, by the same event, and not the one on the stack. */
static void test_RLC_WATCH_14_a_run_inside_one_calls_the_other(void) {
    rlc_loop *loop = make_loop();
    int fd = ready_fd();
    for (int inside = 0; inside < 2; inside++) {
        probe first = {.then = inside == 0 ? run_pass_inside : note_order};
        probe second = {.then = inside == 1 ? run_pass_inside : note_order};
        add(loop, fd, RLC_READABLE, &first);
        add(loop, fd, RLC_READABLE, &second);
        pass(loop);
        CHECK_EQUAL(called_count, inside == 0 ? 2 : 3);
        CHECK(called[0] == &first && called[1] == &second);
        CHECK(inside == 0 || called[2] == &first);
        pass(loop); /* both again */
        CHECK_EQUAL(called_count, 2);
        rlc_watch_remove(first.watch), rlc_watch_remove(second.watch);
    }
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

int main(void) {
    RUN(test_RLC_WATCH_1_adding_waits_and_removing_cancels);
    RUN(test_RLC_WATCH_2_what_cannot_be_watched_is_told_late);
    RUN(test_RLC_WATCH_2_the_loops_own_descriptors);
    RUN(test_RLC_WATCH_2_a_circle_of_epoll_descriptors);
    RUN(test_RLC_WATCH_3_adding_fails_cleanly_and_only_at_once);
    RUN(test_RLC_WATCH_4_no_callout_after_removal);
    RUN(test_RLC_WATCH_4_a_slot_is_not_used_again_inside_the_pass);
    RUN(test_RLC_WATCH_5_muted_while_its_callout_runs_a_loop);
    RUN(test_RLC_WATCH_5_a_refusal_is_not_told_again_while_it_is_told);
    RUN(test_RLC_WATCH_10_one_that_is_not_taken_back_is_told);
    RUN(test_RLC_WATCH_11_an_earlier_one_that_is_not_taken_back_is_told);
    RUN(test_RLC_WATCH_11_a_refusal_in_the_own_callout_is_told_after_it);
    RUN(test_RLC_WATCH_12_one_that_epoll_loses_is_told);
    RUN(test_RLC_LOOP_17_a_sleeper_that_cannot_be_woken_is_told_of);
    RUN(test_RLC_LOOP_16_without_a_new_descriptor_the_run_ends);
    RUN(test_RLC_WATCH_6_removal_from_a_nested_run);
    RUN(test_RLC_WATCH_7_fetched_events_go_to_nested_runs_once);
    RUN(test_RLC_WATCH_8_interest);
    RUN(test_RLC_WATCH_13_urgent_data);
    RUN(test_RLC_WATCH_14_watches_of_one_descriptor_share_it);
    RUN(test_RLC_WATCH_14_one_that_goes_leaves_the_others);
    RUN(test_RLC_WATCH_14_a_run_inside_one_calls_the_other);
    RUN(test_RLC_WATCH_9_a_batch_is_trusted_in_its_pass_only);
    return 0;
}

/** What a guest is refused: memory, descriptors, the epoll set. Included by glib_guest_test.c, whose cases these are. */
#include <limits.h>
#include <sys/resource.h>

static void test_RLC_GUEST_7_what_fails_attaches_nothing(void) {
    begin();
    rlc_glib_guest_detach(guest);
    for (unsigned long k = 1; k <= 3; k++) { /* without a timerfd a wait's timeout carries the dates */
        rlc_loop *other;
        CHECK_EQUAL(rlc_loop_create(&kernel.table, &other), 0);
        kernel.fail_with = -EMFILE;
        atomic_store(&kernel.fail_at, k);
        int status = rlc_glib_guest_attach(other, context, &guest);
        atomic_store(&kernel.fail_at, 0);
        CHECK_EQUAL(status, k <= 2 ? -EMFILE : 0);
        if (status == 0)
            rlc_glib_guest_detach(guest);
        CHECK_EQUAL(rlc_loop_run(other, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
        CHECK_EQUAL(rlc_loop_destroy(other), 0);
    }
    fail_allocation(1);
    CHECK_EQUAL(rlc_glib_guest_attach(loop, context, &guest), -ENOMEM);
    fail_allocation(0);
    attach();
    end();
}

static int refusals;
static int (*real_control)(void *context, int epoll_fd, int operation, int fd, struct epoll_event *event);

static int refuse_set(void *ignored, int epoll_fd, int operation, int fd, struct epoll_event *event) {
    if (operation == EPOLL_CTL_ADD && fd == guest->set_fd && refusals > 0) {
        refusals--;
        return -ENOSPC;
    }
    return real_control(ignored, epoll_fd, operation, fd, event);
}

static void begin_with_refused_set(int times) {
    begin();
    real_control = kernel.table.epoll_control;
    kernel.table.epoll_control = refuse_set;
    refusals = times;
}

static void test_RLC_GUEST_9_a_set_that_is_refused_is_tried_again(void) {
    begin_with_refused_set(3);
    int fd = make_counter(1);
    add_fd(fd, take_bytes);
    TURN_UNTIL(calls == 1);
    TURN_UNTIL(refusals == 0);
    look();
    for (int i = 2; i <= 4; i++) {
        bump(fd);
        TURN_UNTIL(calls == i);
    }
    look();
    CHECK_EQUAL(polls_of_a_sleep(), 1);
    end();
    close(fd);
}

static void test_RLC_GUEST_9_the_descriptors_of_a_refused_set_are_served(void) {
    begin_with_refused_set(INT_MAX);
    int fd = make_counter(0);
    add_fd(fd, take_bytes);
    for (int i = 1; i <= 3; i++) {
        bump(fd);
        for (int left = 10; left > 0 && calls < i; left--)
            look();
        CHECK_EQUAL(calls, i);
    }
    CHECK(refusals > 0);
    end();
    close(fd);
}

/** Whoever opens a file afterwards may get the number of the set. */
static void test_RLC_GUEST_7_a_guest_that_fails_leaves_its_loop(void) {
    begin();
    for (unsigned long k = 1; k <= 2; k++) {
        int file = make_counter(0), number = guest->set_fd;
        fail_allocation(k); /* the room for GLib's first descriptor */
        CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
        fail_allocation(0);
        CHECK_EQUAL(rlc_glib_guest_status(guest), -ENOMEM);
        CHECK_EQUAL(fcntl(number, F_GETFD), -1);
        CHECK_EQUAL(dup3(file, number, O_CLOEXEC), number);
        rlc_glib_guest_detach(guest);
        CHECK(fcntl(number, F_GETFD) >= 0);
        close(file), close(number);
        attach();
    }
    end();
}

/** The set is made anew, for which there is no descriptor. */
static void test_RLC_GUEST_7_a_guest_without_a_set_leaves_its_loop(void) {
    begin();
    int fd = make_counter(0), kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    GSource *source = add_fd(fd, take_bytes);
    look();
    g_source_destroy(source);
    close(fd); /* epoll still has it */
    bump(kept);
    look(); /* GLib wakes its context */
    struct rlimit usual, none;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = (struct rlimit){2, usual.rlim_max}; /* poll(2) fails below the number of its descriptors */
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    int status = rlc_loop_run(loop, RLC_TIME_FOREVER);
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &usual), 0);
    CHECK_EQUAL(status, RLC_RUN_FINISHED);
    CHECK_EQUAL(rlc_glib_guest_status(guest), -EMFILE);
    rlc_glib_guest_detach(guest);
    attach();
    end();
    close(kept);
}

/** The set is one that the guest itself opens. */
static void test_RLC_KERNEL_3_a_guest_takes_no_standard_number(void) {
    pid_t child = fork_with_limit();
    if (child == 0) {
        spy_init(&kernel);
        bool is_made = rlc_loop_create(&kernel.table, &loop) == 0;
        context = g_main_context_new();
        close_standard_descriptors();
        attach();
        _exit(is_made && standard_descriptors_are_free() ? 7 : 1);
    }
    CHECK_EQUAL(status_of(child), 7);
}

static void run_cases_of_failures(void) {
    RUN(test_RLC_GUEST_7_what_fails_attaches_nothing);
    RUN(test_RLC_GUEST_9_a_set_that_is_refused_is_tried_again);
    RUN(test_RLC_GUEST_9_the_descriptors_of_a_refused_set_are_served);
    RUN(test_RLC_GUEST_7_a_guest_that_fails_leaves_its_loop);
    RUN(test_RLC_GUEST_7_a_guest_without_a_set_leaves_its_loop);
    RUN(test_RLC_KERNEL_3_a_guest_takes_no_standard_number);
}

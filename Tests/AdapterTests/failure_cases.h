/**
 * What a host tells of a loop that has failed. Included by adapters.h, whose cases these are: each host has one of its
 * own way to say it, which `host_ops.fails_with` hides.
 */

/** The first error stays, and nothing is called any more. */
static void expect_failure(int status) {
    for (int i = 0; i < 2; i++)
        CHECK_EQUAL(host->fails_with(), status);
    CHECK_EQUAL(calls, 0);
}

static void test_RLC_ADAPT_7_the_error_of_a_pass_is_told(void) {
    begin();
    rlc_post_node node = {.post_fn = count_post};
    int (*wait)(void *, int, struct epoll_event *, int, uint64_t) = kernel.table.epoll_wait;
    CHECK_EQUAL(host->fails_with(), 0);
    CHECK_EQUAL(rlc_loop_defer(loop, &node), 0);
    kernel.table.epoll_wait = fail_to_wait;
    expect_failure(-EIO);
    kernel.table.epoll_wait = wait;
    expect_failure(-EIO);
    host->detach();
    host->attach(loop); /* its work is still there */
    TURN_UNTIL(calls == 1);
    end();
}

static void test_RLC_ADAPT_8_the_error_of_a_preparation_is_told(void) {
    begin();
    turn(false);
    pid_t child = fork_with_limit();
    if (child == 0) {
        if (host->forked != NULL)
            host->forked();
        _exit(host->fails_with() == -ECHILD && host->fails_with() == -ECHILD ? 7 : 1);
    }
    CHECK_EQUAL(status_of(child), 7);
    CHECK_EQUAL(host->fails_with(), 0);
    end();
}

/** Puts another file in the place of the loop's epoll instance. */
static void take_number_of_loop(int file) {
    CHECK_EQUAL(dup3(file, rlc_loop_fd(loop), O_CLOEXEC), rlc_loop_fd(loop));
}

static void count_if_run(rlc_post_node *node, bool ran) {
    (void)node;
    calls += ran;
}

/** The host would wait for a file of others. What the loop has waits until it is in a host again. */
static void test_RLC_ADAPT_7_a_loop_with_another_number_has_failed(void) {
    begin();
    turn(false);
    int fd = make_counter(1), number = rlc_loop_fd(loop);
    rlc_watch *watch;
    rlc_post_node node = {.post_fn = count_if_run};
    take_number_of_loop(fd);
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, take_bytes, &fd, &watch), 0);
    CHECK_EQUAL(rlc_loop_defer(loop, &node), 0);
    expect_failure(-EBADF);
    CHECK(rlc_loop_fd(loop) != number);
    end();
    CHECK(fcntl(number, F_GETFD) >= 0);
    close(number), close(fd);
}

/** In a process that was started without them. */
static void test_RLC_KERNEL_3_no_adapter_takes_a_standard_number(void) {
    pid_t child = fork_with_limit();
    if (child == 0) {
        spy_init(&kernel);
        bool is_made = rlc_loop_create(&kernel.table, &loop) == 0;
        host->open();
        close_standard_descriptors();
        host->attach(loop);
        _exit(is_made && standard_descriptors_are_free() ? 7 : 1);
    }
    CHECK_EQUAL(status_of(child), 7);
}

static void run_failure_cases(void) {
    RUN(test_RLC_ADAPT_7_the_error_of_a_pass_is_told);
    RUN(test_RLC_ADAPT_8_the_error_of_a_preparation_is_told);
    RUN(test_RLC_ADAPT_7_a_loop_with_another_number_has_failed);
    RUN(test_RLC_KERNEL_3_no_adapter_takes_a_standard_number);
}

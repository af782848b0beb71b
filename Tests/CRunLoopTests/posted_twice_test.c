/* A node that is posted again before its post_fn was called: a debug build, which the tests are, reports it. */
#include "loops.h"

#include <signal.h>
#include <sys/wait.h>

typedef void (*mistake)(rlc_loop *loop, rlc_post_node nodes[3]);

/** Without a report a mistake may make the loop call nodes without end. */
static void call_a_few(rlc_post_node *node, bool ran) {
    (void)node, (void)ran;
    if (++calls == 10)
        _exit(1);
}

/** Makes the mistake in a child, which abort(3) must end with the report on standard error. */
static void expect_report(mistake make) {
    int ends[2], status;
    make_pipe(ends);
    pid_t child = fork();
    if (child == 0) {
        rlc_post_node nodes[3] = {{.post_fn = call_a_few}, {.post_fn = call_a_few}, {.post_fn = call_a_few}};
        CHECK_EQUAL(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
        rlc_loop *loop = make_loop();
        make(loop, nodes);
        rlc_loop_run(loop, 0);
        _exit(1);
    }
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    char text[512] = "";
    CHECK(read(ends[0], text, sizeof text - 1) > 0);
    CHECK(strstr(text, "a node was posted again before its post_fn was called") != NULL);
    close(ends[0]);
    close(ends[1]);
}

static void post(rlc_loop *loop, rlc_post_node *node) {
    CHECK_EQUAL(rlc_loop_post(loop, node), 0);
}

static void post_the_newest(rlc_loop *loop, rlc_post_node nodes[3]) {
    post(loop, &nodes[0]);
    post(loop, &nodes[0]);
}

static void post_an_older_one(rlc_loop *loop, rlc_post_node nodes[3]) {
    post(loop, &nodes[0]);
    post(loop, &nodes[1]);
    post(loop, &nodes[0]);
}

/** The newest node is not in the circle. */
static void post_others_after_it(rlc_loop *loop, rlc_post_node nodes[3]) {
    post_an_older_one(loop, nodes);
    post(loop, &nodes[2]);
}

static void post_and_destroy(rlc_loop *loop, rlc_post_node nodes[3]) {
    post_an_older_one(loop, nodes);
    rlc_loop_destroy(loop);
}

static void defer_the_newest(rlc_loop *loop, rlc_post_node nodes[3]) {
    CHECK_EQUAL(rlc_loop_defer(loop, &nodes[0]), 0);
    CHECK_EQUAL(rlc_loop_defer(loop, &nodes[0]), 0);
}

static void test_RLC_LOOP_22_a_node_that_is_posted_again_is_reported(void) {
    expect_report(post_the_newest);
    expect_report(post_an_older_one);
    expect_report(post_others_after_it);
    expect_report(post_and_destroy);
}

static void test_RLC_LOOP_22_the_newest_deferred_node_too(void) {
    expect_report(defer_the_newest);
}

int main(void) {
    RUN(test_RLC_LOOP_22_a_node_that_is_posted_again_is_reported);
    RUN(test_RLC_LOOP_22_the_newest_deferred_node_too);
    return 0;
}

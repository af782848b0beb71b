/* Hooks: calls before and after the poll of a pass. */
#include "loops.h"

#include <crunloop/loop_hook.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

/** What has happened, in order: small letters are prepares, capitals checks. */
static char story[64];

static void tell(char what) {
    size_t length = strlen(story);
    CHECK(length + 1 < sizeof story);
    story[length] = what;
    story[length + 1] = 0;
}

/** True if that was the story; begins another one. */
static bool was(const char *expected) {
    bool is_so = strcmp(story, expected) == 0;
    if (!is_so)
        fprintf(stderr, "the story is %s, not %s\n", story, expected);
    story[0] = 0;
    return is_so;
}

/** A hook that tells, and does something once. */
typedef struct teller {
    char name;
    rlc_hook *hook;
    void (*in_prepare)(rlc_loop *loop, struct teller *teller);
    void (*in_check)(rlc_loop *loop, struct teller *teller);
    struct teller *other;
} teller;

static void tell_prepare(rlc_loop *loop, rlc_hook *hook, void *context) {
    teller *teller = context;
    CHECK(hook == teller->hook);
    tell(teller->name);
    void (*act)(rlc_loop *, struct teller *) = teller->in_prepare;
    teller->in_prepare = NULL;
    if (act != NULL)
        act(loop, teller);
}

static void tell_check(rlc_loop *loop, rlc_hook *hook, void *context) {
    teller *teller = context;
    CHECK(hook == teller->hook);
    tell((char)(teller->name - 'a' + 'A'));
    void (*act)(rlc_loop *, struct teller *) = teller->in_check;
    teller->in_check = NULL;
    if (act != NULL)
        act(loop, teller);
}

static void add(rlc_loop *loop, teller *teller) {
    CHECK_EQUAL(rlc_loop_add_hook(loop, tell_prepare, tell_check, teller, &teller->hook), 0);
}

static rlc_loop *make_empty(void) {
    story[0] = 0;
    calls = 0;
    return make_loop();
}

static void pass(rlc_loop *loop) {
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
}

static void tell_post(rlc_post_node *node, bool ran) {
    (void)node;
    CHECK(ran);
    tell('.');
}

static void tell_watch(rlc_loop *loop, rlc_watch *watch, uint32_t ready, void *context) {
    (void)loop, (void)watch, (void)ready, (void)context;
    tell('!');
}

static void tell_timer(rlc_loop *loop, rlc_timer *timer, uint64_t deadline_ns, void *context) {
    (void)loop, (void)timer, (void)deadline_ns, (void)context;
    tell('t');
}

/* ---- RLC-HOOK-1: order ---- */

static void test_RLC_HOOK_1_prepares_poll_callouts_checks(void) {
    rlc_loop *loop = make_empty();
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK); /* readable for ever */
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, tell_watch, NULL, &watch), 0);
    teller a = {.name = 'a'}, b = {.name = 'b'};
    add(loop, &a);
    add(loop, &b);
    rlc_post_node node = {.post_fn = tell_post};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    pass(loop);
    CHECK(was("ab!.AB"));
    unsigned long waits = count_of(&kernel.waits), made = count_of(&kernel.calls), blocks = allocations();
    for (int i = 0; i < 10; i++) {
        CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
        CHECK(was("ab!AB"));
    }
    CHECK_EQUAL(count_of(&kernel.waits), waits + 10);
    CHECK_EQUAL(count_of(&kernel.calls), made + 10);
    CHECK_EQUAL(allocations(), blocks);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(fd);
}

static void test_RLC_HOOK_1_either_function_may_be_left_out(void) {
    rlc_loop *loop = make_empty();
    teller a = {.name = 'a'}, b = {.name = 'b'};
    rlc_hook *none;
    CHECK_EQUAL(rlc_loop_add_hook(loop, NULL, NULL, NULL, &none), -EINVAL);
    CHECK_EQUAL(rlc_loop_add_hook(loop, tell_prepare, NULL, &a, &a.hook), 0);
    CHECK_EQUAL(rlc_loop_add_hook(loop, NULL, tell_check, &b, &b.hook), 0);
    pass(loop);
    CHECK(was("aB"));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* ---- RLC-HOOK-2: what a prepare changes counts for its poll ---- */

static int prepared_fd;
static rlc_timer *prepared_timer;
static rlc_post_node prepared_node = {.post_fn = tell_post};

static void add_watch_inside(rlc_loop *loop, teller *teller) {
    (void)teller;
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, prepared_fd, RLC_READABLE, tell_watch, NULL, &watch), 0);
}

static void arm_inside(rlc_loop *loop, teller *teller) {
    (void)loop, (void)teller;
    CHECK_EQUAL(rlc_timer_arm(prepared_timer, kernel.time_ns + 5000, 0, 0), 0);
}

static void defer_inside(rlc_loop *loop, teller *teller) {
    (void)teller;
    CHECK_EQUAL(rlc_loop_defer(loop, &prepared_node), 0);
}

static void test_RLC_HOOK_2_what_a_prepare_changes_counts(void) {
    rlc_loop *loop = make_empty();
    prepared_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    teller a = {.name = 'a', .in_prepare = defer_inside};
    add(loop, &a);
    CHECK_EQUAL(rlc_loop_add_timer(loop, tell_timer, NULL, &prepared_timer), 0);
    uint64_t start_ns = kernel.time_ns;
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK(was("a.A"));
    CHECK_EQUAL(kernel.time_ns, start_ns); /* it has not slept */
    a.in_prepare = arm_inside;
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK(was("atA"));
    CHECK_EQUAL(kernel.time_ns, start_ns + 5000);
    a.in_prepare = add_watch_inside;
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK(was("a!A"));
    CHECK_EQUAL(kernel.time_ns, start_ns + 5000);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(prepared_fd);
}

/* ---- RLC-HOOK-3: its life ---- */

static void remove_itself(rlc_loop *loop, teller *teller) {
    (void)loop;
    rlc_hook_remove(teller->hook);
    rlc_hook_remove(teller->hook); /* it is valid until the callout returns */
}

static void remove_other(rlc_loop *loop, teller *teller) {
    (void)loop;
    rlc_hook_remove(teller->other->hook);
}

static void add_other(rlc_loop *loop, teller *teller) {
    add(loop, teller->other);
}

static void test_RLC_HOOK_3_a_loop_with_a_hook_is_not_finished(void) {
    rlc_loop *loop = make_empty();
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    teller a = {.name = 'a'};
    add(loop, &a);
    CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK(was("aA"));
    a.in_check = remove_itself;
    CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK(was("aA"));
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK(was(""));
    rlc_hook_remove(NULL);
    add(loop, &a);
    a.in_prepare = remove_itself; /* the last member goes just before the sleep */
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK(was("a"));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_HOOK_3_removed_and_added_in_callouts(void) {
    rlc_loop *loop = make_empty();
    teller b = {.name = 'b'}, c = {.name = 'c'}, d = {.name = 'd'}, a = {.name = 'a', .other = &b};
    add(loop, &a);
    add(loop, &b);
    add(loop, &c);
    a.in_prepare = remove_other; /* before its turn */
    pass(loop);
    CHECK(was("acAC"));
    c.other = &a;
    c.in_prepare = remove_other; /* after its prepare */
    pass(loop);
    CHECK(was("acC"));
    c.other = &d;
    c.in_prepare = add_other;
    pass(loop);
    CHECK(was("cC"));
    pass(loop);
    CHECK(was("cdCD"));
    c.in_prepare = remove_itself;
    pass(loop);
    CHECK(was("cdD"));
    d.in_prepare = remove_itself;
    CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 100), RLC_RUN_FINISHED);
    CHECK(was("d"));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_HOOK_3_what_fails_adds_nothing(void) {
    rlc_loop *loop = make_empty();
    teller a = {.name = 'a'};
    fail_next(&kernel, -EMFILE);
    CHECK_EQUAL(rlc_loop_add_hook(loop, tell_prepare, NULL, &a, &a.hook), -EMFILE);
    rlc_watch_remove(idle_watch(loop, 0)); /* from here on there is what a loop sleeps for */
    fail_allocation(1);
    CHECK_EQUAL(rlc_loop_add_hook(loop, tell_prepare, NULL, &a, &a.hook), -ENOMEM);
    fail_allocation(0);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    add(loop, &a); /* the loop frees it */
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void destroy_inside(rlc_loop *loop, teller *teller) {
    (void)teller;
    CHECK_EQUAL(rlc_loop_destroy(loop), -EBUSY);
}

static void test_RLC_LOOP_9_a_hook_cannot_destroy_its_loop(void) {
    rlc_loop *loop = make_empty();
    teller a = {.name = 'a', .in_prepare = destroy_inside, .in_check = destroy_inside};
    add(loop, &a);
    pass(loop);
    a.in_prepare = destroy_inside;
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK(was("aAa"));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* ---- RLC-HOOK-4: nested runs ---- */

static void run_inside(rlc_loop *loop, teller *teller) {
    (void)teller;
    tell('(');
    pass(loop);
    tell(')');
}

static void run_in_post(rlc_post_node *node, bool ran) {
    job *job = (struct job *)node;
    CHECK(ran);
    run_inside(job->loop, NULL);
}

static void remove_and_run(rlc_loop *loop, teller *teller) {
    rlc_hook_remove(teller->hook);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
}

static void test_RLC_HOOK_4_nested_runs_call_hooks(void) {
    rlc_loop *loop = make_empty();
    teller a = {.name = 'a', .in_check = run_inside}, b = {.name = 'b'};
    add(loop, &a);
    add(loop, &b);
    pass(loop);
    CHECK(was("abA(abAB)")); /* b's check was the inner run's */
    job job = make_job(loop);
    job.node.post_fn = run_in_post;
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    pass(loop);
    CHECK(was("ab(abAB)")); /* between prepare and check: once for both */
    rlc_hook_remove(b.hook);
    a.in_check = remove_and_run; /* what was removed keeps no nested run */
    pass(loop);
    CHECK(was("aA"));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* ---- RLC-HOOK-8: runs inside of prepares ---- */

/** As a guest that has a timer of its own: sleeps of the loop end when it is due. */
static uint64_t guest_due_ns;

static void arm_for_guest(rlc_loop *loop, teller *teller) {
    (void)loop;
    CHECK_EQUAL(rlc_timer_arm(prepared_timer, guest_due_ns, 0, 0), 0);
    teller->in_prepare = arm_for_guest;
}

/** Serves what is due, whose next date is to be prepared. */
static void serve_guest(rlc_loop *loop, teller *teller) {
    (void)loop;
    if (guest_due_ns <= kernel.time_ns)
        guest_due_ns = kernel.time_ns + 500;
    teller->in_check = serve_guest;
}

static void run_until_guest(rlc_loop *loop, teller *teller) {
    (void)teller;
    tell('(');
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    tell(')');
}

static void test_RLC_HOOK_8_what_a_run_inside_has_checked_is_prepared_again(void) {
    rlc_loop *loop = make_empty();
    teller a = {.name = 'a', .in_prepare = arm_for_guest, .in_check = serve_guest};
    teller b = {.name = 'b', .in_prepare = run_until_guest};
    add(loop, &a);
    add(loop, &b);
    CHECK_EQUAL(rlc_loop_add_timer(loop, tell_timer, NULL, &prepared_timer), 0);
    uint64_t start_ns = kernel.time_ns;
    guest_due_ns = start_ns + 500;
    CHECK_EQUAL(rlc_loop_run_once(loop, start_ns + 100000), RLC_RUN_HANDLED);
    CHECK(was("ab(abtAB)atAB"));
    CHECK_EQUAL(kernel.time_ns, start_ns + 1000); /* without a's second prepare: the deadline */
    rlc_hook_remove(a.hook);
    b.in_prepare = run_inside; /* alone it has prepared after the run, and the pass sleeps */
    CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK(was("b(bB)B"));
    CHECK_EQUAL(kernel.time_ns, start_ns + 1100);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void run_inside_each(rlc_loop *loop, teller *teller) {
    run_inside(loop, teller);
    teller->in_prepare = run_inside_each;
}

static void test_RLC_HOOK_8_runs_inside_of_all_prepares_end(void) {
    rlc_loop *loop = make_empty();
    teller a = {.name = 'a', .in_prepare = run_inside_each}, b = {.name = 'b', .in_prepare = run_inside_each};
    add(loop, &a);
    add(loop, &b);
    uint64_t start_ns = kernel.time_ns;
    CHECK_EQUAL(rlc_loop_prepare(loop), 1);
    a.in_prepare = b.in_prepare = NULL;
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK_EQUAL(kernel.time_ns, start_ns);
    story[0] = 0;
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_HOOK_8_a_prepare_removed_inside_of_its_run(void) {
    rlc_loop *loop = make_empty();
    teller a = {.name = 'a', .in_prepare = run_inside, .in_check = remove_itself}, b = {.name = 'b'};
    add(loop, &a);
    add(loop, &b);
    pass(loop);
    CHECK(was("a(abAB)bB"));
    pass(loop);
    CHECK(was("bB"));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* ---- RLC-HOOK-9: a hook that a prepare adds ---- */

static teller newcomer;

static void add_newcomer(rlc_loop *loop, teller *teller) {
    teller->in_prepare = NULL;
    add(loop, &newcomer);
}

static void test_RLC_HOOK_9_who_comes_in_a_prepare_is_prepared_before_a_sleep(void) {
    rlc_loop *loop = make_empty();
    teller a = {.name = 'a', .in_prepare = add_newcomer};
    newcomer = (teller){.name = 'b'};
    add(loop, &a);
    CHECK_EQUAL(rlc_loop_prepare(loop), 1);
    CHECK(was("a"));
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK(was("ab"));
    rlc_hook_remove(newcomer.hook);
    a.in_prepare = add_newcomer;
    uint64_t start_ns = kernel.time_ns;
    CHECK_EQUAL(rlc_loop_run(loop, start_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK(was("aAabAB")); /* a pass that polls, and the one that sleeps */
    CHECK_EQUAL(kernel.time_ns, start_ns + 100);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* ---- RLC-HOOK-5: posts without end ---- */

static void test_RLC_HOOK_5_endless_posts_let_hooks_run(void) {
    rlc_loop *loop = make_empty();
    teller a = {.name = 'a'};
    job job = make_job(loop);
    job.again = 3;
    CHECK_EQUAL(rlc_loop_post(loop, &job.node), 0);
    add(loop, &a);
    unsigned long waits = count_of(&kernel.waits);
    CHECK_EQUAL(rlc_loop_run(loop, kernel.time_ns + 100), RLC_RUN_TIMED_OUT);
    CHECK(was("aAaAaAaAaA")); /* four with the post, and the one that sleeps */
    CHECK_EQUAL(count_of(&kernel.waits), waits + 5);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/* ---- RLC-HOOK-6: inside a host ---- */

static bool is_readable(rlc_loop *loop) {
    struct pollfd entry = {.fd = rlc_loop_fd(loop), .events = POLLIN};
    return poll(&entry, 1, 0) == 1;
}

static void test_RLC_HOOK_6_a_hosted_loop(void) {
    rlc_loop *loop = make_empty();
    prepared_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    teller a = {.name = 'a', .in_prepare = add_watch_inside};
    add(loop, &a);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK(was("a"));
    CHECK(!is_readable(loop));
    bump(prepared_fd);
    CHECK(is_readable(loop));
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
    CHECK(was("a!A"));
    a.in_prepare = defer_inside;
    CHECK_EQUAL(rlc_loop_prepare(loop), 1);
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
    CHECK(was("aa!.A"));
    a.in_prepare = remove_itself;
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK_EQUAL(rlc_loop_dispatch(loop), 0);
    CHECK(was("a!"));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    close(prepared_fd);
}

/* ---- RLC-HOOK-7: a child of fork(2) ---- */

static pid_t child;

static void fork_inside(rlc_loop *loop, teller *teller) {
    (void)loop, (void)teller;
    child = fork();
    CHECK(child >= 0);
}

/** In the child: the call was refused, and nothing was called behind the fork. Ends the child. */
static void settle(rlc_loop *loop, teller *teller, int status, const char *in_child) {
    if (child == 0) {
        bool is_right = status == -ECHILD && was(in_child);
        rlc_hook *hook;
        is_right = is_right && rlc_loop_add_hook(loop, tell_prepare, NULL, NULL, &hook) == -ECHILD;
        is_right = is_right && rlc_loop_prepare(loop) == -ECHILD;
        rlc_hook_remove(teller->hook);
        is_right = is_right && rlc_loop_destroy(loop) == 0;
        _exit(is_right ? 7 : 1);
    }
    int ended;
    CHECK_EQUAL(waitpid(child, &ended, 0), child);
    CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == 7);
    story[0] = 0;
}

static void test_RLC_HOOK_7_a_child_calls_no_hook(void) {
    rlc_loop *loop = make_empty();
    teller a = {.name = 'a', .in_prepare = fork_inside}, b = {.name = 'b'};
    add(loop, &a);
    add(loop, &b);
    settle(loop, &a, rlc_loop_run(loop, 0), "a");
    a.in_check = fork_inside;
    settle(loop, &b, rlc_loop_run(loop, 0), "abA");
    a.in_prepare = fork_inside;
    settle(loop, &b, rlc_loop_prepare(loop), "a");
    pass(loop);
    CHECK(was("abAB"));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static int (*real_wait)(void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns);
static int waits;

/** The first wait ends without anything; the loop must not wait again. */
static int end_first_wait(void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    if (waits++ == 0)
        return -EINTR;
    CHECK_EQUAL(deadline_ns, 0);
    return real_wait(context, epoll_fd, events, capacity, deadline_ns);
}

static void wake_and_run_inside(rlc_loop *loop, teller *teller) {
    (void)teller;
    CHECK_EQUAL(rlc_loop_wake(loop), 0);
    pass(loop);
}

static rlc_loop *make_sleepless(void) {
    rlc_loop *loop;
    spy_init_virtual(&kernel, 1000);
    real_wait = kernel.table.epoll_wait;
    kernel.table.epoll_wait = end_first_wait;
    waits = 0;
    story[0] = 0;
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
    return loop;
}

static void test_RLC_LOOP_5_a_run_inside_a_check_keeps_no_wake(void) {
    rlc_loop *loop = make_sleepless();
    teller a = {.name = 'a', .in_check = wake_and_run_inside};
    add(loop, &a);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK(was("aAaA"));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void test_RLC_LOOP_5_a_run_inside_a_prepare_keeps_no_wake(void) {
    rlc_loop *loop = make_sleepless();
    teller a = {.name = 'a', .in_prepare = wake_and_run_inside};
    add(loop, &a);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK(was("aaAA"));
    a.in_prepare = wake_and_run_inside;
    CHECK_EQUAL(rlc_loop_prepare(loop), 1);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

static void run_and_be_prepared_inside(rlc_loop *loop, teller *teller) {
    wake_and_run_inside(loop, teller);
    CHECK_EQUAL(rlc_loop_prepare(loop), 0); /* for a host, whose wait inside has no wake of its own */
}

static void test_RLC_LOOP_5_a_host_inside_a_prepare_keeps_no_wake(void) {
    rlc_loop *loop = make_sleepless();
    teller a = {.name = 'a', .in_prepare = run_and_be_prepared_inside};
    add(loop, &a);
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
    CHECK(was("aaAaA"));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

int main(void) {
    RUN(test_RLC_HOOK_1_prepares_poll_callouts_checks);
    RUN(test_RLC_HOOK_1_either_function_may_be_left_out);
    RUN(test_RLC_HOOK_2_what_a_prepare_changes_counts);
    RUN(test_RLC_HOOK_3_a_loop_with_a_hook_is_not_finished);
    RUN(test_RLC_HOOK_3_removed_and_added_in_callouts);
    RUN(test_RLC_HOOK_3_what_fails_adds_nothing);
    RUN(test_RLC_LOOP_9_a_hook_cannot_destroy_its_loop);
    RUN(test_RLC_HOOK_4_nested_runs_call_hooks);
    RUN(test_RLC_HOOK_8_what_a_run_inside_has_checked_is_prepared_again);
    RUN(test_RLC_HOOK_8_runs_inside_of_all_prepares_end);
    RUN(test_RLC_HOOK_8_a_prepare_removed_inside_of_its_run);
    RUN(test_RLC_HOOK_9_who_comes_in_a_prepare_is_prepared_before_a_sleep);
    RUN(test_RLC_HOOK_5_endless_posts_let_hooks_run);
    RUN(test_RLC_HOOK_6_a_hosted_loop);
    RUN(test_RLC_HOOK_7_a_child_calls_no_hook);
    RUN(test_RLC_LOOP_5_a_run_inside_a_check_keeps_no_wake);
    RUN(test_RLC_LOOP_5_a_run_inside_a_prepare_keeps_no_wake);
    RUN(test_RLC_LOOP_5_a_host_inside_a_prepare_keeps_no_wake);
    return 0;
}

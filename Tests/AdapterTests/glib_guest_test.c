/* <crunloop/adapters/glib_guest.h>: a GMainContext inside an rlc_loop. */
#include "child.h"
#include "harness.h"

#include <crunloop/adapters/glib_guest.h>
#include <glib-unix.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/eventfd.h>

static spy kernel;
static rlc_loop *loop;
static GMainContext *context;
static rlc_glib_guest *guest;
static int calls, others;

static void attach(void) {
    CHECK_EQUAL(rlc_glib_guest_attach(loop, context, &guest), 0);
}

static void begin(void) {
    spy_init(&kernel);
    calls = others = 0;
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
    context = g_main_context_new();
    attach();
}

static void end(void) {
    CHECK_EQUAL(rlc_glib_guest_status(guest), 0);
    rlc_glib_guest_detach(guest);
    g_main_context_unref(context);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/** One pass, which may wait: it ends by an event, there is no time limit here. */
static void turn(void) {
    CHECK_EQUAL(rlc_loop_run_once(loop, RLC_TIME_FOREVER), RLC_RUN_HANDLED);
}

static void look(void) {
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
}

#define TURN_UNTIL(condition)                                                                                          \
    while (!(condition))                                                                                               \
    turn()

static int make_counter(unsigned value) {
    int fd = eventfd(value, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(fd >= 0);
    return fd;
}

static void count_post(rlc_post_node *node, bool ran) {
    (void)node;
    CHECK(ran);
    others++;
}

static void ring(rlc_loop *of, rlc_timer *timer, uint64_t deadline_ns, void *has_rung) {
    (void)of, (void)timer, (void)deadline_ns;
    *(bool *)has_rung = true;
}

/** Lets the loop sleep until a timer of its own rings: the polls of the kernel meanwhile. */
static unsigned long polls_of_a_sleep(void) {
    bool has_rung = false;
    rlc_timer *timer;
    CHECK_EQUAL(rlc_loop_add_timer(loop, ring, &has_rung, &timer), 0);
    unsigned long before = count_of(&kernel.waits);
    CHECK_EQUAL(rlc_timer_arm(timer, rlc_now(RLC_CLOCK_MONOTONIC) + 20000000, 0, 0), 0);
    TURN_UNTIL(has_rung);
    rlc_timer_remove(timer);
    return count_of(&kernel.waits) - before;
}

/* ---- sources of GLib ---- */

static gboolean count_and_stay(gpointer data) {
    (void)data;
    calls++;
    return G_SOURCE_CONTINUE;
}

static gboolean count_and_go(gpointer data) {
    (void)data;
    calls++;
    return G_SOURCE_REMOVE;
}

/** The context holds the reference. */
static GSource *add_source(GSource *source, GSourceFunc function, gpointer data) {
    g_source_set_callback(source, function, data, NULL);
    g_source_attach(source, context);
    g_source_unref(source);
    return source;
}

static gboolean take_bytes(gint fd, GIOCondition condition, gpointer data) {
    (void)condition, (void)data;
    uint64_t value;
    CHECK_EQUAL(read(fd, &value, sizeof value), 8);
    calls++;
    return G_SOURCE_CONTINUE;
}

static gboolean leave_bytes(gint fd, GIOCondition condition, gpointer data) {
    (void)fd, (void)condition, (void)data;
    calls++;
    return G_SOURCE_CONTINUE;
}

static GSource *add_fd(int fd, GUnixFDSourceFunc function) {
    return add_source(g_unix_fd_source_new(fd, G_IO_IN), G_SOURCE_FUNC(function), NULL);
}

/* ---- RLC-GUEST-1: the loop serves what GLib has ---- */

static void test_RLC_GUEST_1_everything_is_served(void) {
    begin();
    gint64 start_us = g_get_monotonic_time();
    add_source(g_timeout_source_new(3), count_and_go, NULL);
    TURN_UNTIL(calls == 1);
    CHECK(g_get_monotonic_time() - start_us >= 3000);
    add_source(g_idle_source_new(), count_and_go, NULL);
    TURN_UNTIL(calls == 2);
    int fd = make_counter(1);
    add_fd(fd, take_bytes);
    TURN_UNTIL(calls == 3);
    bump(fd);
    TURN_UNTIL(calls == 4);
    look();
    CHECK_EQUAL(calls, 4);
    end();
    close(fd);
}

static void test_RLC_GUEST_1_no_context_is_the_default_one(void) {
    begin();
    rlc_glib_guest *of_default;
    CHECK_EQUAL(rlc_glib_guest_attach(loop, NULL, &of_default), 0);
    (void)g_idle_add(count_and_go, NULL);
    TURN_UNTIL(calls == 1);
    rlc_glib_guest_detach(of_default);
    end();
}

/** The timer is armed for a date far away. */
static void test_RLC_GUEST_1_what_comes_before_the_next_timeout(void) {
    begin();
    add_source(g_timeout_source_new_seconds(3600), count_and_stay, NULL);
    look();
    look();
    add_source(g_timeout_source_new(3), count_and_go, NULL);
    TURN_UNTIL(calls == 1);
    look();
    add_source(g_idle_source_new(), count_and_go, NULL);
    TURN_UNTIL(calls == 2);
    look();
    CHECK_EQUAL(calls, 2);
    end();
}

enum { MANY = 100 };

static void test_RLC_GUEST_1_many_descriptors(void) {
    static int fds[MANY];
    begin();
    for (int i = 0; i < MANY; i++) {
        fds[i] = make_counter(0);
        add_fd(fds[i], take_bytes);
    }
    look();
    CHECK_EQUAL(calls, 0);
    for (int i = 0; i < MANY; i++)
        bump(fds[i]);
    look(); /* one pass dispatches all of them, as an iteration of GLib does */
    CHECK_EQUAL(calls, MANY);
    end();
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
}

static int own_polls;

static gint poll_and_count(GPollFD *entries, guint count, gint timeout_ms) {
    CHECK_EQUAL(timeout_ms, 0);
    own_polls++;
    return g_poll(entries, count, timeout_ms);
}

static void test_RLC_GUEST_1_the_context_has_a_poll_function_of_its_own(void) {
    begin();
    int fd = make_counter(1);
    own_polls = 0;
    g_main_context_set_poll_func(context, poll_and_count);
    add_fd(fd, take_bytes);
    TURN_UNTIL(calls == 1);
    CHECK(own_polls > 0);
    end();
    close(fd);
}

/** epoll takes no such descriptor; poll(2) calls it ready at all times. */
static void test_RLC_GUEST_1_a_descriptor_that_epoll_refuses(void) {
    begin();
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    GSource *source = add_fd(fd, leave_bytes);
    TURN_UNTIL(calls == 2);
    g_source_destroy(source);
    look(); /* GLib wakes its context for each descriptor that comes or goes */
    CHECK_EQUAL(polls_of_a_sleep(), 1);
    CHECK_EQUAL(calls, 2);
    end();
    close(fd);
}

/* ---- RLC-GUEST-2: one dispatch a pass, by priorities ---- */

static void test_RLC_GUEST_2_an_endless_source_lets_the_loop_run(void) {
    begin();
    add_source(g_idle_source_new(), count_and_stay, NULL);
    rlc_post_node node = {.post_fn = count_post};
    for (int i = 1; i <= 20; i++) {
        CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
        look();
        CHECK_EQUAL(others, i);
        CHECK_EQUAL(calls, i);
    }
    TURN_UNTIL(calls == 30); /* nothing else ends the sleeps */
    end();
}

static void post_again(rlc_post_node *node, bool ran) {
    others++;
    if (ran && calls < 20)
        CHECK_EQUAL(rlc_loop_post(loop, node), 0);
}

static void test_RLC_GUEST_2_endless_posts_let_glib_run(void) {
    begin();
    int fd = make_counter(1);
    add_fd(fd, leave_bytes);
    rlc_post_node node = {.post_fn = post_again};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    TURN_UNTIL(calls == 20);
    CHECK_EQUAL(others, 20); /* one for one */
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
    end();
    close(fd);
}

static void test_RLC_GUEST_2_a_higher_priority_goes_first(void) {
    begin();
    int low = make_counter(1), high = make_counter(1);
    GSource *source = g_unix_fd_source_new(high, G_IO_IN);
    g_source_set_priority(source, G_PRIORITY_HIGH);
    add_source(source, G_SOURCE_FUNC(take_bytes), NULL);
    add_fd(low, take_bytes);
    look();
    CHECK_EQUAL(calls, 1);
    CHECK_EQUAL(read(high, &(uint64_t){0}, 8), -1); /* it was taken */
    look();
    CHECK_EQUAL(calls, 2);
    end();
    close(low), close(high);
}

/* ---- RLC-GUEST-3: quiet ---- */

static void test_RLC_GUEST_3_idle_without_a_pass(void) {
    begin();
    int fd = make_counter(0);
    add_fd(fd, take_bytes);
    add_source(g_timeout_source_new_seconds(3600), count_and_stay, NULL);
    look(); /* as above */
    CHECK_EQUAL(polls_of_a_sleep(), 1);
    CHECK_EQUAL(polls_of_a_sleep(), 1);
    unsigned long sets = count_of(&kernel.sets);
    rlc_post_node node = {.post_fn = count_post};
    for (int i = 0; i < 10; i++) {
        CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
        turn();
    }
    CHECK_EQUAL(count_of(&kernel.sets), sets); /* GLib's date is the same */
    CHECK_EQUAL(calls, 0);
    end();
    close(fd);
}

static void test_RLC_GUEST_3_a_timeout_that_is_gone_ends_no_sleep(void) {
    begin();
    GSource *soon = add_source(g_timeout_source_new(10), count_and_stay, NULL);
    look();
    g_source_destroy(soon);
    look();
    CHECK_EQUAL(polls_of_a_sleep(), 1);
    end();
}

/* ---- RLC-GUEST-4: other threads ---- */

static void *attach_idle(void *unused) {
    (void)unused;
    add_source(g_idle_source_new(), count_and_go, NULL);
    return NULL;
}

static gboolean start_thread(gpointer thread) {
    CHECK_EQUAL(pthread_create(thread, NULL, attach_idle, NULL), 0);
    return G_SOURCE_REMOVE;
}

/** The thread attaches while the loop sleeps, or before: in both cases no other thing ends the sleep. */
static void test_RLC_GUEST_4_a_source_of_another_thread(void) {
    begin();
    for (int i = 1; i <= 50; i++) {
        pthread_t thread;
        add_source(g_idle_source_new(), start_thread, &thread);
        TURN_UNTIL(calls == i);
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
    }
    end();
}

typedef struct owner {
    atomic_bool owns, may_end;
} owner;

static void *own_context(void *data) {
    owner *owner = data;
    CHECK(g_main_context_acquire(context));
    atomic_store(&owner->owns, true);
    while (!atomic_load(&owner->may_end))
        sched_yield();
    g_main_context_release(context);
    return NULL;
}

static void *fail_to_own_context(void *unused) {
    CHECK(!g_main_context_acquire(context));
    return unused;
}

static void test_RLC_GUEST_4_no_other_thread_gets_the_context_of_a_guest(void) {
    begin();
    pthread_t thread;
    look();
    CHECK_EQUAL(pthread_create(&thread, NULL, fail_to_own_context, NULL), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    end();
}

static void test_RLC_GUEST_4_a_context_has_one_thread(void) {
    begin();
    rlc_glib_guest_detach(guest);
    owner owner = {false, false};
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, own_context, &owner), 0);
    while (!atomic_load(&owner.owns))
        sched_yield();
    CHECK_EQUAL(rlc_glib_guest_attach(loop, context, &guest), -EBUSY);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    atomic_store(&owner.may_end, true);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    attach();
    end();
}

/* ---- RLC-GUEST-5: descriptors that go ---- */

/** Whichever of them goes, the others are served. */
static void test_RLC_GUEST_5_removed_sources(void) {
    enum { COUNT = 3 };
    for (int removed = 0; removed < COUNT; removed++) {
        begin();
        int fds[COUNT];
        GSource *sources[COUNT];
        for (int i = 0; i < COUNT; i++) {
            fds[i] = make_counter(0);
            sources[i] = add_fd(fds[i], take_bytes);
        }
        look();
        g_source_destroy(sources[removed]);
        bump(fds[removed]);
        look(); /* as above */
        CHECK_EQUAL(polls_of_a_sleep(), 1);
        CHECK_EQUAL(calls, 0);
        for (int i = 0; i < COUNT; i++)
            bump(fds[i]);
        TURN_UNTIL(calls == COUNT - 1);
        look();
        CHECK_EQUAL(polls_of_a_sleep(), 1);
        end();
        for (int i = 0; i < COUNT; i++)
            close(fds[i]);
    }
}

/** The number is another file's when GLib waits for it again. */
static void test_RLC_GUEST_5_a_number_that_is_used_again(void) {
    begin();
    int fd = make_counter(0), next = make_counter(0);
    GSource *source = add_fd(fd, take_bytes);
    look();
    g_source_destroy(source);
    CHECK_EQUAL(dup3(next, fd, O_CLOEXEC), fd);
    add_fd(fd, take_bytes);
    look();
    CHECK_EQUAL(calls, 0);
    bump(next);
    TURN_UNTIL(calls == 1);
    look();
    CHECK_EQUAL(polls_of_a_sleep(), 1); /* the loop does not look at it without need */
    end();
    close(fd), close(next);
}

static void test_RLC_GUEST_5_closed_while_a_duplicate_stays(void) {
    begin();
    int fd = make_counter(0), kept = fcntl(fd, F_DUPFD_CLOEXEC, 0), other = make_counter(0);
    GSource *source = add_fd(fd, take_bytes);
    add_fd(other, take_bytes);
    look();
    g_source_destroy(source);
    close(fd); /* epoll still has it */
    bump(kept);
    look();                             /* as above */
    CHECK_EQUAL(polls_of_a_sleep(), 2); /* the first finds it, and makes the set anew */
    CHECK_EQUAL(polls_of_a_sleep(), 1);
    bump(other);
    TURN_UNTIL(calls == 1);
    end();
    close(kept), close(other);
}

/* ---- RLC-GUEST-6: nesting ---- */

static gboolean run_loop_inside(gpointer data) {
    (void)data;
    rlc_post_node node = {.post_fn = count_post};
    add_source(g_idle_source_new(), count_and_go, NULL);
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    TURN_UNTIL(calls == 1 && others == 1);
    return G_SOURCE_REMOVE;
}

static void test_RLC_GUEST_6_the_loop_inside_a_source(void) {
    begin();
    int fd = make_counter(1);
    add_source(g_idle_source_new(), run_loop_inside, NULL);
    TURN_UNTIL(calls == 1);
    add_fd(fd, take_bytes);
    TURN_UNTIL(calls == 2);
    end();
    close(fd);
}

static gboolean quit(gpointer glib_loop) {
    calls++;
    g_main_loop_quit(glib_loop);
    return G_SOURCE_REMOVE;
}

static void run_glib_inside(rlc_post_node *node, bool ran) {
    CHECK(ran);
    others++;
    GMainLoop *glib_loop = g_main_loop_new(context, FALSE);
    add_source(g_timeout_source_new(1), quit, glib_loop);
    g_main_loop_run(glib_loop);
    g_main_loop_unref(glib_loop);
    (void)node;
}

static void test_RLC_GUEST_6_a_glib_loop_inside_a_callout(void) {
    begin();
    rlc_post_node node = {.post_fn = run_glib_inside};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    TURN_UNTIL(others == 1);
    CHECK_EQUAL(calls, 1);
    add_source(g_idle_source_new(), count_and_go, NULL);
    TURN_UNTIL(calls == 2);
    end();
}

static GMainLoop *inner;
static GSource *leaving;
static int ready_inside;

static gboolean take_bytes_and_quit(gint fd, GIOCondition condition, gpointer data) {
    g_main_loop_quit(inner);
    return take_bytes(fd, condition, data);
}

static void run_glib_without_one(rlc_post_node *node, bool ran) {
    (void)node;
    CHECK(ran);
    others++;
    g_source_destroy(leaving);
    bump(ready_inside);
    inner = g_main_loop_new(context, FALSE);
    g_main_loop_run(inner);
    g_main_loop_unref(inner);
}

/** What GLib has polled since belongs to other descriptors than the hook's preparation has told. */
static void test_RLC_GUEST_6_a_glib_loop_inside_polls_for_itself(void) {
    begin();
    int fd = make_counter(0);
    ready_inside = make_counter(0);
    leaving = add_fd(fd, leave_bytes);
    add_fd(ready_inside, take_bytes_and_quit);
    rlc_post_node node = {.post_fn = run_glib_without_one};
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    TURN_UNTIL(others == 1);
    look();
    CHECK_EQUAL(calls, 1);
    end();
    close(fd), close(ready_inside);
}

static bool is_prepared;

static gboolean prepare_once(GSource *source, gint *timeout_ms) {
    (void)source;
    *timeout_ms = -1;
    is_prepared = true;
    return FALSE;
}

static gboolean check_once(GSource *source) {
    (void)source;
    CHECK(is_prepared);
    is_prepared = false;
    return FALSE;
}

static gboolean dispatch_never(GSource *source, GSourceFunc callback, gpointer data) {
    (void)source, (void)callback, (void)data;
    CHECK(!"a source that is never ready is dispatched");
    return G_SOURCE_REMOVE;
}

static void iterate_inside(rlc_post_node *node, bool ran) {
    count_post(node, ran);
    g_main_context_iteration(context, FALSE);
}

/** As GLib promises its sources: what was prepared before belongs to the iteration inside. */
static void test_RLC_GUEST_6_each_check_has_its_preparation(void) {
    static GSourceFuncs functions = {prepare_once, check_once, dispatch_never, NULL, NULL, NULL};
    begin();
    is_prepared = false;
    GSource *source = g_source_new(&functions, sizeof *source);
    g_source_attach(source, context);
    rlc_post_node node = {.post_fn = iterate_inside};
    for (int i = 1; i <= 3; i++) {
        CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
        TURN_UNTIL(others == i);
    }
    g_source_destroy(source);
    g_source_unref(source);
    end();
}

/* ---- RLC-GUEST-7: detaching ---- */

static gboolean detach_inside(gpointer data) {
    (void)data;
    calls++;
    rlc_glib_guest_detach(guest);
    guest = NULL;
    return G_SOURCE_CONTINUE;
}

static void test_RLC_GUEST_7_detached_in_a_source_and_attached_again(void) {
    begin();
    add_source(g_idle_source_new(), detach_inside, NULL);
    TURN_UNTIL(calls == 1);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    g_main_context_iteration(context, FALSE); /* it is any thread's */
    CHECK_EQUAL(calls, 2);
    attach();
    TURN_UNTIL(calls == 3);
    attach();
    add_source(g_idle_source_new(), run_loop_inside, NULL);
    rlc_glib_guest_detach(guest);
    rlc_glib_guest_detach(NULL);
    attach();
    end();
}

static gboolean run_loop_until_detached(gpointer data) {
    (void)data;
    others++;
    add_source(g_idle_source_new(), detach_inside, NULL);
    while (guest != NULL)
        (void)rlc_loop_run_once(loop, RLC_TIME_FOREVER);
    return G_SOURCE_REMOVE;
}

/** The guest is freed when the outer call has returned. */
static void test_RLC_GUEST_7_detached_in_a_source_inside_of_another_one(void) {
    begin();
    add_source(g_idle_source_new(), run_loop_until_detached, NULL);
    turn();
    CHECK_EQUAL(others, 1);
    CHECK_EQUAL(calls, 1);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK(!g_main_context_is_owner(context));
    attach();
    TURN_UNTIL(calls == 2); /* the source that has stayed */
    attach();
    end();
}

/** As poll(2) does, which looks at none such. */
static void test_RLC_GUEST_3_a_negative_number_keeps_nobody_awake(void) {
    begin();
    GPollFD none = {.fd = -1, .events = G_IO_IN, .revents = 0};
    GSource *source = g_timeout_source_new_seconds(3600);
    g_source_add_poll(source, &none);
    add_source(source, count_and_go, NULL);
    look();
    CHECK_EQUAL(polls_of_a_sleep(), 1);
    g_source_destroy(source);
    end();
}

/** Other code iterates the context on: nothing of the guest is in it. */
static void test_RLC_GUEST_7_nothing_of_the_guest_stays_in_the_context(void) {
    begin();
    GSource *counter = g_source_ref(guest->counter);
    look();
    rlc_glib_guest_detach(guest);
    CHECK(g_source_is_destroyed(counter));
    CHECK_EQUAL(counter->ref_count, 1);
    g_source_unref(counter);
    CHECK(g_main_context_acquire(context));
    g_main_context_release(context);
    CHECK(!g_main_context_is_owner(context));
    attach();
    end();
}

/* ---- RLC-GUEST-8: a child of fork(2) ---- */

static void test_RLC_GUEST_8_a_child_detaches_and_the_parent_goes_on(void) {
    begin();
    int fd = make_counter(0);
    add_fd(fd, take_bytes);
    look();
    pid_t child = fork_with_limit();
    if (child == 0) {
        bool is_refused = rlc_loop_run(loop, 0) == -ECHILD && calls == 0;
        rlc_glib_guest_detach(guest);
        _exit(is_refused && rlc_glib_guest_attach(loop, context, &guest) == -ECHILD ? 7 : 1);
    }
    CHECK_EQUAL(status_of(child), 7);
    bump(fd);
    TURN_UNTIL(calls == 1);
    end();
    close(fd);
}

/* ---- a source that is left ---- */

static jmp_buf outside;

static gboolean is_ready_once(GSource *source) {
    (void)source;
    return calls == 0;
}

static gboolean leave(GSource *source, GSourceFunc callback, gpointer data) {
    (void)source, (void)callback, (void)data;
    calls++;
    longjmp(outside, 1);
}

/** The loop serves the context on, and when the guest is detached nothing of it is left. GLib keeps a reference. */
static void test_RLC_GUEST_10_a_source_is_left(void) {
    static GSourceFuncs functions = {NULL, is_ready_once, leave, NULL, NULL, NULL};
    long before = blocks_in_use();
    begin();
    GSource *source = g_source_new(&functions, sizeof *source);
    g_source_set_ready_time(source, 0);
    (void)g_source_attach(source, context);
    if (setjmp(outside) == 0)
        for (;;)
            turn();
    CHECK_EQUAL(calls, 1);
    g_source_destroy(source);
    g_source_unref(source), g_source_unref(source);
    GSource *idle = g_idle_source_new();
    g_source_set_callback(idle, count_and_go, NULL, NULL);
    (void)g_source_attach(idle, context);
    g_source_unref(idle);
    TURN_UNTIL(calls == 2);
    end();
    CHECK_EQUAL(blocks_in_use(), before);
}

#include "glib_guest_failures.h"

int main(void) {
    (void)g_main_context_default(); /* what it opens stays */
    RUN(test_RLC_GUEST_1_everything_is_served);
    RUN(test_RLC_GUEST_1_no_context_is_the_default_one);
    RUN(test_RLC_GUEST_1_what_comes_before_the_next_timeout);
    RUN(test_RLC_GUEST_1_many_descriptors);
    RUN(test_RLC_GUEST_1_the_context_has_a_poll_function_of_its_own);
    RUN(test_RLC_GUEST_1_a_descriptor_that_epoll_refuses);
    RUN(test_RLC_GUEST_2_an_endless_source_lets_the_loop_run);
    RUN(test_RLC_GUEST_2_endless_posts_let_glib_run);
    RUN(test_RLC_GUEST_2_a_higher_priority_goes_first);
    RUN(test_RLC_GUEST_3_idle_without_a_pass);
    RUN(test_RLC_GUEST_3_a_timeout_that_is_gone_ends_no_sleep);
    RUN(test_RLC_GUEST_3_a_negative_number_keeps_nobody_awake);
    RUN(test_RLC_GUEST_4_a_source_of_another_thread);
    RUN(test_RLC_GUEST_4_no_other_thread_gets_the_context_of_a_guest);
    RUN(test_RLC_GUEST_4_a_context_has_one_thread);
    RUN(test_RLC_GUEST_5_removed_sources);
    RUN(test_RLC_GUEST_5_a_number_that_is_used_again);
    RUN(test_RLC_GUEST_5_closed_while_a_duplicate_stays);
    RUN(test_RLC_GUEST_6_the_loop_inside_a_source);
    RUN(test_RLC_GUEST_6_a_glib_loop_inside_a_callout);
    RUN(test_RLC_GUEST_6_a_glib_loop_inside_polls_for_itself);
    RUN(test_RLC_GUEST_6_each_check_has_its_preparation);
    RUN(test_RLC_GUEST_7_detached_in_a_source_and_attached_again);
    RUN(test_RLC_GUEST_7_detached_in_a_source_inside_of_another_one);
    run_cases_of_failures();
    RUN(test_RLC_GUEST_7_nothing_of_the_guest_stays_in_the_context);
    RUN(test_RLC_GUEST_8_a_child_detaches_and_the_parent_goes_on);
    RUN(test_RLC_GUEST_10_a_source_is_left);
    return 0;
}

/* Wakeup port, post queue, spin, and the stop word of rlc_loop: the production files, under every order and weak memory. */
#include "fake_kernel.h"
#include "loop_internal.h"
#include "scheduler.h"

#include <crunloop/crunloop.h>
#include <crunloop_kit/crunloop_kit.h>
#include <errno.h>
#include <stdatomic.h>

static fake_kernel kernel;
static rlc_wakeup_port *port;
static rlc_loop *loop;

/* ---- the wakeup port: who takes POSTED sees what every sender has published, and nobody sleeps over it ---- */

static atomic_int published[2];
static int plain;

static void make_port(void) {
    fake_kernel_init(&kernel);
    ASSERT(rlc_wakeup_port_create(&kernel.table, &port) == 0);
    for (int i = 0; i < 2; i++)
        atomic_store(&published[i], 0);
    plain = 0;
}

static void end_port(void) {
    ASSERT(kernel.writes <= 3);
    rlc_wakeup_port_release(port);
    ASSERT(kernel.closes == 1);
}

static bool is_published(int sender) {
    return atomic_load_explicit(&published[sender], memory_order_relaxed) != 0;
}

/** Two send; the owner drops what is posted, looks, and sleeps, until it has seen both. */
static void signal_or_own(unsigned self) {
    if (self > 0) {
        atomic_store_explicit(&published[self - 1], 1, memory_order_relaxed);
        ASSERT(rlc_wakeup_port_signal(port) >= 0);
        return;
    }
    while (true) {
        (void)rlc_wakeup_port_take(port);
        if (is_published(0) && is_published(1))
            return;
        if (rlc_wakeup_port_begin_wait(port))
            sched_sleep(&kernel.is_written);
    }
}

static void signal_plain_or_own(unsigned self) {
    if (self == 1) {
        plain = 77;
        ASSERT(rlc_wakeup_port_signal(port) >= 0);
        return;
    }
    if (self == 2) {
        ASSERT(rlc_wakeup_port_interrupt(port) >= 0); /* may come first, and must not hide the signal */
        return;
    }
    while (rlc_wakeup_port_take(port) != RLC_WAKE_POSTED) {
        if (rlc_wakeup_port_begin_wait(port))
            sched_sleep(&kernel.is_written);
    }
    ASSERT(plain == 77);
}

/** Threads that go give their reference back; the last one closes, after every write. */
static void signal_and_release(unsigned self) {
    (void)self;
    (void)rlc_wakeup_port_signal(port);
    rlc_wakeup_port_release(port);
}

static void make_shared_port(void) {
    make_port();
    (void)rlc_wakeup_port_retain(port);
    (void)rlc_wakeup_port_retain(port);
    (void)rlc_wakeup_port_begin_wait(port);
}

static void end_shared_port(void) {
    ASSERT(kernel.closes == 1);
    ASSERT(kernel.writes == 1);
}

/** The owner closes the port, and goes: who signals later is told, and nobody writes into what is closed. */
static void signal_or_close(unsigned self) {
    if (self == 0) {
        rlc_wakeup_port_close(port);
    } else {
        int status = rlc_wakeup_port_signal(port);
        ASSERT(status == 0 || status == 1 || status == -ESHUTDOWN);
    }
    rlc_wakeup_port_release(port);
}

static void end_closed_port(void) {
    ASSERT(kernel.closes == 1);
    ASSERT(kernel.writes <= 1); /* none if it was closed first */
}

static void make_sleeping_port(void) {
    make_port();
    (void)rlc_wakeup_port_begin_wait(port);
}

/** The descriptor goes with the end, or with the last writer; the fake kernel sees that none writes to it afterwards. */
static void signal_or_end(unsigned self) {
    if (self > 0) {
        (void)rlc_wakeup_port_signal(port);
        return;
    }
    (void)rlc_wakeup_port_take(port);
    (void)rlc_wakeup_port_begin_wait(port); /* a host's thread may end so */
    rlc_wakeup_port_end(port);
}

static void end_ended_port(void) {
    ASSERT(kernel.closes == 1);
    rlc_wakeup_port_release(port);
    ASSERT(kernel.closes == 1);
}

/* ---- the post queue: every node once, by take or by close, in order; or refused and left alone ---- */

enum { PUSHERS = 2, NODES = 2 };
typedef struct parcel {
    rlc_post_node node; /* first */
    int payload, called;
    bool is_accepted;
} parcel;

static rlc_post_queue queue;
static parcel parcels[PUSHERS][NODES];
static int last_called[PUSHERS];

static void make_queue(void) {
    queue = (rlc_post_queue){0};
    for (int i = 0; i < PUSHERS; i++) {
        last_called[i] = -1;
        for (int j = 0; j < NODES; j++)
            parcels[i][j] = (parcel){.payload = -1};
    }
}

static void call_all(rlc_post_node *node) {
    for (rlc_post_node *next; node != NULL; node = next) {
        next = node->next;
        parcel *parcel = (struct parcel *)node;
        int pusher = parcel->payload / NODES, number = parcel->payload % NODES;
        ASSERT(parcel == &parcels[pusher][number]);
        ASSERT(number > last_called[pusher]);
        last_called[pusher] = number;
        parcel->called++;
    }
}

static void push_or_take(unsigned self) {
    for (int i = 0; i < NODES && self > 0; i++) {
        parcel *parcel = &parcels[self - 1][i];
        parcel->payload = (int)(self - 1) * NODES + i;
        int status = rlc_post_queue_push(&queue, &parcel->node);
        parcel->is_accepted = status >= 0;
    }
    if (self > 0)
        return;
    call_all(rlc_post_queue_take_all(&queue));
    call_all(rlc_post_queue_close(&queue));
    call_all(rlc_post_queue_take_all(&queue)); /* finds nothing, and opens nothing */
}

static void end_queue(void) {
    for (int i = 0; i < PUSHERS; i++) {
        for (int j = 0; j < NODES; j++)
            ASSERT(parcels[i][j].called == parcels[i][j].is_accepted);
    }
}

/* ---- rlc_loop: posts, stops and wakes from other threads ---- */

static int posts_called, posts_wanted;

static void call_parcel(rlc_post_node *node, bool ran) {
    ASSERT(ran);
    parcel *parcel = (struct parcel *)node;
    ASSERT(parcel->payload == 77);
    if (++posts_called == posts_wanted)
        (void)rlc_loop_stop(loop);
}

static void ignore_watch(rlc_loop *of, rlc_watch *watch, uint32_t ready, void *context) {
    (void)of, (void)watch, (void)ready, (void)context;
}

static void make_loop(void) {
    fake_kernel_init(&kernel);
    ASSERT(rlc_loop_create(&kernel.table, &loop) == 0);
    rlc_watch *watch;
    ASSERT(rlc_loop_add_watch(loop, 7, RLC_READABLE, ignore_watch, NULL, &watch) == 0);
    posts_called = 0;
    posts_wanted = PUSHERS;
    make_queue();
}

static void make_spinning_loop(void) {
    make_loop();
    rlc_loop_set_spin(loop, 40);
}

static void end_loop(void) {
    ASSERT(posts_called == posts_wanted);
    ASSERT(rlc_loop_destroy(loop) == 0);
}

static void post_parcel(parcel *parcel) {
    parcel->payload = 77;
    parcel->node.post_fn = call_parcel;
    ASSERT(rlc_loop_post(loop, &parcel->node) == 0);
}

static void post_or_run(unsigned self) {
    if (self > 0)
        post_parcel(&parcels[self - 1][0]);
    else
        ASSERT(rlc_loop_run(loop, RLC_TIME_FOREVER) == RLC_RUN_STOPPED);
}

/** One has pushed and never comes to its wake: the other's post does not wait for it. */
static void post_beside_a_preempted_one(unsigned self) {
    parcel *parcel = &parcels[1][0];
    if (self != 2) {
        post_or_run(self);
        return;
    }
    parcel->payload = 77;
    parcel->node.post_fn = call_parcel;
    (void)rlc_post_queue_push(&loop->posts, &parcel->node);
}

static void make_loop_for_one(void) {
    make_loop();
    posts_wanted = 1;
}

static void end_loop_for_one(void) {
    ASSERT(posts_called >= 1); /* the preempted one's may come with it, or never */
    loop->posts.head = 0;
    ASSERT(rlc_loop_destroy(loop) == 0);
}

static void stop_wake_or_run(unsigned self) {
    if (self == 1) {
        while (atomic_load(&loop->stop) == 0) /* before the run a stop would be for nobody */
            sched_yield_here();
        ASSERT(rlc_loop_stop(loop) == 0);
    } else if (self == 2) {
        ASSERT(rlc_loop_wake(loop) == 0);
    } else {
        ASSERT(rlc_loop_run(loop, RLC_TIME_FOREVER) == RLC_RUN_STOPPED);
    }
}

static void make_loop_without_posts(void) {
    make_loop();
    posts_wanted = 0;
}

/* A run inside a callout of the outer one. A stop that comes while the outer one is the innermost is kept over the inner run;
 * the inner one, which only looks, takes the others with it, and the outer one must not be ended by them. */
static atomic_int has_begun, is_inner_over;
static bool is_stopped_before;

static void run_inside(rlc_post_node *node, bool ran) {
    (void)node, (void)ran;
    is_stopped_before = (atomic_load(&loop->stop) & 1) != 0;
    uint64_t outer = atomic_load(&loop->stop) & ~(uint64_t)1;
    ASSERT(rlc_loop_run(loop, 0) == RLC_RUN_TIMED_OUT);
    uint64_t word = atomic_load(&loop->stop);
    ASSERT((word & ~(uint64_t)1) == outer);
    ASSERT(!is_stopped_before || (word & 1) != 0);
    atomic_store(&is_inner_over, 1);
}

static void note_begun(rlc_post_node *node, bool ran) {
    (void)node, (void)ran;
    atomic_store(&has_begun, 1);
}

static void stop_around_nested_runs(unsigned self) {
    if (self == 0) {
        ASSERT(rlc_loop_run(loop, RLC_TIME_FOREVER) == RLC_RUN_STOPPED);
        return;
    }
    while (atomic_load(self == 1 ? &has_begun : &is_inner_over) == 0)
        sched_yield_here();
    ASSERT(rlc_loop_stop(loop) == 0);
}

static rlc_post_node first_post = {.post_fn = note_begun}, second_post = {.post_fn = run_inside};

static void make_nesting_loop(void) {
    make_loop_without_posts();
    atomic_store(&has_begun, 0);
    atomic_store(&is_inner_over, 0);
    ASSERT(rlc_loop_defer(loop, &first_post) == 0);
    ASSERT(rlc_loop_defer(loop, &second_post) == 0);
}

/* ---- inside a host's loop ---- */

static void host_or_post(unsigned self) {
    if (self > 0) {
        post_parcel(&parcels[self - 1][0]);
        return;
    }
    while (posts_called < posts_wanted) {
        int status = rlc_loop_prepare(loop);
        ASSERT(status >= 0);
        while (status == 0 && !kernel.is_written) {
            sched_sleep(&kernel.is_written);
            kernel.is_written = true; /* the host's poll does not fetch it */
        }
        ASSERT(rlc_loop_dispatch(loop) >= 0);
    }
}

static const scenario scenarios[] = {
    {"wakeup_port", 3, make_port, signal_or_own, end_port, 0},
    {"wakeup_port_plain_data", 3, make_port, signal_plain_or_own, end_port, 0},
    {"wakeup_port_references", 3, make_shared_port, signal_and_release, end_shared_port, 0},
    {"wakeup_port_closed", 3, make_shared_port, signal_or_close, end_closed_port, 0},
    {"wakeup_port_end", 3, make_sleeping_port, signal_or_end, end_ended_port, 0},
    {"post_queue", 3, make_queue, push_or_take, end_queue, 0},
    {"loop_posts", 3, make_loop, post_or_run, end_loop, 0},
    {"loop_posts_spinning", 3, make_spinning_loop, post_or_run, end_loop, 0},
    {"loop_post_beside_preempted", 3, make_loop_for_one, post_beside_a_preempted_one, end_loop_for_one, 0},
    {"loop_stop", 3, make_loop_without_posts, stop_wake_or_run, end_loop, 0},
    {"loop_stop_nested", 3, make_nesting_loop, stop_around_nested_runs, end_loop, 0},
    {"loop_hosted", 3, make_loop, host_or_post, end_loop, 0},
};

int main(int argc, char **argv) {
    sched_ignore(&rlc_fork_word);
    (void)rlc_fork_generation();
    sched_ignore(rlc_fork_word);
    return sched_main(argc, argv, scenarios, sizeof scenarios / sizeof scenarios[0]);
}

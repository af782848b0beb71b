/*
 * rlc_loop under random calls, from callouts too, with calls of the system and allocations that fail. What is held:
 * each post once, each date once and never early, nothing after a removal, nothing left behind, every status one that
 * the headers name. In virtual time a case is its seed:
 *   loop_fuzz_test            as many cases as the tests can wait for
 *   loop_fuzz_test SECONDS    other cases, for so long
 *   loop_fuzz_test - SEED     that case, told step by step
 */
#include "harness.h"

#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

enum {
    CASES = 1500,
    THREAD_CASES = 40,
    STEPS = 60,
    MOST_RECORDS = 4096,
    LIVE = 8,
    DEEPEST = 3,
    POSTERS = 2,
    POSTS_EACH = 150,
    /* A pass that calls posts or reports refused watches may leave out the poll [RLC-COST-2]. So one pass calls the
     * posts, one reports what the first refused, one polls, and one reports what that poll refused. */
    PASSES_FOR_ALL = 4,
};

/** Cases that once failed. */
static const uint64_t KEPT_CASES[] = {
    1795918454010496, /* its last posts and a refused watch used up two passes, and neither polled */
    1795938226006778, /* a watch was refused in its own callout, and a nested run called it with the error */
    1795938877031803, /* a call failed as a watch joined a number that had ended: the others were taken for closed */
};
static const uint64_t START = 1000000000;

static uint64_t seed;
static bool tells;

#define HOLDS(condition) ((condition) ? (void)0 : fuzz_failed(__LINE__, #condition))
#define TELL(...) (tells ? (void)fprintf(stderr, "  " __VA_ARGS__) : (void)0)

_Noreturn static void fuzz_failed(int line, const char *condition) {
    (void)fprintf(stderr, "again with: loop_fuzz_test - %llu\n", (unsigned long long)seed);
    check_failed(__FILE__, line, condition);
}

/* ---- chance ---- */

static uint64_t chance_state;

static uint32_t chance(uint32_t below) {
    chance_state += 0x9e3779b97f4a7c15U;
    uint64_t mixed = chance_state;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return (uint32_t)((mixed ^ (mixed >> 31)) % below);
}

/* ---- what is known of the loop's parts; a record is never used again in its case ---- */

typedef struct {
    rlc_timer *timer; /* NULL: removed */
    bool is_armed, is_inside;
    uint64_t deadline, interval, tolerance;
    unsigned armings;
    uint32_t armed_after; /* as many posts */
} timer_record;

/* What watches watch, perhaps several of them. */
typedef struct {
    int fd, far; /* far: -1 once closed */
    unsigned watches;
    bool was_read;
} line_record;

typedef struct {
    rlc_watch *watch; /* NULL: removed */
    line_record *line;
    uint32_t interests; /* all that this pass may have looked with */
    uint32_t interest;
    bool is_inside, is_silent, was_called;
} watch_record;

typedef struct {
    rlc_post_node node;
    unsigned ran, dropped;
    bool is_queued, is_deferred, stops;
    uint32_t order;
    uint64_t posted_at;
} post_record;

static rlc_loop *loop;
static spy kernel;
static timer_record timers[MOST_RECORDS];
static line_record lines[MOST_RECORDS];
static watch_record watches[MOST_RECORDS];
static post_record posts[MOST_RECORDS];
static unsigned timer_count, line_count, watch_count, post_count;
static uint32_t last_order[2];
static unsigned depth, runs;
/** How many posts there were: when the innermost callout began; of each run, when the one began that has stopped it. */
static uint32_t posts_at_callout;
static uint32_t posts_at_stop[DEEPEST + 3];
static bool fails, is_over, wants_stop, is_quiet; /* quiet: without watches, nothing but posts and timers */

static void random_steps(unsigned count);
static post_record *post(bool defers);

static uint64_t now(void) {
    return kernel.table.now(kernel.table.context, RLC_CLOCK_MONOTONIC);
}

static void stop(void) {
    HOLDS(rlc_loop_stop(loop) == 0);
    /* What this callout has posted is the next pass's, which does not come any more. */
    if (posts_at_stop[runs] > posts_at_callout)
        posts_at_stop[runs] = posts_at_callout;
}

/* ---- callouts ---- */

static void from_a_callout(void) {
    if (is_over || depth > DEEPEST)
        return;
    uint32_t enclosing = posts_at_callout;
    posts_at_callout = post_count;
    depth++;
    random_steps(chance(4));
    depth--;
    /* Perhaps a nested run has called it: the outermost one is meant. */
    if (depth == 0 && wants_stop) {
        wants_stop = false;
        stop();
    }
    posts_at_callout = enclosing;
}

static void timer_called(rlc_loop *called, rlc_timer *timer, uint64_t deadline, void *context) {
    timer_record *record = context;
    HOLDS(called == loop && record->timer == timer); /* else: after its removal */
    HOLDS(record->is_armed);
    HOLDS(now() >= deadline);
    if (record->interval == 0) {
        HOLDS(deadline == record->deadline);
        record->is_armed = false; /* once */
    } else {
        HOLDS(!record->is_inside);
        HOLDS(deadline >= record->deadline && (deadline - record->deadline) % record->interval == 0);
        record->deadline = deadline + record->interval;
    }
    TELL("timer %ld of %llu\n", (long)(record - timers), (unsigned long long)deadline);
    bool was_inside = record->is_inside;
    unsigned arming = record->armings;
    record->is_inside = true;
    from_a_callout();
    record->is_inside = was_inside;
    /* The dates that have passed meanwhile are skipped. */
    if (record->interval != 0 && arming == record->armings && record->deadline <= now())
        record->deadline += ((now() - record->deadline) / record->interval + 1) * record->interval;
}

static void watch_called(rlc_loop *called, rlc_watch *watch, uint32_t ready, void *context) {
    watch_record *record = context;
    HOLDS(called == loop && record->watch == watch);
    HOLDS(!record->is_inside && ready != 0);
    HOLDS((ready & ~(record->interests | RLC_HANGUP | RLC_ERROR)) == 0);
    record->was_called = true;
    if (ready & (RLC_HANGUP | RLC_ERROR))
        record->is_silent = true;
    TELL("watch %ld: %u\n", (long)(record - watches), ready);
    char bytes[64];
    /* Trusted as the pass's look found it: what a callout has read since is gone, else it is there. */
    line_record *line = record->line;
    bool is_readable = recv(line->fd, bytes, 1, MSG_PEEK) >= 0;
    HOLDS(!(ready & RLC_READABLE) || line->was_read || is_readable);
    if ((ready & RLC_READABLE) && chance(2)) {
        (void)!read(line->fd, bytes, sizeof bytes);
        line->was_read = true;
    }
    record->is_inside = true;
    from_a_callout();
    record->is_inside = false;
}

/** Each pass calls timers that are due before posts: those due when the post was made have had their turn. */
static void check_that_timers_came_before(const post_record *post) {
    for (unsigned i = timer_count > 4 * LIVE ? timer_count - 4 * LIVE : 0; i < timer_count; i++) {
        const timer_record *record = &timers[i];
        if (record->interval != 0 && !kernel.keeps_time)
            continue; /* which date comes next is the loop's to say: the clock has moved since the callout */
        HOLDS(record->timer == NULL || !record->is_armed || record->is_inside || record->armed_after >= post->order ||
              record->deadline + record->tolerance > post->posted_at);
    }
}

static void post_called(rlc_post_node *node, bool ran) {
    post_record *record = (post_record *)(void *)node;
    HOLDS(record->is_queued && record->ran + record->dropped == 0);
    if (ran) {
        record->ran++;
        HOLDS(record->order > last_order[record->is_deferred]); /* in the order of posting */
        last_order[record->is_deferred] = record->order;
        TELL("post %ld\n", (long)(record - posts));
        wants_stop |= record->stops;
        HOLDS(runs == 0 || record->order <= posts_at_stop[runs]); /* a stop ends the run with its pass */
        if (!is_over && runs > 0)
            check_that_timers_came_before(record);
        from_a_callout();
    } else {
        HOLDS(is_over);
        record->dropped++;
    }
}

/* ---- steps ---- */

/** Statuses that the headers name, with or without failing calls. */
static bool is_answer(int status) {
    return status >= 0 || (fails && (status == -EMFILE || status == -ENOMEM || status == -ENOSPC));
}

static void add_timer(void) {
    timer_record *record = &timers[timer_count];
    *record = (timer_record){0};
    int status = rlc_loop_add_timer(loop, timer_called, record, &record->timer);
    HOLDS(is_answer(status));
    if (status < 0)
        record->timer = NULL;
    else
        timer_count++;
}

static timer_record *some_timer(void) {
    return timer_count == 0 ? NULL : &timers[timer_count - 1 - chance(timer_count < LIVE ? timer_count : LIVE)];
}

static void arm_timer(void) {
    timer_record *record = some_timer();
    if (record == NULL || record->timer == NULL)
        return;
    uint64_t deadline = chance(12) == 0  ? RLC_TIME_FOREVER
                        : chance(8) == 0 ? now() - chance(1000)
                                         : now() + chance(5000);
    uint64_t interval = chance(3) == 0 ? 1 + chance(900) : 0;
    uint64_t tolerance = chance(2) == 0 ? 0 : chance(2000);
    HOLDS(rlc_timer_arm(record->timer, deadline, interval, tolerance) == 0);
    record->is_armed = deadline != RLC_TIME_FOREVER;
    record->deadline = deadline;
    record->armed_after = post_count;
    record->armings++;
    record->interval = interval;
    record->tolerance = tolerance;
    TELL("arm %ld: %llu every %llu\n", (long)(record - timers), (unsigned long long)deadline,
        (unsigned long long)interval);
    /* Its callout may be on the stack: what it was armed for inside counts, and it may be entered again. */
    record->is_inside = false;
}

static void remove_timer(void) {
    timer_record *record = some_timer();
    if (record == NULL)
        return;
    rlc_timer_remove(record->timer);
    record->timer = NULL;
    record->is_armed = false;
}

static void leave_line(line_record *line) {
    if (--line->watches > 0)
        return;
    close(line->fd);
    if (line->far >= 0)
        close(line->far);
    line->far = -1;
}

static watch_record *some_watch(void) {
    if (watch_count == 0)
        return NULL;
    watch_record *record = &watches[watch_count - 1 - chance(watch_count < LIVE ? watch_count : LIVE)];
    return record->watch == NULL ? NULL : record;
}

/** That of another watch, or a new one; NULL without descriptors. */
static line_record *some_line(void) {
    const watch_record *other = chance(3) == 0 ? some_watch() : NULL;
    if (other != NULL)
        return other->line;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return NULL;
    line_record *line = &lines[line_count++]; /* not more than watches: a refused one makes room */
    *line = (line_record){.fd = ends[0], .far = ends[1]};
    return line;
}

static void add_watch(void) {
    line_record *line = some_line();
    if (line == NULL)
        return;
    line->watches++;
    watch_record *record = &watches[watch_count];
    *record = (watch_record){.line = line, .interest = chance(4)};
    record->interests = record->interest;
    int status = rlc_loop_add_watch(loop, line->fd, record->interest, watch_called, record, &record->watch);
    HOLDS(is_answer(status));
    if (status == 0) {
        watch_count++;
        return;
    }
    leave_line(line);
    if (line->watches == 0)
        line_count--; /* it was a new one, the last */
    record->watch = NULL;
}

static void remove_watch(void) {
    watch_record *record = some_watch();
    if (record == NULL)
        return;
    rlc_watch_remove(record->watch);
    record->watch = NULL;
    leave_line(record->line);
}

static void change_interest(void) {
    watch_record *record = some_watch();
    if (record == NULL)
        return;
    uint32_t interest = chance(4);
    int status = rlc_watch_set_interest(record->watch, interest);
    HOLDS(is_answer(status));
    record->interests |= interest;
    if (status == 0) {
        record->interest = interest;
        record->is_silent = false;
    }
}

static void touch_descriptor(void) {
    watch_record *record = some_watch();
    if (record == NULL || record->line->far < 0)
        return;
    line_record *line = record->line;
    char bytes[64] = {0};
    switch (chance(6)) {
    case 0:
        close(line->far);
        line->far = -1;
        break;
    case 1:
        (void)!read(line->far, bytes, sizeof bytes);
        break;
    case 2:
        (void)!read(line->fd, bytes, sizeof bytes);
        line->was_read = true;
        break;
    default:
        (void)!send(line->far, bytes, 1 + chance(20), MSG_NOSIGNAL);
    }
}

static post_record *post(bool defers) {
    post_record *record = &posts[post_count++];
    *record = (post_record){.is_queued = true, .is_deferred = defers, .order = post_count};
    record->node.post_fn = post_called;
    record->posted_at = now();
    HOLDS((defers ? rlc_loop_defer : rlc_loop_post)(loop, &record->node) == 0);
    return record;
}

static void let_something_fail(void) {
    if (!fails)
        return;
    atomic_store(&kernel.fail_at, chance(3));
    kernel.fail_with = chance(2) ? -EMFILE : -ENOSPC;
    fail_allocation(chance(3));
}

/** Between runs: no event has been fetched that could be trusted. */
static void forget_the_pass(void) {
    for (unsigned i = 0; i < watch_count; i++) {
        watches[i].interests = watches[i].interest;
        watches[i].line->was_read = false;
    }
}

static void run(void) {
    uint64_t limit = chance(3) == 0 ? 0 : now() + chance(6000);
    if (depth == 0 && chance(is_quiet ? 2 : 4) == 0) {
        post(chance(2) == 0)->stops = true;
        limit = RLC_TIME_FOREVER;
    }
    if (depth == 0)
        forget_the_pass();
    posts_at_stop[++runs] = UINT32_MAX;
    int status = chance(3) == 0 ? rlc_loop_run_once(loop, limit) : rlc_loop_run(loop, limit);
    runs--;
    TELL("ran: %d\n", status);
    /* Inside of another one it needs memory. */
    HOLDS((status >= RLC_RUN_FINISHED && status <= RLC_RUN_HANDLED) || (status == -ENOMEM && fails && depth > 0));
    if (status == RLC_RUN_TIMED_OUT)
        HOLDS(now() >= limit);
}

static void host(void) {
    if (depth != 0)
        return;
    forget_the_pass();
    int status = rlc_loop_prepare(loop);
    HOLDS(is_answer(status));
    if (status > 0 || chance(2) == 0)
        HOLDS(rlc_loop_dispatch(loop) >= 0);
}

static void random_step(void) {
    /* An array is never used up: a case has few steps, and callouts make few each. */
    if (timer_count + LIVE >= MOST_RECORDS || watch_count + LIVE >= MOST_RECORDS || post_count + LIVE >= MOST_RECORDS)
        return;
    switch (chance(20)) {
    case 0:
        add_timer();
        break;
    case 1:
    case 2:
    case 3:
        arm_timer();
        break;
    case 4:
        remove_timer();
        break;
    case 5:
        if (is_quiet)
            (void)post(true);
        else
            add_watch();
        break;
    case 6:
        remove_watch();
        break;
    case 7:
        change_interest();
        break;
    case 8:
    case 9:
        touch_descriptor();
        break;
    case 10:
    case 11:
        (void)post(false);
        break;
    case 12:
        (void)post(true);
        break;
    case 13:
        HOLDS(rlc_loop_wake(loop) == 0);
        break;
    case 14:
        stop();
        break;
    case 15:
        let_something_fail();
        break;
    case 16:
        host();
        break;
    case 17:
        rlc_loop_set_spin(loop, chance(2) ? RLC_SPIN_USUAL_NS : 0);
        break;
    default:
        run();
    }
}

static void random_steps(unsigned count) {
    while (count-- > 0)
        random_step();
}

/* ---- a case ---- */

static void begin_case(uint64_t number) {
    seed = chance_state = number;
    timer_count = line_count = watch_count = post_count = depth = runs = 0;
    last_order[0] = last_order[1] = 0;
    is_over = wants_stop = false;
    fails = chance(2) == 0;
    is_quiet = chance(3) == 0;
    posts_at_callout = 0;
}

/** All that is due has been called after a few runs that wait for nothing, whatever has failed before. */
static void check_that_all_is_served(void) {
    atomic_store(&kernel.fail_at, 0);
    fail_allocation(0);
    is_over = true; /* callouts only take note from now on */
    forget_the_pass();
    for (unsigned i = 0; i < watch_count; i++)
        watches[i].was_called = false;
    uint64_t due = now();
    for (int pass = 0; pass < PASSES_FOR_ALL; pass++)
        (void)rlc_loop_run(loop, 0);
    for (unsigned i = 0; i < timer_count; i++)
        HOLDS(!timers[i].is_armed || timers[i].timer == NULL || timers[i].deadline + timers[i].tolerance > due);
    for (unsigned i = 0; i < post_count; i++)
        HOLDS(posts[i].ran == 1);
    char byte;
    for (unsigned i = 0; i < watch_count; i++) {
        watch_record *record = &watches[i];
        bool is_ready = record->watch != NULL && (record->interest & RLC_READABLE) && !record->is_silent &&
                        recv(record->line->fd, &byte, 1, MSG_PEEK) == 1;
        HOLDS(!is_ready || record->was_called);
    }
}

static void end_case(void) {
    is_over = true;
    post_record *last = &posts[post_count++];
    *last = (post_record){.is_queued = true, .order = post_count};
    last->node.post_fn = post_called;
    HOLDS(rlc_loop_post(loop, &last->node) == 0);
    HOLDS(rlc_loop_destroy(loop) == 0);
    HOLDS(last->dropped == 1);
    for (unsigned i = 0; i < watch_count; i++)
        if (watches[i].watch != NULL)
            leave_line(watches[i].line);
}

static int (*spied_wait)(void *, int, struct epoll_event *, int, uint64_t);

/** Time goes on also while there is always something ready. */
static int wait_a_little(void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    int count = spied_wait(context, epoll_fd, events, capacity, deadline_ns);
    spy_advance(&kernel, kernel.time_ns + chance(200));
    return count;
}

static void one_case(void) {
    spy_init_virtual(&kernel, START);
    spied_wait = kernel.table.epoll_wait;
    kernel.table.epoll_wait = wait_a_little;
    HOLDS(rlc_loop_create(&kernel.table, &loop) == 0);
    random_steps(STEPS);
    check_that_all_is_served();
    end_case();
}

static void run_a_case(uint64_t number) {
    begin_case(number);
    run_case("one_case", one_case);
}

/* ---- from several threads, in real time ---- */

static post_record foreign[POSTERS][POSTS_EACH];
static atomic_uint foreign_ran;
static uint32_t foreign_last[POSTERS];

static void foreign_called(rlc_post_node *node, bool ran) {
    post_record *record = (post_record *)(void *)node;
    HOLDS(ran && record->ran == 0);
    record->ran++;
    unsigned poster = record->order / POSTS_EACH, place = record->order % POSTS_EACH + 1;
    HOLDS(place == foreign_last[poster] + 1); /* in the order of that thread's posting */
    foreign_last[poster] = place;
    atomic_fetch_add(&foreign_ran, 1);
}

static void *post_from_here(void *context) {
    unsigned poster = (unsigned)(uintptr_t)context;
    uint32_t mine = (uint32_t)seed * 2 + poster;
    for (unsigned i = 0; i < POSTS_EACH; i++) {
        post_record *record = &foreign[poster][i];
        *record = (post_record){.order = poster * POSTS_EACH + i};
        record->node.post_fn = foreign_called;
        HOLDS(rlc_loop_post(loop, &record->node) == 0);
        mine = mine * 1664525 + 1013904223;
        switch (mine >> 29) {
        case 0:
            HOLDS(rlc_loop_wake(loop) == 0);
            break;
        case 1:
            HOLDS(rlc_loop_stop(loop) == 0);
            break;
        case 2:
            (void)sched_yield();
            break;
        default:
            break;
        }
    }
    return NULL;
}

static void threaded_case(void) {
    spy_init(&kernel);
    HOLDS(rlc_loop_create(&kernel.table, &loop) == 0);
    memset(foreign_last, 0, sizeof foreign_last);
    atomic_store(&foreign_ran, 0);
    add_watch(); /* so that no run is finished before all has come */
    pthread_t threads[POSTERS];
    for (unsigned i = 0; i < POSTERS; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, post_from_here, (void *)(uintptr_t)i), 0);
    unsigned steps = 0;
    while (atomic_load(&foreign_ran) < POSTERS * POSTS_EACH) {
        if (steps++ < STEPS)
            random_step();
        if (watch_count == 0 || watches[watch_count - 1].watch == NULL)
            add_watch();
        if (atomic_load(&foreign_ran) == POSTERS * POSTS_EACH)
            break;
        /* Without a limit: a wake that is lost hangs here, and the test's time limit tells. */
        (void)rlc_loop_run_once(loop, RLC_TIME_FOREVER);
    }
    for (unsigned i = 0; i < POSTERS; i++)
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    check_that_all_is_served();
    end_case();
}

static void run_a_threaded_case(uint64_t number) {
    begin_case(number);
    fails = false;
    run_case("threaded_case", threaded_case);
}

int main(int count, char **words) {
    if (count == 3) {
        tells = true;
        run_a_case(strtoull(words[2], NULL, 10));
        return 0;
    }
    uint64_t first = 1;
    time_t end = 0;
    if (count == 2) {
        first = (uint64_t)time(NULL) * 1000000;
        end = time(NULL) + atol(words[1]);
    }
    for (unsigned i = 0; i < sizeof KEPT_CASES / sizeof KEPT_CASES[0]; i++)
        run_a_case(KEPT_CASES[i]);
    uint64_t done = 0;
    for (; end == 0 ? done < CASES : time(NULL) < end; done++) {
        run_a_case(first + done);
        if (done % (CASES / THREAD_CASES) == 0)
            run_a_threaded_case(first + done);
    }
    (void)printf("loop_fuzz_test: %llu cases from %llu on\n", (unsigned long long)done, (unsigned long long)first);
    return 0;
}

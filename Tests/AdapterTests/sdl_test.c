/* <crunloop/adapters/sdl.h> beside the events of SDL, with its driver for no screen. */
#include "adapters.h"

#include <crunloop/adapters/sdl.h>

static rlc_sdl_host *attached;
static Uint32 load_type, timer_type;
static bool has_load;
static void (*load_fn)(void), (*timer_fn)(void);

static void push(Uint32 type) {
    SDL_Event event;
    SDL_zero(event);
    event.type = type;
    CHECK_EQUAL(SDL_PushEvent(&event), 1);
}

static void open_host(void) {
    SDL_FlushEvents(SDL_FIRSTEVENT, SDL_LASTEVENT);
}

static void attach(rlc_loop *of) {
    CHECK_EQUAL(rlc_sdl_attach(of, &attached), 0);
}

static void detach(void) {
    rlc_sdl_detach(attached);
    attached = NULL;
}

static void turn_host(bool may_wait) {
    SDL_Event event;
    int found = attached != NULL ? rlc_sdl_wait(attached, &event, may_wait ? -1 : 0) : SDL_PollEvent(&event);
    CHECK(found >= 0);
    if (found == 0)
        return;
    CHECK(event.type != rlc_sdl_event_type()); /* that is not the program's */
    if (event.type == timer_type) {
        timer_fn();
    } else if (event.type == load_type && has_load) {
        load_fn();
        push(load_type);
    }
}

static void add_load(void (*fn)(void)) {
    load_fn = fn;
    has_load = true;
    push(load_type);
}

static void remove_load(void) {
    has_load = false;
}

static Uint32 call_timer(Uint32 interval, void *context) {
    (void)interval, (void)context;
    push(timer_type);
    return 0;
}

static void after(int ms, void (*fn)(void)) {
    timer_fn = fn;
    CHECK(SDL_AddTimer((Uint32)ms, call_timer, NULL) != 0);
}

static SDL_calloc_func usual_calloc;
static bool fails_in_sdl;

static void *calloc_or_fail(size_t count, size_t size) {
    return fails_in_sdl ? NULL : usual_calloc(count, size);
}

/** SDL gets no memory for a thread. */
static void fail_in_sdl(bool fails) {
    SDL_malloc_func allocate;
    SDL_realloc_func reallocate;
    SDL_free_func release;
    SDL_calloc_func now;
    SDL_GetMemoryFunctions(&allocate, &now, &reallocate, &release);
    if (usual_calloc == NULL)
        usual_calloc = now;
    fails_in_sdl = fails;
    CHECK_EQUAL(SDL_SetMemoryFunctions(allocate, calloc_or_fail, reallocate, release), 0);
}

static void test_RLC_ADAPT_7_what_attaching_fails_with(void) {
    begin();
    rlc_sdl_host *other = NULL;
    fail_allocation(1);
    CHECK_EQUAL(rlc_sdl_attach(loop, &other), -ENOMEM);
    fail_in_sdl(true);
    CHECK_EQUAL(rlc_sdl_attach(loop, &other), -EAGAIN);
    fail_in_sdl(false);
    CHECK(other == NULL);
    end();
}

/** In a child: SDL's types of events are the process's, and none comes back. */
static void test_RLC_ADAPT_7_there_is_no_type_of_events_left(void) {
    spy_init(&kernel);
    pid_t child = fork_with_limit();
    if (child == 0) {
        rlc_sdl_host *other = NULL;
        while (SDL_RegisterEvents(1) != (Uint32)-1) {
        }
        bool is_made = rlc_loop_create(&kernel.table, &loop) == 0;
        int descriptors = open_descriptors();
        long blocks = blocks_in_use();
        bool is_refused = rlc_sdl_attach(loop, &other) == -ENOSPC && other == NULL;
        bool is_clean = descriptors == open_descriptors() && blocks == blocks_in_use();
        _exit(is_made && is_refused && is_clean ? 7 : 1);
    }
    CHECK_EQUAL(status_of(child), 7);
}

static void wait_for_event_of_thread(void) {
    while (SDL_HasEvent(attached->event_type) == SDL_FALSE)
        sched_yield();
}

/** The thread has pushed its event: nobody gets it when the host is gone. */
static void test_RLC_ADAPT_7_no_event_outlives_the_host(void) {
    begin();
    rlc_post_node node = {.post_fn = count_post};
    turn(false); /* the thread looks */
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    wait_for_event_of_thread();
    push(load_type);
    detach();
    SDL_Event event;
    CHECK_EQUAL(SDL_PollEvent(&event), 1);
    CHECK_EQUAL(event.type, load_type); /* what the program has pushed stays */
    CHECK_EQUAL(SDL_PollEvent(&event), 0);
    attach(loop);
    TURN_UNTIL(calls == 1);
    end();
}

/** Whether the preparation has found the work, or nothing but the event tells of it. */
static void test_RLC_ADAPT_4_the_program_gets_no_event_of_the_thread(void) {
    begin();
    int fd = make_counter(0);
    SDL_Event event;
    rlc_watch *watch;
    rlc_post_node node = {.post_fn = count_post};
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, take_bytes, &fd, &watch), 0);
    for (int i = 1; i <= 4; i++) {
        turn(false); /* the thread looks */
        if (i % 2 == 0)
            bump(fd);
        else
            CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
        wait_for_event_of_thread();
        CHECK_EQUAL(rlc_sdl_wait(attached, &event, -1), 0);
        CHECK_EQUAL(calls, i);
    }
    end();
    close(fd);
}

/** The thread has an event, for which SDL's queue has no room. */
static void test_RLC_ADAPT_7_detached_while_the_queue_is_full(void) {
    begin();
    rlc_post_node node = {.post_fn = count_post};
    turn(false); /* the thread looks */
    SDL_Event event;
    SDL_zero(event);
    event.type = load_type;
    while (SDL_PushEvent(&event) > 0) {
    }
    CHECK_EQUAL(rlc_loop_post(loop, &node), 0);
    while (SDL_AtomicGet(&attached->pushed) != SDL_AtomicGet(&attached->armed))
        sched_yield();
    detach();
    open_host(); /* without what is in the queue */
    attach(loop);
    TURN_UNTIL(calls == 1);
    end();
}

static void test_RLC_ADAPT_4_a_wait_has_a_limit(void) {
    begin();
    SDL_Event event;
    uint64_t began_ns = rlc_now(RLC_CLOCK_MONOTONIC);
    CHECK_EQUAL(rlc_sdl_wait(attached, &event, 3), 0);
    CHECK(rlc_now(RLC_CLOCK_MONOTONIC) - began_ns >= 2000000);
    end();
}

/* A dialogue with a loop of its own takes what it finds. */
static void test_RLC_ADAPT_5_an_event_that_somebody_else_took(void) {
    begin();
    int fd = make_counter(0);
    rlc_watch *watch;
    CHECK_EQUAL(rlc_loop_add_watch(loop, fd, RLC_READABLE, take_bytes, &fd, &watch), 0);
    turn(false);
    bump(fd);
    SDL_Event event;
    CHECK_EQUAL(SDL_WaitEvent(&event), 1);
    turn(false);
    CHECK_EQUAL(calls, 1);
    host->after(20, note_fired); /* it sleeps again, and the next event ends that */
    atomic_store(&turns, 0);
    TURN_UNTIL(fired == 1);
    CHECK(atomic_load(&turns) <= host->idle_turns);
    bump(fd);
    TURN_UNTIL(calls == 2);
    end();
    close(fd);
}

static void test_RLC_ADAPT_7_all_hosts_share_a_type_of_events(void) {
    begin();
    Uint32 type = SDL_RegisterEvents(1);
    detach();
    attach(loop);
    CHECK_EQUAL(SDL_RegisterEvents(1), type + 1);
    end();
}

static void test_RLC_ADAPT_8_a_failing_pass_keeps_the_event_of_the_program(void) {
    begin();
    rlc_post_node node = {.post_fn = fork_inside};
    CHECK_EQUAL(rlc_loop_defer(loop, &node), 0);
    push(load_type);
    SDL_Event event;
    int found = rlc_sdl_wait(attached, &event, 0);
    if (forked == 0)
        _exit(found == 1 && rlc_sdl_wait(attached, &event, 0) == -ECHILD ? 7 : 1);
    CHECK_EQUAL(found, 1);
    CHECK_EQUAL(status_of(forked), 7);
    end();
}

/** What the loop has failed with. The thread may have to push its event first. */
static int fails_with(void) {
    SDL_Event event;
    int found = 0;
    for (int i = 0; i < 3 && found >= 0; i++)
        found = rlc_sdl_wait(attached, &event, 0);
    return found < 0 ? found : 0;
}

int main(void) {
    static const host_ops ops = {"sdl", open_host, open_host, attach, detach, turn_host, add_load, remove_load, after,
        .nests = true, .can_be_left = true, .fails_with = fails_with, .turns_of_a_hop = 3, .idle_turns = 3};
    CHECK_EQUAL(setenv("SDL_VIDEODRIVER", "dummy", 1), 0);
    CHECK_EQUAL(SDL_Init(SDL_INIT_VIDEO | SDL_INIT_TIMER), 0);
    load_type = SDL_RegisterEvents(2);
    timer_type = load_type + 1;
    RUN(test_RLC_ADAPT_7_there_is_no_type_of_events_left); /* before one is taken */
    run_adapter_cases(&ops);
    RUN(test_RLC_ADAPT_7_what_attaching_fails_with);
    RUN(test_RLC_ADAPT_7_no_event_outlives_the_host);
    RUN(test_RLC_ADAPT_7_detached_while_the_queue_is_full);
    RUN(test_RLC_ADAPT_4_the_program_gets_no_event_of_the_thread);
    RUN(test_RLC_ADAPT_4_a_wait_has_a_limit);
    RUN(test_RLC_ADAPT_5_an_event_that_somebody_else_took);
    RUN(test_RLC_ADAPT_7_all_hosts_share_a_type_of_events);
    RUN(test_RLC_ADAPT_8_a_failing_pass_keeps_the_event_of_the_program);
    SDL_Quit();
    return 0;
}

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

static void test_RLC_ADAPT_7_what_attaching_fails_with(void) {
    begin();
    rlc_sdl_host *other = NULL;
    fail_allocation(1);
    CHECK_EQUAL(rlc_sdl_attach(loop, &other), -ENOMEM);
    CHECK(other == NULL);
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

int main(void) {
    static const host_ops ops = {"sdl", open_host, open_host, attach, detach, turn_host, add_load, remove_load, after,
        .nests = true, .can_be_left = true, .turns_of_a_hop = 3, .idle_turns = 3};
    CHECK_EQUAL(setenv("SDL_VIDEODRIVER", "dummy", 1), 0);
    CHECK_EQUAL(SDL_Init(SDL_INIT_VIDEO | SDL_INIT_TIMER), 0);
    load_type = SDL_RegisterEvents(2);
    timer_type = load_type + 1;
    run_adapter_cases(&ops);
    RUN(test_RLC_ADAPT_7_what_attaching_fails_with);
    RUN(test_RLC_ADAPT_5_an_event_that_somebody_else_took);
    RUN(test_RLC_ADAPT_7_all_hosts_share_a_type_of_events);
    RUN(test_RLC_ADAPT_8_a_failing_pass_keeps_the_event_of_the_program);
    SDL_Quit();
    return 0;
}

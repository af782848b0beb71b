/*
 * <crunloop/adapters/model_guest.h> with a scripted model: each transition of a guest, twice on the same loop, and what
 * lives after each. Tests/CModel/guest_model.c has the promises that need the real model.
 */
#include "harness.h"
#include "scripted_model.h"

#include <crunloop/adapters/model_guest.h>
#include <poll.h>

static spy kernel;
static rlc_loop *loop;
static rlc_model_guest *guest;
static int stops;

/* ---- what lives ---- */

/** The model's descriptors, and how many of them are in the loop's epoll set. */
static int counters[2];
static int members, refusals;
static int (*control_of_spy)(void *, int, int, int, struct epoll_event *);

static int count_members(void *context, int epoll_fd, int operation, int fd, struct epoll_event *event) {
    bool is_models = fd == counters[0] || fd == counters[1];
    if (is_models && operation == EPOLL_CTL_ADD && refusals > 0) {
        refusals--;
        return -ENOSPC;
    }
    int status = control_of_spy(context, epoll_fd, operation, fd, event);
    if (is_models && status == 0)
        members += (operation == EPOLL_CTL_ADD) - (operation == EPOLL_CTL_DEL);
    return status;
}

static void reset_model(void) {
    model = (rlk_loop){.references = 1, .mode = "kept", .descriptor = counters[0], .generation = 1};
    model.work.status = RLK_RUN_TIMED_OUT;
    drain();
    stops = 0;
}

static void begin(void) {
    spy_init(&kernel);
    control_of_spy = kernel.table.epoll_control;
    kernel.table.epoll_control = count_members;
    for (int i = 0; i < 2; i++)
        CHECK((counters[i] = kernel.table.eventfd_create(kernel.table.context)) >= 0);
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
}

static void end(void) {
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    for (int i = 0; i < 2; i++)
        kernel.table.close(kernel.table.context, counters[i]);
    CHECK_EQUAL(atomic_load(&kernel.descriptors), 0);
}

/** The loop has no source, its epoll set no descriptor of the model, and the model no holder beside the test. */
static void check_that_nothing_lives(void) {
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_FINISHED);
    CHECK_EQUAL(members, 0);
    CHECK_EQUAL(model.references, 1);
}

static void (*transition)(void);

static void make_it_twice(void) {
    long blocks = 0;
    int descriptors = 0;
    begin();
    for (int round = 0; round < 2; round++) {
        reset_model();
        transition();
        check_that_nothing_lives();
        CHECK(round == 0 || (blocks == blocks_in_use() && descriptors == open_descriptors()));
        blocks = blocks_in_use(); /* the first round includes what the loop keeps */
        descriptors = open_descriptors();
    }
    end();
}

#define RUN_TWICE(test) (transition = (test), run_case(#test, make_it_twice))

/* ---- steps of a test ---- */

static void count_stop(rlc_loop *of, void *context) {
    CHECK(of == loop && context == &stops);
    stops++;
}

static int try_to_attach(void) {
    char mode[] = "kept";
    int status = rlc_model_guest_attach(loop, &model, mode, count_stop, &stops, &guest);
    memset(mode, 'x', sizeof mode - 1); /* the guest has a copy */
    return status;
}

static void attach(void) {
    CHECK_EQUAL(try_to_attach(), 0);
    CHECK_EQUAL(model.references, 2);
}

static void detach(void) {
    rlc_model_guest *old = guest;
    guest = NULL;
    rlc_model_guest_detach(old);
}

/** One that does not wait. The loop has something to wait for. */
static void pass(void) {
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
}

/** A host's sleep would begin, or not. */
static void prepare_the_loop(void) {
    (void)rlc_loop_prepare(loop);
}

static bool would_sleep(void) {
    struct pollfd entry = {.fd = rlc_loop_fd(loop), .events = POLLIN};
    return rlc_loop_prepare(loop) == 0 && poll(&entry, 1, 0) == 0;
}

static void notify(void) {
    bump(model.descriptor);
}

/** The node of the guest is in the loop's queue. */
static void queue_work(void) {
    model.prepare.status = 1;
    CHECK_EQUAL(rlc_loop_prepare(loop), 1);
}

/** The guest is detached now. `cancels`: how often that has ended a wait of the model. */
static void detach_and_check(int cancels) {
    detach();
    CHECK_EQUAL(model.cancel.calls, cancels);
    CHECK_EQUAL(model.references, 1);
}

/* ---- RLC-MODEL-6: what is refused ---- */

static void test_RLC_MODEL_6_a_refused_descriptor_attaches_nothing(void) {
    model.descriptor = -EPERM;
    CHECK_EQUAL(try_to_attach(), -EPERM);
    check_that_nothing_lives();
    model.descriptor = rlc_loop_fd(loop); /* which the loop does not watch */
    CHECK_EQUAL(try_to_attach(), -EBADF);
    CHECK(guest == NULL);
}

/** Each allocation, or each call of the kernel, of a loop that had nothing before. */
static void refuse_each(bool refuses_memory, int error, unsigned long least) {
    unsigned long k = 0;
    int status;
    do {
        CHECK_EQUAL(rlc_loop_destroy(loop), 0);
        CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
        kernel.fail_with = error;
        atomic_store(&kernel.fail_at, refuses_memory ? 0 : ++k);
        fail_allocation(refuses_memory ? ++k : 0);
        status = try_to_attach();
        fail_allocation(0);
        atomic_store(&kernel.fail_at, 0);
        CHECK(status == 0 || (status == error && guest == NULL && model.references == 1));
        CHECK(status == 0 || rlc_loop_run(loop, 0) == RLC_RUN_FINISHED);
    } while (status < 0);
    CHECK(k > least);
    detach_and_check(0);
}

static void test_RLC_MODEL_6_refused_memory_attaches_nothing(void) {
    refuse_each(true, -ENOMEM, 2); /* guest, mode, and what the loop needs */
}

static void test_RLC_MODEL_6_a_refusing_kernel_attaches_nothing(void) {
    refuse_each(false, -EMFILE, 1);
}

/* ---- RLC-MODEL-12: attached and detached ---- */

static void test_RLC_MODEL_12_nothing_has_happened(void) {
    attach();
    detach_and_check(0);
    rlc_model_guest_detach(NULL);
}

static void test_RLC_MODEL_12_no_loop_no_mode_and_no_function(void) {
    model.mode = NULL;
    CHECK_EQUAL(rlc_model_guest_attach(loop, NULL, NULL, NULL, NULL, &guest), 0);
    model.work.status = RLK_RUN_STOPPED;
    notify();
    pass();
    CHECK_EQUAL(model.work.calls, 1);
    detach_and_check(0);
}

static void test_RLC_MODEL_12_prepared(void) {
    attach();
    pass();
    CHECK_EQUAL(model.prepare.calls, 1);
    CHECK_EQUAL(members, 1);
    CHECK(would_sleep());
    detach_and_check(1);
}

static void test_RLC_MODEL_12_served(void) {
    attach();
    notify();
    pass();
    CHECK_EQUAL(model.work.calls, 1);
    detach_and_check(0); /* the pass has ended the wait */
}

static void detach_with_work(void) {
    attach();
    queue_work();
    detach();
    CHECK_EQUAL(model.cancel.calls, 1);
    CHECK_EQUAL(model.references, 2); /* until the loop gives the node back */
}

static void test_RLC_MODEL_12_work_is_pending(void) {
    detach_with_work();
    pass();
    CHECK_EQUAL(model.work.calls, 0);
}

static void test_RLC_MODEL_12_work_is_pending_in_a_destroyed_loop(void) {
    detach_with_work();
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    CHECK_EQUAL(model.work.calls, 0);
    CHECK_EQUAL(model.references, 1);
    CHECK_EQUAL(rlc_loop_create(&kernel.table, &loop), 0);
}

static void check_after_detaching(int cancels) {
    CHECK(guest == NULL);
    CHECK_EQUAL(model.cancel.calls, cancels);
    CHECK_EQUAL(model.references, 1);
    CHECK_EQUAL(stops, 0);
}

/** The call of the model that makes this one goes on with the guest: it lives, and so does its reference. */
static void detach_inside(void) {
    detach();
    CHECK_EQUAL(model.references, 2);
}

static void test_RLC_MODEL_12_in_a_preparation(void) {
    for (int status = -1; status <= 1; status++) {
        reset_model();
        attach();
        model.prepare = (script){.once = detach_inside, .status = status};
        pass();
        check_after_detaching(1);
        check_that_nothing_lives();
    }
}

static void test_RLC_MODEL_12_in_a_callout_of_the_watch(void) {
    attach();
    model.work = (script){.once = detach_inside, .status = RLK_RUN_STOPPED};
    notify();
    pass();
    check_after_detaching(0);
}

static void test_RLC_MODEL_12_in_a_callout_of_the_node(void) {
    attach();
    model.work = (script){.once = detach_inside, .status = RLK_RUN_STOPPED};
    queue_work();
    pass();
    check_after_detaching(0);
}

static rlc_model_guest *leaving;

static void detach_again(void) {
    rlc_model_guest_detach(leaving);
}

static void test_RLC_MODEL_12_in_its_own_end(void) {
    attach();
    pass();
    leaving = guest;
    model.cancel.once = detach_again;
    detach_and_check(1);
}

static void detach_when_told(rlc_loop *of, void *context) {
    (void)of, (void)context;
    stops++;
    detach();
}

static void test_RLC_MODEL_12_in_the_function_that_is_told_of_a_stop(void) {
    CHECK_EQUAL(rlc_model_guest_attach(loop, &model, "kept", detach_when_told, NULL, &guest), 0);
    model.work.status = RLK_RUN_STOPPED;
    notify();
    pass();
    CHECK_EQUAL(stops, 1);
    CHECK_EQUAL(model.references, 1);
}

#include "model_guest_cases.h"
#include "model_guest_failures.h"

int main(void) {
    RUN_TWICE(test_RLC_MODEL_6_a_refused_descriptor_attaches_nothing);
    RUN_TWICE(test_RLC_MODEL_6_refused_memory_attaches_nothing);
    RUN_TWICE(test_RLC_MODEL_6_a_refusing_kernel_attaches_nothing);
    RUN_TWICE(test_RLC_MODEL_12_nothing_has_happened);
    RUN_TWICE(test_RLC_MODEL_12_no_loop_no_mode_and_no_function);
    RUN_TWICE(test_RLC_MODEL_12_prepared);
    RUN_TWICE(test_RLC_MODEL_12_served);
    RUN_TWICE(test_RLC_MODEL_12_work_is_pending);
    RUN_TWICE(test_RLC_MODEL_12_work_is_pending_in_a_destroyed_loop);
    RUN_TWICE(test_RLC_MODEL_12_in_a_preparation);
    RUN_TWICE(test_RLC_MODEL_12_in_a_callout_of_the_watch);
    RUN_TWICE(test_RLC_MODEL_12_in_a_callout_of_the_node);
    RUN_TWICE(test_RLC_MODEL_12_in_its_own_end);
    RUN_TWICE(test_RLC_MODEL_12_in_the_function_that_is_told_of_a_stop);
    run_cases_of_service();
    run_cases_of_failures();
    return 0;
}

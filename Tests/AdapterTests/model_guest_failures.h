/** A guest that fails [RLC-MODEL-11]. Included by model_guest_test.c, whose cases these are. */

/** It is in no loop, and nobody calls the model. */
static void check_failure(int status, int cancels) {
    int prepares = model.prepare.calls, works = model.work.calls;
    CHECK_EQUAL(rlc_model_guest_status(guest), status);
    CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_FINISHED);
    CHECK_EQUAL(members, 0);
    CHECK_EQUAL(model.prepare.calls + model.work.calls, prepares + works);
    CHECK_EQUAL(model.references, 2);
    detach_and_check(cancels);
}

static void test_RLC_MODEL_11_a_preparation_fails(void) {
    attach();
    pass();
    model.prepare.status = -EMFILE;
    notify();
    pass();
    CHECK_EQUAL(model.work.calls, 0);
    check_failure(-EMFILE, 0); /* a model that fails does not wait */
}

static void test_RLC_MODEL_11_a_preparation_fails_while_work_is_pending(void) {
    attach();
    queue_work();
    model.prepare.status = -EMFILE;
    pass();
    CHECK_EQUAL(model.work.calls, 0);
    check_failure(-EMFILE, 0);
}

static void test_RLC_MODEL_11_a_pass_fails(void) {
    attach();
    model.work.status = -ECHILD;
    notify();
    pass();
    check_failure(-ECHILD, 0);
    attach();
    queue_work();
    pass();
    check_failure(-ECHILD, 0);
}

static void test_RLC_MODEL_11_there_is_no_descriptor_any_more(void) {
    attach();
    model.descriptor = -EMFILE;
    pass();
    check_failure(-EMFILE, 1);
}

static void test_RLC_MODEL_11_another_descriptor_is_not_taken(void) {
    attach();
    pass();
    model.descriptor = rlc_loop_fd(loop);
    model.generation++;
    pass();
    check_failure(-EBADF, 1);
}

static void test_RLC_MODEL_11_the_interest_is_not_taken(void) {
    attach();
    pass();
    model.prepare.status = -EBUSY;
    fail_next(&kernel, -ENOMEM);
    pass();
    check_failure(-ENOMEM, 1);
}

static void fail_inside(void) {
    model.prepare.status = -EMFILE;
    prepare_the_loop();
}

static void test_RLC_MODEL_11_the_first_failure_is_told(void) {
    attach();
    model.work = (script){.once = fail_inside, .status = -ECHILD};
    notify();
    pass();
    check_failure(-EMFILE, 0);
}

static void test_RLC_MODEL_11_detached_in_the_end_of_a_failure(void) {
    attach();
    model.descriptor = -EMFILE;
    model.cancel.once = detach;
    pass();
    check_after_detaching(1);
}

static void run_cases_of_failures(void) {
    RUN_TWICE(test_RLC_MODEL_11_a_preparation_fails);
    RUN_TWICE(test_RLC_MODEL_11_a_preparation_fails_while_work_is_pending);
    RUN_TWICE(test_RLC_MODEL_11_a_pass_fails);
    RUN_TWICE(test_RLC_MODEL_11_there_is_no_descriptor_any_more);
    RUN_TWICE(test_RLC_MODEL_11_another_descriptor_is_not_taken);
    RUN_TWICE(test_RLC_MODEL_11_the_interest_is_not_taken);
    RUN_TWICE(test_RLC_MODEL_11_the_first_failure_is_told);
    RUN_TWICE(test_RLC_MODEL_11_detached_in_the_end_of_a_failure);
}

#include <unistd.h>

#include "model.h"

/* A test runs alone, but threads of earlier ones may say something too: only texts of this mode count. */
#define MODE "model-diagnostics"

struct told {
    int hints, others, releases;
    char text[128];
};

static void tell(rlk_diagnostic_level level, const char *text, void *context) {
    struct told *told = context;
    if (!strstr(text, MODE))
        return;
    snprintf(told->text, sizeof told->text, "%s", text);
    *(level == RLK_DIAGNOSTIC_HINT ? &told->hints : &told->others) += 1;
}

static void end(void *context) {
    ((struct told *)context)->releases++;
}

static void run_in(const char *mode) {
    CHECK_IS(rlk_loop_run_in_mode(NULL, mode, RLK_TIME_FOREVER, false), RLK_RUN_FINISHED);
}

static void test_RLK_C_19_a_host_is_told(void) {
    struct told told = {0};
    rlk_diagnostics given = {
        .size = sizeof given, .tell = tell, .context = &told, .release = end, .level = RLK_DIAGNOSTIC_HINT};
    CHECK_IS(rlk_set_diagnostics(&given), 0);
    run_in(MODE);
    run_in(MODE); /* each hint once */
    CHECK(strncmp(told.text, "run(in: \"" MODE "\"): the loop has no such mode", 30) == 0);
    CHECK_IS(told.hints, 1);
    given.level = RLK_DIAGNOSTIC_NONE;
    CHECK_IS(rlk_set_diagnostics(&given), 0);
    CHECK_IS(told.releases, 1);
    run_in(MODE "-none");
    given.level = RLK_DIAGNOSTIC_WARNING;
    CHECK_IS(rlk_set_diagnostics(&given), 0);
    run_in(MODE "-warning");
    CHECK_IS(rlk_set_diagnostics(NULL), 0);
    CHECK_IS(told.releases, 3);
    CHECK_IS(told.hints, 1);
    CHECK_IS(told.others, 0);
    given.tell = NULL;
    CHECK_IS(rlk_set_diagnostics(&given), 0);
    CHECK_IS(told.releases, 4); /* nothing will call with it */
    CHECK_IS(rlk_set_diagnostics(NULL), 0);
}

/** What a run of a mode that there is not says on standard error. */
static long said_on_standard_error(const char *mode) {
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    CHECK(file != NULL && kept >= 0 && dup2(fileno(file), STDERR_FILENO) == STDERR_FILENO);
    run_in(mode);
    CHECK_IS(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    close(kept);
    CHECK_IS(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    fclose(file);
    return size;
}

static void test_RLK_C_19_null_is_how_it_was_at_first(void) {
    const rlk_diagnostics hints = {.size = sizeof hints, .level = RLK_DIAGNOSTIC_HINT};
    CHECK_IS(rlk_set_diagnostics(&hints), 0);
    CHECK(said_on_standard_error(MODE "-said") > 0);
    CHECK_IS(rlk_set_diagnostics(NULL), 0);
    CHECK_IS(said_on_standard_error(MODE "-unsaid"), 0);
}

static void test_RLK_C_2_wrong_diagnostics(void) {
    struct told told = {0};
    const rlk_diagnostics right = {.size = sizeof right, .tell = tell, .context = &told, .release = end};
    rlk_diagnostics wrong[] = {right, right, right};
    wrong[0].size--;
    wrong[1].level = (rlk_diagnostic_level)(RLK_DIAGNOSTIC_NONE + 1);
    wrong[2].reserved = 1;
    for (int i = 0; i < 3; i++)
        CHECK_IS(rlk_set_diagnostics(&wrong[i]), -EINVAL);
    CHECK_IS(told.releases, 0);
}

const model_test *model_diagnostics_tests(void) {
    static const model_test tests[] = {
        {"RLK-C-19 a host is told", test_RLK_C_19_a_host_is_told},
        {"RLK-C-19 NULL is how it was at first", test_RLK_C_19_null_is_how_it_was_at_first},
        {"RLK-C-2 wrong diagnostics", test_RLK_C_2_wrong_diagnostics},
        {NULL, NULL},
    };
    return tests;
}

/* The other half of fork.c: a kernel that accepts the advice and does not wipe the page. */
#include "harness.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define madvise(address, size, advice) ((void)(address), (void)(size), (void)(advice), 0)
#define rlc_fork_word word_by_handler
#define rlc_fork_count count_by_handler
#define rlc_kit_unshared_add add_by_handler
#define rlc_kit_unshared_begin begin_by_handler
#define rlc_kit_unshared_close close_by_handler
#define rlc_kit_unshared_end end_by_handler
#define rlc_kit_unshared_remove remove_by_handler
extern const uint32_t *word_by_handler;
uint32_t count_by_handler(void);
#include "../../Sources/CRunLoopCore/kernel/fork.c"

static uint32_t generation_by_handler(void) {
    return *word_by_handler != 0 ? *word_by_handler : count_by_handler();
}

static void test_RLC_FORK_1_by_handler(void) {
    uint32_t mine = generation_by_handler();
    pid_t child = fork();
    if (child == 0) {
        uint32_t theirs = generation_by_handler();
        _exit(theirs == mine || generation_by_handler() != theirs);
    }
    int status = 0;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQUAL(generation_by_handler(), mine);
}

int main(void) {
    RUN(test_RLC_FORK_1_by_handler);
    return 0;
}

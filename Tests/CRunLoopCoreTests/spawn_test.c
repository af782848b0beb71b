/* Programs that rlc_process_spawn starts: what they get of this process, and what they do not. */
#include "harness.h"
#include "port_folders.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

/** False in emulators whose vfork(2) is fork(2). */
static bool spawn_tells_errors(void) {
    static bool is_skipped;
    char *arguments[] = {"file", NULL};
    pid_t child;
    if (posix_spawn(&child, "/no/such/file", NULL, NULL, arguments, environ) != 0)
        return true;
    CHECK_EQUAL(waitpid(child, NULL, 0), child);
    if (!is_skipped)
        printf("skipped 1: posix_spawn does not tell here what has failed in the child\n");
    is_skipped = true;
    return false;
}

static int wait_for(int32_t child) {
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    return status;
}

/** The wait status of a program. */
static int run(char *const arguments[], const rlc_spawn_action *actions, size_t count) {
    int32_t child = 0;
    CHECK_EQUAL(rlc_process_spawn(arguments[0], arguments, NULL, actions, count, &child), 0);
    return wait_for(child);
}

static int run_shell(const char *command, const rlc_spawn_action *actions, size_t count) {
    char *arguments[] = {"sh", "-c", (char *)command, NULL};
    return run(arguments, actions, count);
}

/** Its status: an error, and no child. */
static int refuse(const char *program, const rlc_spawn_action *actions, size_t count) {
    char *arguments[] = {"program", NULL};
    int32_t child = 77;
    int status = rlc_process_spawn(program, arguments, NULL, actions, count, &child);
    CHECK_EQUAL(child, 77);
    CHECK(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
    return status;
}

/* ---- signals ---- */

/* Asked of the program itself: a shell in between would unblock its signals. */
static void test_spawned_with_a_clean_mask(void) {
    rlc_signals changed;
    CHECK_EQUAL(rlc_signals_block(RLC_SIGNAL(SIGTERM), &changed), 0);
    char *arguments[] = {"grep", "-q", "^SigBlk:.0*$", "/proc/self/status", NULL};
    CHECK_EQUAL(run(arguments, NULL, 0), 0);
    rlc_signals_unblock(changed);
}

/* A shell lets a signal be ignored that is ignored when it starts. */
static void test_spawned_with_no_signal_ignored(void) {
    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGHUP, SIG_IGN) != SIG_ERR);
    int status = run_shell("kill -PIPE $$; exit 3", NULL, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
    status = run_shell("kill -HUP $$; exit 3", NULL, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
    CHECK(signal(SIGPIPE, SIG_DFL) == SIG_IGN && signal(SIGHUP, SIG_DFL) == SIG_IGN); /* here they are as before */
}

/* ---- files ---- */

static void test_spawned_with_environment_and_files(void) {
    char *arguments[] = {"sh", "-c", "echo $WORD >&3", NULL};
    char *environment[] = {"PATH=/bin:/usr/bin", "WORD=hello", NULL};
    int ends[2];
    CHECK_EQUAL(pipe2(ends, O_CLOEXEC), 0);
    const rlc_spawn_action actions[] = {
        {.kind = RLC_SPAWN_OPEN, .fd = 0, .path = "/dev/null", .flags = O_RDONLY},
        {.kind = RLC_SPAWN_DUPLICATE, .source = ends[1], .fd = 3},
    };
    int32_t child = 0;
    CHECK_EQUAL(rlc_process_spawn("sh", arguments, environment, actions, 2, &child), 0);
    close(ends[1]);
    char text[16] = "";
    CHECK_EQUAL(read(ends[0], text, sizeof text - 1), 6);
    CHECK(strcmp(text, "hello\n") == 0);
    CHECK_EQUAL(wait_for(child), 0);
    close(ends[0]);
    CHECK_EQUAL(setenv("WORD", "ours", 1), 0); /* without an environment of its own */
    CHECK_EQUAL(run_shell("[ \"$WORD\" = ours ]", NULL, 0), 0);
    CHECK_EQUAL(unsetenv("WORD"), 0);
}

/* A descriptor with FD_CLOEXEC stays here, unless the program is given it under its own number. */
static void test_spawned_with_a_descriptor_at_its_own_number(void) {
    int ends[2];
    char command[64];
    make_pipe(ends);
    (void)snprintf(command, sizeof command, "[ -p /proc/self/fd/%d ]", ends[1]);
    CHECK(run_shell(command, NULL, 0) != 0);
    const rlc_spawn_action same = {.kind = RLC_SPAWN_DUPLICATE, .source = ends[1], .fd = ends[1]};
    CHECK_EQUAL(run_shell(command, &same, 1), 0);
    CHECK((fcntl(ends[1], F_GETFD) & FD_CLOEXEC) != 0);
    const rlc_spawn_action closed[] = {same, {.kind = RLC_SPAWN_CLOSE, .fd = ends[1]}};
    CHECK(run_shell(command, closed, 2) != 0);
    close(ends[0]), close(ends[1]);
}

static void test_spawned_in_another_folder(void) {
    const rlc_spawn_action actions[] = {
        {.kind = RLC_SPAWN_CHANGE_DIRECTORY, .path = "/dev"},
        {.kind = RLC_SPAWN_OPEN, .fd = 0, .path = "null", .flags = O_RDONLY},
    };
    CHECK_EQUAL(run_shell("[ \"$(pwd -P)\" = /dev ] && [ -c /proc/self/fd/0 ]", actions, 2), 0);
    const rlc_spawn_action reversed[] = {actions[1], actions[0]};
    if (spawn_tells_errors())
        CHECK_EQUAL(refuse("true", reversed, 2), -ENOENT); /* there is no such file here yet */
}

static void test_spawned_with_a_file_that_it_makes(void) {
    char path[256];
    struct stat status;
    mode_t mask = umask(022);
    inside(path, "made");
    rlc_spawn_action action = {
        .kind = RLC_SPAWN_OPEN, .fd = 1, .path = path, .flags = O_WRONLY | O_CREAT | O_EXCL, .mode = 0640};
    CHECK_EQUAL(run_shell("echo one", &action, 1), 0);
    CHECK(stat(path, &status) == 0 && status.st_size == 4 && (status.st_mode & 0777) == 0640);
    if (spawn_tells_errors())
        CHECK_EQUAL(refuse("true", &action, 1), -EEXIST);
    action.flags = O_WRONLY | O_APPEND;
    CHECK_EQUAL(run_shell("echo two", &action, 1), 0);
    CHECK(stat(path, &status) == 0 && status.st_size == 8);
    CHECK_EQUAL(unlink(path), 0);
    (void)umask(mask);
}

/* ---- refusals ---- */

static void test_nothing_is_spawned(void) {
    const rlc_spawn_action unknown[] = {{.kind = 77}, {.kind = RLC_SPAWN_CLOSE, .fd = 0}};
    CHECK_EQUAL(refuse("true", unknown, 2), -EINVAL); /* the first one counts */
    CHECK(rlc_failed_call() == NULL);
    const rlc_spawn_action no_number = {.kind = RLC_SPAWN_CLOSE, .fd = -1};
    CHECK_EQUAL(refuse("true", &no_number, 1), -EBADF);
    if (!spawn_tells_errors())
        return;
    CHECK_EQUAL(refuse("/no/such/file", NULL, 0), -ENOENT);
    CHECK_EQUAL(refuse("/dev/null", NULL, 0), -EACCES);
}

/* ---- where it belongs ---- */

static void test_spawned_in_the_same_group_and_session(void) {
    int ends[2];
    CHECK_EQUAL(pipe2(ends, O_CLOEXEC), 0);
    const rlc_spawn_action input = {.kind = RLC_SPAWN_DUPLICATE, .source = ends[0], .fd = 0};
    char *arguments[] = {"cat", NULL};
    int32_t child = 0;
    CHECK_EQUAL(rlc_process_spawn("cat", arguments, NULL, &input, 1, &child), 0);
    CHECK(getpgid(child) == getpgrp() && getsid(child) == getsid(0)); /* the terminal's signals reach both */
    close(ends[0]), close(ends[1]);
    CHECK_EQUAL(wait_for(child), 0);
}

int main(void) {
    CHECK(mkdtemp(base) != NULL);
    RUN(test_spawned_with_a_clean_mask);
    RUN(test_spawned_with_no_signal_ignored);
    RUN(test_spawned_with_environment_and_files);
    RUN(test_spawned_with_a_descriptor_at_its_own_number);
    RUN(test_spawned_in_another_folder);
    RUN(test_spawned_with_a_file_that_it_makes);
    RUN(test_nothing_is_spawned);
    RUN(test_spawned_in_the_same_group_and_session);
    CHECK_EQUAL(rmdir(base), 0);
    return 0;
}

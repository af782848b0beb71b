#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model.h"

struct seen {
    int called, released, descriptor;
    uint32_t ids[4];
    rlk_sender sender;
    int sender_status;
};

static void released(void *context) {
    ++((struct seen *)context)->released;
}

static void note(rlk_item *port, rlk_message *message, void *context) {
    struct seen *seen = context;
    CHECK(rlk_item_is_valid(port));
    seen->ids[seen->called++ & 3] = rlk_message_id(message);
    if (rlk_message_descriptor(message, 0) >= 0)
        seen->descriptor = rlk_message_take_descriptor(message, 0);
}

/* Answers with the next id; not to 99, whose right to answer is given up. */
static void answer(rlk_item *port, rlk_message *message, void *context) {
    struct seen *seen = context;
    rlk_right *reply = NULL;
    rlk_message *next = NULL;
    uint32_t id = rlk_message_id(message);
    CHECK(rlk_item_is_valid(port));
    seen->called++;
    seen->sender.size = sizeof seen->sender;
    seen->sender_status = rlk_message_sender(message, &seen->sender);
    if (id == 99)
        return;
    CHECK_IS(rlk_message_reply(message, &reply), 0);
    rlk_message_options options = {.size = sizeof options, .id = id + 1};
    CHECK_IS(rlk_message_create(&options, &next), 0);
    CHECK_IS(rlk_right_send(reply, next, 0), 0);
    CHECK_IS(rlk_right_send(reply, next, 0), -EPIPE);
    rlk_message_release(next);
    rlk_right_release(reply);
}

static rlk_item *make_port(rlk_port_fn receive, struct seen *seen, size_t limit, rlk_right **ret_right) {
    rlk_item *port = NULL;
    rlk_port_options options = {
        .size = sizeof options, .receive = receive, .context = seen, .release = released, .queue_limit = limit};
    CHECK_IS(rlk_port_create(&options, &port), 0);
    CHECK_IS(rlk_port_right(port, ret_right), 0);
    return port;
}

static rlk_message *make_message(uint32_t id, const int *descriptor) {
    rlk_message *message = NULL;
    rlk_message_options options = {
        .size = sizeof options, .id = id, .descriptors = descriptor, .descriptor_count = descriptor ? 1 : 0};
    CHECK_IS(rlk_message_create(&options, &message), 0);
    return message;
}

static void end_port(rlk_item *port, rlk_right *right) {
    CHECK_IS(rlk_item_invalidate(port), 0);
    rlk_item_release(port);
    rlk_right_release(right);
}

static void test_messages_in_order(void) {
    struct seen seen = {.called = 0};
    rlk_right *right = NULL, *other = NULL;
    rlk_item *port = make_port(note, &seen, 0, &right);
    rlk_message *first = make_message(1, NULL), *second = make_message(2, NULL);
    CHECK_IS(rlk_loop_add(NULL, port, NULL), 1);
    CHECK_IS(rlk_right_send(right, first, 0), 0);
    CHECK_IS(rlk_right_send(right, second, RLK_TIME_FOREVER), 0);
    CHECK_IS(rlk_port_pending_count(port), 2);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
    CHECK_IS(seen.called, 1);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
    CHECK(seen.called == 2 && seen.ids[0] == 1 && seen.ids[1] == 2);
    CHECK_IS(rlk_port_right(port, &other), 0);
    CHECK(rlk_right_is_equal(right, other) && rlk_right_retain(other) == other);
    rlk_right_release(other);
    rlk_right_release(other);
    CHECK_IS(rlk_right_send(right, first, 0), 0);
    CHECK_IS(rlk_item_invalidate(port), 0);
    CHECK(seen.released == 1 && rlk_port_pending_count(port) == 0);
    CHECK(!rlk_right_is_valid(right));
    CHECK_IS(rlk_right_send(right, first, 0), -EPIPE);
    end_port(port, right);
    rlk_message_release(first);
    rlk_message_release(second);
}

static void test_RLK_C_14_all_or_nothing(void) {
    struct seen seen = {.descriptor = -1};
    int ends[2];
    rlk_right *right = NULL;
    rlk_item *port = make_port(note, &seen, 1, &right);
    CHECK_IS(pipe2(ends, O_CLOEXEC), 0);
    rlk_message *filler = make_message(1, NULL), *message = make_message(2, &ends[0]);
    CHECK_IS(rlk_loop_add(NULL, port, NULL), 1);
    CHECK_IS(rlk_right_send(right, filler, 0), 0);
    CHECK_IS(rlk_right_send(right, message, 0), -EAGAIN);
    CHECK_IS(rlk_right_send(right, message, 1), -ETIMEDOUT);
    CHECK_IS(rlk_right_send(right, message, RLK_TIME_FOREVER), -EDEADLK);
    CHECK_IS(rlk_message_descriptor(message, 0), ends[0]);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
    CHECK_IS(rlk_right_send(right, message, 0), 0);
    CHECK_IS(rlk_message_descriptor(message, 0), -EBADF);
    CHECK_IS(rlk_loop_run_in_mode(NULL, NULL, RLK_TIME_FOREVER, true), RLK_RUN_HANDLED_SOURCE);
    CHECK(seen.called == 2 && seen.descriptor == ends[0]);
    CHECK_IS(rlk_right_send(right, message, 0), -EBADF);
    end_port(port, right);
    rlk_message_release(filler);
    rlk_message_release(message);
    close(ends[0]);
    close(ends[1]);
}

static void test_how_many_messages_wait(void) {
    static const struct {
        size_t limit;
        int wait;
    } wanted[] = {{1, 1}, {3, 3}, {0, 1024}, {SIZE_MAX, 2000}};
    rlk_message *message = make_message(1, NULL);
    for (int i = 0; i < 4; i++) {
        struct seen seen = {.called = 0};
        rlk_right *right = NULL;
        rlk_item *port = make_port(note, &seen, wanted[i].limit, &right);
        for (int sent = 0; sent < wanted[i].wait; sent++)
            CHECK_IS(rlk_right_send(right, message, 0), 0);
        if (wanted[i].limit < SIZE_MAX)
            CHECK_IS(rlk_right_send(right, message, 0), -EAGAIN);
        CHECK_IS(rlk_port_pending_count(port), wanted[i].wait);
        end_port(port, right);
    }
    rlk_message_release(message);
}

static int add_port(rlk_loop *loop, void *port) {
    return rlk_loop_add(loop, port, NULL) == 1 ? 0 : -EINVAL;
}

static rlk_thread *serve(rlk_item *port) {
    rlk_thread *thread = NULL;
    rlk_thread_options options = {.size = sizeof options, .set_up = add_port, .context = port};
    CHECK_IS(rlk_thread_create(&options, &thread), 0);
    CHECK_IS(rlk_thread_start(thread), 0);
    return thread;
}

static void end_thread(rlk_thread *thread) {
    CHECK_IS(rlk_thread_stop(thread, RLK_ENDING_NOW), 0);
    CHECK_IS(rlk_thread_join(thread, RLK_TIME_FOREVER), 0);
    rlk_thread_release(thread);
}

static void test_requests(void) {
    struct seen seen = {.called = 0};
    rlk_right *right = NULL;
    rlk_item *port = make_port(answer, &seen, 0, &right);
    rlk_thread *thread = serve(port);
    rlk_message *question = make_message(7, NULL), *unanswered = make_message(99, NULL), *got = NULL;
    CHECK_IS(rlk_right_request(right, question, RLK_TIME_FOREVER, "asking", &got), 0);
    CHECK_IS(rlk_message_id(got), 8);
    rlk_message_release(got);
    got = NULL;
    CHECK_IS(rlk_right_request(right, unanswered, RLK_TIME_FOREVER, NULL, &got), -ECANCELED);
    CHECK_IS(rlk_right_request(right, question, 0, RLK_MODE_COMMON, &got), -EINVAL);
    end_thread(thread);
    CHECK(seen.called == 2 && seen.sender_status == -ENOENT);
    CHECK(got == NULL && !rlk_item_is_valid(port));
    /* The last loop that served the port has ended. */
    CHECK_IS(rlk_right_send(right, question, RLK_TIME_FOREVER), -EPIPE);
    CHECK_IS(rlk_right_request(right, question, RLK_TIME_FOREVER, NULL, &got), -EPIPE);
    CHECK_IS(seen.released, 1);
    end_port(port, right);
    rlk_message_release(question);
    rlk_message_release(unanswered);
}

static void test_requests_that_are_too_late(void) {
    struct seen seen = {.called = 0};
    rlk_right *right = NULL;
    rlk_item *port = make_port(note, &seen, 1, &right);
    rlk_loop *ended = model_ended_loop();
    rlk_message *question = make_message(7, NULL), *got = NULL;
    int performed = 0;
    CHECK_IS(rlk_loop_perform(NULL, NULL, model_count, &performed), 0);
    CHECK_IS(rlk_loop_add(ended, port, NULL), -ESHUTDOWN);
    CHECK_IS(rlk_right_request(right, question, 1, "asking", &got), -ETIMEDOUT);
    CHECK(got == NULL && seen.called == 0 && performed == 0); /* the default mode has not run */
    rlk_loop_release(ended);
    end_port(port, right);
    rlk_message_release(question);
}

/* A folder of names of this test's own. */
struct names {
    char base[32], path[96];
    char *before;
};

static void make_folder(struct names *ret_names) {
    const char *given = getenv("XDG_RUNTIME_DIR");
    snprintf(ret_names->base, sizeof ret_names->base, "/tmp/ports-in-c-XXXXXX");
    ret_names->before = given ? strdup(given) : NULL;
    CHECK(mkdtemp(ret_names->base) != NULL);
    CHECK_IS(setenv("XDG_RUNTIME_DIR", ret_names->base, 1), 0);
}

static void remove_folder(struct names *names) {
    snprintf(names->path, sizeof names->path, "%s/runloopkit/echo.lock", names->base);
    unlink(names->path);
    snprintf(names->path, sizeof names->path, "%s/runloopkit", names->base);
    CHECK_IS(rmdir(names->path), 0);
    CHECK_IS(rmdir(names->base), 0);
    CHECK_IS(names->before ? setenv("XDG_RUNTIME_DIR", names->before, 1) : unsetenv("XDG_RUNTIME_DIR"), 0);
    free(names->before);
}

enum { TOO_MANY_RIGHTS = 1025 };

/* More parts than go into one packet. */
static void send_too_much(rlk_right *right) {
    rlk_message *message = NULL;
    rlk_right **rights = calloc(TOO_MANY_RIGHTS, sizeof(rlk_right *));
    for (int i = 0; i < TOO_MANY_RIGHTS; i++)
        rights[i] = right;
    rlk_message_options options = {.size = sizeof options, .rights = rights, .right_count = TOO_MANY_RIGHTS};
    CHECK_IS(rlk_message_create(&options, &message), 0);
    CHECK_IS(rlk_right_send(right, message, 0), -EMSGSIZE);
    rlk_message_release(message);
    free(rights);
}

static void test_names(void) {
    struct names names;
    struct seen seen = {.called = 0};
    rlk_item *port = NULL, *second = NULL;
    rlk_right *right = NULL;
    rlk_message *question = make_message(7, NULL), *got = NULL;
    make_folder(&names);
    rlk_port_options options = {
        .size = sizeof options, .receive = answer, .context = &seen, .release = released, .name = "echo"};
    CHECK_IS(rlk_right_connect("echo", &right), -ENOENT);
    CHECK_IS(rlk_port_create(&options, &port), 0);
    CHECK_IS(rlk_port_create(&options, &second), -EADDRINUSE);
    rlk_thread *thread = serve(port);
    CHECK_IS(rlk_right_connect("echo", &right), 0);
    CHECK_IS(rlk_right_request(right, question, RLK_TIME_FOREVER, "asking", &got), 0);
    CHECK_IS(rlk_message_id(got), 8);
    rlk_message_release(got);
    send_too_much(right);
    end_thread(thread);
    CHECK(seen.called == 1 && seen.sender_status == 0 && seen.sender.size == sizeof seen.sender);
    CHECK(seen.sender.process_id == getpid() && seen.sender.user_id == getuid() && seen.sender.group_id == getgid());
    CHECK(second == NULL && seen.released == 1);
    end_port(port, right);
    right = NULL;
    CHECK_IS(rlk_right_connect("echo", &right), -ENOENT);
    CHECK(right == NULL);
    rlk_message_release(question);
    remove_folder(&names);
}

static void refuse_name(int wanted, int or_wanted) {
    struct seen seen = {.called = 0};
    rlk_item *port = NULL;
    rlk_right *right = NULL;
    rlk_port_options options = {
        .size = sizeof options, .receive = note, .context = &seen, .release = released, .name = "echo"};
    int created = rlk_port_create(&options, &port), connected = rlk_right_connect("echo", &right);
    CHECK_IS(created, created == or_wanted ? or_wanted : wanted);
    CHECK_IS(connected, created);
    CHECK(port == NULL && right == NULL && seen.released == 0);
}

static void test_names_without_a_folder(void) {
    struct names names;
    make_folder(&names);
    snprintf(names.path, sizeof names.path, "%s/missing", names.base);
    CHECK_IS(setenv("XDG_RUNTIME_DIR", names.path, 1), 0);
    refuse_name(-ENOENT, -ENOENT);
    CHECK_IS(setenv("XDG_RUNTIME_DIR", names.base, 1), 0);
    snprintf(names.path, sizeof names.path, "%s/runloopkit", names.base);
    CHECK_IS(symlink("/", names.path), 0);
    refuse_name(-ELOOP, -ENOTDIR);
    CHECK_IS(unlink(names.path), 0);
    CHECK_IS(mkdir(names.path, 0700), 0);
    CHECK_IS(chmod(names.path, 0755), 0);
    refuse_name(-EPERM, -EPERM);
    remove_folder(&names);
}

static rlk_message *make_bytes(size_t count) {
    rlk_message *message = NULL;
    void *bytes = calloc(1, count);
    rlk_message_options options = {.size = sizeof options, .bytes = bytes, .byte_count = count};
    CHECK_IS(rlk_message_create(&options, &message), 0);
    free(bytes);
    return message;
}

enum { SMALL = 16, IN_A_FILE = 100 * 1024 };

/* The receiver ends the connection of one who sends more than it takes. */
static void test_a_sender_that_is_refused(void) {
    struct names names;
    struct seen seen = {.called = 0};
    rlk_item *port = NULL;
    rlk_right *right = NULL;
    rlk_message *small = make_bytes(SMALL), *large = make_bytes(SMALL + 1), *got = NULL;
    make_folder(&names);
    rlk_port_options options = {
        .size = sizeof options, .receive = answer, .context = &seen, .release = released, .name = "echo"};
    options.maximum_payload = SMALL;
    CHECK_IS(rlk_port_create(&options, &port), 0);
    rlk_thread *thread = serve(port);
    CHECK_IS(rlk_right_connect("echo", &right), 0);
    CHECK_IS(rlk_right_request(right, small, RLK_TIME_FOREVER, "asking", &got), 0);
    rlk_message_release(got);
    got = NULL;
    CHECK_IS(rlk_right_request(right, large, RLK_TIME_FOREVER, "asking", &got), -EACCES);
    CHECK_IS(rlk_right_send(right, small, 0), -EACCES);
    CHECK(got == NULL && !rlk_right_is_valid(right) && seen.called == 1);
    end_thread(thread);
    end_port(port, right);
    rlk_message_release(small);
    rlk_message_release(large);
    remove_folder(&names);
}

static void test_RLK_C_15_ports_without_descriptors(void) {
    struct names names;
    struct seen seen = {.called = 0};
    rlk_item *port = NULL, *other = NULL, *unnamed;
    rlk_right *right = NULL, *second = NULL, *to_unnamed = NULL;
    rlk_message *message = make_bytes(IN_A_FILE), *got = NULL;
    make_folder(&names);
    rlk_port_options options = {
        .size = sizeof options, .receive = answer, .context = &seen, .release = released, .name = "echo"};
    CHECK_IS(rlk_port_create(&options, &port), 0);
    CHECK_IS(rlk_right_connect("echo", &right), 0);
    unnamed = make_port(note, &seen, 0, &to_unnamed);
    options.name = "other";
    model_begin_shortage();
    CHECK_IS(rlk_port_create(&options, &other), -EMFILE);
    CHECK_IS(rlk_right_connect("echo", &second), -EMFILE);
    CHECK_IS(rlk_right_send(right, message, 0), -EMFILE);
    CHECK_IS(rlk_right_request(to_unnamed, message, 0, "asking", &got), -EMFILE);
    CHECK_IS(rlk_loop_add(NULL, unnamed, NULL), -EMFILE);
    CHECK_IS(rlk_loop_add(NULL, port, NULL), -EMFILE);
    model_end_shortage();
    CHECK(other == NULL && second == NULL && got == NULL && seen.released == 0);
    CHECK_IS(rlk_loop_add(NULL, port, NULL), 1);
    CHECK_IS(rlk_right_send(right, message, 0), 0);
    end_port(unnamed, to_unnamed);
    end_port(port, right);
    rlk_message_release(message);
    remove_folder(&names);
}

static void test_RLK_C_1_bad_ports(void) {
    struct seen seen = {.called = 0};
    rlk_item *port = NULL, *keeper = model_keeper();
    rlk_right *right = NULL, *valid = NULL;
    rlk_message *message = make_message(1, NULL), *got = NULL;
    rlk_item *good = make_port(note, &seen, SIZE_MAX, &valid);
    rlk_port_options options = {.size = sizeof options, .context = &seen, .release = released};
    CHECK_IS(rlk_port_create(NULL, &port), -EINVAL);
    CHECK_IS(rlk_port_create(&options, &port), -EINVAL);
    options.receive = note;
    CHECK_IS(rlk_port_create(&options, NULL), -EINVAL);
    options.name = "a/b";
    CHECK_IS(rlk_port_create(&options, &port), -EINVAL);
    options.name = NO_MODE;
    CHECK_IS(rlk_port_create(&options, &port), -EINVAL);
    CHECK_IS(rlk_port_right(NULL, &right), -EINVAL);
    CHECK_IS(rlk_port_right(keeper, &right), -EINVAL);
    CHECK_IS(rlk_port_right(good, NULL), -EINVAL);
    CHECK_IS(rlk_port_pending_count(NULL), -EINVAL);
    CHECK_IS(rlk_port_pending_count(keeper), -EINVAL);
    CHECK_IS(rlk_right_connect(NULL, &right), -EINVAL);
    CHECK_IS(rlk_right_connect("a/b", &right), -EINVAL);
    CHECK_IS(rlk_right_connect("a", NULL), -EINVAL);
    CHECK(!rlk_right_is_valid(NULL) && !rlk_right_is_equal(NULL, NULL) && !rlk_right_is_equal(valid, NULL));
    CHECK_IS(rlk_right_send(NULL, message, 0), -EINVAL);
    CHECK_IS(rlk_right_send(valid, NULL, 0), -EINVAL);
    CHECK_IS(rlk_right_request(NULL, message, 0, NULL, &got), -EINVAL);
    CHECK_IS(rlk_right_request(valid, NULL, 0, NULL, &got), -EINVAL);
    CHECK_IS(rlk_right_request(valid, message, 0, NO_MODE, &got), -EINVAL);
    CHECK_IS(rlk_right_request(valid, message, 0, NULL, NULL), -EINVAL);
    CHECK(port == NULL && right == NULL && got == NULL && seen.released == 0);
    CHECK_IS(rlk_item_invalidate(keeper), 0);
    rlk_item_release(keeper);
    rlk_message_release(message);
    end_port(good, valid);
    CHECK_IS(seen.released, 1);
}

const model_test *model_port_tests(void) {
    static const model_test tests[] = {
        {"messages in order", test_messages_in_order},
        {"RLK-C-14 all or nothing", test_RLK_C_14_all_or_nothing},
        {"how many messages wait", test_how_many_messages_wait},
        {"requests", test_requests},
        {"requests that are too late", test_requests_that_are_too_late},
        {"names", test_names},
        {"names without a folder", test_names_without_a_folder},
        {"a sender that is refused", test_a_sender_that_is_refused},
        {"RLK-C-15 ports without descriptors", test_RLK_C_15_ports_without_descriptors},
        {"RLK-C-1 bad ports", test_RLK_C_1_bad_ports},
        {NULL, NULL},
    };
    return tests;
}

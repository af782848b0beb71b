#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "model.h"

static void ignore(rlk_item *port, rlk_message *message, void *context) {
    (void)port, (void)message, (void)context;
}

/* The right to a port that is gone. */
static rlk_right *make_right(void) {
    rlk_item *port = NULL;
    rlk_right *right = NULL;
    CHECK_IS(rlk_port_create(&(rlk_port_options){.size = sizeof(rlk_port_options), .receive = ignore}, &port), 0);
    CHECK_IS(rlk_port_right(port, &right), 0);
    CHECK(rlk_right_is_valid(right));
    rlk_item_release(port);
    CHECK(!rlk_right_is_valid(right));
    return right;
}

static bool is_open(int descriptor) {
    return fcntl(descriptor, F_GETFD) >= 0;
}

/** Asked at the other end: the number of one that is closed may be another thread's by now. */
static bool has_reader(int writing_end) {
    struct pollfd entry = {.fd = writing_end, .events = POLLOUT};
    return poll(&entry, 1, 0) >= 0 && (entry.revents & POLLERR) == 0;
}

static void test_parts(void) {
    int ends[2];
    char text[] = "hello";
    const void *bytes = NULL;
    size_t count = 0;
    rlk_message *message = NULL;
    rlk_right *right = make_right(), *sent = NULL, *reply = NULL;
    CHECK_IS(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    rlk_message_options options = {.size = sizeof options,
        .id = 42,
        .bytes = text,
        .byte_count = 5,
        .descriptors = ends,
        .descriptor_count = 2,
        .rights = &right,
        .right_count = 1,
        .reply = right};
    CHECK_IS(rlk_message_create(&options, &message), 0);
    memset(text, 'x', sizeof text);
    CHECK_IS(rlk_message_id(message), 42);
    CHECK_IS(rlk_message_bytes(message, 0, &bytes, &count), 0);
    CHECK(count == 5 && memcmp(bytes, "hello", 5) == 0);
    CHECK_IS(rlk_message_bytes(message, 1, &bytes, &count), -ENOENT);
    CHECK_IS(rlk_message_descriptor(message, 0), ends[0]);
    CHECK_IS(rlk_message_take_descriptor(message, 0), ends[0]);
    CHECK_IS(rlk_message_take_descriptor(message, 0), -EBADF);
    CHECK_IS(rlk_message_descriptor(message, 0), -EBADF);
    CHECK_IS(rlk_message_descriptor(message, 1), ends[1]);
    CHECK_IS(rlk_message_right(message, 0, &sent), 0);
    CHECK_IS(rlk_message_reply(message, &reply), 0);
    CHECK(rlk_right_is_equal(right, sent) && rlk_right_is_equal(reply, right));
    CHECK(rlk_message_retain(message) == message);
    rlk_message_release(message);
    CHECK(is_open(ends[1]));
    rlk_message_release(message);
    CHECK_IS(read(ends[0], text, 1), 0); /* the writing end is closed */
    close(ends[0]);
    rlk_right_release(right);
    rlk_right_release(sent);
    rlk_right_release(reply);
}

static void test_each_part_by_its_index(void) {
    int ends[2];
    rlk_message *message = NULL;
    rlk_right *rights[] = {make_right(), make_right(), make_right()}, *got = NULL;
    CHECK_IS(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    rlk_message_options options = {.size = sizeof options,
        .descriptors = ends,
        .descriptor_count = 2,
        .rights = rights,
        .right_count = 2,
        .reply = rights[2]};
    CHECK_IS(rlk_message_create(&options, &message), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_IS(i < 2 ? rlk_message_right(message, (size_t)i, &got) : rlk_message_reply(message, &got), 0);
        for (int other = 0; other < 3; other++)
            CHECK_IS(rlk_right_is_equal(got, rights[other]), i == other);
        rlk_right_release(got);
    }
    CHECK_IS(rlk_message_right(message, 2, &got), -ENOENT);
    CHECK_IS(rlk_message_take_descriptor(message, 1), ends[1]);
    CHECK_IS(rlk_message_take_descriptor(message, 1), -EBADF);
    CHECK_IS(rlk_message_descriptor(message, 0), ends[0]);
    CHECK_IS(rlk_message_descriptor(message, 2), -ENOENT);
    rlk_message_release(message);
    CHECK(is_open(ends[1]) && !has_reader(ends[1]));
    close(ends[1]);
    for (int i = 0; i < 3; i++)
        rlk_right_release(rights[i]);
}

static void test_RLK_C_1_parts_that_are_not_there(void) {
    const void *bytes = "kept";
    size_t count = 77;
    rlk_right *right = NULL;
    rlk_message *message = NULL;
    rlk_sender sender = {.size = sizeof sender, .process_id = 5};
    CHECK_IS(rlk_message_create(&(rlk_message_options){.size = sizeof(rlk_message_options)}, &message), 0);
    CHECK_IS(rlk_message_id(NULL), 0);
    CHECK_IS(rlk_message_bytes(message, 0, &bytes, &count), -ENOENT);
    CHECK_IS(rlk_message_bytes(NULL, 0, &bytes, &count), -EINVAL);
    CHECK_IS(rlk_message_bytes(message, 0, NULL, &count), -EINVAL);
    CHECK_IS(rlk_message_bytes(message, 0, &bytes, NULL), -EINVAL);
    CHECK_IS(rlk_message_descriptor(message, SIZE_MAX), -ENOENT);
    CHECK_IS(rlk_message_descriptor(NULL, 0), -EINVAL);
    CHECK_IS(rlk_message_take_descriptor(message, 0), -ENOENT);
    CHECK_IS(rlk_message_take_descriptor(NULL, 0), -EINVAL);
    CHECK_IS(rlk_message_right(message, 0, &right), -ENOENT);
    CHECK_IS(rlk_message_right(message, 0, NULL), -EINVAL);
    CHECK_IS(rlk_message_right(NULL, 0, &right), -EINVAL);
    CHECK_IS(rlk_message_reply(message, &right), -ENOENT);
    CHECK_IS(rlk_message_reply(message, NULL), -EINVAL);
    CHECK_IS(rlk_message_reply(NULL, &right), -EINVAL);
    CHECK_IS(rlk_message_sender(message, &sender), -ENOENT);
    CHECK_IS(rlk_message_sender(NULL, &sender), -EINVAL);
    CHECK_IS(rlk_message_sender(message, NULL), -EINVAL);
    sender.size--;
    CHECK_IS(rlk_message_sender(message, &sender), -EINVAL);
    CHECK(right == NULL && count == 77 && memcmp(bytes, "kept", 5) == 0 && sender.process_id == 5);
    CHECK(rlk_message_retain(NULL) == NULL && rlk_right_retain(NULL) == NULL);
    rlk_message_release(message);
    rlk_message_release(NULL);
    rlk_right_release(NULL);
}

static int created(const rlk_message_options *options) {
    rlk_message *message = NULL;
    int status = rlk_message_create(options, &message);
    CHECK((message != NULL) == (status == 0));
    rlk_message_release(message);
    return status;
}

static void test_RLK_C_13_bad_messages(void) {
    char byte;
    int ends[2], reader, many[254] = {0};
    rlk_right *none = NULL;
    CHECK_IS(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    CHECK((reader = fcntl(ends[0], F_DUPFD_CLOEXEC, 0)) >= 0);
    const int twice[] = {ends[0], ends[0]}, closed[] = {ends[0], -1};
    rlk_message_options options = {.size = sizeof options, .byte_count = 1};
    CHECK_IS(created(NULL), -EINVAL);
    CHECK_IS(rlk_message_create(&options, NULL), -EINVAL);
    CHECK_IS(created(&options), -EINVAL);
    options.bytes = "x", options.byte_count = SIZE_MAX;
    CHECK_IS(created(&options), -ENOMEM);
    options.byte_count = 1, options.descriptor_count = 1;
    CHECK_IS(created(&options), -EINVAL);
    options.descriptors = twice, options.descriptor_count = 2;
    CHECK_IS(created(&options), -EINVAL);
    options.descriptors = closed;
    CHECK_IS(created(&options), -EBADF);
    options.descriptors = many, options.descriptor_count = 254;
    CHECK_IS(created(&options), -ETOOMANYREFS);
    options.descriptor_count = SIZE_MAX;
    CHECK_IS(created(&options), -ETOOMANYREFS);
    options.descriptors = ends, options.descriptor_count = 2, options.right_count = 1;
    CHECK_IS(created(&options), -EINVAL);
    options.rights = &none;
    CHECK_IS(created(&options), -EINVAL);
    options.right_count = SIZE_MAX;
    CHECK_IS(created(&options), -EINVAL);
    CHECK(is_open(ends[0]) && is_open(ends[1]));
    options.right_count = 0;
    CHECK_IS(created(&options), 0);
    CHECK_IS(read(reader, &byte, 1), 0);
    close(reader);
}

static size_t memory_in_use(void) {
    struct mallinfo2 figures = mallinfo2();
    return figures.uordblks + figures.hblkhd;
}

enum { LARGE = 1 << 20, MESSAGES = 16 };

static void test_the_bytes_end_with_the_last_reference(void) {
    void *bytes = calloc(1, LARGE);
    size_t before = memory_in_use();
    for (int i = 0; i < MESSAGES; i++) {
        rlk_message *message = NULL;
        rlk_message_options options = {.size = sizeof options, .bytes = bytes, .byte_count = LARGE};
        CHECK_IS(rlk_message_create(&options, &message), 0);
        rlk_message_release(rlk_message_retain(message));
        rlk_message_release(message);
    }
    CHECK(memory_in_use() < before + MESSAGES / 2 * LARGE);
    free(bytes);
}

const model_test *model_message_tests(void) {
    static const model_test tests[] = {
        {"parts", test_parts},
        {"each part by its index", test_each_part_by_its_index},
        {"RLK-C-1 parts that are not there", test_RLK_C_1_parts_that_are_not_there},
        {"the bytes end with the last reference", test_the_bytes_end_with_the_last_reference},
        {"RLK-C-13 bad messages", test_RLK_C_13_bad_messages},
        {NULL, NULL},
    };
    return tests;
}

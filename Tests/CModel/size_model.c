#include <sys/eventfd.h>
#include <unistd.h>

#include "model.h"

/* Those of version 0.1, which the library asks for at least. A member that is appended changes its structure's line. */
_Static_assert(sizeof(rlk_work) == 48, "rlk_work");
_Static_assert(sizeof(rlk_observer_options) == 64, "rlk_observer_options");
_Static_assert(sizeof(rlk_source_options) == 88, "rlk_source_options");
_Static_assert(sizeof(rlk_timer_options) == 80, "rlk_timer_options");
_Static_assert(sizeof(rlk_descriptor_options) == 48, "rlk_descriptor_options");
_Static_assert(sizeof(rlk_counter_options) == 40, "rlk_counter_options");
_Static_assert(sizeof(rlk_signal_options) == 48, "rlk_signal_options");
_Static_assert(sizeof(rlk_thread_options) == 48, "rlk_thread_options");
_Static_assert(sizeof(rlk_loop_statistics) == 88, "rlk_loop_statistics");
_Static_assert(sizeof(rlk_message_options) == 72, "rlk_message_options");
_Static_assert(sizeof(rlk_port_options) == 56, "rlk_port_options");
_Static_assert(sizeof(rlk_sender) == 24, "rlk_sender");
_Static_assert(sizeof(rlk_diagnostics) == 40, "rlk_diagnostics");
/* No padding at the end, where a member could be appended that an older host has not set. */
_Static_assert(offsetof(rlk_descriptor_options, reserved) == 46, "the last member of rlk_descriptor_options");
_Static_assert(offsetof(rlk_counter_options, reserved) == 36, "the last member of rlk_counter_options");
_Static_assert(offsetof(rlk_diagnostics, reserved) == 36, "the last member of rlk_diagnostics");

static void on_item(rlk_item *item, void *context) {
    (void)item, (void)context;
}
static void on_activity(rlk_item *item, uint32_t activity, void *context) {
    (void)item, (void)activity, (void)context;
}
static void on_descriptor(rlk_item *item, uint32_t readiness, void *context) {
    (void)item, (void)readiness, (void)context;
}
static void on_message(rlk_item *item, rlk_message *message, void *context) {
    (void)item, (void)message, (void)context;
}
static void on_signal(rlk_item *item, const rlk_signal_info *info, void *context) {
    (void)item, (void)info, (void)context;
}

/* A structure with a size of its own, and what a later version may have behind it; all else is valid. */
#define SIZED(type, ...)                                                                                               \
    struct {                                                                                                           \
        type known;                                                                                                    \
        uint64_t later;                                                                                                \
    } given = {{.size = sizeof(type) + (size_t)more, __VA_ARGS__}, 5};
#define CREATED(type, create, ...)                                                                                     \
    do {                                                                                                               \
        rlk_item *item = NULL;                                                                                         \
        SIZED(type, __VA_ARGS__)                                                                                       \
        CHECK_IS(create(&given.known, &item), wanted);                                                                 \
        CHECK((item != NULL) == (wanted == 0));                                                                        \
        rlk_item_release(item);                                                                                        \
    } while (0)

static void create_items(int more, int wanted) {
    const int number = 50, counter = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(counter >= 0);
    CREATED(rlk_observer_options, rlk_observer_create, .observe = on_activity, .activities = RLK_ENTRY);
    CREATED(rlk_source_options, rlk_source_create, .perform = on_item);
    CREATED(rlk_timer_options, rlk_timer_create, .fire = on_item);
    CREATED(rlk_descriptor_options, rlk_descriptor_create, .ready = on_descriptor, .descriptor = counter);
    CREATED(rlk_counter_options, rlk_counter_create, .ready = on_item, .descriptor = counter);
    CREATED(rlk_signal_options, rlk_signal_create, .receive = on_signal, .signals = &number, .signal_count = 1);
    CREATED(rlk_port_options, rlk_port_create, .receive = on_message);
    close(counter);
}

static void create_message(int more, int wanted) {
    rlk_message *message = NULL;
    SIZED(rlk_message_options, .id = 3)
    CHECK_IS(rlk_message_create(&given.known, &message), wanted);
    CHECK((message != NULL) == (wanted == 0));
    rlk_message_release(message);
}

static void give_work(int more, int wanted) {
    int performed = 0;
    SIZED(rlk_work, .perform = model_count, .context = &performed)
    CHECK_IS(rlk_loop_perform_work(NULL, &given.known), wanted);
    rlk_loop_run_in_mode(NULL, NULL, 0, false);
    CHECK_IS(performed, wanted == 0 ? 1 : 0);
}

static void create_thread(int more, int wanted) {
    rlk_thread *thread = NULL;
    SIZED(rlk_thread_options, .name = "sized")
    CHECK_IS(rlk_thread_create(&given.known, &thread), wanted);
    CHECK((thread != NULL) == (wanted == 0));
    rlk_thread_release(thread);
}

static void read_figures(int more, int wanted) {
    SIZED(rlk_loop_statistics, .runs = 77)
    CHECK_IS(rlk_loop_read_statistics(NULL, &given.known), wanted);
    CHECK_IS(given.known.runs, wanted == 0 ? 0 : 77);
    CHECK_IS(given.known.size, wanted == 0 ? sizeof given.known : sizeof given.known + (size_t)more);
    CHECK_IS(given.later, 5);
}

static void test_RLK_C_4_sizes(void) {
    static const int more[] = {0, 8, -1, -8};
    for (int i = 0; i < 4; i++) {
        int wanted = more[i] < 0 ? -EINVAL : 0;
        create_items(more[i], wanted);
        give_work(more[i], wanted);
        create_thread(more[i], wanted);
        create_message(more[i], wanted);
        read_figures(more[i], wanted);
    }
}

static void test_RLK_C_2_reserved_members(void) {
    rlk_item *item = NULL;
    rlk_descriptor_options descriptor = {.size = sizeof descriptor, .ready = on_descriptor, .reserved = 1};
    CHECK_IS(rlk_descriptor_create(&descriptor, &item), -EINVAL);
    rlk_counter_options counter = {.size = sizeof counter, .ready = on_item, .reserved = 1};
    CHECK_IS(rlk_counter_create(&counter, &item), -EINVAL);
    CHECK(item == NULL);
    rlk_message *message = NULL;
    CHECK_IS(rlk_message_create(&(rlk_message_options){.size = sizeof(rlk_message_options), .reserved = 1}, &message),
        -EINVAL);
    CHECK(message == NULL);
}

static void copy_mode(void *context) {
    char name[8];
    memset(name, 'x', sizeof name);
    CHECK_IS(rlk_loop_copy_current_mode(NULL, name, SIZE_MAX), 4);
    CHECK_IS(strcmp(name, "p\xc3\xa4n"), 0);
    CHECK_IS(rlk_loop_copy_current_mode(NULL, name, 3), 4);
    CHECK_IS(strcmp(name, "p"), 0);
    CHECK_IS(rlk_loop_copy_current_mode(NULL, name, 4), 4);
    CHECK_IS(strcmp(name, "p\xc3\xa4"), 0);
    CHECK_IS(rlk_loop_copy_current_mode(NULL, name, 1), 4);
    CHECK_IS(name[0], 0);
    model_count(context);
}

static void test_copies(void) {
    int performed = 0;
    CHECK_IS(rlk_loop_perform(NULL, "p\xc3\xa4n", copy_mode, &performed), 0);
    rlk_loop_run_in_mode(NULL, "p\xc3\xa4n", 0, false);
    CHECK_IS(performed, 1);
}

static void test_RLK_C_2_too_many(void) {
    static const char *const one[] = {"one"};
    int performed = 0;
    rlk_work work = {
        .size = sizeof work, .perform = model_count, .context = &performed, .modes = one, .mode_count = SIZE_MAX};
    CHECK_IS(rlk_loop_perform_work(NULL, &work), -EINVAL);
    CHECK_IS(rlk_loop_perform_when_idle(NULL, &work), -EINVAL);
    rlk_loop_run_in_mode(NULL, NULL, 0, false);
    CHECK_IS(performed, 0);
}

const model_test *model_size_tests(void) {
    static const model_test tests[] = {
        {"RLK-C-4 sizes", test_RLK_C_4_sizes},
        {"RLK-C-2 reserved members", test_RLK_C_2_reserved_members},
        {"copies", test_copies},
        {"RLK-C-2 too many", test_RLK_C_2_too_many},
        {NULL, NULL},
    };
    return tests;
}

/* RunLoopKit's atomics: the Swift files, compiled with KitScheduled.swift as one module, under every order and weak memory. */
#include "scheduler.h"

#include <crunloop/kernel.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void kit_install(const rlc_kernel *table);
void kit_lock_begin(void), kit_lock_thread(unsigned self);
void kit_removal_begin(void), kit_removal_end(void), kit_removal_wait_thread(unsigned self);
void kit_removal_final_thread(unsigned self), kit_removal_final_end(void);
void kit_noted_begin(void), kit_noted_thread(unsigned self), kit_noted_end(void);
void kit_handed_over_begin(void), kit_handed_over_thread(unsigned self), kit_handed_over_end(void);
void kit_background_begin(void), kit_background_thread(unsigned self), kit_background_end(void);
void kit_warning_begin(void), kit_warning_thread(unsigned self), kit_warning_end(void);
void kit_adding_woken_begin(void), kit_adding_woken_thread(unsigned self);
void kit_adding_begin(void), kit_adding_thread(unsigned self), kit_adding_end(void);
void kit_owning_begin(void), kit_owning_thread(unsigned self), kit_owning_end(void);
void kit_host_thread(unsigned self), kit_nested_thread(unsigned self), kit_stop_nested_thread(unsigned self);
void kit_stop_behind_one_thread(unsigned self);
void kit_stop_word_begin(void), kit_stop_word_thread(unsigned self), kit_stop_word_end(void);
void kit_first_stop_begin(void), kit_first_stop_thread(unsigned self), kit_first_stop_end(void);
void kit_wake_word_begin(void), kit_wake_word_thread(unsigned self), kit_wake_word_end(void);
void kit_run_begin(void), kit_stop_thread(unsigned self), kit_perform_thread(unsigned self);
void kit_perform_and_wait_thread(unsigned self), kit_executor_thread(unsigned self);

/* ---- a warning under a lock ---- */

static bool warns;
static unsigned lines;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);
/** The thread that delivers warnings takes no turns: it is refused, and the warning is written instead. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    return warns && attributes != NULL ? EAGAIN : __real_pthread_create(thread, attributes, body, argument);
}

int __real_rlc_descriptor_write(int fd, const void *bytes, size_t length);
int __wrap_rlc_descriptor_write(int fd, const void *bytes, size_t length);
int __wrap_rlc_descriptor_write(int fd, const void *bytes, size_t length) {
    if (!warns)
        return __real_rlc_descriptor_write(fd, bytes, length);
    lines++;
    return 0;
}

static void warning_begin(void) {
    warns = true;
    lines = 0;
    kit_warning_begin();
}

static void warning_end(void) {
    warns = false;
    kit_warning_end();
    ASSERT(lines == 1);
}

static const scenario scenarios[] = {
    {"lock", 3, kit_lock_begin, kit_lock_thread, NULL, 3000},
    {"removal_wait", 2, kit_removal_begin, kit_removal_wait_thread, kit_removal_end, 3000},
    {"removal_final", 2, kit_removal_begin, kit_removal_final_thread, kit_removal_final_end, 3000},
    {"removal_noted", 3, kit_noted_begin, kit_noted_thread, kit_noted_end, 3000},
    {"removal_handed_over", 2, kit_handed_over_begin, kit_handed_over_thread, kit_handed_over_end, 3000},
    {"adding", 2, kit_adding_begin, kit_adding_thread, kit_adding_end, 3000},
    {"adding_owned", 2, kit_owning_begin, kit_owning_thread, kit_owning_end, 3000},
    {"background", 2, kit_background_begin, kit_background_thread, kit_background_end, 3000},
    {"warning", 2, warning_begin, kit_warning_thread, warning_end, 3000},
    {"stop_word", 2, kit_stop_word_begin, kit_stop_word_thread, kit_stop_word_end, 3000},
    {"first_stop", 2, kit_first_stop_begin, kit_first_stop_thread, kit_first_stop_end, 3000},
    {"wake_word", 2, kit_wake_word_begin, kit_wake_word_thread, kit_wake_word_end, 3000},
    {"stop", 3, kit_run_begin, kit_stop_thread, NULL, 1500},
    {"perform", 3, kit_run_begin, kit_perform_thread, NULL, 1500},
    {"perform_and_wait", 2, kit_run_begin, kit_perform_and_wait_thread, NULL, 1500},
    {"nested", 3, kit_run_begin, kit_nested_thread, NULL, 1500},
    {"stop_nested", 2, kit_run_begin, kit_stop_nested_thread, NULL, 1500},
    {"stop_behind_one", 2, kit_run_begin, kit_stop_behind_one_thread, NULL, 1500},
    {"adding_woken", 3, kit_adding_woken_begin, kit_adding_woken_thread, NULL, 1500},
    {"executor", 3, kit_run_begin, kit_executor_thread, NULL, 1500},
    {"host", 3, kit_run_begin, kit_host_thread, NULL, 1500},
};

int __real_close(int fd);
int __wrap_close(int fd);
/** A number that is closed once more may be a stranger's by then. */
int __wrap_close(int fd) {
    int status = __real_close(fd);
    if (status < 0)
        sched_fail("a descriptor is closed that is not open");
    return status;
}

/** The real kernel, but for the waits, which leave the turn to others. */
static int wait_in_turn(void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    sched_step();
    if (deadline_ns != 0)
        sched_wait_readable(epoll_fd);
    return rlc_kernel_default()->epoll_wait(context, epoll_fd, events, capacity, 0);
}

int main(int argc, char **argv) {
    static rlc_kernel table;
    table = rlc_kernel_copy();
    table.epoll_wait = wait_in_turn;
    sched_ignore(&rlc_fork_word);
    (void)rlc_fork_generation();
    sched_ignore(rlc_fork_word);
    sched_ignore_plain_accesses();
    if (getenv("SCHEDULED_WITHOUT_BARRIER") != NULL)
        sched_forbid_barriers();
    kit_install(&table);
    return sched_main(argc, argv, scenarios, sizeof scenarios / sizeof scenarios[0]);
}

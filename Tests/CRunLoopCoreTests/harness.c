#include "harness.h"

#include <dirent.h>

_Noreturn void check_failed(const char *file, int line, const char *condition) {
    (void)fprintf(stderr, "%s:%d: not true: %s\n", file, line, condition);
    _Exit(1);
}

void check_equal(const char *file, int line, const char *text, long long left, long long right) {
    if (left == right)
        return;
    (void)fprintf(stderr, "%s:%d: not true: %s (%lld, %lld)\n", file, line, text, left, right);
    _Exit(1);
}

static int count_descriptors(bool (*counts)(int folder, const char *number)) {
    DIR *directory = opendir("/proc/self/fd");
    CHECK(directory != NULL);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += counts(dirfd(directory), entry->d_name);
    (void)closedir(directory);
    return count;
}

static bool is_any(int folder, const char *number) {
    (void)folder, (void)number;
    return true;
}

/** Those that are closed meanwhile are none of these. */
static bool is_set_or_timer(int folder, const char *number) {
    char target[64];
    ssize_t size = readlinkat(folder, number, target, sizeof target - 1);
    target[size > 0 ? size : 0] = 0;
    return strcmp(target, "anon_inode:[eventpoll]") == 0 || strcmp(target, "anon_inode:[timerfd]") == 0;
}

int open_descriptors(void) {
    return count_descriptors(is_any);
}

static int open_sets_and_timers(void) {
    return count_descriptors(is_set_or_timer);
}

static void run_counted(const char *name, void (*test)(void), int (*count)(void)) {
    (void)rlc_fork_generation();
    int before = count();
    long blocks = blocks_in_use();
    test();
    fail_allocation(0);
    if (blocks != blocks_in_use()) {
        (void)fprintf(stderr, "%s: %ld blocks of memory before, %ld after\n", name, blocks, blocks_in_use());
        _Exit(1);
    }
    int after = count();
    if (before != after) {
        (void)fprintf(stderr, "%s: %d descriptors before, %d after\n", name, before, after);
        _Exit(1);
    }
    if (getenv("TEST_VERBOSE") != NULL)
        (void)printf("  %s\n", name);
}

void run_case(const char *name, void (*test)(void)) {
    run_counted(name, test, open_descriptors);
}

void run_case_beside_threads(const char *name, void (*test)(void)) {
    run_counted(name, test, open_sets_and_timers);
}

/* ---- allocation: the linker's --wrap sends every call of the program here ---- */

static atomic_ulong allocation_count, allocation_to_fail;
static atomic_long block_count;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void __wrap_free(void *block);

static bool must_fail(void) {
    atomic_fetch_add(&allocation_count, 1);
    unsigned long left = atomic_load(&allocation_to_fail);
    return left > 0 && atomic_fetch_sub(&allocation_to_fail, 1) == 1;
}

static void *counted(void *block) {
    if (block != NULL)
        atomic_fetch_add(&block_count, 1);
    return block;
}

void *__wrap_malloc(size_t size) {
    return must_fail() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return must_fail() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size) {
    if (must_fail())
        return NULL;
    return block != NULL ? __real_realloc(block, size) : counted(__real_realloc(block, size));
}

void __wrap_free(void *block) {
    if (block != NULL)
        atomic_fetch_sub(&block_count, 1);
    __real_free(block);
}

long blocks_in_use(void) {
    return atomic_load(&block_count);
}

unsigned long allocations(void) {
    return atomic_load(&allocation_count);
}

void fail_allocation(unsigned long k) {
    atomic_store(&allocation_to_fail, k);
}

/* ---- kernel ---- */

#define REAL rlc_kernel_default()

static int injected_failure(spy *spy) {
    unsigned long left = atomic_load(&spy->fail_at);
    if (left == 0 || atomic_fetch_sub(&spy->fail_at, 1) != 1)
        return 0;
    if (spy->fail_more > 0) {
        spy->fail_more--;
        atomic_store(&spy->fail_at, 1);
    }
    return spy->fail_with;
}

static spy *called(void *context, size_t counter) {
    spy *spy = context;
    atomic_fetch_add(&spy->calls, 1);
    if (counter != 0)
        atomic_fetch_add((atomic_ulong *)(void *)((char *)context + counter), 1);
    return spy;
}

/** Notes a descriptor that a call has created; an error as it is. */
static int noted(spy *spy, int fd) {
    if (fd >= 0)
        atomic_fetch_add(&spy->descriptors, 1);
    return fd;
}

static uint64_t spy_now(void *context, rlc_clock clock) {
    spy *spy = context;
    return spy->keeps_time ? spy->time_ns : REAL->now(NULL, clock);
}

static int spy_epoll_create(void *context) {
    spy *spy = called(context, 0);
    int failure = injected_failure(spy);
    return failure != 0 ? failure : noted(spy, REAL->epoll_create(NULL));
}

static int spy_epoll_control(void *context, int epoll_fd, int operation, int fd, struct epoll_event *event) {
    spy *spy = called(context, offsetof(struct spy, controls));
    int failure = operation == EPOLL_CTL_DEL ? 0 : injected_failure(spy);
    return failure != 0 ? failure : REAL->epoll_control(NULL, epoll_fd, operation, fd, event);
}

void spy_advance(spy *spy, uint64_t to_ns) {
    if (to_ns > spy->time_ns)
        spy->time_ns = to_ns;
    if (spy->timer_ns > spy->time_ns)
        return;
    spy->timer_ns = RLC_TIME_FOREVER;
    bump(spy->timer_fd);
}

static int spy_epoll_wait(void *context, int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    spy *spy = called(context, offsetof(struct spy, waits));
    if (!spy->keeps_time)
        return REAL->epoll_wait(NULL, epoll_fd, events, capacity, deadline_ns);
    int count = REAL->epoll_wait(NULL, epoll_fd, events, capacity, 0);
    if (count != 0 || deadline_ns == 0)
        return count;
    uint64_t next_ns = spy->timer_ns < deadline_ns ? spy->timer_ns : deadline_ns;
    CHECK(next_ns != RLC_TIME_FOREVER); /* it would sleep for ever */
    spy_advance(spy, next_ns);
    return REAL->epoll_wait(NULL, epoll_fd, events, capacity, 0);
}

static int spy_eventfd_create(void *context) {
    spy *spy = called(context, 0);
    int failure = injected_failure(spy);
    return failure != 0 ? failure : noted(spy, REAL->eventfd_create(NULL));
}

static int spy_timerfd_create(void *context, rlc_clock clock) {
    spy *spy = called(context, 0);
    int failure = injected_failure(spy);
    if (failure != 0)
        return failure;
    if (!spy->keeps_time)
        return noted(spy, REAL->timerfd_create(NULL, clock));
    return spy->timer_fd = noted(spy, REAL->eventfd_create(NULL));
}

static int spy_timerfd_set(void *context, int fd, uint64_t deadline_ns) {
    spy *spy = called(context, offsetof(struct spy, sets));
    if (!spy->keeps_time)
        return REAL->timerfd_set(NULL, fd, deadline_ns);
    uint64_t erased;
    (void)REAL->read(NULL, fd, &erased, sizeof erased);
    spy->timer_ns = deadline_ns;
    spy_advance(spy, 0);
    return 0;
}

static int64_t spy_read(void *context, int fd, void *buffer, size_t size) {
    (void)called(context, offsetof(struct spy, reads));
    return REAL->read(NULL, fd, buffer, size);
}

static int64_t spy_write(void *context, int fd, const void *buffer, size_t size) {
    (void)called(context, offsetof(struct spy, writes));
    return REAL->write(NULL, fd, buffer, size);
}

static int spy_poll(void *context, int fd, int events) {
    (void)called(context, offsetof(struct spy, polls));
    return REAL->poll(NULL, fd, events);
}

static int spy_readable_bytes(void *context, int fd) {
    (void)called(context, 0);
    return REAL->readable_bytes(NULL, fd);
}

static int spy_counter_empties(void *context, int fd) {
    (void)called(context, offsetof(struct spy, questions));
    return REAL->counter_empties(NULL, fd);
}

static int spy_status_flags(void *context, int fd) {
    spy *spy = called(context, offsetof(struct spy, questions));
    int flags = REAL->status_flags(NULL, fd);
    return flags < 0 ? flags : flags & ~spy->hidden_flags;
}

static int spy_close(void *context, int fd) {
    atomic_fetch_sub(&called(context, 0)->descriptors, 1);
    return REAL->close(NULL, fd);
}

static int spy_replace(void *context, int fd, int number) {
    int failure = injected_failure(called(context, 0));
    return failure != 0 ? failure : REAL->replace(NULL, fd, number);
}

void spy_init(spy *spy) {
    memset(spy, 0, sizeof *spy);
    spy->timer_fd = -1;
    spy->timer_ns = RLC_TIME_FOREVER;
    spy->fail_with = -EMFILE;
    spy->table = (rlc_kernel){
        .size = sizeof spy->table,
        .context = spy,
        .now = spy_now,
        .epoll_create = spy_epoll_create,
        .epoll_control = spy_epoll_control,
        .epoll_wait = spy_epoll_wait,
        .eventfd_create = spy_eventfd_create,
        .timerfd_create = spy_timerfd_create,
        .timerfd_set = spy_timerfd_set,
        .read = spy_read,
        .write = spy_write,
        .poll = spy_poll,
        .readable_bytes = spy_readable_bytes,
        .counter_empties = spy_counter_empties,
        .status_flags = spy_status_flags,
        .close = spy_close,
        .replace = spy_replace,
    };
}

void spy_init_virtual(spy *spy, uint64_t start_ns) {
    spy_init(spy);
    spy->keeps_time = true;
    spy->time_ns = start_ns;
}

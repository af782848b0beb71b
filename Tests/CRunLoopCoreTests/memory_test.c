/* The embedder's allocator: all that a loop and its parts allocate comes from it, and goes back. */
#include "loops.h"

#include <sys/eventfd.h>

/** Blocks one behind the other, each with its size before it. What is freed is overwritten, and not used again. */
typedef struct arena {
    _Alignas(16) unsigned char bytes[1 << 20];
    size_t used;
    long blocks, requests, fails_at;
} arena;

static size_t size_of(const void *memory) {
    size_t size;
    memcpy(&size, (const unsigned char *)memory - 16, sizeof size);
    return size;
}

static void *reallocate(void *context, void *memory, size_t size) {
    arena *arena = context;
    unsigned char *block = NULL;
    CHECK(memory != NULL || size > 0); /* neither allocates nor frees */
    if (size > 0) {
        if (++arena->requests == arena->fails_at)
            return NULL;
        block = arena->bytes + arena->used + 16;
        arena->used += 16 + (size + 15) / 16 * 16;
        CHECK(arena->used <= sizeof arena->bytes);
        memcpy(block - 16, &size, sizeof size);
        memset(block, 0xa5, size); /* as malloc(3), which clears nothing */
        arena->blocks++;
    }
    if (memory != NULL) {
        CHECK((unsigned char *)memory > arena->bytes && (unsigned char *)memory < arena->bytes + arena->used);
        size_t old = size_of(memory);
        if (block != NULL)
            memcpy(block, memory, old < size ? old : size);
        memset(memory, 0x5a, old);
        arena->blocks--;
    }
    return block;
}

/** The C library's calls, with an allocator. Its context is the arena: those ignore it. */
static rlc_kernel table_of(arena *arena) {
    memset(arena, 0, sizeof *arena);
    rlc_kernel table = rlc_kernel_copy();
    table.context = arena;
    table.reallocate = reallocate;
    return table;
}

enum { MEMBERS = 40 };

/** What makes everything grow that can: slots, buckets, batches, heaps. 0 or -ENOMEM. */
static int fill(rlc_loop *loop, const int *fds) {
    static int ticks;
    int status = 0;
    for (int i = 0; i < MEMBERS && status == 0; i++) {
        rlc_watch *watch;
        rlc_timer *timer;
        status = rlc_loop_add_watch(loop, fds[i], RLC_READABLE, count_watch, NULL, &watch);
        if (status == 0)
            status = rlc_loop_add_timer(loop, count_timer, &ticks, &timer);
        if (status == 0)
            status = rlc_timer_arm(timer, 1, 0, (uint64_t)i);
    }
    return status;
}

static int fill_and_run(const rlc_kernel *table, const int *fds) {
    rlc_loop *loop;
    int status = rlc_loop_create(table, &loop);
    if (status < 0)
        return status;
    status = fill(loop, fds);
    if (status == 0) {
        calls = 0;
        CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
        CHECK_EQUAL(rlc_loop_run(loop, 0), RLC_RUN_TIMED_OUT);
        CHECK(calls >= MEMBERS);
    }
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    return status;
}

static arena memory;

static void open_all(int *fds) {
    for (int i = 0; i < MEMBERS; i++)
        fds[i] = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
}

static void close_all(const int *fds) {
    for (int i = 0; i < MEMBERS; i++)
        close(fds[i]);
}

static void test_RLC_MEMORY_1_all_memory_is_the_allocators(void) {
    rlc_kernel table = table_of(&memory);
    int fds[MEMBERS];
    open_all(fds);
    unsigned long before = allocations();
    CHECK_EQUAL(fill_and_run(&table, fds), 0);
    CHECK_EQUAL(allocations(), before);
    CHECK(memory.requests > 20);
    CHECK_EQUAL(memory.blocks, 0);

    rlc_port_set *set;
    rlc_timer_port *timer;
    rlc_wakeup_port *wakeup;
    CHECK_EQUAL(rlc_port_set_create(&table, &set), 0);
    CHECK_EQUAL(rlc_timer_port_create(&table, RLC_CLOCK_MONOTONIC, &timer), 0);
    CHECK_EQUAL(rlc_wakeup_port_create(&table, &wakeup), 0);
    CHECK(memory.blocks >= 3);
    rlc_port_set_destroy(set);
    rlc_timer_port_destroy(timer);
    rlc_wakeup_port_release(wakeup);
    CHECK_EQUAL(allocations(), before);
    CHECK_EQUAL(memory.blocks, 0);
    close_all(fds);
}

static void test_RLC_MEMORY_2_a_refusal_leaves_nothing_behind(void) {
    int fds[MEMBERS], status = -ENOMEM;
    open_all(fds);
    for (long fails_at = 1; status != 0 || memory.requests >= fails_at; fails_at++) {
        rlc_kernel table = table_of(&memory);
        memory.fails_at = fails_at;
        status = fill_and_run(&table, fds);
        CHECK(status == 0 || status == -ENOMEM); /* without room for a larger batch, or for tolerance, it goes on */
        CHECK_EQUAL(memory.blocks, 0);
    }
    close_all(fds);
}

/** Others may keep a port that has ended, and its table may be gone then. */
static void test_an_ended_port_needs_its_table_no_more(void) {
    rlc_kernel table = rlc_kernel_copy();
    rlc_wakeup_port *port;
    CHECK_EQUAL(rlc_wakeup_port_create(&table, &port), 0);
    rlc_wakeup_port_end(port);
    memset(&table, 0xff, sizeof table);
    CHECK_EQUAL(rlc_wakeup_port_signal(port), -ESHUTDOWN);
    rlc_wakeup_port_release(port);
}

int main(void) {
    RUN(test_RLC_MEMORY_1_all_memory_is_the_allocators);
    RUN(test_RLC_MEMORY_2_a_refusal_leaves_nothing_behind);
    RUN(test_an_ended_port_needs_its_table_no_more);
    return 0;
}

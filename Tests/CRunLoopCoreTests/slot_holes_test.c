#include "harness.h"
#include "loops.h"
#include "slot_holes.h"
#include "timer_heap_internal.h"

#include <crunloop_kit/pass_checks.h>

enum { MANY = 8000, CHUNKS = MANY / RLC_SLOTS_PER_CHUNK };

typedef struct record {
    rlc_slot slot;
    void *link; /* While it is unused. */
    int value;
} record;

typedef struct owner {
    rlc_slot_table table;
    rlc_slot_holes holes;
    record *records[MANY];
} owner;

static record *claim(owner *owner) {
    if (SLIST_EMPTY(&owner->table.unused))
        CHECK_EQUAL(rlc_slot_holes_reserve(&owner->holes, &owner->table, NULL), 0);
    record *claimed = (record *)rlc_slot_table_claim(&owner->table);
    CHECK(rlc_slot_is_live(&claimed->slot) && claimed->slot.number < owner->table.touched);
    return claimed;
}

static void release(owner *owner, record *record) {
    rlc_slot_table_release(&owner->table, &record->slot);
    if (rlc_slot_holes_are_due(&owner->table))
        rlc_slot_holes_give_back(&owner->holes, &owner->table, NULL);
}

static owner *make(void) {
    owner *made = calloc(1, sizeof *made);
    rlc_slot_table_init(&made->table, sizeof(record));
    for (int i = 0; i < MANY; i++) {
        made->records[i] = claim(made);
        made->records[i]->value = i;
    }
    CHECK_EQUAL(rlc_slot_holes_count(&made->holes, &made->table), MANY);
    return made;
}

static void destroy(owner *owner) {
    rlc_slot_holes_finish(&owner->holes, &owner->table, NULL);
    free(owner);
}

static void test_most_gone(void) {
    long before = blocks_in_use();
    owner *owner = make();
    CHECK(blocks_in_use() - before >= CHUNKS);
    rlc_token tokens[MANY];
    for (int i = 0; i < MANY; i++) {
        tokens[i] = rlc_slot_token(&owner->records[i]->slot);
        release(owner, owner->records[i]);
    }
    CHECK_EQUAL(rlc_slot_holes_count(&owner->holes, &owner->table), 0);
    CHECK(blocks_in_use() - before <= 2); /* the owner, and the memory that stands for what is gone */
    /* No token of those is one of these, though the slots have new memory. */
    for (int i = 0; i < MANY; i++)
        owner->records[i] = claim(owner);
    for (int i = 0; i < MANY; i++)
        CHECK(rlc_slot_table_find(&owner->table, tokens[i]) == NULL);
    for (int i = 0; i < MANY; i++)
        CHECK(rlc_slot_table_find(&owner->table, rlc_slot_token(&owner->records[i]->slot)) == owner->records[i]);
    destroy(owner);
}

/** Each of the others goes, in an order that leaves no row of them. */
static void release_others(owner *owner, int kept) {
    for (int i = 0, next = 0; i < MANY; i++, next = (next + 4001) % MANY)
        if (next % kept != 0)
            release(owner, owner->records[next]);
}

static void test_those_that_stay_do_not_move(void) {
    long before = blocks_in_use();
    owner *owner = make();
    enum { KEPT = 80 };
    rlc_token gone = rlc_slot_token(&owner->records[RLC_SLOTS_PER_CHUNK]->slot);
    release_others(owner, KEPT);
    CHECK(blocks_in_use() - before <= CHUNKS / 4);
    CHECK(rlc_slot_table_find(&owner->table, gone) == NULL);
    for (int i = 0; i < MANY; i += KEPT) {
        CHECK(rlc_slot_table_find(&owner->table, rlc_slot_token(&owner->records[i]->slot)) == owner->records[i]);
        CHECK_EQUAL(owner->records[i]->value, i);
    }
    /* The holes are filled first: no slot is new before that. */
    uint32_t touched = owner->table.touched;
    for (int i = 0; i < MANY; i++)
        if (i % KEPT != 0 && rlc_slot_holes_count(&owner->holes, &owner->table) < touched)
            owner->records[i] = claim(owner);
    CHECK_EQUAL(owner->table.touched, touched);
    CHECK(rlc_slot_table_find(&owner->table, gone) == NULL);
    destroy(owner);
}

static void test_the_last_one_stays(void) {
    long before = blocks_in_use();
    owner *owner = make();
    for (int i = 0; i < MANY - 1; i++)
        release(owner, owner->records[i]);
    CHECK(blocks_in_use() - before <= CHUNKS / 8);
    CHECK(rlc_slot_table_find(&owner->table, rlc_slot_token(&owner->records[MANY - 1]->slot)) != NULL);
    destroy(owner);
}

/** One that comes and goes where memory was given back: nothing is looked through again. */
static void test_comings_and_goings_allocate_nothing(void) {
    owner *owner = make();
    release_others(owner, 80);
    release(owner, claim(owner));
    unsigned long allocated = allocations();
    for (int i = 0; i < 1000; i++)
        release(owner, claim(owner));
    CHECK_EQUAL(allocations(), allocated);
    destroy(owner);
}

static void test_no_memory_for_a_hole(void) {
    owner *owner = make();
    for (int i = 0; i < MANY - 1; i++)
        release(owner, owner->records[i]);
    while (!SLIST_EMPTY(&owner->table.unused))
        (void)claim(owner);
    fail_allocation(1);
    CHECK_EQUAL(rlc_slot_holes_reserve(&owner->holes, &owner->table, NULL), -ENOMEM);
    (void)claim(owner);
    destroy(owner);
}

/* ---- what has timers ---- */

static size_t in_use;

static void *count_bytes(void *context, void *memory, size_t size) {
    (void)context;
    size_t *block = memory == NULL ? NULL : (size_t *)memory - 2;
    in_use += size - (block == NULL ? 0 : *block);
    if (size == 0) {
        free(block);
        return NULL;
    }
    block = realloc(block, size + 2 * sizeof *block);
    *block = size;
    return block + 2;
}

/* Fewer: the heap's own checks look at all after each change. */
enum { TIMERS = 1500 };

static void test_RLC_HEAP_15_removed_timers_give_their_memory_back(void) {
    static rlc_token tokens[TIMERS];
    rlc_kernel table = rlc_kernel_copy();
    table.reallocate = count_bytes;
    rlc_timer_heap *heap;
    in_use = 0;
    CHECK_EQUAL(rlc_kit_timer_heap_create(&table, &heap), 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < TIMERS; i++) {
            CHECK_EQUAL(rlc_timer_heap_insert(heap, &tokens[i], &tokens[i]), 0);
            CHECK_EQUAL(
                rlc_timer_heap_arm(heap, tokens[i], (uint64_t)(TIMERS - i), round == 0 ? 0 : (uint64_t)(i % 5)), 0);
        }
        CHECK(in_use > TIMERS * sizeof(rlc_heap_timer));
        for (int i = 0; i < TIMERS - 1; i++)
            CHECK_EQUAL(rlc_timer_heap_remove(heap, tokens[i]), 0);
        CHECK_EQUAL(rlc_timer_heap_first(heap), 1);
        CHECK_EQUAL(rlc_timer_heap_remove(heap, tokens[TIMERS - 1]), 0);
        CHECK_EQUAL(rlc_timer_heap_count(heap), 0);
        CHECK(in_use < 16384);
    }
    rlc_timer_heap_destroy(heap);
    CHECK_EQUAL(in_use, 0);
}

/** True if exactly those of the tokens that are marked are members; a member's context is its token. */
static bool are_members(const rlc_timer_heap *heap, rlc_token *tokens, const bool *marks) {
    static bool seen[TIMERS];
    memset(seen, 0, sizeof seen);
    uint32_t position = 0;
    for (rlc_token *token; (token = rlc_timer_heap_next(heap, &position)) != NULL; seen[token - tokens] = true)
        if (seen[token - tokens])
            return false;
    return memcmp(seen, marks, sizeof seen) == 0;
}

/* In an order in which holes lie before members, between them, and behind. */
static void test_RLC_HEAP_11_members_are_counted_however_many_there_were(void) {
    static rlc_token tokens[TIMERS];
    static bool marks[TIMERS];
    rlc_timer_heap *heap;
    CHECK_EQUAL(rlc_timer_heap_create(&heap), 0);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < TIMERS; i++) {
            CHECK_EQUAL(rlc_timer_heap_count(heap), i);
            CHECK_EQUAL(rlc_timer_heap_insert(heap, &tokens[i], &tokens[i]), 0);
            marks[i] = true;
        }
        for (size_t i = 0, next = 0; i < TIMERS; i++, next = (next + 701) % TIMERS) {
            CHECK_EQUAL(rlc_timer_heap_count(heap), TIMERS - i);
            if (i % 100 == 0)
                CHECK(are_members(heap, tokens, marks));
            CHECK_EQUAL(rlc_timer_heap_remove(heap, tokens[next]), 0);
            marks[next] = false;
        }
        CHECK_EQUAL(rlc_timer_heap_count(heap), 0);
        CHECK(are_members(heap, tokens, marks));
    }
    rlc_timer_heap_destroy(heap);
}

static void test_RLC_LOOP_21_the_timers_of_a_loop_too(void) {
    static rlc_timer *timers[TIMERS];
    rlc_loop *loop = make_loop();
    long before = blocks_in_use();
    int ticks = 0;
    for (int i = 0; i < TIMERS; i++) {
        CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &ticks, &timers[i]), 0);
        CHECK_EQUAL(rlc_timer_arm(timers[i], (uint64_t)(5000 + i), 0, 0), 0);
    }
    for (int i = 0; i < TIMERS; i++)
        if (i != TIMERS / 2)
            rlc_timer_remove(timers[i]);
    CHECK(blocks_in_use() - before <= TIMERS / RLC_SLOTS_PER_CHUNK / 8);
    CHECK_EQUAL(rlc_loop_run(loop, RLC_TIME_FOREVER), RLC_RUN_FINISHED);
    CHECK_EQUAL(ticks, 1);
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
}

/** In pages; 0 where the C library does not give free memory back, or a sanitizer keeps it. */
static long resident(void) {
    long pages = 0;
#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    FILE *file = fopen("/proc/self/statm", "re");
    CHECK(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
#endif
    return pages;
}

/* With blocks in use between them: the C library alone would keep the free memory. */
static void test_RLC_LOOP_21_the_system_gets_it_back(void) {
    enum { COUNT = 200000, KEPT = 1000 };
    rlc_timer **timers = malloc(COUNT * sizeof(rlc_timer *));
    rlc_loop *loop = make_loop();
    int ticks = 0;
    for (int i = 0; i < COUNT; i++)
        CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &ticks, &timers[i]), 0);
    long before = resident();
    for (int i = 0; i < COUNT; i++)
        if (i % KEPT != 0)
            rlc_timer_remove(timers[i]);
    CHECK(before == 0 || before - resident() > (long)(COUNT / 2 * 64 / sysconf(_SC_PAGESIZE)));
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    free(timers);
}

/* The same for a loop that is destroyed while it has them, between blocks of the program. */
static void test_RLC_LOOP_21_a_destroyed_loop_gives_it_back(void) {
    enum { COUNT = 200000, APART = 200 };
    static void *others[COUNT / APART];
    rlc_loop *loop = make_loop();
    rlc_timer *timer;
    int ticks = 0;
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQUAL(rlc_loop_add_timer(loop, count_timer, &ticks, &timer), 0);
        if (i % APART == 0)
            others[i / APART] = malloc(100);
    }
    long before = resident();
    CHECK_EQUAL(rlc_loop_destroy(loop), 0);
    CHECK(before == 0 || before - resident() > (long)(COUNT / 2 * 64 / sysconf(_SC_PAGESIZE)));
    for (int i = 0; i < COUNT / APART; i++)
        free(others[i]);
}

int main(void) {
    RUN(test_most_gone);
    RUN(test_those_that_stay_do_not_move);
    RUN(test_the_last_one_stays);
    RUN(test_comings_and_goings_allocate_nothing);
    RUN(test_no_memory_for_a_hole);
    RUN(test_RLC_HEAP_15_removed_timers_give_their_memory_back);
    RUN(test_RLC_HEAP_11_members_are_counted_however_many_there_were);
    RUN(test_RLC_LOOP_21_the_timers_of_a_loop_too);
    RUN(test_RLC_LOOP_21_the_system_gets_it_back);
    RUN(test_RLC_LOOP_21_a_destroyed_loop_gives_it_back);
    return 0;
}

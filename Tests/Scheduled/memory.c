/* C11's memory, behind the entry points of -fsanitize=thread. */
#include "scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SELF = THREADS_MAX, CLOCKS = THREADS_MAX + 1, STORES = 8, PLACES = 1 << 14, STALE_MAX = 3 };
typedef enum order { RELAXED, CONSUME, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST } order;
typedef struct clock {
    uint32_t at[CLOCKS];
} clock_vector;

/** One value of a location: who stored it when, who has read it when, and what an acquiring reader comes after. */
typedef struct store {
    uint64_t value;
    unsigned thread;
    uint32_t time, read_at[CLOCKS];
    clock_vector release;
} store;

/** Of an atomic location: its last stores, oldest first. */
typedef struct location {
    uintptr_t address;
    uint32_t run, count, last_sc, stale[CLOCKS];
    store stores[STORES];
} location;

/** Of eight plain bytes. */
typedef struct cell {
    uintptr_t address;
    uint32_t run, write_time, reads[CLOCKS];
    unsigned writer;
} cell;

static location locations[PLACES];
static cell cells[PLACES * 4];
static uint32_t run = 1;
static unsigned thread_count;
static clock_vector now[CLOCKS], seen_by_fence[CLOCKS], released_by_fence[CLOCKS], sc_fences;

static void join(clock_vector *into, const clock_vector *from) {
    for (unsigned i = 0; i < CLOCKS; i++)
        into->at[i] = into->at[i] > from->at[i] ? into->at[i] : from->at[i];
}

void memory_reset(unsigned threads) {
    run++;
    thread_count = threads;
    memset(now, 0, sizeof now);
    memset(seen_by_fence, 0, sizeof seen_by_fence);
    memset(released_by_fence, 0, sizeof released_by_fence);
    memset(&sc_fences, 0, sizeof sc_fences);
    for (unsigned i = 0; i < CLOCKS; i++)
        now[i].at[i] = 1;
}

void memory_fork_all(void) {
    for (unsigned i = 0; i < CLOCKS; i++)
        join(&now[i], &now[SELF]);
    now[SELF].at[SELF]++;
}

void memory_join_all(void) {
    for (unsigned i = 0; i < CLOCKS; i++)
        join(&now[SELF], &now[i]);
}

static size_t hash(uintptr_t address) {
    return (size_t)((address >> 2) * 0x9e3779b97f4a7c15u >> 32);
}

static uint64_t in_memory(uintptr_t address, unsigned size) {
    uint64_t value = 0;
    memcpy(&value, (const void *)address, size); /* little-endian */
    return value;
}

/** The location, with the value in memory as its first if nothing is known of it. */
static location *find(uintptr_t address, unsigned size) {
    for (size_t i = hash(address);; i++) {
        location *place = &locations[i % PLACES];
        if (place->run == run && place->address != address)
            continue;
        bool is_known =
            place->run == run && place->count > 0 && place->stores[place->count - 1].value == in_memory(address, size);
        if (!is_known) { /* new, or written by what is not compiled for this */
            memset(place, 0, sizeof *place);
            place->address = address;
            place->run = run;
            place->count = 1;
            place->stores[0].value = in_memory(address, size);
        }
        return place;
    }
}

static bool acquires(int order) {
    return order == ACQUIRE || order == CONSUME || order >= ACQ_REL;
}

static bool releases(int order) {
    return order >= RELEASE;
}

static uint32_t tick(unsigned self) {
    return ++now[self].at[self];
}

/** The oldest value that `self` may still read. */
static uint32_t oldest(const location *place, unsigned self, int order) {
    uint32_t i = place->count - 1;
    for (; i > 0; i--) {
        const store *store = &place->stores[i];
        if (store->time <= now[self].at[store->thread] || (order == SEQ_CST && i <= place->last_sc))
            return i;
        for (unsigned reader = 0; reader < CLOCKS; reader++) {
            if (store->read_at[reader] != 0 && store->read_at[reader] <= now[self].at[reader])
                return i;
        }
    }
    return i;
}

static void note_read(location *place, uint32_t index, unsigned self, int order) {
    store *read = &place->stores[index];
    if (read->read_at[self] == 0)
        read->read_at[self] = tick(self);
    join(acquires(order) ? &now[self] : &seen_by_fence[self], &read->release);
}

static uintptr_t ignored[4];

void sched_ignore(const void *address) {
    for (unsigned i = 0; i < 4; i++) {
        if (ignored[i] == (uintptr_t)address || ignored[i] == 0) {
            ignored[i] = (uintptr_t)address;
            return;
        }
    }
    abort();
}

static bool is_ignored(uintptr_t address) {
    return address == ignored[0] || address == ignored[1] || address == ignored[2] || address == ignored[3];
}

static uint64_t load(uintptr_t address, unsigned size, int order) {
    if (is_ignored(address))
        return in_memory(address, size);
    sched_step();
    unsigned self = sched_self();
    location *place = find(address, size);
    uint32_t ways = place->count - oldest(place, self, order), back = 0;
    if (ways > 1 && place->stale[self] < STALE_MAX) /* a store is seen some time */
        back = sched_choose_value(ways);
    place->stale[self] = back > 0 ? place->stale[self] + 1 : 0;
    uint32_t index = place->count - 1 - back;
    note_read(place, index, self, order);
    return place->stores[index].value;
}

static void put(location *place, uintptr_t address, unsigned size, uint64_t value, int order, const store *replaced) {
    unsigned self = sched_self();
    store made = {.value = value, .thread = self, .time = tick(self)};
    made.release = releases(order) ? now[self] : released_by_fence[self];
    if (replaced != NULL)
        join(&made.release, &replaced->release); /* a release sequence goes on */
    if (place->count == STORES) {
        memmove(&place->stores[0], &place->stores[1], (STORES - 1) * sizeof(store));
        place->count--;
        place->last_sc -= place->last_sc > 0;
    }
    place->stores[place->count++] = made;
    if (order == SEQ_CST)
        place->last_sc = place->count - 1;
    memcpy((void *)address, &value, size);
}

static void atomic_put(uintptr_t address, unsigned size, uint64_t value, int order) {
    sched_step();
    put(find(address, size), address, size, value, order, NULL);
}

typedef enum change { EXCHANGE, ADD, SUB, AND, OR, XOR, NAND } change;

static uint64_t changed(uint64_t value, uint64_t operand, change change) {
    switch (change) {
    case EXCHANGE:
        return operand;
    case ADD:
        return value + operand;
    case SUB:
        return value - operand;
    case AND:
        return value & operand;
    case OR:
        return value | operand;
    case XOR:
        return value ^ operand;
    case NAND:
        return ~(value & operand);
    }
    abort();
}

/** A read-modify-write sees the last value, always. */
static uint64_t modify(uintptr_t address, unsigned size, uint64_t operand, change change, int order) {
    sched_step();
    location *place = find(address, size);
    note_read(place, place->count - 1, sched_self(), order);
    store before = place->stores[place->count - 1];
    uint64_t mask = size == 8 ? UINT64_MAX : ((uint64_t)1 << size * 8) - 1;
    put(place, address, size, changed(before.value, operand, change) & mask, order, &before);
    return before.value;
}

static bool exchange_if(
    uintptr_t address, unsigned size, uint64_t *expected, uint64_t value, int order, int failure, bool may_fail) {
    sched_step();
    location *place = find(address, size);
    store before = place->stores[place->count - 1];
    bool is_equal = before.value == *expected;
    if (is_equal && may_fail && place->stale[sched_self()] < STALE_MAX && sched_choose_value(2) == 1) {
        place->stale[sched_self()]++;
        is_equal = false;
    }
    note_read(place, place->count - 1, sched_self(), is_equal ? order : failure);
    *expected = before.value;
    if (is_equal)
        put(place, address, size, value, order, &before);
    return is_equal;
}

static void fence(unsigned self, int order) {
    if (acquires(order))
        join(&now[self], &seen_by_fence[self]);
    if (order == SEQ_CST) {
        join(&sc_fences, &now[self]);
        join(&now[self], &sc_fences);
    }
    tick(self);
    if (releases(order))
        released_by_fence[self] = now[self];
}

void memory_fence_all(void) {
    for (int round = 0; round < 2; round++) { /* what the last ones bring, the first ones get */
        for (unsigned i = 0; i < thread_count; i++)
            fence(i, SEQ_CST);
    }
}

/* ---- plain accesses ---- */

static cell *cell_of(uintptr_t address) {
    for (size_t i = hash(address);; i++) {
        cell *cell = &cells[i % (PLACES * 4)];
        if (cell->run == run && cell->address != address)
            continue;
        if (cell->run != run) {
            memset(cell, 0, sizeof *cell);
            cell->address = address;
            cell->run = run;
        }
        return cell;
    }
}

static bool ignores_plain;

void sched_ignore_plain_accesses(void) {
    ignores_plain = true;
}

static void check(const void *where, size_t size, bool writes) {
    unsigned self = sched_self();
    uintptr_t first = (uintptr_t)where & ~(uintptr_t)7, last = ((uintptr_t)where + size - 1) & ~(uintptr_t)7;
    /* Neighbours in one word are told apart by their first byte: fields are not smaller than four bytes here. */
    if (size < 8)
        first = last = (uintptr_t)where & ~(uintptr_t)3;
    for (uintptr_t address = first; address <= last; address += 8) {
        cell *cell = cell_of(address);
        if (cell->write_time > now[self].at[cell->writer])
            sched_fail(writes ? "a write beside another write" : "a read beside a write");
        if (!writes) {
            cell->reads[self] = tick(self); /* later than what was released before */
            continue;
        }
        for (unsigned i = 0; i < CLOCKS; i++) {
            if (cell->reads[i] > now[self].at[i])
                sched_fail("a write beside a read");
        }
        cell->writer = self;
        cell->write_time = tick(self);
    }
}

static void touch(const void *where, size_t size, bool writes) {
    if (!ignores_plain)
        check(where, size, writes);
}

void sched_touch(const void *address, bool writes) {
    sched_step();
    check(address, 8, writes);
}

/* ---- the compilers' entry points ---- */

#define ACCESS(size)                                                                                                   \
    void __tsan_read##size(const void *address);                                                                       \
    void __tsan_read##size(const void *address) {                                                                      \
        touch(address, size, false);                                                                                   \
    }                                                                                                                  \
    void __tsan_write##size(const void *address);                                                                      \
    void __tsan_write##size(const void *address) {                                                                     \
        touch(address, size, true);                                                                                    \
    }                                                                                                                  \
    void __tsan_unaligned_read##size(const void *address);                                                             \
    void __tsan_unaligned_read##size(const void *address) {                                                            \
        touch(address, size, false);                                                                                   \
    }                                                                                                                  \
    void __tsan_unaligned_write##size(const void *address);                                                            \
    void __tsan_unaligned_write##size(const void *address) {                                                           \
        touch(address, size, true);                                                                                    \
    }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(const void *address, size_t size);
void __tsan_read_range(const void *address, size_t size) {
    touch(address, size, false);
}
void __tsan_write_range(const void *address, size_t size);
void __tsan_write_range(const void *address, size_t size) {
    touch(address, size, true);
}

#define MODIFY(bits, name, way)                                                                                        \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t value, int order);         \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t value, int order) {        \
        return (uint##bits##_t)modify((uintptr_t)at, bits / 8, value, way, order);                                     \
    }
#define ATOMIC(bits)                                                                                                   \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order);                           \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order) {                          \
        return (uint##bits##_t)load((uintptr_t)at, bits / 8, order);                                                   \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value, int order);                    \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value, int order) {                   \
        atomic_put((uintptr_t)at, bits / 8, value, order);                                                             \
    }                                                                                                                  \
    MODIFY(bits, exchange, EXCHANGE)                                                                                   \
    MODIFY(bits, fetch_add, ADD)                                                                                       \
    MODIFY(bits, fetch_sub, SUB)                                                                                       \
    MODIFY(bits, fetch_and, AND)                                                                                       \
    MODIFY(bits, fetch_or, OR)                                                                                         \
    MODIFY(bits, fetch_xor, XOR)                                                                                       \
    MODIFY(bits, fetch_nand, NAND)                                                                                     \
    int __tsan_atomic##bits##_compare_exchange_strong(                                                                 \
        volatile uint##bits##_t *at, uint##bits##_t *expected, uint##bits##_t value, int order, int failure);          \
    int __tsan_atomic##bits##_compare_exchange_strong(                                                                 \
        volatile uint##bits##_t *at, uint##bits##_t *expected, uint##bits##_t value, int order, int failure) {         \
        uint64_t wide = *expected;                                                                                     \
        bool done = exchange_if((uintptr_t)at, bits / 8, &wide, value, order, failure, false);                         \
        *expected = (uint##bits##_t)wide;                                                                              \
        return done;                                                                                                   \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_weak(                                                                   \
        volatile uint##bits##_t *at, uint##bits##_t *expected, uint##bits##_t value, int order, int failure);          \
    int __tsan_atomic##bits##_compare_exchange_weak(                                                                   \
        volatile uint##bits##_t *at, uint##bits##_t *expected, uint##bits##_t value, int order, int failure) {         \
        uint64_t wide = *expected;                                                                                     \
        bool done = exchange_if((uintptr_t)at, bits / 8, &wide, value, order, failure, true);                          \
        *expected = (uint##bits##_t)wide;                                                                              \
        return done;                                                                                                   \
    }                                                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                                         \
        volatile uint##bits##_t *at, uint##bits##_t expected, uint##bits##_t value, int order, int failure);           \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                                         \
        volatile uint##bits##_t *at, uint##bits##_t expected, uint##bits##_t value, int order, int failure) {          \
        uint64_t wide = expected;                                                                                      \
        (void)exchange_if((uintptr_t)at, bits / 8, &wide, value, order, failure, false);                               \
        return (uint##bits##_t)wide;                                                                                   \
    }
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order) {
    sched_step();
    fence(sched_self(), order);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order) {
    (void)order; /* the program's order is kept here anyway */
}

void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memcpy(void *to, const void *from, size_t size) {
    touch(from, size, false);
    touch(to, size, true);
    return memcpy(to, from, size);
}
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size) {
    touch(from, size, false);
    touch(to, size, true);
    return memmove(to, from, size);
}
void *__tsan_memset(void *to, int value, size_t size);
void *__tsan_memset(void *to, int value, size_t size) {
    touch(to, size, true);
    return memset(to, value, size);
}
/* Swift's: accesses of structs by their first byte, and sections that it knows to be ordered. */
void __tsan_external_write(void *address, void *caller, void *tag);
void __tsan_external_write(void *address, void *caller, void *tag) {
    (void)address, (void)caller, (void)tag;
}
void __tsan_external_read(void *address, void *caller, void *tag);
void __tsan_external_read(void *address, void *caller, void *tag) {
    (void)address, (void)caller, (void)tag;
}
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_begin(void) {}
void __tsan_ignore_thread_end(void);
void __tsan_ignore_thread_end(void) {}
void __tsan_init(void);
void __tsan_init(void) {}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) {
    (void)caller;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void) {}

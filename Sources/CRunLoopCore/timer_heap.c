#include "timer_heap_internal.h"

#include "slot_table.h"

#include <assert.h>
#include <crunloop/clock.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * An armed timer has one entry in EXACT, or one each in TOLERANT (by deadline) and LATEST (by deadline + tolerance).
 * An entry's key is never later than what the timer really wants: a push-out changes the timer only, and settle()
 * brings the key up to date when the entry comes to the top. Keys are in the array, so comparing touches no timer.
 */

enum { EXACT, TOLERANT, LATEST, HEAPS };
enum { ARITY = 4, FIRST_CAPACITY = 4 };
#define NOT_QUEUED UINT32_MAX

typedef struct entry {
    uint64_t deadline_ns;
    uint64_t order; /* sequence << 32 | slot: equal deadlines fire in the order of arming */
} entry;

typedef struct timer {
    rlc_slot slot; /* link: the position in EXACT or TOLERANT */
    void *context;
    uint64_t deadline_ns;
    uint64_t latest_ns;
    uint32_t sequence;
    uint32_t latest_position; /* in LATEST; NOT_QUEUED for an exact timer */
} timer;

struct rlc_timer_heap {
    rlc_slot_table timers;
    entry *block; /* HEAPS times `capacity`; pages of heaps that stay empty are never touched */
    uint32_t capacity;
    uint32_t sequence;
    uint32_t counts[HEAPS];
};

static entry *entries_of(const rlc_timer_heap *heap, unsigned which) {
    return heap->block + (size_t)which * heap->capacity;
}

static timer *timer_at(const rlc_timer_heap *heap, uint32_t slot) {
    return rlc_slot_table_at(&heap->timers, slot);
}

static bool is_before(entry left, entry right) {
    if (left.deadline_ns != right.deadline_ns)
        return left.deadline_ns < right.deadline_ns;
    return left.order < right.order;
}

static entry wanted(const rlc_timer_heap *heap, unsigned which, uint32_t slot) {
    const timer *timer = timer_at(heap, slot);
    return (entry){.deadline_ns = which == LATEST ? timer->latest_ns : timer->deadline_ns,
        .order = (uint64_t)timer->sequence << 32 | slot};
}

static void put(rlc_timer_heap *heap, unsigned which, uint32_t position, entry moved) {
    entries_of(heap, which)[position] = moved;
    timer *timer = timer_at(heap, (uint32_t)moved.order);
    if (which == LATEST)
        timer->latest_position = position;
    else
        timer->slot.link = position;
}

static void sift_up(rlc_timer_heap *heap, unsigned which, uint32_t position, entry moved) {
    const entry *entries = entries_of(heap, which);
    while (position > 0) {
        uint32_t parent = (position - 1) / ARITY;
        if (!is_before(moved, entries[parent]))
            break;
        put(heap, which, position, entries[parent]);
        position = parent;
    }
    put(heap, which, position, moved);
}

static void sift_down(rlc_timer_heap *heap, unsigned which, uint32_t position, entry moved) {
    const entry *entries = entries_of(heap, which);
    uint32_t count = heap->counts[which];
    for (;;) {
        uint64_t first = (uint64_t)position * ARITY + 1;
        if (first >= count)
            break;
        uint32_t best = (uint32_t)first, end = count - best > ARITY ? best + ARITY : count;
        for (uint32_t child = best + 1; child < end; child++) {
            if (is_before(entries[child], entries[best]))
                best = child;
        }
        if (!is_before(entries[best], moved))
            break;
        put(heap, which, position, entries[best]);
        position = best;
    }
    put(heap, which, position, moved);
}

static void take_out(rlc_timer_heap *heap, unsigned which, uint32_t position) {
    const entry *entries = entries_of(heap, which);
    entry last = entries[--heap->counts[which]];
    if (position == heap->counts[which])
        return;
    if (is_before(last, entries[position]))
        sift_up(heap, which, position, last);
    else
        sift_down(heap, which, position, last);
}

static bool is_armed(const timer *timer) {
    return timer->slot.link != NOT_QUEUED;
}

static bool is_tolerant(const timer *timer) {
    return timer->latest_position != NOT_QUEUED;
}

static void disarm(rlc_timer_heap *heap, timer *timer) {
    if (!is_armed(timer))
        return;
    take_out(heap, is_tolerant(timer) ? TOLERANT : EXACT, timer->slot.link);
    if (is_tolerant(timer))
        take_out(heap, LATEST, timer->latest_position);
    timer->slot.link = timer->latest_position = NOT_QUEUED;
}

/** The first entry with its key up to date, or NULL. */
static const entry *settle(rlc_timer_heap *heap, unsigned which) {
    while (heap->counts[which] > 0) {
        const entry *first = entries_of(heap, which);
        entry real = wanted(heap, which, (uint32_t)first->order);
        if (!is_before(*first, real))
            return first;
        sift_down(heap, which, 0, real);
    }
    return NULL;
}

/* In place and without recursion; runs once in 2^32 arms. */
static void sort_entries(entry *entries, uint32_t count) {
    for (uint32_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : (uint32_t)((uint64_t)gap * 5 / 11)) {
        for (uint32_t i = gap; i < count; i++) {
            entry moved = entries[i];
            uint32_t hole = i;
            for (; hole >= gap && is_before(moved, entries[hole - gap]); hole -= gap)
                entries[hole] = entries[hole - gap];
            entries[hole] = moved;
        }
    }
}

/** Brings every key up to date and sorts each heap; a sorted array is a heap. */
static void sort_heaps(rlc_timer_heap *heap) {
    for (unsigned which = 0; which < HEAPS; which++) {
        entry *entries = entries_of(heap, which);
        uint32_t count = heap->counts[which];
        for (uint32_t i = 0; i < count; i++)
            entries[i] = wanted(heap, which, (uint32_t)entries[i].order);
        sort_entries(entries, count);
        for (uint32_t i = 0; i < count; i++)
            put(heap, which, i, entries[i]);
    }
}

/** Numbers the armed timers anew from 1, in the order in which they fire. */
static void renumber(rlc_timer_heap *heap) {
    sort_heaps(heap);
    const entry *exact = entries_of(heap, EXACT), *tolerant = entries_of(heap, TOLERANT);
    uint32_t i = 0, j = 0;
    heap->sequence = 0;
    while (i < heap->counts[EXACT] || j < heap->counts[TOLERANT]) {
        bool takes_exact = j == heap->counts[TOLERANT] || (i < heap->counts[EXACT] && is_before(exact[i], tolerant[j]));
        entry next = takes_exact ? exact[i++] : tolerant[j++];
        timer_at(heap, (uint32_t)next.order)->sequence = ++heap->sequence;
    }
    sort_heaps(heap);
}

static void verify_if_asked(const rlc_timer_heap *heap) {
#ifdef RLC_INTERNAL_CHECKS
    rlc_timer_heap_verify(heap);
#else
    (void)heap;
#endif
}

int rlc_timer_heap_create(rlc_timer_heap **ret_heap) {
    rlc_timer_heap *heap = calloc(1, sizeof *heap);
    if (heap == NULL)
        return -ENOMEM;
    rlc_slot_table_init(&heap->timers, sizeof(timer));
    *ret_heap = heap;
    return 0;
}

void rlc_timer_heap_destroy(rlc_timer_heap *heap) {
    if (heap == NULL)
        return;
    rlc_slot_table_finish(&heap->timers);
    free(heap->block);
    free(heap);
}

static int reserve_one(rlc_timer_heap *heap) {
    int status = rlc_slot_table_reserve(&heap->timers, 1);
    if (status < 0 || heap->timers.count < heap->capacity)
        return status;
    uint32_t capacity = heap->capacity == 0 ? FIRST_CAPACITY : heap->capacity * 2;
    /* No realloc: it would copy, and so touch, the unused parts. */
    entry *block = malloc((size_t)capacity * HEAPS * sizeof *block);
    if (block == NULL)
        return -ENOMEM;
    for (unsigned which = 0; which < HEAPS; which++) {
        if (heap->counts[which] == 0)
            continue;
        memcpy(block + (size_t)which * capacity, entries_of(heap, which), heap->counts[which] * sizeof *block);
    }
    free(heap->block);
    heap->block = block;
    heap->capacity = capacity;
    return 0;
}

int rlc_timer_heap_insert(rlc_timer_heap *heap, void *context, rlc_token *ret_token) {
    int status = reserve_one(heap);
    if (status < 0)
        return status;
    uint32_t slot = rlc_slot_table_claim(&heap->timers);
    timer *timer = timer_at(heap, slot);
    timer->context = context;
    timer->slot.link = timer->latest_position = NOT_QUEUED;
    *ret_token = rlc_slot_table_token(&heap->timers, slot);
    return 0;
}

static void queue_or_move(rlc_timer_heap *heap, unsigned which, uint32_t position, uint32_t slot) {
    entry key = wanted(heap, which, slot);
    if (position == NOT_QUEUED)
        sift_up(heap, which, heap->counts[which]++, key);
    else if (is_before(key, entries_of(heap, which)[position]))
        sift_up(heap, which, position, key);
}

int rlc_timer_heap_arm(rlc_timer_heap *heap, rlc_token token, uint64_t deadline_ns, uint64_t tolerance_ns) {
    timer *timer = rlc_slot_table_find(&heap->timers, token);
    if (timer == NULL)
        return -ENOENT;
    if (deadline_ns == RLC_TIME_FOREVER) {
        disarm(heap, timer);
        verify_if_asked(heap);
        return 0;
    }
    if (heap->sequence == UINT32_MAX)
        renumber(heap);
    bool tolerates = tolerance_ns > 0;
    if (is_armed(timer) && is_tolerant(timer) != tolerates)
        disarm(heap, timer);
    timer->deadline_ns = deadline_ns;
    timer->latest_ns = rlc_time_add(deadline_ns, tolerance_ns);
    timer->sequence = ++heap->sequence;
    uint32_t slot = rlc_token_slot(token);
    queue_or_move(heap, tolerates ? TOLERANT : EXACT, timer->slot.link, slot);
    if (tolerates)
        queue_or_move(heap, LATEST, timer->latest_position, slot);
    verify_if_asked(heap);
    return 0;
}

int rlc_timer_heap_remove(rlc_timer_heap *heap, rlc_token token) {
    timer *timer = rlc_slot_table_find(&heap->timers, token);
    if (timer == NULL)
        return -ENOENT;
    disarm(heap, timer);
    rlc_slot_table_release(&heap->timers, rlc_token_slot(token));
    verify_if_asked(heap);
    return 0;
}

size_t rlc_timer_heap_count(const rlc_timer_heap *heap) {
    return heap->timers.count;
}

/** The timer that fires first, or NULL. */
static const entry *first_entry(rlc_timer_heap *heap) {
    const entry *exact = settle(heap, EXACT), *tolerant = settle(heap, TOLERANT);
    if (exact == NULL || tolerant == NULL)
        return exact == NULL ? tolerant : exact;
    return is_before(*exact, *tolerant) ? exact : tolerant;
}

uint64_t rlc_timer_heap_first(rlc_timer_heap *heap) {
    const entry *first = first_entry(heap);
    return first == NULL ? RLC_TIME_FOREVER : first->deadline_ns;
}

uint64_t rlc_timer_heap_wake_at(rlc_timer_heap *heap) {
    const entry *exact = settle(heap, EXACT), *latest = settle(heap, LATEST);
    uint64_t exact_ns = exact == NULL ? RLC_TIME_FOREVER : exact->deadline_ns;
    uint64_t latest_ns = latest == NULL ? RLC_TIME_FOREVER : latest->deadline_ns;
    return exact_ns < latest_ns ? exact_ns : latest_ns;
}

bool rlc_timer_heap_take_due(rlc_timer_heap *heap, uint64_t now_ns, void **ret_context, rlc_token *ret_token) {
    const entry *first = first_entry(heap);
    if (first == NULL || first->deadline_ns > now_ns)
        return false;
    uint32_t slot = (uint32_t)first->order;
    timer *timer = timer_at(heap, slot);
    disarm(heap, timer);
    verify_if_asked(heap);
    *ret_context = timer->context;
    *ret_token = rlc_slot_table_token(&heap->timers, slot);
    return true;
}

void rlc_timer_heap_set_sequence(rlc_timer_heap *heap, uint32_t sequence) {
    heap->sequence = sequence;
}

#ifdef RLC_INTERNAL_CHECKS
void rlc_timer_heap_verify(const rlc_timer_heap *heap) {
    for (unsigned which = 0; which < HEAPS; which++) {
        if (heap->counts[which] == 0)
            continue;
        const entry *entries = entries_of(heap, which);
        for (uint32_t i = 0; i < heap->counts[which]; i++) {
            uint32_t slot = (uint32_t)entries[i].order;
            const timer *timer = timer_at(heap, slot);
            assert(rlc_slot_table_is_live(&heap->timers, slot));
            assert((which == LATEST ? timer->latest_position : timer->slot.link) == i);
            assert((which == EXACT) == !is_tolerant(timer));
            assert(!is_before(wanted(heap, which, slot), entries[i]));
            assert(i == 0 || !is_before(entries[i], entries[(i - 1) / ARITY]));
        }
    }
    assert(heap->counts[TOLERANT] == heap->counts[LATEST]);
    assert(heap->counts[EXACT] + heap->counts[TOLERANT] <= heap->timers.count);
}
#endif

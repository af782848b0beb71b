/* The timer heap's members and their memory. */
#include "memory.h"
#include "timer_heap_internal.h"

#include <crunloop_kit/pass_checks.h>

#include <assert.h>
#include <crunloop/clock.h>
#include <errno.h>
#include <string.h>

enum { LEAST_GROWTH = 4 };

int rlc_timer_heap_create_for(const rlc_kernel *memory, size_t record_size, rlc_timer_heap **ret_heap) {
    rlc_timer_heap *heap = rlc_memory_zeroed(memory, sizeof *heap);
    if (heap == NULL)
        return -ENOMEM;
    heap->memory = memory;
    rlc_slot_table_init(&heap->timers, record_size);
    *ret_heap = heap;
    return 0;
}

int rlc_timer_heap_create(rlc_timer_heap **ret_heap) {
    return rlc_timer_heap_create_for(NULL, sizeof(rlc_heap_timer), ret_heap);
}

int rlc_kit_timer_heap_create(const rlc_kernel *kernel, rlc_timer_heap **ret_heap) {
    return rlc_timer_heap_create_for(rlc_memory_of(kernel), sizeof(rlc_heap_timer), ret_heap);
}

void rlc_timer_heap_destroy(rlc_timer_heap *heap) {
    if (heap == NULL)
        return;
    const rlc_kernel *memory = heap->memory;
    rlc_slot_holes_finish(&heap->holes, &heap->timers, memory);
    for (unsigned which = 0; which < RLC_DEADLINE_HEAPS; which++)
        rlc_memory_free(memory, heap->heaps[which].entries);
    rlc_memory_free(memory, heap->heaps[RLC_EXACT].positions);
    rlc_memory_free(memory, heap->heaps[RLC_LATEST].positions);
    rlc_memory_free(memory, heap->latest_ns);
    rlc_memory_free(memory, heap);
}

/** Resizes the array that `*array` points to. Returns false if there is no memory; the array is then as it was. */
static bool grow(const rlc_timer_heap *heap, void *array, size_t size) {
    void **place = array;
    void *grown = rlc_memory_resize(heap->memory, *place, size);
    if (grown != NULL)
        *place = grown;
    return grown != NULL;
}

static bool grow_entries(rlc_timer_heap *heap, unsigned which, uint32_t room) {
    return grow(heap, &heap->heaps[which].entries, room * sizeof(rlc_deadline_entry));
}

static bool grow_positions(rlc_timer_heap *heap, unsigned which, uint32_t room) {
    return grow(heap, &heap->heaps[which].positions, room * sizeof(uint32_t));
}

static bool grow_for_tolerance(rlc_timer_heap *heap, uint32_t room) {
    return grow_entries(heap, RLC_TOLERANT, room) && grow_entries(heap, RLC_LATEST, room) &&
           grow_positions(heap, RLC_LATEST, room) && grow(heap, &heap->latest_ns, room * sizeof(uint64_t));
}

static bool resize(rlc_timer_heap *heap, uint32_t room) {
    bool is_resized = grow_entries(heap, RLC_EXACT, room) && grow_positions(heap, RLC_EXACT, room);
    heap->heaps[RLC_TOLERANT].positions = heap->heaps[RLC_EXACT].positions;
    return is_resized && (!heap->knows_tolerance || grow_for_tolerance(heap, room));
}

/**
 * Adds an eighth. Frequent growth costs little, because realloc(3) remaps large blocks instead of copying them. The
 * spare room costs little, because its unused pages take no memory.
 */
static uint32_t with_spare(uint32_t room) {
    return room + room / 8 + LEAST_GROWTH;
}

/* Not inlined, so that an add that finds room saves no registers. The arrays need room for each slot ever used. */
__attribute__((noinline)) static int make_room(rlc_timer_heap *heap) {
    int status = rlc_slot_holes_reserve(&heap->holes, &heap->timers, heap->memory);
    if (status < 0 || heap->timers.touched < heap->room)
        return status;
    uint32_t room = with_spare(heap->room);
    if (!resize(heap, room))
        return -ENOMEM;
    heap->room = room;
    return 0;
}

void rlc_timer_heap_give_back(rlc_timer_heap *heap) {
    rlc_slot_holes_give_back(&heap->holes, &heap->timers, heap->memory);
    uint32_t room = with_spare(heap->timers.touched);
    if (room >= heap->room)
        return;
    heap->room = room;
    (void)resize(heap, room); /* if it fails an array stays larger */
}

bool rlc_timer_heap_learn_tolerance(rlc_timer_heap *heap) {
    if (!grow_for_tolerance(heap, heap->room))
        return false;
    memset(heap->heaps[RLC_LATEST].positions, 0xff, heap->room * sizeof(uint32_t)); /* RLC_NOT_IN_HEAP */
    memset(heap->latest_ns, 0, heap->room * sizeof(uint64_t));
    heap->knows_tolerance = true;
    return true;
}

int rlc_timer_heap_add(rlc_timer_heap *heap, void *context, rlc_heap_timer **ret_timer) {
    int status = SLIST_EMPTY(&heap->timers.unused) ? make_room(heap) : 0;
    if (status < 0)
        return status;
    rlc_heap_timer *timer = (rlc_heap_timer *)(void *)rlc_slot_table_claim(&heap->timers);
    *timer = (rlc_heap_timer){.slot = timer->slot, .context = context};
    heap->heaps[RLC_EXACT].positions[timer->slot.number] = RLC_NOT_IN_HEAP;
    if (heap->knows_tolerance) {
        heap->heaps[RLC_LATEST].positions[timer->slot.number] = RLC_NOT_IN_HEAP;
        heap->latest_ns[timer->slot.number] = 0;
    }
    *ret_timer = timer;
    return 0;
}

int rlc_timer_heap_insert(rlc_timer_heap *heap, void *context, rlc_token *ret_token) {
    rlc_heap_timer *timer;
    int status = rlc_timer_heap_add(heap, context, &timer);
    if (status == 0)
        *ret_token = rlc_slot_token(&timer->slot);
    return status;
}

bool rlc_timer_heap_is_armed(const rlc_timer_heap *heap, rlc_token token) {
    const rlc_heap_timer *timer = rlc_slot_table_find(&heap->timers, token);
    return timer != NULL && rlc_heap_timer_is_armed(timer);
}

size_t rlc_timer_heap_count(const rlc_timer_heap *heap) {
    return rlc_slot_holes_count(&heap->holes, &heap->timers);
}

void *rlc_timer_heap_next(const rlc_timer_heap *heap, uint32_t *position) {
    while (*position < heap->timers.touched) {
        const rlc_heap_timer *timer = rlc_slot_table_at(&heap->timers, (*position)++);
        if (rlc_slot_is_live(&timer->slot))
            return timer->context;
    }
    return NULL;
}

uint64_t rlc_timer_heap_moves(const rlc_timer_heap *heap) {
    return heap->heaps[RLC_EXACT].moves + heap->heaps[RLC_TOLERANT].moves + heap->heaps[RLC_LATEST].moves;
}

void rlc_timer_heap_set_sequence(rlc_timer_heap *heap, uint32_t sequence) {
    heap->sequence = sequence;
}

#ifdef RLC_INTERNAL_CHECKS
static void verify_heap(const rlc_timer_heap *heap, unsigned which) {
    const rlc_deadline_heap *deadlines = &heap->heaps[which];
    for (uint32_t i = 0; i < deadlines->count; i++) {
        const rlc_deadline_entry *entries = deadlines->entries;
        const rlc_heap_timer *timer = rlc_timer_heap_at(heap, rlc_deadline_entry_slot(entries[i]));
        assert(rlc_slot_is_live(&timer->slot));
        assert(deadlines->positions[timer->slot.number] == i);
        assert(rlc_heap_timer_is_armed(timer) && (which == RLC_EXACT) == !rlc_timer_heap_tolerates(heap, timer));
        assert(which != RLC_TOLERANT || heap->keeps_latest ||
               heap->latest_ns[timer->slot.number] == rlc_time_add(timer->deadline_ns, heap->shared_tolerance_ns));
        assert(!rlc_deadline_entry_is_before(rlc_timer_heap_wanted(heap, timer, which), entries[i]));
        assert(i == 0 || !rlc_deadline_entry_is_before(entries[i], entries[(i - 1) / RLC_HEAP_ARITY]));
        assert(i > 0 || !deadlines->is_settled ||
               entries[0].deadline_ns == rlc_timer_heap_wanted(heap, timer, which).deadline_ns);
    }
}

void rlc_timer_heap_verify(const rlc_timer_heap *heap) {
    for (unsigned which = 0; which < RLC_DEADLINE_HEAPS; which++)
        verify_heap(heap, which);
    assert(heap->heaps[RLC_LATEST].count == (heap->keeps_latest ? heap->heaps[RLC_TOLERANT].count : 0));
    assert(rlc_slot_holes_count(&heap->holes, &heap->timers) <= heap->timers.touched &&
           heap->timers.touched <= heap->room);
}
#endif

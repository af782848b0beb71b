/* Sorts whole heaps: when the sequence numbers run out, and when armed timers begin to differ in their tolerances. */
#include "timer_heap_internal.h"

/** Corrects all keys, and sorts each heap. A sorted array is a heap, too. */
static void sort_heaps(rlc_timer_heap *heap) {
    for (unsigned which = 0; which < RLC_DEADLINE_HEAPS; which++) {
        rlc_deadline_heap *deadlines = &heap->heaps[which];
        for (uint32_t i = 0; i < deadlines->count; i++)
            deadlines->entries[i] = rlc_timer_heap_wanted(
                heap, rlc_timer_heap_at(heap, rlc_deadline_entry_slot(deadlines->entries[i])), which);
        rlc_deadline_entries_sort(deadlines->entries, deadlines->count);
        for (uint32_t i = 0; i < deadlines->count; i++)
            rlc_deadline_heap_put(deadlines, i, deadlines->entries[i]);
        deadlines->is_settled = false;
    }
}

void rlc_timer_heap_renumber(rlc_timer_heap *heap) {
    sort_heaps(heap);
    const rlc_deadline_heap *exact = &heap->heaps[RLC_EXACT], *tolerant = &heap->heaps[RLC_TOLERANT];
    uint32_t i = 0, j = 0;
    heap->sequence = 0;
    while (i < exact->count || j < tolerant->count) {
        bool takes_exact = j == tolerant->count ||
                           (i < exact->count && rlc_deadline_entry_is_before(exact->entries[i], tolerant->entries[j]));
        rlc_deadline_entry next = takes_exact ? exact->entries[i++] : tolerant->entries[j++];
        rlc_timer_heap_at(heap, rlc_deadline_entry_slot(next))->sequence = ++heap->sequence;
    }
    sort_heaps(heap);
}

void rlc_timer_heap_begin_latest(rlc_timer_heap *heap) {
    const rlc_deadline_heap *tolerant = &heap->heaps[RLC_TOLERANT];
    rlc_deadline_heap *latest = &heap->heaps[RLC_LATEST];
    for (uint32_t i = 0; i < tolerant->count; i++) {
        const rlc_heap_timer *timer = rlc_timer_heap_at(heap, rlc_deadline_entry_slot(tolerant->entries[i]));
        latest->entries[i] = rlc_timer_heap_wanted(heap, timer, RLC_LATEST);
    }
    latest->count = tolerant->count;
    latest->is_settled = true;
    rlc_deadline_entries_sort(latest->entries, latest->count);
    for (uint32_t i = 0; i < latest->count; i++)
        rlc_deadline_heap_put(latest, i, latest->entries[i]);
    heap->keeps_latest = true;
}

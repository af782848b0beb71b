#include "timer_heap_internal.h"

#include <crunloop/clock.h>

/** Brings the first entry's key up to date. True if it was so already. */
static bool settle_first(rlc_timer_heap *heap, unsigned which) {
    rlc_deadline_heap *deadlines = &heap->heaps[which];
    const rlc_heap_timer *timer = rlc_timer_heap_at(heap, rlc_deadline_entry_slot(deadlines->entries[0]));
    rlc_deadline_entry real = rlc_timer_heap_wanted(heap, timer, which);
    deadlines->is_settled = !rlc_deadline_entry_is_before(deadlines->entries[0], real);
    if (!deadlines->is_settled)
        rlc_deadline_heap_sift_down(deadlines, 0, real);
    return deadlines->is_settled;
}

static const rlc_deadline_entry *settle(rlc_timer_heap *heap, unsigned which) {
    while (!settle_first(heap, which)) {
    }
    return heap->heaps[which].entries;
}

/** Returns the first entry if it is due, else NULL. Does not correct keys that are not due. */
static const rlc_deadline_entry *first_due(rlc_timer_heap *heap, unsigned which, uint64_t now_ns) {
    const rlc_deadline_heap *deadlines = &heap->heaps[which];
    while (deadlines->count > 0 && deadlines->entries[0].deadline_ns <= now_ns) {
        if (deadlines->is_settled || settle_first(heap, which))
            return deadlines->entries;
    }
    return NULL;
}

/** Returns the first entry, with the right key; or NULL. */
static inline const rlc_deadline_entry *first_of(rlc_timer_heap *heap, unsigned which) {
    const rlc_deadline_heap *deadlines = &heap->heaps[which];
    if (deadlines->count == 0)
        return NULL;
    return deadlines->is_settled ? deadlines->entries : settle(heap, which);
}

static const rlc_deadline_entry *earlier_of(const rlc_deadline_entry *exact, const rlc_deadline_entry *tolerant) {
    if (exact == NULL || tolerant == NULL)
        return exact == NULL ? tolerant : exact;
    return rlc_deadline_entry_is_before(*exact, *tolerant) ? exact : tolerant;
}

uint64_t rlc_timer_heap_first(rlc_timer_heap *heap) {
    const rlc_deadline_entry *first = earlier_of(first_of(heap, RLC_EXACT), first_of(heap, RLC_TOLERANT));
    return first == NULL ? RLC_TIME_FOREVER : first->deadline_ns;
}

/**
 * Returns the entry of the tolerant timer that becomes late first, and the date at which it does. RLC_TOLERANT must not
 * be empty.
 */
__attribute__((noinline)) static const rlc_deadline_entry *first_late(rlc_timer_heap *heap, uint64_t *ret_latest_ns) {
    const rlc_deadline_entry *first = first_of(heap, heap->keeps_latest ? RLC_LATEST : RLC_TOLERANT);
    *ret_latest_ns = rlc_time_add(first->deadline_ns, heap->keeps_latest ? 0 : heap->shared_tolerance_ns);
    return first;
}

static bool has_tolerant(const rlc_timer_heap *heap) {
    return heap->heaps[RLC_TOLERANT].count > 0;
}

static uint64_t first_exact(rlc_timer_heap *heap) {
    const rlc_deadline_entry *exact = first_of(heap, RLC_EXACT);
    return exact == NULL ? RLC_TIME_FOREVER : exact->deadline_ns;
}

__attribute__((noinline)) static uint64_t wake_at(rlc_timer_heap *heap) {
    uint64_t exact_ns = first_exact(heap), latest_ns;
    if (!has_tolerant(heap))
        return exact_ns;
    (void)first_late(heap, &latest_ns);
    return exact_ns < latest_ns ? exact_ns : latest_ns;
}

uint64_t rlc_timer_heap_wake_tolerance(rlc_timer_heap *heap) {
    if (!has_tolerant(heap))
        return 0;
    uint64_t latest_ns;
    const rlc_deadline_entry *late = first_late(heap, &latest_ns);
    if (first_exact(heap) <= latest_ns)
        return 0;
    return rlc_timer_heap_tolerance(heap, rlc_timer_heap_at(heap, rlc_deadline_entry_slot(*late)));
}

uint64_t rlc_timer_heap_wake_at(rlc_timer_heap *heap) {
    const rlc_deadline_heap *exact = &heap->heaps[RLC_EXACT];
    bool is_known = !heap->knows_tolerance && exact->is_settled && exact->count > 0;
    return is_known ? exact->entries[0].deadline_ns : wake_at(heap);
}

bool rlc_timer_heap_take_due(rlc_timer_heap *heap, uint64_t now_ns, void **ret_context, rlc_token *ret_token) {
    const rlc_deadline_entry *first =
        earlier_of(first_due(heap, RLC_EXACT, now_ns), first_due(heap, RLC_TOLERANT, now_ns));
    if (first == NULL)
        return false;
    rlc_heap_timer *timer = rlc_timer_heap_at(heap, rlc_deadline_entry_slot(*first));
    rlc_timer_heap_disarm(heap, timer);
    *ret_context = timer->context;
    *ret_token = rlc_slot_token(&timer->slot);
    return true;
}

/** Tells whether the entry at `position` is due. If its key is due, first brings the key up to date. */
static bool is_due(rlc_timer_heap *heap, unsigned which, uint32_t position, uint64_t now_ns) {
    rlc_deadline_entry *entry = &heap->heaps[which].entries[position];
    if (entry->deadline_ns > now_ns)
        return false;
    *entry = rlc_timer_heap_wanted(heap, rlc_timer_heap_at(heap, rlc_deadline_entry_slot(*entry)), which);
    return entry->deadline_ns <= now_ns;
}

/**
 * Moves the due entry at `position` behind the end of the heap. No entry below it in the heap may be due. The last
 * entry takes its place; if that is due, moves it as well.
 */
static void move_behind_end(rlc_timer_heap *heap, unsigned which, uint32_t position, uint64_t now_ns) {
    rlc_deadline_heap *deadlines = &heap->heaps[which];
    for (;;) {
        rlc_deadline_entry due = deadlines->entries[position], last = deadlines->entries[--deadlines->count];
        deadlines->entries[deadlines->count] = due;
        if (position == deadlines->count)
            return;
        deadlines->entries[position] = last;
        if (is_due(heap, which, position, now_ns))
            continue;
        rlc_deadline_heap_sift_down(deadlines, position, deadlines->entries[position]);
        return;
    }
}

/**
 * Moves all due entries behind the end of the heap, and sorts them there. The due entries are the top of the heap. So
 * the function goes down from the first entry while entries are due, and moves each of them on the way back up.
 */
static void gather_due(rlc_timer_heap *heap, unsigned which, uint64_t now_ns) {
    rlc_deadline_heap *deadlines = &heap->heaps[which];
    uint32_t count = deadlines->count;
    uint64_t position = 0;
    deadlines->is_settled = false;
    for (;;) {
        while (position < deadlines->count && deadlines->entries[position].deadline_ns <= now_ns) {
            if (is_due(heap, which, (uint32_t)position, now_ns))
                position = position * RLC_HEAP_ARITY + 1;
            else
                rlc_deadline_heap_sift_down(deadlines, (uint32_t)position, deadlines->entries[position]);
        }
        while (position % RLC_HEAP_ARITY == 0 || position >= deadlines->count) {
            if (position == 0) {
                rlc_deadline_entries_sort(deadlines->entries + deadlines->count, count - deadlines->count);
                return;
            }
            position = (position - 1) / RLC_HEAP_ARITY;
            move_behind_end(heap, which, (uint32_t)position, now_ns);
        }
        position++;
    }
}

size_t rlc_timer_heap_collect(rlc_timer_heap *heap, uint64_t now_ns, rlc_heap_timer_fn timer_fn, void *context) {
    rlc_deadline_heap *exact = &heap->heaps[RLC_EXACT], *tolerant = &heap->heaps[RLC_TOLERANT];
    uint32_t exact_end = exact->count, tolerant_end = tolerant->count;
    /* Called only if the first key is due: gather_due clears is_settled, so the next wait has to settle the heap. */
    if (exact_end > 0 && exact->entries[0].deadline_ns <= now_ns)
        gather_due(heap, RLC_EXACT, now_ns);
    if (tolerant_end > 0 && tolerant->entries[0].deadline_ns <= now_ns)
        gather_due(heap, RLC_TOLERANT, now_ns);
    uint32_t i = exact->count, j = tolerant->count;
    size_t taken = exact_end - i + tolerant_end - j;
    while (i < exact_end || j < tolerant_end) {
        bool takes_exact = j == tolerant_end ||
                           (i < exact_end && rlc_deadline_entry_is_before(exact->entries[i], tolerant->entries[j]));
        uint32_t slot = rlc_deadline_entry_slot(takes_exact ? exact->entries[i++] : tolerant->entries[j++]);
        exact->positions[slot] = RLC_NOT_IN_HEAP;
        if (!takes_exact && heap->keeps_latest)
            rlc_deadline_heap_take_out(&heap->heaps[RLC_LATEST], slot);
        rlc_heap_timer *timer = rlc_timer_heap_at(heap, slot);
        timer->sequence = 0;
        timer_fn(context, timer);
    }
    rlc_timer_heap_check(heap);
    return taken;
}

typedef struct take_all_call {
    rlc_timer_due_fn due_fn;
    void *context;
} take_all_call;

static void hand_over(void *context, rlc_heap_timer *timer) {
    const take_all_call *call = context;
    call->due_fn(call->context, timer->context, rlc_slot_token(&timer->slot));
}

size_t rlc_timer_heap_take_all(rlc_timer_heap *heap, uint64_t now_ns, rlc_timer_due_fn due_fn, void *context) {
    take_all_call call = {due_fn, context};
    return rlc_timer_heap_collect(heap, now_ns, hand_over, &call);
}

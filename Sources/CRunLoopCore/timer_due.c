#include "timer_heap_internal.h"

/** Brings the first entry's key up to date. True if it was. */
static bool settle_first(rlc_timer_heap *heap, unsigned which) {
    rlc_timer_queue *queue = &heap->queues[which];
    const rlc_heap_timer *timer = rlc_timer_heap_at(heap, rlc_timer_entry_slot(queue->entries[0]));
    rlc_timer_entry real = rlc_timer_heap_wanted(heap, timer, which);
    queue->is_settled = !rlc_timer_entry_is_before(queue->entries[0], real);
    if (!queue->is_settled)
        rlc_timer_queue_sift_down(queue, 0, real);
    return queue->is_settled;
}

static const rlc_timer_entry *settle(rlc_timer_heap *heap, unsigned which) {
    while (!settle_first(heap, which)) {
    }
    return heap->queues[which].entries;
}

/** The first entry if it is due, or NULL: what was pushed out and is not due by its old key either stays as it is. */
static const rlc_timer_entry *first_due(rlc_timer_heap *heap, unsigned which, uint64_t now_ns) {
    const rlc_timer_queue *queue = &heap->queues[which];
    while (queue->count > 0 && queue->entries[0].deadline_ns <= now_ns) {
        if (queue->is_settled || settle_first(heap, which))
            return queue->entries;
    }
    return NULL;
}

/** The first entry with its key up to date, or NULL. */
static inline const rlc_timer_entry *first_of(rlc_timer_heap *heap, unsigned which) {
    const rlc_timer_queue *queue = &heap->queues[which];
    if (queue->count == 0)
        return NULL;
    return queue->is_settled ? queue->entries : settle(heap, which);
}

static const rlc_timer_entry *earlier_of(const rlc_timer_entry *exact, const rlc_timer_entry *tolerant) {
    if (exact == NULL || tolerant == NULL)
        return exact == NULL ? tolerant : exact;
    return rlc_timer_entry_is_before(*exact, *tolerant) ? exact : tolerant;
}

uint64_t rlc_timer_heap_first(rlc_timer_heap *heap) {
    const rlc_timer_entry *first = earlier_of(first_of(heap, RLC_EXACT), first_of(heap, RLC_TOLERANT));
    return first == NULL ? RLC_TIME_FOREVER : first->deadline_ns;
}

__attribute__((noinline)) static uint64_t wake_at(rlc_timer_heap *heap) {
    const rlc_timer_entry *exact = first_of(heap, RLC_EXACT), *latest = first_of(heap, RLC_LATEST);
    uint64_t exact_ns = exact == NULL ? RLC_TIME_FOREVER : exact->deadline_ns;
    uint64_t latest_ns = latest == NULL ? RLC_TIME_FOREVER : latest->deadline_ns;
    return exact_ns < latest_ns ? exact_ns : latest_ns;
}

uint64_t rlc_timer_heap_wake_at(rlc_timer_heap *heap) {
    const rlc_timer_queue *exact = &heap->queues[RLC_EXACT];
    bool is_known = !heap->knows_tolerance && exact->is_settled && exact->count > 0;
    return is_known ? exact->entries[0].deadline_ns : wake_at(heap);
}

bool rlc_timer_heap_take_due(rlc_timer_heap *heap, uint64_t now_ns, void **ret_context, rlc_token *ret_token) {
    const rlc_timer_entry *first =
        earlier_of(first_due(heap, RLC_EXACT, now_ns), first_due(heap, RLC_TOLERANT, now_ns));
    if (first == NULL)
        return false;
    rlc_heap_timer *timer = rlc_timer_heap_at(heap, rlc_timer_entry_slot(*first));
    rlc_timer_heap_disarm(heap, timer);
    *ret_context = timer->context;
    *ret_token = rlc_slot_token(&timer->slot);
    return true;
}

/** Brings the key at `position` up to date. True if it is due. */
static bool is_due(rlc_timer_heap *heap, unsigned which, uint32_t position, uint64_t now_ns) {
    rlc_timer_entry *entry = &heap->queues[which].entries[position];
    if (entry->deadline_ns > now_ns)
        return false;
    *entry = rlc_timer_heap_wanted(heap, rlc_timer_heap_at(heap, rlc_timer_entry_slot(*entry)), which);
    return entry->deadline_ns <= now_ns;
}

/** Moves the due entry at `position`, below which none is due, behind the end; the last that is not due takes its place. */
static void move_behind_end(rlc_timer_heap *heap, unsigned which, uint32_t position, uint64_t now_ns) {
    rlc_timer_queue *queue = &heap->queues[which];
    for (;;) {
        rlc_timer_entry due = queue->entries[position], last = queue->entries[--queue->count];
        queue->entries[queue->count] = due;
        if (position == queue->count)
            return;
        queue->entries[position] = last;
        if (is_due(heap, which, position, now_ns))
            continue;
        rlc_timer_queue_sift_down(queue, position, queue->entries[position]);
        return;
    }
}

/**
 * Moves all that is due behind the end of the queue, where it is sorted. Due entries hang together at the top of the heap:
 * this goes down from the first as far as they reach, and takes each out on the way back.
 */
static void gather_due(rlc_timer_heap *heap, unsigned which, uint64_t now_ns) {
    rlc_timer_queue *queue = &heap->queues[which];
    uint32_t count = queue->count;
    uint64_t position = 0;
    queue->is_settled = false;
    for (;;) {
        while (position < queue->count && queue->entries[position].deadline_ns <= now_ns) {
            if (is_due(heap, which, (uint32_t)position, now_ns))
                position = position * RLC_TIMER_ARITY + 1;
            else
                rlc_timer_queue_sift_down(queue, (uint32_t)position, queue->entries[position]);
        }
        while (position % RLC_TIMER_ARITY == 0 || position >= queue->count) {
            if (position == 0) {
                rlc_timer_entries_sort(queue->entries + queue->count, count - queue->count);
                return;
            }
            position = (position - 1) / RLC_TIMER_ARITY;
            move_behind_end(heap, which, (uint32_t)position, now_ns);
        }
        position++;
    }
}

size_t rlc_timer_heap_collect(rlc_timer_heap *heap, uint64_t now_ns, rlc_heap_timer_fn timer_fn, void *context) {
    rlc_timer_queue *exact = &heap->queues[RLC_EXACT], *tolerant = &heap->queues[RLC_TOLERANT];
    uint32_t exact_end = exact->count, tolerant_end = tolerant->count;
    if (exact_end > 0)
        gather_due(heap, RLC_EXACT, now_ns);
    if (tolerant_end > 0)
        gather_due(heap, RLC_TOLERANT, now_ns);
    uint32_t i = exact->count, j = tolerant->count;
    size_t taken = exact_end - i + tolerant_end - j;
    while (i < exact_end || j < tolerant_end) {
        bool takes_exact =
            j == tolerant_end || (i < exact_end && rlc_timer_entry_is_before(exact->entries[i], tolerant->entries[j]));
        uint32_t slot = rlc_timer_entry_slot(takes_exact ? exact->entries[i++] : tolerant->entries[j++]);
        exact->positions[slot] = RLC_TIMER_NOT_QUEUED;
        if (!takes_exact)
            rlc_timer_queue_take_out(&heap->queues[RLC_LATEST], slot);
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

#include "deadline_heap.h"

void rlc_deadline_heap_sift_up(rlc_deadline_heap *heap, uint32_t position, rlc_deadline_entry moved) {
    heap->moves++;
    while (position > 0) {
        uint32_t parent = (position - 1) / RLC_HEAP_ARITY;
        if (!rlc_deadline_entry_is_before(moved, heap->entries[parent]))
            break;
        rlc_deadline_heap_put(heap, position, heap->entries[parent]);
        position = parent;
    }
    rlc_deadline_heap_put(heap, position, moved);
}

static inline uint32_t earlier(const rlc_deadline_entry *entries, uint32_t left, uint32_t right) {
    return rlc_deadline_entry_is_before(entries[right], entries[left]) ? right : left;
}

/** Returns the position of the earliest of the children, which begin at `child`. */
static inline uint32_t first_child(const rlc_deadline_entry *entries, uint32_t child, uint32_t count) {
    if (count - child >= RLC_HEAP_ARITY) /* the processor can make the two inner comparisons at once */
        return earlier(entries, earlier(entries, child, child + 1), earlier(entries, child + 2, child + 3));
    uint32_t best = child;
    while (++child < count)
        best = earlier(entries, best, child);
    return best;
}

void rlc_deadline_heap_sift_down(rlc_deadline_heap *heap, uint32_t position, rlc_deadline_entry moved) {
    const rlc_deadline_entry *entries = heap->entries;
    uint32_t count = heap->count;
    heap->moves++;
    for (;;) {
        uint64_t first = (uint64_t)position * RLC_HEAP_ARITY + 1;
        if (first >= count)
            break;
        uint32_t best = first_child(entries, (uint32_t)first, count);
        if (!rlc_deadline_entry_is_before(entries[best], moved))
            break;
        rlc_deadline_heap_put(heap, position, entries[best]);
        position = best;
    }
    rlc_deadline_heap_put(heap, position, moved);
}

void rlc_deadline_heap_take_out(rlc_deadline_heap *heap, uint32_t slot) {
    uint32_t position = heap->positions[slot];
    heap->positions[slot] = RLC_NOT_IN_HEAP;
    heap->is_settled &= position != 0;
    rlc_deadline_entry last = heap->entries[--heap->count];
    if (position == heap->count)
        return;
    if (rlc_deadline_entry_is_before(last, heap->entries[position]))
        rlc_deadline_heap_sift_up(heap, position, last);
    else
        rlc_deadline_heap_sift_down(heap, position, last);
}

/* ---- sorting ---- */

/* Runs of at most this length are not split: one insertion sort over the whole array sorts them in the end. */
enum { SHORT_RUN = 12 };
/*
 * How many entries all splits together may compare, for each entry of the array. If each split halves its run, they
 * compare fewer than 32. If the splits use up this budget, Shell's sort sorts the whole array.
 */
enum { SPLITS_PER_ENTRY = 64 };

static void swap(rlc_deadline_entry *left, rlc_deadline_entry *right) {
    rlc_deadline_entry kept = *left;
    *left = *right;
    *right = kept;
}

static void order_two(rlc_deadline_entry *left, rlc_deadline_entry *right) {
    if (rlc_deadline_entry_is_before(*right, *left))
        swap(left, right);
}

/** Splits by the median of three. Returns how many entries are on the left side. Each side gets at least one. */
static uint32_t split(rlc_deadline_entry *entries, uint32_t count) {
    rlc_deadline_entry *last = &entries[count - 1], *middle = &entries[count / 2];
    order_two(entries, middle);
    order_two(middle, last);
    order_two(entries, middle);
    rlc_deadline_entry pivot = *middle;
    uint32_t i = 0, j = count - 1;
    for (;;) {
        while (rlc_deadline_entry_is_before(entries[++i], pivot)) {
        }
        while (rlc_deadline_entry_is_before(pivot, entries[--j])) {
        }
        if (i >= j)
            return i;
        swap(&entries[i], &entries[j]);
    }
}

/** Shell's sort, beginning with `gap`. With gap 1 it is the insertion sort. */
static void insert_with_gaps(rlc_deadline_entry *entries, uint32_t count, uint32_t gap) {
    for (; gap > 0; gap = gap == 2 ? 1 : (uint32_t)((uint64_t)gap * 5 / 11)) {
        for (uint32_t i = gap; i < count; i++) {
            rlc_deadline_entry moved = entries[i];
            uint32_t hole = i;
            for (; hole >= gap && rlc_deadline_entry_is_before(moved, entries[hole - gap]); hole -= gap)
                entries[hole] = entries[hole - gap];
            entries[hole] = moved;
        }
    }
}

typedef struct run {
    uint32_t first, count;
} run;

void rlc_deadline_entries_sort(rlc_deadline_entry *entries, uint32_t count) {
    run waiting[32], current = {0, count}; /* the shorter side is sorted first, so at most 32 runs wait */
    uint32_t waiting_count = 0;
    uint64_t budget = (uint64_t)count * SPLITS_PER_ENTRY;
    for (;;) {
        while (current.count > SHORT_RUN) {
            if (budget < current.count) {
                insert_with_gaps(entries, count, count / 2);
                return;
            }
            budget -= current.count;
            uint32_t low = split(entries + current.first, current.count), high = current.count - low;
            run left = {current.first, low}, right = {current.first + low, high};
            waiting[waiting_count++] = low < high ? right : left;
            current = low < high ? left : right;
        }
        if (waiting_count == 0)
            break;
        current = waiting[--waiting_count];
    }
    insert_with_gaps(entries, count, 1);
}

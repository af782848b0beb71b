/* How deadlines are sorted. */
#include "deadline_heap.h"
#include "harness.h"

enum { MANY = 1000 };

static rlc_deadline_entry entry(uint64_t deadline_ns, uint64_t order) {
    return (rlc_deadline_entry){.order = order, .deadline_ns = deadline_ns};
}

static void check_sorted(rlc_deadline_entry *entries, uint32_t count) {
    uint64_t sum = 0, sorted_sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += entries[i].deadline_ns ^ entries[i].order << 32;
    rlc_deadline_entries_sort(entries, count);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(i == 0 || rlc_deadline_entry_is_before(entries[i - 1], entries[i]));
        sorted_sum += entries[i].deadline_ns ^ entries[i].order << 32;
    }
    CHECK_EQUAL(sum, sorted_sum); /* the same entries */
}

static void test_sorted_whatever_the_order(void) {
    static rlc_deadline_entry entries[MANY];
    uint64_t random = 88172645463325252u;
    for (uint32_t count = 0; count <= MANY; count = count < 30 ? count + 1 : count * 3 / 2) {
        for (uint32_t i = 0; i < count; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            entries[i] = entry(random >> 60, i);
        }
        check_sorted(entries, count);
        for (uint32_t i = 0; i < count; i++)
            entries[i] = entry(count - i, i);
        check_sorted(entries, count);
    }
}

/* The order that defeats the median of three (D. R. Musser, Introspective Sorting and Selection Algorithms, 1997): each split
 * takes off a few entries only. That order fills the first part; the second part is unsorted, too. */
static void test_sorted_if_no_split_is_of_use(void) {
    enum { SIDE = 1200, HALF = SIDE / 2, ALL = 2 * SIDE + 1 };
    static rlc_deadline_entry entries[ALL];
    for (uint32_t i = 1; i <= HALF; i++) {
        if (i % 2 == 1) {
            entries[i - 1] = entry(i, i);
            entries[i] = entry(HALF + i, i);
        }
        entries[HALF + i - 1] = entry(2 * (uint64_t)i, HALF + i);
    }
    for (uint32_t i = SIDE; i < ALL; i++)
        entries[i] = entry(SIDE + 1 + i * 7919u % SIDE, SIDE + i);
    rlc_deadline_entry last_of_side = entries[SIDE - 1]; /* in the middle, it is the first pivot */
    entries[SIDE - 1] = entries[SIDE];
    entries[SIDE] = last_of_side;
    check_sorted(entries, ALL);
}

int main(void) {
    RUN(test_sorted_whatever_the_order);
    RUN(test_sorted_if_no_split_is_of_use);
    return 0;
}

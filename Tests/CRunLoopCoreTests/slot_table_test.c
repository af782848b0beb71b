#include "harness.h"
#include "slot_table.h"

typedef struct record {
    rlc_slot slot;
    int value;
} record;

static record *claim(rlc_slot_table *table) {
    CHECK_EQUAL(rlc_slot_table_reserve(table, NULL), 0);
    return (record *)rlc_slot_table_claim(table);
}

static void test_RLC_TOKEN_1_stale_tokens_are_found_out(void) {
    rlc_slot_table table;
    rlc_slot_table_init(&table, sizeof(record));
    CHECK(rlc_slot_table_find(&table, (rlc_token){0}) == NULL);
    record *first = claim(&table);
    rlc_token token = rlc_slot_token(&first->slot);
    CHECK(token.bits != 0);
    CHECK(rlc_slot_table_find(&table, token) == first);
    rlc_slot_table_release(&table, &first->slot);
    CHECK(rlc_slot_table_find(&table, token) == NULL);
    CHECK(!rlc_slot_is_live(&first->slot));
    CHECK(claim(&table) == first); /* the slot comes back, its token does not */
    CHECK(rlc_slot_table_find(&table, token) == NULL);
    CHECK(rlc_slot_token(&first->slot).bits != token.bits);
    CHECK(rlc_slot_table_find(&table, (rlc_token){.bits = (uint64_t)1 << 32 | 77}) == NULL);
    rlc_slot_table_finish(&table, NULL);
}

static void test_growth_leaves_records_where_they_are(void) {
    rlc_slot_table table;
    rlc_slot_table_init(&table, sizeof(record));
    record *records[100];
    for (int i = 0; i < 100; i++) {
        records[i] = claim(&table);
        records[i]->value = i;
    }
    for (int i = 0; i < 100; i++) {
        CHECK(rlc_slot_table_find(&table, rlc_slot_token(&records[i]->slot)) == records[i]);
        CHECK(rlc_slot_table_at(&table, records[i]->slot.number) == records[i]);
        CHECK_EQUAL(records[i]->value, i);
    }
    rlc_slot_table_finish(&table, NULL);
}

static void test_reserve_reports_no_memory(void) {
    rlc_slot_table table;
    rlc_slot_table_init(&table, sizeof(record));
    for (unsigned long k = 1; k <= 2; k++) {
        fail_allocation(k);
        CHECK_EQUAL(rlc_slot_table_reserve(&table, NULL), -ENOMEM);
    }
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(rlc_slot_table_reserve(&table, NULL), 0);
        unsigned long before = allocations();
        (void)rlc_slot_table_claim(&table);
        CHECK_EQUAL(allocations(), before);
    }
    rlc_slot_table_finish(&table, NULL);
}

int main(void) {
    RUN(test_RLC_TOKEN_1_stale_tokens_are_found_out);
    RUN(test_growth_leaves_records_where_they_are);
    RUN(test_reserve_reports_no_memory);
    return 0;
}

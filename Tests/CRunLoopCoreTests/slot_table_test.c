#include "harness.h"
#include "slot_table.h"

typedef struct record {
    rlc_slot slot;
    int value;
} record;

static void test_RLC_TOKEN_1_stale_tokens_are_found_out(void) {
    rlc_slot_table table;
    rlc_slot_table_init(&table, sizeof(record));
    CHECK(rlc_slot_table_find(&table, (rlc_token){0}) == NULL);
    CHECK_EQUAL(rlc_slot_table_reserve(&table, 1), 0);
    uint32_t slot = rlc_slot_table_claim(&table);
    rlc_token token = rlc_slot_table_token(&table, slot);
    CHECK(token.bits != 0);
    CHECK(rlc_slot_table_find(&table, token) == rlc_slot_table_at(&table, slot));
    rlc_slot_table_release(&table, slot);
    CHECK(rlc_slot_table_find(&table, token) == NULL);
    CHECK(!rlc_slot_table_is_live(&table, slot));
    CHECK_EQUAL(rlc_slot_table_claim(&table), slot); /* the slot comes back, its token does not */
    CHECK(rlc_slot_table_find(&table, token) == NULL);
    CHECK(rlc_slot_table_token(&table, slot).bits != token.bits);
    CHECK(rlc_slot_table_find(&table, (rlc_token){.bits = (uint64_t)1 << 32 | 77}) == NULL);
    rlc_slot_table_finish(&table);
}

static void test_growth_keeps_records(void) {
    rlc_slot_table table;
    rlc_slot_table_init(&table, sizeof(record));
    rlc_token tokens[100];
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(rlc_slot_table_reserve(&table, 1), 0);
        uint32_t slot = rlc_slot_table_claim(&table);
        record *record = rlc_slot_table_at(&table, slot);
        CHECK_EQUAL(record->value, 0);
        record->value = i;
        tokens[i] = rlc_slot_table_token(&table, slot);
    }
    for (int i = 0; i < 100; i++) {
        record *record = rlc_slot_table_find(&table, tokens[i]);
        CHECK(record != NULL && record->value == i);
        CHECK_EQUAL(rlc_slot_table_slot(&table, record), rlc_token_slot(tokens[i]));
    }
    rlc_slot_table_finish(&table);
}

static void test_reserve_reports_no_memory(void) {
    rlc_slot_table table;
    rlc_slot_table_init(&table, sizeof(record));
    fail_allocation(1);
    CHECK_EQUAL(rlc_slot_table_reserve(&table, 1), -ENOMEM);
    CHECK_EQUAL(rlc_slot_table_reserve(&table, UINT32_MAX), -ENOMEM);
    CHECK_EQUAL(rlc_slot_table_reserve(&table, 10), 0);
    unsigned long before = allocations();
    for (int i = 0; i < 10; i++)
        (void)rlc_slot_table_claim(&table);
    CHECK_EQUAL(allocations(), before);
    rlc_slot_table_finish(&table);
}

int main(void) {
    RUN(test_RLC_TOKEN_1_stale_tokens_are_found_out);
    RUN(test_growth_keeps_records);
    RUN(test_reserve_reports_no_memory);
    return 0;
}

#include "slot_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 4 };

void rlc_slot_table_init(rlc_slot_table *table, size_t record_size) {
    *table = (rlc_slot_table){.record_size = (uint32_t)record_size, .first_free = RLC_NO_SLOT};
}

void rlc_slot_table_finish(rlc_slot_table *table) {
    free(table->records);
    table->records = NULL;
}

int rlc_slot_table_reserve(rlc_slot_table *table, uint32_t extra) {
    uint64_t needed = (uint64_t)table->count + extra;
    if (needed <= table->capacity)
        return 0;
    if (needed > INT32_MAX)
        return -ENOMEM;
    uint32_t capacity = table->capacity == 0 ? FIRST_CAPACITY : table->capacity;
    while (capacity < needed)
        capacity *= 2;
    unsigned char *records = realloc(table->records, (size_t)capacity * table->record_size);
    if (records == NULL)
        return -ENOMEM;
    table->records = records;
    table->capacity = capacity;
    return 0;
}

uint32_t rlc_slot_table_claim(rlc_slot_table *table) {
    uint32_t slot = table->first_free;
    uint32_t generation = 0;
    rlc_slot *header;
    if (slot != RLC_NO_SLOT) {
        header = rlc_slot_table_at(table, slot);
        table->first_free = header->link;
        generation = header->generation;
    } else {
        slot = table->touched++;
        header = rlc_slot_table_at(table, slot);
    }
    memset(header, 0, table->record_size);
    header->generation = generation + 1;
    table->count++;
    return slot;
}

void rlc_slot_table_release(rlc_slot_table *table, uint32_t slot) {
    rlc_slot *header = rlc_slot_table_at(table, slot);
    header->generation++;
    header->link = table->first_free;
    table->first_free = slot;
    table->count--;
}

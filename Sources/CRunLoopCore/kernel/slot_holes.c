#include "slot_holes.h"
#include "memory.h"

#include <errno.h>
#include <malloc.h>

/* A table with at most this many chunks gives nothing back. */
enum { KEPT_CHUNKS = 16 };
/*
 * A table that never had more chunks than this keeps its memory, because it will probably need it again. That is room
 * for 131,072 timers, in some 10 MB.
 */
#ifndef RLC_INTERNAL_CHECKS
enum { USUAL_CHUNKS = 16384 };
#else
enum { USUAL_CHUNKS = KEPT_CHUNKS };
#endif
/* If more chunks than this are freed, half a megabyte or more, it pays to return them to the system. */
enum { MANY_CHUNKS = 2048 };
/* A scan for chunks to free pays if there are fewer chunks than this for each record in use. */
enum { CHUNKS_PER_RECORD = 16 };

static bool is_hole(const rlc_slot_holes *holes, const rlc_slot_table *table, uint32_t chunk) {
    return table->chunks[chunk] == holes->chunk;
}

/** Returns free memory to the system. By itself the C library keeps free memory that lies between blocks in use. */
static void trim(const rlc_kernel *memory, uint32_t freed) {
#ifdef __GLIBC__
    if (memory == NULL && freed > MANY_CHUNKS)
        (void)malloc_trim(0);
#else
    (void)memory, (void)freed;
#endif
}

void rlc_slot_holes_finish(rlc_slot_holes *holes, rlc_slot_table *table, const rlc_kernel *memory) {
    for (uint32_t i = 0; i < table->chunk_count; i++)
        if (is_hole(holes, table, i))
            table->chunks[i] = NULL;
    rlc_memory_free(memory, holes->chunk);
    rlc_slot_table_finish(table, memory);
    trim(memory, table->chunk_count);
}

/**
 * Decides when the table next gives memory back: when three of four records that are in use now have been released. If
 * so few are in use that a scan would not pay, when all have been released.
 */
static void set_enough(rlc_slot_holes *holes, rlc_slot_table *table) {
    uint32_t count = rlc_slot_holes_count(holes, table), chunks = table->chunk_count;
    if (holes->chunk == NULL || chunks <= KEPT_CHUNKS)
        holes->enough = 0;
    else
        holes->enough = count > chunks / CHUNKS_PER_RECORD ? count / 4 : 1;
    table->count = count - holes->enough;
}

static inline void add_unused(rlc_slot_table *table, rlc_slot *slot) {
    SLIST_INSERT_HEAD(&table->unused, (rlc_unused_slot *)(void *)slot, link);
}

/** Puts a new chunk in the place of a hole. */
static int fill(rlc_slot_table *table, const rlc_kernel *memory, uint32_t hole) {
    unsigned char *chunk = rlc_memory_new(memory, (size_t)table->record_size * RLC_SLOTS_PER_CHUNK);
    if (chunk == NULL)
        return -ENOMEM;
    table->chunks[hole] = chunk;
    for (uint32_t i = RLC_SLOTS_PER_CHUNK; i-- > 0;) {
        uint32_t number = hole * RLC_SLOTS_PER_CHUNK + i;
        rlc_slot *slot = rlc_slot_table_at(table, number);
        *slot = (rlc_slot){.number = number, .generation = table->generation};
        add_unused(table, slot);
    }
    return 0;
}

int rlc_slot_holes_reserve(rlc_slot_holes *holes, rlc_slot_table *table, const rlc_kernel *memory) {
    uint32_t chunks = table->chunk_count;
    for (; holes->next < chunks; holes->next++)
        if (is_hole(holes, table, holes->next))
            return fill(table, memory, holes->next);
    if (holes->chunk == NULL && chunks == USUAL_CHUNKS)
        holes->chunk = rlc_memory_zeroed(memory, (size_t)table->record_size * RLC_SLOTS_PER_CHUNK);
    int status = rlc_slot_table_reserve(table, memory);
    if (table->chunk_count != chunks)
        set_enough(holes, table);
    return status;
}

/** Lists a chunk's unused records, and notes the highest generation. Tells whether a record of the chunk is in use. */
static bool keep(rlc_slot_table *table, uint32_t first) {
    bool is_needed = false;
    for (uint32_t i = first + RLC_SLOTS_PER_CHUNK; i-- > first;) {
        rlc_slot *slot = rlc_slot_table_at(table, i);
        if (i >= table->touched)
            continue;
        if (rlc_slot_is_live(slot)) {
            is_needed = true;
            continue;
        }
        add_unused(table, slot);
        if (slot->generation > table->generation)
            table->generation = slot->generation;
    }
    return is_needed;
}

void rlc_slot_holes_give_back(rlc_slot_holes *holes, rlc_slot_table *table, const rlc_kernel *memory) {
    uint32_t freed = 0;
    SLIST_INIT(&table->unused);
    for (uint32_t chunk = table->chunk_count; chunk-- > 0;) {
        if (!is_hole(holes, table, chunk)) {
            rlc_unused_slots before = table->unused;
            if (keep(table, chunk * RLC_SLOTS_PER_CHUNK))
                continue;
            table->unused = before;
            rlc_memory_free(memory, table->chunks[chunk]);
            table->chunks[chunk] = holes->chunk;
            freed++;
        }
        if (chunk + 1 == table->chunk_count) {
            table->chunk_count = chunk;
            table->touched = chunk * RLC_SLOTS_PER_CHUNK;
        }
    }
    trim(memory, freed);
    if (table->chunk_count == 0) {
        rlc_memory_free(memory, table->chunks);
        table->chunks = NULL;
        table->chunk_room = 0;
    }
    holes->next = 0;
    set_enough(holes, table);
}

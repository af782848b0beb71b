/**
 * Memory from the allocator of a table or, if the table has none, from the C library. `memory` is the result of
 * rlc_memory_of for the table, or NULL for the C library. It must be the same in all calls for a block.
 */
#ifndef RLC_MEMORY_H
#define RLC_MEMORY_H

#include <crunloop/kernel.h>
#include <stdlib.h>

/** Returns the table if it has an allocator; else NULL. */
static inline const rlc_kernel *rlc_memory_of(const rlc_kernel *kernel) {
    bool has_entry = kernel->size >= offsetof(rlc_kernel, reallocate) + sizeof kernel->reallocate;
    return has_entry && kernel->reallocate != NULL ? kernel : NULL;
}

/** As malloc(3). */
static inline void *rlc_memory_new(const rlc_kernel *memory, size_t size) {
    return memory != NULL ? memory->reallocate(memory->context, NULL, size) : malloc(size);
}

/** As realloc(3), for a size that is not 0. */
static inline void *rlc_memory_resize(const rlc_kernel *memory, void *block, size_t size) {
    return memory != NULL ? memory->reallocate(memory->context, block, size) : realloc(block, size);
}

/** As calloc(3) for one object. */
static inline void *rlc_memory_zeroed(const rlc_kernel *memory, size_t size) {
    if (memory == NULL)
        return calloc(1, size);
    void *block = memory->reallocate(memory->context, NULL, size);
    return block == NULL ? NULL : memset(block, 0, size);
}

/** As free(3). */
void rlc_memory_free(const rlc_kernel *memory, void *block);

#endif

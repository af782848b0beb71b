/* This function is not inline in the header: the compiler would not inline it, and would emit it in each file. */
#include "memory.h"

void rlc_memory_free(const rlc_kernel *memory, void *block) {
    if (block == NULL)
        return;
    if (memory == NULL)
        free(block);
    else
        (void)memory->reallocate(memory->context, block, 0);
}

/* In one place: the compiler makes no call of it that is in line, but a function in each file. */
#include "memory.h"

void rlc_memory_free(const rlc_kernel *memory, void *block) {
    if (block == NULL)
        return;
    if (memory == NULL)
        free(block);
    else
        (void)memory->reallocate(memory->context, block, 0);
}

/**
 * <runloopkit/blocks.h>: work as a block, if the compiler has blocks (clang -fblocks). A program that uses this header
 * links its compiler's blocks runtime (-lBlocksRuntime). The library itself does not need that runtime.
 */
#ifndef RUNLOOPKIT_BLOCKS_H
#define RUNLOOPKIT_BLOCKS_H

#include <runloopkit/perform.h>

#ifdef __BLOCKS__
#include <errno.h>

RLK_BEGIN_DECLS

/* The compiler's blocks runtime defines the following two functions. */
/**
 * Copies a block to the heap.
 *
 * @param block The block.
 * @return The copy, which the caller owns; NULL if there is no memory.
 *
 * Thread: [any].
 */
extern void *_Block_copy(const void *block);

/**
 * Releases a copy.
 *
 * @param block The copy.
 *
 * Thread: [any].
 */
extern void _Block_release(const void *block);

/**
 * Calls a block. Use it as an rlk_perform_fn.
 *
 * @param block The block.
 *
 * Thread: [loop].
 */
static inline void rlk_block_perform(void *block) {
    ((void (^)(void))block)();
}

/**
 * Releases a block. Use it as an rlk_release_fn.
 *
 * @param block The block.
 *
 * Thread: [any].
 */
static inline void rlk_block_release(void *block) {
    _Block_release(block);
}

/**
 * As rlk_loop_perform_work, with a block in place of an rlk_work. The call copies the block.
 *
 * @param loop  The loop.
 * @param mode  The mode.
 * @param block The block.
 * @return 0; -EINVAL, -ENOMEM, -ESHUTDOWN, -ECHILD.
 *
 * Thread: [any].
 */
static inline int rlk_loop_perform_block(rlk_loop *loop, const char *mode, void (^block)(void)) {
    void *copy = block ? _Block_copy((const void *)block) : (void *)0;
    rlk_work work = {sizeof work, rlk_block_perform, copy, rlk_block_release, &mode, 1};
    int status = block ? -ENOMEM : -EINVAL;
    if (copy)
        status = rlk_loop_perform_work(loop, &work);
    if (copy && status < 0)
        _Block_release(copy);
    return status;
}

RLK_END_DECLS
#endif
#endif

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unshared_internal.h"

#include <crunloop/kernel.h>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * fork(2) copies `last_generation` and wipes `*rlc_fork_word`: a child finds 0 there and takes the next number. The
 * words have no atomic type, because C++ includes the header; so the code uses the compiler's builtins.
 */
static uint32_t last_generation, without_page;
const uint32_t *rlc_fork_word = &without_page;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t *word(void) {
    return (uint32_t *)(uintptr_t)__atomic_load_n(&rlc_fork_word, __ATOMIC_SEQ_CST);
}

static void forget_in_child(void) {
    __atomic_store_n(word(), 0, __ATOMIC_SEQ_CST);
    rlc_unshared_in_child();
    rlc_unshared_close_inherited(0); /* the child has no number yet: all entries are inherited */
}

static void set_up(void) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
        (void)madvise(page, size, MADV_WIPEONFORK);
        __atomic_store_n(&rlc_fork_word, (const uint32_t *)page, __ATOMIC_SEQ_CST);
    }
    /*
     * The page works for _Fork(3) and clone(2), too. The handler works for kernels before 4.14, and for emulators that
     * accept the advice and ignore it. Both may act.
     */
    (void)pthread_atfork(rlc_unshared_before_fork, rlc_unshared_after_fork, forget_in_child);
}

uint32_t rlc_fork_count(void) {
    (void)pthread_once(&once, set_up);
    /* Two threads may come here at the same time and skip a number: the first one that publishes decides for both. */
    rlc_unshared_in_child(); /* in case no handler has: the parent's other threads are not in this process */
    uint32_t found = 0, next = __atomic_add_fetch(&last_generation, 1, __ATOMIC_SEQ_CST);
    if (__atomic_compare_exchange_n(word(), &found, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        found = next;
    rlc_unshared_close_inherited(found); /* a child of _Fork(3) or clone(2): no handler has run */
    return found;
}

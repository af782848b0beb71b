#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <crunloop/kernel.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

/* fork(2) copies `last_generation` and wipes `*current`: a child finds 0 there and takes the next number. */
static _Atomic uint32_t last_generation;
static _Atomic uint32_t without_page;
static _Atomic(_Atomic uint32_t *) current = NULL;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forget_in_child(void) {
    atomic_store(atomic_load(&current), 0);
}

static void set_up(void) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED)
        (void)madvise(page, size, MADV_WIPEONFORK);
    /* The page also covers _Fork(3) and clone(2); the handler also covers kernels before 4.14 and emulators that
     * accept the advice and ignore it. Both together do no harm. */
    (void)pthread_atfork(NULL, NULL, forget_in_child);
    atomic_store(&current, page != MAP_FAILED ? (_Atomic uint32_t *)page : &without_page);
}

uint32_t rlc_fork_generation(void) {
    _Atomic uint32_t *word = atomic_load(&current);
    if (word == NULL) {
        (void)pthread_once(&once, set_up);
        word = atomic_load(&current);
    }
    uint32_t generation = atomic_load(word);
    if (generation != 0)
        return generation;
    /* Two threads may both come here and skip a number; the first one to publish decides for both. */
    uint32_t next = atomic_fetch_add(&last_generation, 1) + 1;
    return atomic_compare_exchange_strong(word, &generation, next) ? next : generation;
}

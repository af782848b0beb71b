/* Gives each child of fork(2) a generation of its own, and closes the descriptors that it must not keep. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failure.h"

#include <crunloop/clock.h>
#include <crunloop/kernel.h>
#include <crunloop_kit/futex.h>
#include <crunloop_kit/unshared.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- sections, in which no thread forks ---- */

/* unshared_state is the number of threads in a section, plus FORK for each thread that is about to fork. */
enum { FORK = 1 << 16, THREADS = FORK - 1 };
static uint32_t unshared_state;

/*
 * A fork waits no longer than this, because a section may not end: a debugger may have stopped its thread, or the fork
 * comes from a signal handler that has interrupted it.
 */
enum { LONGEST_WAIT_NS = 100000000 };

void rlc_kit_unshared_end(void) {
    uint32_t seen = __atomic_load_n(&unshared_state, __ATOMIC_RELAXED);
    do {
        if ((seen & THREADS) == 0)
            return; /* in a child: a signal handler has forked within the section, and the fork has ended it */
    } while (!__atomic_compare_exchange_n(&unshared_state, &seen, seen - 1, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (seen > FORK && (seen & THREADS) == 1)
        rlc_futex_wake(&unshared_state, INT_MAX);
}

void rlc_kit_unshared_begin(void) {
    (void)rlc_fork_generation(); /* in a new process, ends the parent's sections */
    uint32_t seen = __atomic_load_n(&unshared_state, __ATOMIC_RELAXED);
    for (;;) {
        if (seen >= FORK) {
            rlc_futex_wait(&unshared_state, seen);
            seen = __atomic_load_n(&unshared_state, __ATOMIC_RELAXED);
        } else if (__atomic_compare_exchange_n(
                       &unshared_state, &seen, seen + 1, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
            return;
        }
    }
}

/** Waits until no thread is in a section. No thread begins one before after_fork. */
static void before_fork(void) {
    uint32_t seen = __atomic_add_fetch(&unshared_state, FORK, __ATOMIC_SEQ_CST);
    uint64_t deadline_ns = (seen & THREADS) != 0 ? rlc_now(RLC_CLOCK_MONOTONIC) + LONGEST_WAIT_NS : 0;
    while ((seen & THREADS) != 0 && rlc_now(RLC_CLOCK_MONOTONIC) < deadline_ns) {
        rlc_futex_wait_until(&unshared_state, seen, deadline_ns);
        seen = __atomic_load_n(&unshared_state, __ATOMIC_SEQ_CST);
    }
}

static void after_fork(void) {
    (void)__atomic_sub_fetch(&unshared_state, FORK, __ATOMIC_SEQ_CST);
    rlc_futex_wake(&unshared_state, INT_MAX);
}

/** Ends the sections of threads that the child does not have. Signal-safe. */
static void end_sections_in_child(void) {
    __atomic_store_n(&unshared_state, 0, __ATOMIC_SEQ_CST);
}

/* ---- the list of descriptors ---- */

/*
 * The list has an entry for each descriptor number: the generation of the process that has listed it, and a hash of its
 * file; 0 if it is not listed. A child reads the list as it was at the fork, without a lock. It closes a number only if
 * the number still refers to that file: the program may have closed it and opened another one.
 */
enum { SLOTS = 4096, TABLES = 1024, TABLE_SIZE = SLOTS * sizeof(uint64_t) };
static uint64_t *unshared_tables[TABLES];

static uint64_t *table_at(size_t index) {
    return __atomic_load_n(&unshared_tables[index], __ATOMIC_ACQUIRE);
}

static uint64_t *slot_of(int fd) {
    size_t number = (size_t)fd;
    if (fd < 0 || number / SLOTS >= TABLES)
        return NULL;
    uint64_t *table = table_at(number / SLOTS);
    return table == NULL ? NULL : &table[number % SLOTS];
}

static int make_table(int fd) {
    if (fd < 0)
        return rlc_refused(-EBADF);
    if (fd / SLOTS >= TABLES)
        return rlc_refused(-EMFILE);
    void *made = mmap(NULL, TABLE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return rlc_failed("mmap");
    uint64_t *none = NULL;
    if (!__atomic_compare_exchange_n(
            &unshared_tables[fd / SLOTS], &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        (void)munmap(made, TABLE_SIZE); /* another thread was faster */
    return 0;
}

static uint32_t hash_of(const struct stat *file) {
    uint64_t mixed = ((uint64_t)file->st_ino ^ (uint64_t)file->st_dev << 40) * 0x9E3779B97F4A7C15;
    return (uint32_t)(mixed >> 32);
}

int rlc_kit_unshared_add(int fd) {
    uint32_t generation = rlc_fork_generation();
    uint64_t *slot = slot_of(fd);
    int status = slot == NULL ? make_table(fd) : 0;
    if (status < 0)
        return status;
    slot = slot_of(fd);
    struct stat file; /* even for a listed number: the program may have opened another file there */
    if (fstat(fd, &file) < 0)
        return rlc_failed("fstat");
    __atomic_store_n(slot, (uint64_t)generation << 32 | hash_of(&file), __ATOMIC_SEQ_CST);
    return 0;
}

void rlc_kit_unshared_remove(int fd) {
    uint64_t *slot = slot_of(fd);
    if (slot != NULL)
        __atomic_store_n(slot, 0, __ATOMIC_SEQ_CST);
}

void rlc_kit_unshared_close(int fd) {
    uint64_t *slot = slot_of(fd);
    if (slot == NULL || __atomic_load_n(slot, __ATOMIC_RELAXED) == 0) {
        (void)close(fd);
        return;
    }
    rlc_kit_unshared_begin();
    __atomic_store_n(slot, 0, __ATOMIC_SEQ_CST);
    (void)close(fd);
    rlc_kit_unshared_end();
}

static void close_inherited(uint64_t *slot, int fd, uint32_t generation) {
    uint64_t entry = __atomic_load_n(slot, __ATOMIC_RELAXED);
    struct stat file;
    /* The exchange fails if another thread has meanwhile listed a descriptor of this process with that number. */
    if (entry == 0 || entry >> 32 == generation ||
        !__atomic_compare_exchange_n(slot, &entry, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return;
    if (fstat(fd, &file) == 0 && hash_of(&file) == (uint32_t)entry)
        (void)close(fd);
}

/** Closes the descriptors that processes of other generations have listed, and takes them off the list. */
static void close_all_inherited(uint32_t generation) {
    int saved = errno;
    for (size_t i = 0; i < TABLES; i++) {
        uint64_t *table = table_at(i);
        for (size_t j = 0; table != NULL && j < SLOTS; j++)
            close_inherited(&table[j], (int)(i * SLOTS + j), generation);
    }
    errno = saved;
}

/* ---- the generation of the process ---- */

/*
 * fork(2) copies `last_generation` and wipes `*rlc_fork_word`: a child finds 0 there and takes the next generation. The
 * words have no atomic type, because C++ programs include the header of rlc_fork_word; so the code uses the compiler's
 * builtins.
 */
static uint32_t last_generation, without_page;
const uint32_t *rlc_fork_word = &without_page;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t *word(void) {
    return (uint32_t *)(uintptr_t)__atomic_load_n(&rlc_fork_word, __ATOMIC_SEQ_CST);
}

static void forget_in_child(void) {
    __atomic_store_n(word(), 0, __ATOMIC_SEQ_CST);
    end_sections_in_child();
    close_all_inherited(0); /* the child has no generation yet: all entries are inherited */
}

static void set_up(void) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
        (void)madvise(page, size, MADV_WIPEONFORK);
        __atomic_store_n(&rlc_fork_word, (const uint32_t *)page, __ATOMIC_SEQ_CST);
    }
    /*
     * The kernel also wipes the page in a child of _Fork(3) or clone(2), which run no handler. The handler serves
     * kernels before 4.14, and emulators that accept the advice and ignore it. Usually both act.
     */
    (void)pthread_atfork(before_fork, after_fork, forget_in_child);
}

uint32_t rlc_fork_count(void) {
    (void)pthread_once(&once, set_up);
    /* If two threads come here at once, both take a generation. The one that the first publishes counts for both. */
    end_sections_in_child(); /* in case no handler has: the threads in sections are the parent's */
    uint32_t found = 0, next = __atomic_add_fetch(&last_generation, 1, __ATOMIC_SEQ_CST);
    if (__atomic_compare_exchange_n(word(), &found, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        found = next;
    close_all_inherited(found); /* a child of _Fork(3) or clone(2): no handler has run */
    return found;
}

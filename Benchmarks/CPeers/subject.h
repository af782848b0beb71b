/**
 * subject.h: what each subject's file includes first.
 *
 * A subject defines the types loop, timer, watch, waker, deferred and message as far as its library has them, the static
 * functions on them that workloads_*.h name, and a HAS_... macro for each group. Then it includes "workloads.h", which
 * lists what it has by these. Timers and watches call timer_hook and watch_hook; a waker and a deferred call their own `fn`.
 */
#ifndef SUBJECT_H
#define SUBJECT_H

#define _GNU_SOURCE 1
#include "CPeers.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* A subject may lack what a workload needs. */
#pragma GCC diagnostic ignored "-Wunused-function"

/** A library's function, by a pointer of the same name: DECLARE at file scope, FIND in load(). */
#define DECLARE(type, name, parameters) static type(*name) parameters;
#define FIND(type, name, parameters)                                                                                   \
    if ((name = (type(*) parameters)dlsym(library, #name)) == NULL)                                                    \
        return "this version has no " #name;

/** Never linked: what is not installed is left out, and only the process that measures a library pays for it. */
static inline void *open_library(const char *const *names) {
    for (; *names != NULL; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (library != NULL)
            return library;
    }
    return NULL;
}

/** Inline, since the fastest subjects take no longer than a call. */
static inline uint64_t random_below(uint64_t limit) {
    static _Thread_local uint64_t state = 88172645463325252ull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((state >> 32) * limit) >> 32;
}

/** Of all timers that are started; for those that know such a thing. */
__attribute__((unused)) static uint64_t timer_tolerance_ns;

/** A set-up step that has no reason to fail. */
static inline void require(bool is_true, const char *what) {
    if (is_true)
        return;
    fprintf(stderr, "benchmarks: %s: %s\n", what, strerror(errno));
    _exit(70);
}

static inline void *require_memory(size_t count, size_t size) {
    void *memory = calloc(count, size);
    require(memory != NULL, "calloc");
    return memory;
}

enum { SECOND_NS = 1000000000, MILLISECOND_NS = 1000000 };

/** How many modes a counter can be in; the first is the default one. */
enum { MOST_MODES = 1000 };

#endif

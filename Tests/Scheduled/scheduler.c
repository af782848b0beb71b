/* Threads that run one at a time, in an order that is chosen; three ways to choose; choices that can be told and repeated. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "scheduler.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CHOICES = 20000, STEPS_MAX = 20000, IN_A_ROW_MAX = 200, PREEMPTIONS_MAX = 3, USUAL_SCHEDULES = 3000 };
enum { MAIN = THREADS_MAX, NOBODY = THREADS_MAX + 1 };
typedef enum strategy { RANDOM, PRIORITIES, DEPTH_FIRST, REPLAY } strategy;
static const char *const strategy_names[] = {"random", "priorities", "depth first", "replay"};

typedef struct worker {
    pthread_t handle;
    sem_t turn;
    bool is_over;
    const bool *awaited;        /**< It sleeps until this flag; */
    const uint32_t *futex_word; /**< or until this futex is woken; */
    int descriptor;             /**< or until this descriptor is readable; -1: none. */
    int rounds_left;            /**< Of thread-specific destructors, before it is over. */
    int priority;
} worker;

static const scenario *current;
static worker workers[THREADS_MAX];
static sem_t main_turn;
static unsigned running = MAIN, steps, in_a_row, preemptions;
static int least_priority;
static _Thread_local unsigned self = MAIN;

static strategy strategy_now = RANDOM;
static uint64_t random_state;
static uint8_t chosen[CHOICES], ways[CHOICES];
static unsigned choice_count, planned, schedule;
static unsigned change_points[2], last_length = 100;

static unsigned random_below(unsigned bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % bound;
}

unsigned sched_self(void) {
    return self;
}

/* ---- choices ---- */

static void print_choices(void) {
    (void)fprintf(stderr, "  again: %s=", current->name);
    for (unsigned i = 0, zeros = 0; i < choice_count; i++) {
        if (chosen[i] == 0) {
            zeros++;
            continue;
        }
        if (zeros > 0)
            (void)fprintf(stderr, "%u.", zeros); /* so many usual ones, then: */
        (void)fputc('a' + chosen[i] - 1, stderr);
        zeros = 0;
    }
    (void)fputc('\n', stderr);
}

_Noreturn void sched_fail(const char *reason) {
    (void)fprintf(stderr, "FAIL %s: %s (%s, schedule %u, thread %u, step %u)\n", current->name, reason,
        strategy_names[strategy_now], schedule, self, steps);
    print_choices();
    (void)fflush(stdout);
    _exit(1);
}

/** The strategy's answer. Of values the first, the newest one, is the usual. */
static unsigned decide(unsigned count, bool is_value, unsigned preferred) {
    switch (strategy_now) {
    case REPLAY:
    case DEPTH_FIRST:
        return choice_count < planned ? chosen[choice_count] : 0;
    case RANDOM:
        return is_value && random_below(2) == 0 ? 0 : random_below(count);
    case PRIORITIES:
        return !is_value ? preferred : random_below(3) == 0 ? random_below(count) : 0;
    }
    abort();
}

/** Noted in any case, so that a replay needs nothing but the choices; `open`: how many of them depth first may try. */
static unsigned choose(unsigned count, unsigned open, bool is_value, unsigned preferred) {
    if (count <= 1)
        return 0;
    if (choice_count == CHOICES)
        sched_fail("too many choices");
    unsigned choice = decide(count, is_value, preferred);
    if (choice >= count)
        choice = count - 1; /* a replay of another program */
    chosen[choice_count] = (uint8_t)choice;
    ways[choice_count++] = (uint8_t)open;
    return choice;
}

unsigned sched_choose_value(unsigned count) {
    return self == MAIN ? 0 : choose(count, count, true, 0);
}

/* ---- turns ---- */

static bool may_run(unsigned index) {
    const worker *worker = &workers[index];
    struct pollfd entry = {.fd = worker->descriptor, .events = POLLIN};
    return index < current->threads && !worker->is_over && worker->futex_word == NULL &&
           (worker->awaited == NULL || *worker->awaited) && (worker->descriptor < 0 || poll(&entry, 1, 0) > 0);
}

static void wait_for_turn(sem_t *turn) {
    while (sem_wait(turn) != 0) {
    }
}

static void pass_turn(unsigned next) {
    if (next == running)
        return;
    running = next;
    in_a_row = 0;
    (void)sem_post(next == MAIN ? &main_turn : &workers[next].turn);
}

/** Whether this thread can go on: it can, it would rather not, or it cannot. */
typedef enum state { GOING_ON, YIELDING, SLEEPING } state;

/** Who goes on: the first is who would go on without a preemption. */
static unsigned next_thread(state state) {
    unsigned able[THREADS_MAX], count = 0, preferred = 0;
    if (state == GOING_ON)
        able[count++] = self;
    for (unsigned i = 1; i <= current->threads; i++) {
        unsigned index = self == MAIN ? i - 1 : (self + i) % current->threads;
        if (index != self && may_run(index))
            able[count++] = index;
    }
    if (count == 0)
        return state == SLEEPING ? NOBODY : self;
    for (unsigned i = 1; i < count; i++) {
        if (workers[able[i]].priority > workers[able[preferred]].priority)
            preferred = i;
    }
    unsigned open = state == GOING_ON && preemptions >= PREEMPTIONS_MAX ? 1 : count;
    unsigned choice = choose(count, open, false, preferred);
    preemptions += state == GOING_ON && choice > 0;
    return able[choice];
}

/** Lets another thread go on; returns when it is this one's turn again. */
static void switch_away(state state) {
    bool is_change_point = steps == change_points[0] || steps == change_points[1];
    if (state == GOING_ON && in_a_row >= IN_A_ROW_MAX)
        state = YIELDING;
    if (state != SLEEPING && (is_change_point || state == YIELDING))
        workers[self].priority = --least_priority; /* behind all others */
    unsigned next = next_thread(state);
    if (next == self) {
        in_a_row++;
        return;
    }
    if (next == NOBODY) {
        unsigned left = 0;
        for (unsigned i = 0; i < current->threads; i++)
            left += !workers[i].is_over;
        if (left > 0)
            sched_fail("nobody can go on: a wake was lost");
        next = MAIN;
    }
    pass_turn(next);
    if (!workers[self].is_over)
        wait_for_turn(&workers[self].turn);
}

static void step(state state) {
    if (self == MAIN)
        return;
    if (++steps > STEPS_MAX)
        sched_fail("no end");
    switch_away(state);
}

void sched_step(void) {
    step(GOING_ON);
}

void sched_yield_here(void) {
    step(YIELDING);
}

void sched_sleep(bool *flag) {
    sched_step();
    while (!*flag) {
        workers[self].awaited = flag;
        switch_away(SLEEPING);
    }
    workers[self].awaited = NULL;
    *flag = false;
}

void sched_wait_readable(int fd) {
    sched_step();
    if (self == MAIN)
        return;
    workers[self].descriptor = fd;
    if (!may_run(self))
        switch_away(SLEEPING);
    workers[self].descriptor = -1;
}

void sched_wake(bool *flag) {
    sched_step();
    *flag = true;
}

/* ---- system calls of the production files ---- */

static bool forbids_barriers;

void sched_forbid_barriers(void) {
    forbids_barriers = true;
}

static long futex(const uint32_t *word, int operation, uint32_t value) {
    sched_step();
    if (self == MAIN)
        return 0;
    if ((operation & FUTEX_CMD_MASK) == FUTEX_WAKE) {
        long woken = 0;
        for (unsigned i = 0; i < current->threads && woken < (long)(int)value; i++) {
            if (workers[i].futex_word == word) {
                workers[i].futex_word = NULL;
                woken++;
            }
        }
        return woken;
    }
    if (*word != value) {
        errno = EAGAIN;
        return -1;
    }
    workers[self].futex_word = word;
    switch_away(SLEEPING);
    return 0;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long); /* what was not passed is not looked at */
    va_end(list);
    if (number == SYS_futex)
        return futex((const uint32_t *)arguments[0], (int)arguments[1], (uint32_t)arguments[2]);
    if (number == SYS_membarrier && self != MAIN) {
        sched_step();
        if (!forbids_barriers)
            memory_fence_all();
    }
    if (number == SYS_membarrier && forbids_barriers) {
        errno = ENOSYS;
        return -1;
    }
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

/* ---- runs ---- */

static pthread_key_t end_key;

/** The last of the thread's destructors: those of the code under test are steps of the execution as well. */
static void end_thread(void *unused) {
    (void)unused;
    if (workers[self].rounds_left-- > 0) {
        (void)pthread_setspecific(end_key, &end_key);
        return;
    }
    workers[self].is_over = true;
    switch_away(SLEEPING);
}

static void *work(void *argument) {
    self = (unsigned)(uintptr_t)argument;
    (void)pthread_setspecific(end_key, &end_key);
    wait_for_turn(&workers[self].turn);
    current->thread(self);
    return NULL;
}

static void run_once(void) {
    memory_reset(current->threads);
    choice_count = steps = in_a_row = preemptions = 0;
    least_priority = 0;
    current->begin();
    memory_fork_all();
    for (unsigned i = 0; i < current->threads; i++) {
        workers[i] = (worker){
            .priority = (int)random_below(1000), .descriptor = -1, .rounds_left = PTHREAD_DESTRUCTOR_ITERATIONS - 2};
        (void)sem_init(&workers[i].turn, 0, 0);
        if (pthread_create(&workers[i].handle, NULL, work, (void *)(uintptr_t)i) != 0)
            abort();
    }
    unsigned first = next_thread(SLEEPING);
    pass_turn(first);
    wait_for_turn(&main_turn);
    for (unsigned i = 0; i < current->threads; i++)
        (void)pthread_join(workers[i].handle, NULL);
    running = MAIN;
    memory_join_all();
    if (current->end != NULL)
        current->end();
    last_length = steps > 1 ? steps : 2;
}

/** The next path in depth-first order. False: all have been run. */
static bool plan_next_path(void) {
    planned = choice_count;
    while (planned > 0) {
        if (chosen[planned - 1] + 1 < ways[planned - 1]) {
            chosen[planned - 1]++;
            return true;
        }
        planned--;
    }
    return false;
}

static unsigned explore(strategy strategy, unsigned schedules) {
    strategy_now = strategy;
    random_state = 88172645463325252u;
    planned = 0;
    for (schedule = 0; schedule < schedules;) {
        for (unsigned i = 0; i < 2; i++)
            change_points[i] = 1 + random_below(last_length);
        schedule++;
        run_once();
        if (strategy == DEPTH_FIRST && !plan_next_path())
            break;
    }
    return schedule;
}

static void replay(const char *choices) {
    strategy_now = REPLAY;
    memset(chosen, 0, sizeof chosen);
    planned = 0;
    while (*choices != '\0' && planned < CHOICES) {
        if (*choices >= 'a') {
            chosen[planned++] = (uint8_t)(*choices++ - 'a' + 1);
            continue;
        }
        planned += (unsigned)strtoul(choices, (char **)(uintptr_t)&choices, 10);
        choices++;
    }
    run_once();
    (void)printf("ok   %s: this order holds\n", current->name);
}

static void stay_on_one_processor(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

int sched_main(int argc, char **argv, const scenario *scenarios, size_t count) {
    stay_on_one_processor(); /* a turn is passed within it */
    (void)sem_init(&main_turn, 0, 0);
    (void)pthread_key_create(&end_key, end_thread);
    for (size_t i = 0; i < count; i++) {
        current = &scenarios[i];
        size_t length = strlen(current->name);
        bool is_wanted = argc < 2;
        for (int j = 1; j < argc; j++) {
            if (strncmp(argv[j], current->name, length) == 0 && argv[j][length] == '=')
                replay(argv[j] + length + 1);
            is_wanted = is_wanted || strcmp(argv[j], current->name) == 0;
        }
        if (!is_wanted)
            continue;
        unsigned schedules = current->schedules != 0 ? current->schedules : USUAL_SCHEDULES, runs[3];
        for (strategy strategy = RANDOM; strategy <= DEPTH_FIRST; strategy++)
            runs[strategy] = explore(strategy, schedules);
        (void)printf("ok   %-28s %6u random %6u by priority %6u depth first%s\n", current->name, runs[RANDOM],
            runs[PRIORITIES], runs[DEPTH_FIRST], runs[DEPTH_FIRST] < schedules ? ", all" : "");
    }
    return 0;
}

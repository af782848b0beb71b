/**
 * The floor: hand-written C with the fewest system calls that the kernel allows. Not a library: nothing is checked, one
 * waker per loop, a fixed thread. An edge-triggered eventfd that is never read behind a three-state word; Vyukov's queue;
 * an eager 4-ary heap with the keys beside the pointers; one timerfd, armed lazily; level-triggered watches.
 */
#include "subject.h"
#include <sys/epoll.h>
#include <sys/timerfd.h>

typedef struct timer {
    size_t place;
    uint64_t interval_ns;
} timer;

typedef struct watch {
    int fd;
} watch;

typedef struct message {
    struct message *_Atomic next;
} message;

typedef struct entry {
    uint64_t deadline_ns;
    timer *timer;
} entry;

typedef struct deferred deferred;
typedef struct waker waker;

typedef struct loop {
    int epoll_fd, event_fd, timer_fd;
    bool is_stopped;
    atomic_int word;
    waker *waker;
    deferred *first_deferred;
    message *oldest;
    message *_Atomic newest;
    message stub;
    entry *heap;
    size_t heap_count, heap_room;
    uint64_t now_ns, armed_ns;
    void (**observers)(void);
    size_t observer_count;
} loop;

struct deferred {
    deferred *next;
    loop *loop;
    void (*fn)(deferred *);
};

struct waker {
    loop *loop;
    void (*fn)(waker *);
};

enum { RUNNING, POSTED, ASLEEP };
enum { EVENTS_AT_ONCE = 256 };

static void (*timer_hook)(timer *called);
static void (*watch_hook)(watch *called);
static void message_arrived(message *arrived);

static const char *load(void) {
    return NULL;
}

/* The kernel's calls by number: the C library's wait is a cancellation point, and dearer for it. */
static int wait_events(int epoll_fd, struct epoll_event *events, int capacity, int timeout_ms) {
#ifdef SYS_epoll_wait
    return (int)bench_system_call(SYS_epoll_wait, epoll_fd, (long)events, capacity, timeout_ms);
#else
    return epoll_wait(epoll_fd, events, capacity, timeout_ms);
#endif
}

static void control(int epoll_fd, int operation, int fd, struct epoll_event *event) {
    bench_system_call(SYS_epoll_ctl, epoll_fd, operation, fd, (long)event);
}

static void close_descriptor(int fd) {
    bench_system_call(SYS_close, fd, 0, 0, 0);
}

static void loop_open(loop *self) {
    *self = (loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC), .timer_fd = -1, .armed_ns = UINT64_MAX};
    self->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    control(self->epoll_fd, EPOLL_CTL_ADD, self->event_fd, &event);
    self->oldest = &self->stub;
    atomic_init(&self->newest, &self->stub);
    self->now_ns = bench_now();
}

static void loop_close(loop *self) {
    close_descriptor(self->epoll_fd);
    close_descriptor(self->event_fd);
    if (self->timer_fd >= 0)
        close_descriptor(self->timer_fd);
    free(self->heap);
}

static void loop_hold(loop *self) {
    (void)self;
}
static void loop_stop(loop *self) {
    self->is_stopped = true;
}
static void loop_refresh(loop *self, uint64_t now_ns) {
    self->now_ns = now_ns;
}

static void place(loop *self, size_t at, entry moved) {
    self->heap[at] = moved;
    moved.timer->place = at;
}

static void sift_up(loop *self, size_t at, entry moved) {
    while (at > 0 && moved.deadline_ns < self->heap[(at - 1) / 4].deadline_ns) {
        place(self, at, self->heap[(at - 1) / 4]);
        at = (at - 1) / 4;
    }
    place(self, at, moved);
}

static void sift_down(loop *self, size_t at, entry moved) {
    for (;;) {
        size_t child = at * 4 + 1, last = child + 4 < self->heap_count ? child + 4 : self->heap_count, least = child;
        if (child >= self->heap_count)
            break;
        for (size_t i = child + 1; i < last; i++)
            if (self->heap[i].deadline_ns < self->heap[least].deadline_ns)
                least = i;
        if (moved.deadline_ns <= self->heap[least].deadline_ns)
            break;
        place(self, at, self->heap[least]);
        at = least;
    }
    place(self, at, moved);
}

static void timer_open(loop *self, timer *opened) {
    (void)self;
    opened->place = SIZE_MAX;
}

static void timer_start(loop *self, timer *started, uint64_t delay_ns) {
    entry moved = {self->now_ns + delay_ns, started};
    if (started->place == SIZE_MAX) {
        if (self->heap_count == self->heap_room) {
            self->heap_room = self->heap_room == 0 ? 16 : self->heap_room * 2;
            self->heap = realloc(self->heap, self->heap_room * sizeof *self->heap);
        }
        sift_up(self, self->heap_count++, moved);
    } else if (moved.deadline_ns < self->heap[started->place].deadline_ns) {
        sift_up(self, started->place, moved);
    } else {
        sift_down(self, started->place, moved);
    }
}

static void timer_stop(loop *self, timer *stopped) {
    size_t at = stopped->place;
    if (at == SIZE_MAX)
        return;
    stopped->place = SIZE_MAX;
    entry last = self->heap[--self->heap_count];
    if (at == self->heap_count)
        return;
    if (at > 0 && last.deadline_ns < self->heap[(at - 1) / 4].deadline_ns)
        sift_up(self, at, last);
    else
        sift_down(self, at, last);
}

static void timer_close(loop *self, timer *closed) {
    timer_stop(self, closed);
}

static void timer_repeat(loop *self, timer *started, uint64_t period_ns) {
    started->interval_ns = period_ns;
    timer_start(self, started, period_ns);
}

static void fire_timers(loop *self) {
    self->now_ns = bench_now();
    while (self->heap_count > 0 && self->heap[0].deadline_ns <= self->now_ns && !self->is_stopped) {
        entry first = self->heap[0];
        if (first.timer->interval_ns != 0)
            sift_down(self, 0, (entry){first.deadline_ns + first.timer->interval_ns, first.timer});
        else
            timer_stop(self, first.timer);
        timer_hook(first.timer);
    }
}

static void arm(loop *self) {
    uint64_t first_ns = self->heap[0].deadline_ns + timer_tolerance_ns;
    if (self->armed_ns <= first_ns && self->armed_ns > self->now_ns)
        return;
    if (self->timer_fd < 0) {
        self->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        struct epoll_event event = {.events = EPOLLIN | EPOLLET};
        control(self->epoll_fd, EPOLL_CTL_ADD, self->timer_fd, &event);
    }
    self->armed_ns = first_ns;
    struct itimerspec when = {.it_value = {(time_t)(first_ns / SECOND_NS), (long)(first_ns % SECOND_NS)}};
    bench_system_call(SYS_timerfd_settime, self->timer_fd, TFD_TIMER_ABSTIME, (long)&when, 0);
}

static message *take_message(loop *self) {
    message *oldest = self->oldest, *next = oldest->next;
    if (oldest == &self->stub) {
        if (next == NULL)
            return NULL;
        self->oldest = oldest = next;
        next = oldest->next;
    }
    if (next == NULL) {
        if (oldest != self->newest)
            return NULL; /* its producer is about to link the next one, and to wake */
        self->stub.next = NULL;
        atomic_exchange(&self->newest, &self->stub)->next = &self->stub;
        next = oldest->next;
        if (next == NULL)
            return NULL;
    }
    self->oldest = next;
    return oldest;
}

static bool serve_posts(loop *self) {
    bool was_posted = atomic_exchange(&self->word, RUNNING) == POSTED;
    if (was_posted && self->waker != NULL)
        self->waker->fn(self->waker);
    for (message *next = take_message(self); next != NULL; next = take_message(self))
        message_arrived(next);
    return was_posted;
}

static void look(loop *self, int timeout_ms) {
    struct epoll_event events[EVENTS_AT_ONCE];
    int count = wait_events(self->epoll_fd, events, EVENTS_AT_ONCE, timeout_ms);
    for (int i = 0; i < count; i++)
        if (events[i].data.ptr != NULL)
            watch_hook(events[i].data.ptr);
}

static void loop_run(loop *self) {
    for (self->is_stopped = false; !self->is_stopped;) {
        while (self->first_deferred != NULL) {
            deferred *next = self->first_deferred;
            self->first_deferred = next->next;
            next->fn(next);
        }
        if (self->heap_count > 0)
            fire_timers(self);
        if (self->is_stopped)
            break;
        if (self->heap_count > 0)
            arm(self);
        int running = RUNNING;
        bool may_sleep = atomic_compare_exchange_strong(&self->word, &running, ASLEEP);
        if (may_sleep)
            look(self, -1);
        serve_posts(self);
    }
}

static void loop_pass(loop *self) {
    for (size_t i = 0; i < self->observer_count; i++)
        self->observers[i]();
    look(self, 0);
}

static void loop_settle(loop *self) {
    look(self, 0);
}

static void waker_open(loop *self, waker *opened, void (*fn)(waker *)) {
    *opened = (waker){self, fn};
    self->waker = opened;
}

static void waker_close(waker *closed) {
    (void)closed;
}

static void interrupt(loop *to) {
    static const uint64_t one = 1;
    if (atomic_load(&to->word) != POSTED && atomic_exchange(&to->word, POSTED) == ASLEEP)
        require(bench_write(to->event_fd, &one, sizeof one) == sizeof one, "write");
}

static void waker_wake(waker *to) {
    interrupt(to->loop);
}

static void post(loop *to, message *posted) {
    posted->next = NULL;
    atomic_exchange(&to->newest, posted)->next = posted;
    interrupt(to);
}

static void defer_open(loop *self, deferred *opened, void (*fn)(deferred *)) {
    *opened = (deferred){NULL, self, fn};
}
static void defer_close(deferred *closed) {
    (void)closed;
}

static void defer_again(deferred *again) {
    again->next = again->loop->first_deferred;
    again->loop->first_deferred = again;
}

static void watch_add(loop *self, watch *added, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = added};
    added->fd = fd;
    control(self->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void watch_remove(loop *self, watch *removed) {
    control(self->epoll_fd, EPOLL_CTL_DEL, removed->fd, NULL);
}

static int64_t observed;
static void observe(void) {
    observed++;
}

static void observers_open(loop *self, int64_t count) {
    self->observers = require_memory((size_t)count + 1, sizeof *self->observers);
    self->observer_count = (size_t)count;
    for (int64_t i = 0; i < count; i++)
        self->observers[i] = observe;
}

static void observers_close(loop *self) {
    free(self->observers);
}

/* One epoll descriptor per mode. */
typedef struct counter {
    int fd;
} counter;

static int mode_fds[MOST_MODES];

static void modes_open(loop *self, int count) {
    mode_fds[0] = self->epoll_fd;
    for (int mode = 1; mode < count; mode++)
        mode_fds[mode] = epoll_create1(EPOLL_CLOEXEC);
}

static void counter_add(loop *self, counter *added, int fd, int modes) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    (void)self, added->fd = fd;
    for (int mode = 0; mode < modes; mode++)
        control(mode_fds[mode], EPOLL_CTL_ADD, fd, &event);
}

static void counter_remove(loop *self, counter *removed, int modes) {
    (void)self;
    for (int mode = 0; mode < modes; mode++)
        control(mode_fds[mode], EPOLL_CTL_DEL, removed->fd, NULL);
}

static void modes_run_once(loop *self, int mode) {
    struct epoll_event event;
    uint64_t value;
    (void)self;
    require(wait_events(mode_fds[mode], &event, 1, -1) == 1, "epoll_wait");
    require(bench_read(event.data.fd, &value, sizeof value) == sizeof value, "read");
}

#define HAS_WAKE 1
#define HAS_POST 1
#define HAS_DEFER 1
#define HAS_TIMERS 1
#define HAS_REPEATING_TIMERS 1
#define TIMERS_ARE_REUSED 1
#define HAS_WATCHES 1
#define HAS_PIPES 1
#define HAS_PASS 1
#define HAS_MODES 1
#define HAS_CHANNEL 1
#define OWN_WORKLOADS WORKLOAD(port_big)
#include "floor_process.h"
#include "workloads.h"

const bench_subject bench_floor = {load, workloads};

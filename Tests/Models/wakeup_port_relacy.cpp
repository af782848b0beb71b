// The wakeup word under weak memory: wakeup_port.c once more, operation for operation, with relacy's atomics.
//
// The eventfd is a flag accessed relaxed: the word alone must order memory, not the kernel's locks. A thread that sleeps
// ends there; `after` decides whether that sleep would have ended.
#include "relacy_support.hpp"

enum word { RUNNING, KICKED, POSTED, ASLEEP, CLOSED };

enum mistake {
    NONE,
    SIGNAL_RELAXED,    // the waker's cas orders nothing
    TAKE_RELAXED,      // the owner's exchange orders nothing
    TAKE_STORE,        // a load and a store instead of the exchange
    POSTED_ONLY_READS, // a waker that finds POSTED does not write the word
    BLIND_SLEEP,       // begin_wait stores ASLEEP
    NO_STOP_RECHECK,   // the stop word is not read again after begin_wait
    STOP_RELAXED,      // the stop word and its kick order nothing
};

template <mistake planted> struct wakeup_port {
    rl::atomic<int> word;
    rl::atomic<int> edge;

    wakeup_port() {
        word($).store(RUNNING, rl::mo_relaxed);
        edge($).store(0, rl::mo_relaxed);
    }

    void post(int posted) {
        const bool weak = planted == SIGNAL_RELAXED || planted == STOP_RELAXED;
        const rl::memory_order order = weak ? rl::mo_relaxed : rl::mo_seq_cst;
        int seen = word($).load(order), next;
        do {
            if (seen == CLOSED) return;
            if (planted == POSTED_ONLY_READS && seen == POSTED) return;
            next = seen == POSTED ? POSTED : posted;
        } while (!word($).compare_exchange_strong(seen, next, order, rl::mo_relaxed));
        if (seen == ASLEEP) edge($).store(1, rl::mo_relaxed);
    }

    bool begin_wait() {
        if (planted == BLIND_SLEEP) {
            word($).store(ASLEEP, rl::mo_seq_cst);
            return true;
        }
        int seen = RUNNING;
        return word($).compare_exchange_strong(seen, ASLEEP, rl::mo_seq_cst, rl::mo_seq_cst) || seen == ASLEEP;
    }

    int take() {
        if (planted == TAKE_STORE) {
            int seen = word($).load(rl::mo_seq_cst);
            word($).store(RUNNING, rl::mo_release);
            return seen;
        }
        return word($).exchange(RUNNING, planted == TAKE_RELAXED ? rl::mo_relaxed : rl::mo_seq_cst);
    }
};

// Plain data, published by a wake: whoever takes POSTED may read it.
template <mistake planted> struct plain_data : rl::test_suite<plain_data<planted>, 2> {
    wakeup_port<planted> port;
    rl::var<int> data;

    void before() { data($) = 0; }

    void thread(unsigned index) {
        if (index == 0) {
            data($) = 1;
            port.post(POSTED);
            return;
        }
        bool posted = port.take() == POSTED;
        if (!posted && port.begin_wait()) (void)port.edge($).load(rl::mo_relaxed);
        posted = posted || port.take() == POSTED;
        if (posted) RL_ASSERT(data($) == 1);
    }
};

// Two wakers publish by relaxed stores, so that only the word can order them. The owner drops, drains and sleeps.
template <mistake planted> struct lost_wake : rl::test_suite<lost_wake<planted>, 3> {
    wakeup_port<planted> port;
    rl::atomic<int> work[2];
    bool slept, seen[2];

    void before() {
        for (int i = 0; i < 2; i++) {
            work[i]($).store(0, rl::mo_relaxed);
            seen[i] = false;
        }
        slept = false;
    }

    void drain() {
        for (int i = 0; i < 2; i++) seen[i] = seen[i] || work[i]($).load(rl::mo_relaxed) != 0;
    }

    void thread(unsigned index) {
        if (index < 2) {
            work[index]($).store(1, rl::mo_relaxed);
            port.post(POSTED);
            return;
        }
        for (int pass = 0; pass < 3 && !slept; pass++) {
            port.take();
            drain();
            slept = port.begin_wait();
        }
    }

    void after() {
        if (!slept || port.edge($).load(rl::mo_relaxed)) return; // goes on: the next pass drains
        RL_ASSERT(seen[0] && seen[1]);
    }
};

// stop: a cas on the stop word, then a kick. The owner may have dropped the kick: it reads again after begin_wait.
template <mistake planted> struct lost_stop : rl::test_suite<lost_stop<planted>, 3> {
    wakeup_port<planted> port;
    rl::atomic<int> stop;
    bool slept;

    void before() {
        stop($).store(2, rl::mo_relaxed);
        slept = false;
    }

    void thread(unsigned index) {
        if (index == 0) {
            const rl::memory_order order = planted == STOP_RELAXED ? rl::mo_relaxed : rl::mo_seq_cst;
            int serial = 2;
            stop($).compare_exchange_strong(serial, serial | 1, order, rl::mo_relaxed);
            port.post(KICKED);
            return;
        }
        if (index == 1) {
            port.post(POSTED); // may stand before the kick, which then changes nothing
            return;
        }
        for (int pass = 0; pass < 3 && !slept; pass++) {
            port.take();
            slept = port.begin_wait();
            if (planted != NO_STOP_RECHECK && slept && (stop($).load(rl::mo_seq_cst) & 1)) {
                slept = false;
                return;
            }
        }
    }

    void after() { RL_ASSERT(!slept || port.edge($).load(rl::mo_relaxed)); }
};

int main() {
    bool right = true;
    right &= expect<plain_data<NONE>>("plain data", true);
    right &= expect<plain_data<SIGNAL_RELAXED>>("plain data, signal relaxed", false);
    right &= expect<plain_data<TAKE_RELAXED>>("plain data, take relaxed", false);
    right &= expect<lost_wake<NONE>>("lost wake", true);
    right &= expect<lost_wake<SIGNAL_RELAXED>>("lost wake, signal relaxed", false);
    right &= expect<lost_wake<TAKE_STORE>>("lost wake, take is a store", false);
    right &= expect<lost_wake<POSTED_ONLY_READS>>("lost wake, POSTED is only read", false);
    right &= expect<lost_wake<BLIND_SLEEP>>("lost wake, sleep is a store", false);
    right &= expect<lost_stop<NONE>>("lost stop", true);
    right &= expect<lost_stop<NO_STOP_RECHECK>>("lost stop, not read again", false);
    right &= expect<lost_stop<STOP_RELAXED>>("lost stop, relaxed", false);
    return right ? 0 : 1;
}

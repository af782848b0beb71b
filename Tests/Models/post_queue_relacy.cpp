// The post queue under weak memory: post_queue.c once more, operation for operation, with relacy's atomics, and the way
// rlc_loop_post wakes. Payload and links are plain data.
#include "relacy_support.hpp"

enum { RUNNING, POSTED, ASLEEP };

enum mistake {
    NONE,
    PUSH_RELAXED,  // the cas of a push orders nothing
    TAKE_RELAXED,  // the exchange of the owner orders nothing
    CLOSE_STORE,   // a load and a store instead of the exchange
    CLOSE_RELAXED, // the exchange of close orders nothing
    ACQUIRE_ONLY,  // acquire and release, where only sequential consistency orders "I push, does he sleep?"
    FIRST_ONLY,    // only who finds the queue empty wakes
};

struct post_node {
    rl::var<post_node *> next;
    rl::var<int> payload;
};

#define CLOSED_HEAD (reinterpret_cast<post_node *>(1))

template <mistake planted> struct post_queue {
    rl::atomic<post_node *> head;

    post_queue() { head($).store(nullptr, rl::mo_relaxed); }

    static rl::memory_order strong() { return planted == ACQUIRE_ONLY ? rl::mo_acq_rel : rl::mo_seq_cst; }
    static rl::memory_order strong_load() { return planted == ACQUIRE_ONLY ? rl::mo_acquire : rl::mo_seq_cst; }

    /** 1: was empty, 0: was not, -1: closed. */
    int push(post_node *node) {
        post_node *seen = head($).load(strong_load());
        do {
            if (seen == CLOSED_HEAD) return -1;
            node->next($) = seen;
        } while (!head($).compare_exchange_strong(seen, node, planted == PUSH_RELAXED ? rl::mo_relaxed : strong(), rl::mo_relaxed));
        return seen == nullptr;
    }

    bool has_posts() {
        post_node *seen = head($).load(strong_load());
        return seen != nullptr && seen != CLOSED_HEAD;
    }

    post_node *take_all() {
        if (!has_posts()) return nullptr;
        return oldest_first(head($).exchange(nullptr, planted == TAKE_RELAXED ? rl::mo_relaxed : strong()));
    }

    post_node *close() {
        if (planted == CLOSE_STORE) {
            post_node *seen = head($).load(rl::mo_seq_cst);
            head($).store(CLOSED_HEAD, rl::mo_seq_cst);
            return oldest_first(seen);
        }
        return oldest_first(head($).exchange(CLOSED_HEAD, planted == CLOSE_RELAXED ? rl::mo_relaxed : strong()));
    }

    static post_node *oldest_first(post_node *node) {
        post_node *reversed = nullptr;
        while (node != nullptr) {
            post_node *next = node->next($);
            node->next($) = reversed;
            reversed = node;
            node = next;
        }
        return reversed;
    }
};

// Every node is called once, with its payload, or refused.
template <mistake planted> struct called_once : rl::test_suite<called_once<planted>, 3> {
    post_queue<planted> queue;
    post_node nodes[2];
    int called[2], accepted[2];

    void before() {
        for (int i = 0; i < 2; i++) {
            called[i] = accepted[i] = 0;
            nodes[i].payload($) = -1;
        }
    }

    void call_all(post_node *node) {
        while (node != nullptr) {
            int index = node->payload($);
            RL_ASSERT(node == &nodes[index]);
            called[index]++;
            node = node->next($);
        }
    }

    void thread(unsigned index) {
        if (index < 2) {
            nodes[index].payload($) = static_cast<int>(index);
            accepted[index] = queue.push(&nodes[index]) >= 0;
            return;
        }
        call_all(queue.take_all());
        call_all(queue.close());
        call_all(queue.take_all()); // finds nothing and does not open it again
    }

    void after() {
        for (int i = 0; i < 2; i++) RL_ASSERT(called[i] == accepted[i]);
    }
};

// One thread has pushed and is preempted before its wake: the other's post must not depend on it.
template <mistake planted> struct lost_post : rl::test_suite<lost_post<planted>, 3> {
    post_queue<planted> queue;
    post_node nodes[2];
    rl::atomic<int> word;
    rl::atomic<int> edge;
    bool slept, called;
    int was_empty;

    void before() {
        word($).store(RUNNING, rl::mo_relaxed);
        edge($).store(0, rl::mo_relaxed);
        slept = called = false;
        was_empty = -1;
    }

    bool is_asleep() { return word($).load(post_queue<planted>::strong_load()) == ASLEEP; }

    void signal() {
        if (word($).exchange(POSTED, post_queue<planted>::strong()) == ASLEEP) edge($).store(1, rl::mo_relaxed);
    }

    void call_all(post_node *node) {
        for (; node != nullptr; node = node->next($)) called = called || node == &nodes[1];
    }

    void thread(unsigned index) {
        if (index == 0) {
            queue.push(&nodes[0]);
            return;
        }
        if (index == 1) {
            was_empty = queue.push(&nodes[1]);
            if ((planted != FIRST_ONLY || was_empty == 1) && is_asleep()) signal();
            return;
        }
        for (int pass = 0; pass < 2 && !slept; pass++) {
            word($).exchange(RUNNING, post_queue<planted>::strong());
            call_all(queue.take_all());
            int seen = RUNNING;
            slept = word($).compare_exchange_strong(seen, ASLEEP, post_queue<planted>::strong(), rl::mo_relaxed);
            if (slept && queue.has_posts()) {
                slept = false;
                return; // a pass follows
            }
        }
    }

    void after() { RL_ASSERT(!slept || edge($).load(rl::mo_relaxed) || called); }
};

int main() {
    bool right = true;
    right &= expect<called_once<NONE>>("called once", true);
    right &= expect<called_once<PUSH_RELAXED>>("called once, push relaxed", false);
    right &= expect<called_once<TAKE_RELAXED>>("called once, take relaxed", false);
    right &= expect<called_once<CLOSE_STORE>>("called once, close is a store", false);
    right &= expect<called_once<CLOSE_RELAXED>>("called once, close relaxed", false);
    right &= expect<lost_post<NONE>>("lost post", true);
    right &= expect<lost_post<ACQUIRE_ONLY>>("lost post, acquire and release", false);
    right &= expect<lost_post<FIRST_ONLY>>("lost post, only the first wakes", false);
    return right ? 0 : 1;
}

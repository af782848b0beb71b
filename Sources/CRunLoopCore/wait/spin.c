#include <crunloop_kit/spin.h>

#include "wakeup_port_internal.h"

enum { CREDIT_EARNED = 4, CREDIT_MAX = 16, GAP_MIN = 63, GAP_MAX = 1023, POLLS_PER_READING = 16, READING_NS_MIN = 32 };

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("pause");
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

void rlc_spin_set(rlc_spin *spin, uint64_t limit_ns) {
    *spin = (rlc_spin){.limit_ns = limit_ns < RLC_SPIN_MAX_NS ? limit_ns : RLC_SPIN_MAX_NS, .gap = GAP_MIN};
}

static bool is_worth_it(rlc_spin *spin) {
    if (spin->credit == 0 && spin->skipped < spin->gap) {
        spin->skipped++;
        return false;
    }
    spin->skipped = 0;
    return true;
}

static void learn(rlc_spin *spin, bool has_paid) {
    if (has_paid) {
        unsigned credit = spin->credit + CREDIT_EARNED;
        spin->credit = credit < CREDIT_MAX ? (uint16_t)credit : CREDIT_MAX;
        spin->gap = GAP_MIN;
    } else if (spin->credit > 0) {
        spin->credit--;
    } else if (spin->gap < GAP_MAX) {
        spin->gap = (uint16_t)(spin->gap * 2 + 1);
    }
}

static bool has_post(const rlc_wakeup_port *port, const uintptr_t *posts) {
    return rlc_wakeup_word_is_posted(port) || (posts != NULL && __atomic_load_n(posts, __ATOMIC_SEQ_CST) > 1);
}

static uint64_t now_ns(const rlc_wakeup_port *port) {
    return port->kernel->now(port->kernel->context, RLC_CLOCK_MONOTONIC);
}

static bool watch_until(uint64_t end_ns, uint64_t limit_ns, const rlc_wakeup_port *port, const uintptr_t *posts) {
    /* `spent` ends the loop if a test's clock stands still. */
    for (uint64_t spent = 0; spent < limit_ns && now_ns(port) < end_ns; spent += READING_NS_MIN) {
        for (int i = 0; i < POLLS_PER_READING; i++) {
            if (has_post(port, posts))
                return true;
            relax();
        }
    }
    return has_post(port, posts);
}

bool rlc_spin_until_posted(rlc_spin *spin, const rlc_wakeup_port *port, const uintptr_t *posts, uint64_t deadline_ns) {
    if (spin->limit_ns == 0)
        return false;
    if (has_post(port, posts))
        return true; /* without spinning, so there is nothing to learn */
    if (!is_worth_it(spin))
        return false;
    uint64_t end_ns = rlc_time_add(now_ns(port), spin->limit_ns);
    if (end_ns > deadline_ns)
        end_ns = deadline_ns;
    bool is_posted = watch_until(end_ns, spin->limit_ns, port, posts);
    /* If the post came after the end, its thread needed this thread's processor: spinning has delayed the post. */
    learn(spin, is_posted && now_ns(port) <= end_ns);
    return is_posted;
}

#include "crunloop_testing.h"

// As the Swift runtime declares them.
#define SWIFT_CC __attribute__((swiftcall))
typedef SWIFT_CC void (*enqueue_original)(void *job);
typedef SWIFT_CC void (*enqueue_hook)(void *job, enqueue_original original);
extern enqueue_hook swift_task_enqueueGlobal_hook __attribute__((weak));

static bool (*taker)(void *job);
static enqueue_hook previous;

static SWIFT_CC void offer(void *job, enqueue_original original) {
    // The runtime reads the hook without ordering. After this fence the thread sees what was stored before the hook.
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&taker, __ATOMIC_RELAXED)(job))
        return;
    enqueue_hook before = __atomic_load_n(&previous, __ATOMIC_RELAXED);
    if (before)
        before(job, original);
    else
        original(job);
}

bool rlt_offer_jobs(bool (*take)(void *job)) {
    if (!&swift_task_enqueueGlobal_hook)
        return false;
    __atomic_store_n(&taker, take, __ATOMIC_RELAXED);
    __atomic_store_n(&previous, swift_task_enqueueGlobal_hook, __ATOMIC_RELAXED);
    // Other threads may enqueue jobs already. Those that see the hook also see the stores above.
    __atomic_store_n(&swift_task_enqueueGlobal_hook, offer, __ATOMIC_RELEASE);
    return true;
}

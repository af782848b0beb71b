#pragma once
#include <stdbool.h>

/// Offers each job that is about to go to the default executor of Swift Concurrency to `take` first, on the thread that
/// enqueues it; true: it is taken. For the whole process, once. False if the Swift runtime has no such hook.
bool rlt_offer_jobs(bool (*take)(void *job));

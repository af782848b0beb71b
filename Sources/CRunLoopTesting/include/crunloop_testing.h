#pragma once
#include <stdbool.h>

/// Makes the Swift runtime offer each job for the default executor of Swift Concurrency to `take` first, on the thread
/// that enqueues the job. `take` returns true if it takes the job. This concerns the whole process: call it once.
/// Returns false if the Swift runtime has no such hook.
bool rlt_offer_jobs(bool (*take)(void *job));

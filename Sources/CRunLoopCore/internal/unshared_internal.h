/**
 * For fork.c: what happens to listed descriptors around a fork. See <crunloop_kit/unshared.h>.
 */
#ifndef RLC_UNSHARED_INTERNAL_H
#define RLC_UNSHARED_INTERNAL_H

#include <crunloop_kit/unshared.h>

/** Waits until no thread is in a section; none begins one afterwards. */
void rlc_unshared_before_fork(void);
void rlc_unshared_after_fork(void);
/** In the child: ends the sections of threads that it does not have. Signal-safe, like the next one. */
void rlc_unshared_in_child(void);
/** Closes what other processes than that of `generation` have listed, and takes it off the list. */
void rlc_unshared_close_inherited(uint32_t generation);

#endif

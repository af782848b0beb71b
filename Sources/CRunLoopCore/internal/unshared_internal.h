/**
 * For fork.c: the steps around a fork for descriptors that children do not keep. See <crunloop_kit/unshared.h>.
 */
#ifndef RLC_UNSHARED_INTERNAL_H
#define RLC_UNSHARED_INTERNAL_H

#include <crunloop_kit/unshared.h>

/** Waits until no thread is in a section; until rlc_unshared_after_fork none begins one. */
void rlc_unshared_before_fork(void);
void rlc_unshared_after_fork(void);
/** In the child: ends the sections of threads that the child does not have. Signal-safe, like the next function. */
void rlc_unshared_in_child(void);
/** Closes the descriptors that processes other than that of `generation` have listed, and takes them off the list. */
void rlc_unshared_close_inherited(uint32_t generation);

#endif

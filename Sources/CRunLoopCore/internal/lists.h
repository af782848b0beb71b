/** The lists of the core: libbsd's macros, and nothing that would have to be linked. */
#ifndef RLC_LISTS_H
#define RLC_LISTS_H

#if !__has_include(<bsd/sys/queue.h>)
#error "libbsd's headers are missing: apt-get install libbsd-dev"
#else
#include <bsd/sys/queue.h>
#endif

#endif

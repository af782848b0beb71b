/**
 * The lists of the core: the macros of <sys/queue.h>, and nothing that would have to be linked. The core uses none that
 * glibc lacks, so that who builds it has to install nothing; musl has none of its own.
 */
#ifndef RLC_LISTS_H
#define RLC_LISTS_H

#if __has_include(<bsd/sys/queue.h>)
#include <bsd/sys/queue.h>
#elif __has_include(<sys/queue.h>)
#include <sys/queue.h>
#else
#error "the C library has no <sys/queue.h>, and libbsd's headers are missing: apt-get install libbsd-dev"
#endif

#endif

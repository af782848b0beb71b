/**
 * The lists of the core: the macros of <sys/queue.h>, which need no library. The core uses only macros that glibc has,
 * so building it with glibc needs no package. musl has no <sys/queue.h>, so there the core needs libbsd's headers.
 */
#ifndef RLC_LISTS_H
#define RLC_LISTS_H

#include <crunloop/base.h>

#if __has_include(<bsd/sys/queue.h>)
#include <bsd/sys/queue.h>
#elif __has_include(<sys/queue.h>)
#include <sys/queue.h>
#else
#error "the C library has no <sys/queue.h>, and libbsd's headers are missing: apt-get install libbsd-dev"
#endif

#endif

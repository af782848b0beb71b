/* The macros of libbsd that the C core uses; none of its functions, so that nothing links against it. */
#if !__has_include(<bsd/sys/tree.h>)
#error "libbsd's headers are missing: apt-get install libbsd-dev"
#else
#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <stddef.h>
#endif

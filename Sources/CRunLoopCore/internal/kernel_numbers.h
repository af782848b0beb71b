/**
 * The numbers of the kernel's interface that the core uses and a C library does not declare. The kernel's own headers
 * have them. musl brings none of these headers, and neither does Swift's static SDK for Linux: there the numbers stand
 * here. They are the same on every processor.
 */
#ifndef RLC_KERNEL_NUMBERS_H
#define RLC_KERNEL_NUMBERS_H

#include <crunloop/base.h>

#if __has_include(<linux/futex.h>)
#include <linux/futex.h>
#else
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129
#define FUTEX_WAIT_BITSET_PRIVATE 137
#define FUTEX_BITSET_MATCH_ANY 0xffffffffU
#endif

#if __has_include(<linux/membarrier.h>)
#include <linux/membarrier.h>
#else
#define MEMBARRIER_CMD_QUERY 0
#define MEMBARRIER_CMD_SHARED 1
#define MEMBARRIER_CMD_PRIVATE_EXPEDITED 8
#define MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED 16
#endif

#if __has_include(<linux/magic.h>)
#include <linux/magic.h>
#else
#define TMPFS_MAGIC 0x01021994
#endif

/* The kernel gives this one the number of TIOCOUTQ, which depends on the processor and is the C library's to say. */
#if __has_include(<linux/sockios.h>)
#include <linux/sockios.h>
#else
#include <sys/ioctl.h>
#define SIOCOUTQ TIOCOUTQ
#endif

#endif

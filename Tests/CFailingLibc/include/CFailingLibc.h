/* The C library's functions that make system calls, one of which can be made to fail: this program's own calls, the
 * kit's among them, come here first. */
#ifndef CFAILINGLIBC_H
#define CFAILINGLIBC_H

#include <stddef.h>

/** 0 where a sanitizer has its own functions in these places. */
int failing_libc_is_here(void);
/**
 * From now on calls are noted, on all threads: the waits of other threads than this one, which may come or not, as
 * "epoll_wait elsewhere". The `number`th call of `name`, from 0 on, fails with `error`; NULL: none
 * does. `number` is -1: all of them fail.
 */
void failing_libc_begin(const char *name, int number, int error);
/** Notes no more. 1 if a call was made to fail. */
int failing_libc_end(void);
/** The calls that were noted, in their order. */
size_t failing_libc_count(void);
const char *failing_libc_name(size_t place);
/** As C has it, such as "EMFILE"; NULL if there is none. */
const char *failing_libc_error_name(int error);
/**
 * 1: from now on this process, which is the superuser's, is another user's and can make no thread and no process; 0: it
 * is as before. 1 if that could be done.
 */
int failing_libc_forbid_processes(int are_forbidden);
/** An allocator for a kernel table, whose calls are noted as "malloc". */
void *failing_libc_reallocate(void *context, void *memory, size_t size);

#endif

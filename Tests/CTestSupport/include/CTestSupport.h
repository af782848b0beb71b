/* What Swift tests cannot say: fork(2), an eventfd, and how often this thread has allocated. */
#ifndef CTESTSUPPORT_H
#define CTESTSUPPORT_H

#include <stdint.h>
#include <sys/types.h>

/**
 * fork(2), which Swift hides. Only where no other thread of the test runs Swift: it may hold a lock of Swift's runtime, and a child
 * that runs Swift would wait for it for ever.
 */
pid_t test_fork(void);

/** Tells whether test_fork has made this process. */
int test_is_forked(void);
/** Gives this thread alone another real group: what it sends from then on is that group's. 0, or -1 with errno. */
int test_set_group_of_thread(gid_t group);

/**
 * A child of fork(2) that writes a "y" to each of the descriptors, and then lives until it is killed, or a minute. It has written when
 * this returns; -1 if it could not.
 */
pid_t test_helper(const int *descriptors, size_t count);
/**
 * Has a child of fork(2), as `user` and its group, connect the socket to the path, and returns when it has. The child lives until it is
 * killed. -1 for `user`: as this one. -1 if that could not be done.
 */
pid_t test_connect_as(uid_t user, int socket, const char *path);
/**
 * Has a child of fork(2), as `user` and of `group`, send a packet with these descriptors on a connected socket, and returns when it has
 * ended: its number. -1 for either: as this one. -1 if that could not be done.
 */
pid_t test_send_as(
    uid_t user, gid_t group, int socket, const void *bytes, size_t size, const int *descriptors, size_t count);
/** A non-blocking, close-on-exec eventfd. */
int test_eventfd(int is_semaphore);
/** A memory file of a size, with these seals: memfd_create(2). */
int test_memory_file(long size, int seals);
/** pipe2(2): non-blocking, close-on-exec. */
int test_pipe(int ret_ends[2]);
/**
 * 1 if this process, or a child made to try, could limit itself to so many inotify "watches" or "instances", in a user namespace of its
 * own: the user's other processes keep theirs.
 */
int test_limit_inotify(const char *what, const char *most, int in_a_child);
/** From now on pidfd_open(2) fails with `error` in this process. 1 if a filter may be installed. */
int test_forbid_pidfds(int error);
/**
 * fork(2) into a process of this number: -1 with EEXIST if it is in use, with EPERM or ENOSYS where nobody may choose. By clone3(2),
 * which the C library does not know of: the child should do little.
 */
pid_t test_fork_as(pid_t process_id);
/** 1 if that may be done here. */
int test_may_choose_process_ids(void);
/** From now on counts the jobs for the default executor, by the runtime's hook. 1 if there is one that nobody has taken. */
int test_count_global_jobs(void);
long test_global_jobs(void);
/** 1 if this process has got mounts of its own; then it may mount an empty file system, and take it away again. */
int test_own_mounts(void);
int test_mount(const char *path);
int test_unmount(const char *path);
/** Bytes that malloc has handed out and not got back, free memory given back to the system first. */
int64_t test_memory_in_use(void);
/** 1 if the descriptor is a timerfd. */
int test_is_timerfd(int fd);

/** The calling thread, and the threads that it makes from now on, run on the processor that it is on; 0. */
int test_stay_on_this_processor(void);
/**
 * Makes the kernel an old one for this process, or for a child made to try (then nothing changes here): epoll_pwait2,
 * pidfd_open, pidfd_send_signal and membarrier answer ENOSYS. 1 if that could be done.
 */
int test_forbid_new_calls(int in_a_child);
/** 0 under ThreadSanitizer, which ends a forked process that makes threads. */
int test_may_have_threads_after_fork(void);
/** Calls `body`: 1 if it has returned, 0 if test_leave() was called in it. */
int test_call_or_leave(void (*body)(void *), void *context);
/** longjmp(3) out of the innermost test_call_or_leave() of this thread. */
void test_leave(void);
/** Allocations by the calling thread so far; -1 where malloc cannot be replaced (sanitizers). */
int64_t test_allocations(void);
/** From now on each thread that is made without attributes asks for a stack of that size: pthread_setattr_default_np(3). */
int test_ask_for_stacks(size_t size);
/** How many bytes of its stack the calling thread has left. */
long test_stack_left(void);
/** How many bytes of thread-local variables each thread of this program has, at least. */
long test_thread_local_size(void);

#endif

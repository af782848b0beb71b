/* A kernel that refuses a call, as a sandbox does. */
#pragma once

#include <sys/epoll.h>
#include <sys/syscall.h>

enum { call_epoll_ctl = SYS_epoll_ctl, call_eventfd = SYS_eventfd2, call_fcntl = SYS_fcntl, epoll_add = EPOLL_CTL_ADD };

/* From now on the call fails on the calling thread, until that ends: with this second argument, or -1: with any. 0, or an errno number. */
int refuse_call(int number, int operation, int error);

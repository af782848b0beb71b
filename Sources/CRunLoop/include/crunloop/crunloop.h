/** <crunloop/crunloop.h>: includes all headers for hosts in C. Begin reading with base.h and loop.h. */
#ifndef CRUNLOOP_CRUNLOOP_H
#define CRUNLOOP_CRUNLOOP_H

#include <crunloop/base.h>
#include <crunloop/clock.h>
#include <crunloop/descriptor.h>
#include <crunloop/kernel.h>
#include <crunloop/loop.h>
#include <crunloop/loop_hook.h>
#include <crunloop/loop_post.h>
#include <crunloop/loop_state.h>
#include <crunloop/main_queue.h>
#include <crunloop/signal_fd.h>
#include <crunloop/version.h>

#endif

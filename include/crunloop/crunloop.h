/** <crunloop/crunloop.h>: includes all headers of the C core of RunLoopKit. Begin with base.h and loop.h. */
#ifndef CRUNLOOP_CRUNLOOP_H
#define CRUNLOOP_CRUNLOOP_H

#include <crunloop/base.h>
#include <crunloop/clock.h>
#include <crunloop/descriptor.h>
#include <crunloop/event_port.h>
#include <crunloop/frame.h>
#include <crunloop/futex.h>
#include <crunloop/kernel.h>
#include <crunloop/loop.h>
#include <crunloop/loop_hook.h>
#include <crunloop/loop_state.h>
#include <crunloop/main_queue.h>
#include <crunloop/memory_file.h>
#include <crunloop/message_socket.h>
#include <crunloop/port_name.h>
#include <crunloop/port_set.h>
#include <crunloop/post_queue.h>
#include <crunloop/process.h>
#include <crunloop/signal_fd.h>
#include <crunloop/spin.h>
#include <crunloop/thread.h>
#include <crunloop/timer_heap.h>
#include <crunloop/timer_port.h>
#include <crunloop/version.h>
#include <crunloop/wakeup_port.h>

#endif

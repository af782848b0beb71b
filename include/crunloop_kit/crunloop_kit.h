/**
 * <crunloop_kit/crunloop_kit.h>: the parts of the C core, for the Swift modules, the core's own files and its tests.
 *
 * Hosts in C use rlc_loop, from <crunloop/crunloop.h>. The headers of this folder are not installed, libcrunloop.so
 * exports nothing of them, and any commit may change what they declare (decision 0044).
 *
 * These conventions hold, besides those of <crunloop/base.h>:
 *   - Thread: [locked]: any thread that holds the lock with which the embedder protects the object. An embedder that
 *     uses the object on one thread needs no lock.
 *   - In a child of fork(2) a port set, timer port or wakeup port touches no descriptor that it shares with the parent.
 *     A function that would have to touch one returns -ECHILD, and the destroy functions only free memory [RLC-FORK-2].
 *   - rlc_failed_call also names the call that failed in these functions: rlc_event_port_create, rlc_memory_file_make,
 *     _open, _seal and _map, rlc_message_socket_pair and _wait_read, rlc_port_folder_open, rlc_port_name_claim, _watch
 *     and _connect, rlc_port_set_create and _insert, rlc_process_start and _spawn, rlc_timer_port_create, and
 *     rlc_wakeup_port_create [RLC-FAIL-1].
 */
#ifndef CRUNLOOP_KIT_CRUNLOOP_KIT_H
#define CRUNLOOP_KIT_CRUNLOOP_KIT_H

#include <crunloop/base.h>
#include <crunloop/clock.h>
#include <crunloop/descriptor.h>
#include <crunloop/kernel.h>
#include <crunloop/main_queue.h>
#include <crunloop/signal_fd.h>
#include <crunloop/version.h>
#include <crunloop_kit/calls.h>
#include <crunloop_kit/event_port.h>
#include <crunloop_kit/frame.h>
#include <crunloop_kit/futex.h>
#include <crunloop_kit/memory_file.h>
#include <crunloop_kit/message_socket.h>
#include <crunloop_kit/pass_checks.h>
#include <crunloop_kit/port_name.h>
#include <crunloop_kit/port_set.h>
#include <crunloop_kit/process.h>
#include <crunloop_kit/races.h>
#include <crunloop_kit/spin.h>
#include <crunloop_kit/stack.h>
#include <crunloop_kit/thread.h>
#include <crunloop_kit/timer_heap.h>
#include <crunloop_kit/timer_port.h>
#include <crunloop_kit/token.h>
#include <crunloop_kit/unshared.h>
#include <crunloop_kit/wakeup_port.h>

#endif

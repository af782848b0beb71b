/** <runloopkit/runloopkit.h>: the whole model of RunLoopKit for C. The conventions: <runloopkit/base.h>. */
#ifndef RUNLOOPKIT_RUNLOOPKIT_H
#define RUNLOOPKIT_RUNLOOPKIT_H

#include <runloopkit/base.h>
#include <runloopkit/blocks.h>
#include <runloopkit/diagnostics.h>
#include <runloopkit/host.h>
#include <runloopkit/item.h>
#include <runloopkit/loop.h>
#include <runloopkit/perform.h>
#include <runloopkit/port.h>
#include <runloopkit/source.h>
#include <runloopkit/thread.h>
#include <runloopkit/timer.h>
#include <runloopkit/version.h>

#endif

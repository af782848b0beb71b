// This module calls user code only in this file. Items/Callouts.swift in RunLoopKit explains the names and the results.

import RunLoopKit

@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_SIGNAL_SOURCE__(_ source: RunLoop.SignalSource, _ info: RunLoop.SignalInfo) {
  source.body.call(source, info)
}

@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_CHILD_SOURCE__(_ source: RunLoop.ChildSource, _ status: RunLoop.ExitStatus) {
  source.body.call(source, status)
}

@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_MEMORY_PRESSURE_SOURCE__(
  _ event: RunLoop.MemoryPressure.Event, _ source: RunLoop.MemoryPressure
) -> Bool {
  source.body.call(source, event)
  return true
}

@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_FILE_WATCH__(
  _ watch: RunLoop.FileWatch, _ event: RunLoop.FileWatch.Event
) -> Bool {
  watch.body.call(watch, event)
  return true
}

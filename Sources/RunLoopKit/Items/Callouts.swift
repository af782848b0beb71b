// Calls user code while a loop runs, as the callout files of ports, events and of what crosses processes do for theirs;
// no other file does. One function a kind, never inlined: stack traces and profiles explain themselves by these names,
// so do not rename them. No two have the same shape, parameters and result included: the optimiser would merge them,
// however the fields' offsets fall. None ends in a call, which it would turn into a jump.

@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_BLOCK__(_ block: () -> Void) {
  block()
}

@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_AN_OBSERVER__(_ observer: RunLoop.Observer, _ activity: RunLoop.Activity) {
  observer.body.call(observer, activity)
}

@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_SOURCE__(_ source: RunLoop.Source, _ body: borrowing RunLoop.Source.Body) {
  body.call(source)
}

/// Always true: handled.
@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PORT_SOURCE__(_ source: RunLoop.PortSource) -> Bool {
  source.body.call(source)
  return true
}

@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_DESCRIPTOR_SOURCE__(
  _ source: RunLoop.FileDescriptorSource, _ readiness: RunLoop.FileDescriptorSource.Readiness
) {
  source.body.call(source, readiness)
}

@inline(never)
func __RUNLOOPKIT_IS_REPORTING_A_SLOW_CALLOUT__(
  _ reporter: @Sendable (RunLoop.SlowCallout) -> Void, _ slow: RunLoop.SlowCallout
) {
  reporter(slow)
}

/// The context is retained around each callout (rule 55).
@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_TIMER__(_ timer: RunLoop.Timer) {
  timer.body.call(timer)
}

/// Always true: served.
@inline(never)
func __RUNLOOPKIT_IS_SERVICING_THE_MAIN_DISPATCH_QUEUE__() -> Bool {
  MainQueuePort.drain()
  return true
}

/// Always true: called.
@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_FINAL_CALL__(_ action: @Sendable () -> Void) -> Bool {
  action()
  return true
}

@inline(never)
func __RUNLOOPKIT_IS_DRAINING_A_SCOPE__(_ action: (() -> Void)?) -> Bool {
  action?()
  return true
}

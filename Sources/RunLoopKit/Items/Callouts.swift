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

/// Of `run(until:in:timeout:)`.
@inline(never)
func __RUNLOOPKIT_IS_ASKING_A_CONDITION__(_ condition: () -> Bool, _ isMet: inout Bool) {
  isMet = condition()
}

@inline(never)
func __RUNLOOPKIT_IS_REPORTING_A_SLOW_CALLOUT__(
  _ reporter: @Sendable (RunLoop.SlowCallout) -> Void, _ slow: RunLoop.SlowCallout
) {
  reporter(slow)
}

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

/// A source enters a mode, or has left it (rule 27).
@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_HOOK_OF_A_SOURCE__(
  _ hook: @Sendable (RunLoop, RunLoop.Mode) -> Void, _ loop: RunLoop, _ mode: RunLoop.Mode
) {
  hook(loop, mode)
}

/// What makes two sources one (rule 28).
@inline(never)
func __RUNLOOPKIT_IS_COMPARING_SOURCES__(_ a: AnyHashable, _ b: AnyHashable, _ areEqual: inout Bool) {
  areEqual = a == b
}

/// Always true: hashed.
@inline(never)
func __RUNLOOPKIT_IS_HASHING_A_SOURCE__(_ identity: AnyHashable, _ hasher: inout Hasher) -> Bool {
  identity.hash(into: &hasher)
  return true
}

/// The words of an item's context.
@inline(never)
func __RUNLOOPKIT_IS_DESCRIBING_A_CONTEXT__(_ context: any Sendable, _ words: inout String) {
  words = String(describing: context)
}

/// The pause of an item that was called too often is over. Always true: it has called.
@inline(never)
func __RUNLOOPKIT_IS_TELLING_OF_A_RESUMED_ITEM__(_ item: RunLoop.Item, _ onResume: (RunLoop.Item) -> Void) -> Bool {
  onResume(item)
  return true
}

/// A block will never run. Always one: the number of calls.
@inline(never)
func __RUNLOOPKIT_IS_TELLING_OF_A_DROPPED_BLOCK__(_ onDrop: @Sendable () -> Void) -> Int {
  onDrop()
  return 1
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

// MARK: Closures

// What callouts borrow. An item that is invalidated lets go of its closure, so that it is no constant; but a closure in
// a variable costs each call a count of references, since the compiler must fear that the call changes the variable. A
// struct that cannot be copied is borrowed for the call instead, and costs what a constant costs. What makes that true:
// no closure is exchanged while a callout of its item is on any stack (Removal/ClosureEnd.swift).

extension RunLoop.Observer {
  struct Body: ~Copyable {
    private let function: (RunLoop.Observer, RunLoop.Activity) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.Observer, RunLoop.Activity) -> Void) { self.function = function }

    @inline(__always)
    borrowing func call(_ item: RunLoop.Observer, _ activity: RunLoop.Activity) { function(item, activity) }
  }
}

extension RunLoop.Source {
  struct Body: ~Copyable {
    private let function: (RunLoop.Source) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.Source) -> Void) { self.function = function }

    @inline(__always)
    borrowing func call(_ item: RunLoop.Source) { function(item) }
  }
}

extension RunLoop.Timer {
  struct Body: ~Copyable {
    private let function: (RunLoop.Timer) -> Void

    @inline(__always)
    init(_ function: @escaping (RunLoop.Timer) -> Void) { self.function = function }

    /// Does nothing.
    @inline(__always)
    init() { function = { _ in } }

    @inline(__always)
    borrowing func call(_ item: RunLoop.Timer) { function(item) }
  }
}

extension RunLoop.PortSource {
  struct Body: ~Copyable {
    private let function: (RunLoop.PortSource) -> Void

    @inline(__always)
    init(_ function: @escaping (RunLoop.PortSource) -> Void) { self.function = function }

    @inline(__always)
    borrowing func call(_ item: RunLoop.PortSource) { function(item) }
  }
}

extension RunLoop.FileDescriptorSource {
  struct Body: ~Copyable {
    private let function: (RunLoop.FileDescriptorSource, RunLoop.FileDescriptorSource.Readiness) -> Void

    @inline(__always)
    init(_ function: @escaping (RunLoop.FileDescriptorSource, RunLoop.FileDescriptorSource.Readiness) -> Void) {
      self.function = function
    }

    @inline(__always)
    borrowing func call(_ item: RunLoop.FileDescriptorSource, _ readiness: RunLoop.FileDescriptorSource.Readiness) {
      function(item, readiness)
    }
  }
}

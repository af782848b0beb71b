// The functions that call user code while a loop runs. Ports, events and channels have their own files like this; no
// other file calls user code. Each kind of call has one function, which is never inlined. Its name explains stack
// traces and profiles, so do not rename it. No two functions have the same parameters and result: the optimiser would
// merge them, even if they read fields at different offsets. In machine code no function ends in a call: the optimiser
// would turn that call into a jump, and the function would be missing from the stack. Some functions return a constant
// that says nothing, for one of these two reasons.

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

/// Returns true: the loop has handled a source.
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

/// Evaluates the condition of `run(until:in:timeout:)`.
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

/// Returns true: the loop has served the queue.
@inline(never)
func __RUNLOOPKIT_IS_SERVICING_THE_MAIN_DISPATCH_QUEUE__() -> Bool {
  MainQueuePort.drain()
  return true
}

/// Called when a source enters a mode, and when it has left one (rule 27).
@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_HOOK_OF_A_SOURCE__(
  _ hook: @Sendable (RunLoop, RunLoop.Mode) -> Void, _ loop: RunLoop, _ mode: RunLoop.Mode
) {
  hook(loop, mode)
}

/// Compares the identities of two sources (rule 28).
@inline(never)
func __RUNLOOPKIT_IS_COMPARING_SOURCES__(_ a: AnyHashable, _ b: AnyHashable, _ areEqual: inout Bool) {
  areEqual = a == b
}

@inline(never)
func __RUNLOOPKIT_IS_HASHING_A_SOURCE__(_ identity: AnyHashable, _ hasher: inout Hasher) -> Bool {
  identity.hash(into: &hasher)
  return true
}

@inline(never)
func __RUNLOOPKIT_IS_DESCRIBING_A_CONTEXT__(_ context: any Sendable, _ words: inout String) {
  words = String(describing: context)
}

/// Called when the pause of an item that exceeded its rate limit is over.
@inline(never)
func __RUNLOOPKIT_IS_TELLING_OF_A_RESUMED_ITEM__(_ item: RunLoop.Item, _ onResume: (RunLoop.Item) -> Void) -> Bool {
  onResume(item)
  return true
}

/// Called for a block that will never run.
@inline(never)
func __RUNLOOPKIT_IS_TELLING_OF_A_DROPPED_BLOCK__(_ onDrop: @Sendable () -> Void) -> Int {
  onDrop()
  return 1
}

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

// Each item keeps its closure in a noncopyable struct. An invalidated item releases its closure, so the closure is a
// variable. A call of a closure in a variable counts a reference, since the compiler must assume that the call changes
// the variable. A call borrows a noncopyable struct instead, and costs as little as with a constant. This is safe
// because no thread exchanges a closure while a callout of its item is on any stack (Removal/ClosureEnd.swift).

extension RunLoop.Observer {
  struct Body: ~Copyable {
    private let function: (RunLoop.Observer, RunLoop.Activity) -> Void

    @inline(never)  // if inlined into a throwing initialiser, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.Observer, RunLoop.Activity) -> Void) { self.function = function }

    borrowing func call(_ item: RunLoop.Observer, _ activity: RunLoop.Activity) { function(item, activity) }
  }
}

extension RunLoop.Source {
  struct Body: ~Copyable {
    private let function: (RunLoop.Source) -> Void

    @inline(never)  // if inlined into a throwing initialiser, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.Source) -> Void) { self.function = function }

    borrowing func call(_ item: RunLoop.Source) { function(item) }
  }
}

extension RunLoop.Timer {
  struct Body: ~Copyable {
    private let function: (RunLoop.Timer) -> Void

    init(_ function: @escaping (RunLoop.Timer) -> Void) { self.function = function }

    /// A body that does nothing.
    init() { function = { _ in } }

    borrowing func call(_ item: RunLoop.Timer) { function(item) }
  }
}

extension RunLoop.PortSource {
  struct Body: ~Copyable {
    private let function: (RunLoop.PortSource) -> Void

    init(_ function: @escaping (RunLoop.PortSource) -> Void) { self.function = function }

    borrowing func call(_ item: RunLoop.PortSource) { function(item) }
  }
}

extension RunLoop.FileDescriptorSource {
  struct Body: ~Copyable {
    private let function: (RunLoop.FileDescriptorSource, RunLoop.FileDescriptorSource.Readiness) -> Void

    init(_ function: @escaping (RunLoop.FileDescriptorSource, RunLoop.FileDescriptorSource.Readiness) -> Void) {
      self.function = function
    }

    borrowing func call(_ item: RunLoop.FileDescriptorSource, _ readiness: RunLoop.FileDescriptorSource.Readiness) {
      function(item, readiness)
    }
  }
}

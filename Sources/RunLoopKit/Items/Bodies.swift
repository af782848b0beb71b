// The closures of items. An item that is invalidated lets go of its closure, so that it is no constant; but a closure in a
// variable costs each call a count of references, since the compiler must fear that the call changes the variable. A struct
// that cannot be copied is borrowed for the call instead, and costs what a constant costs. What makes that true: no closure
// is exchanged while a callout of its item is on any stack (ClosureRelease.swift).

extension RunLoop.Timer {
  struct Body: ~Copyable {
    private let function: (RunLoop.Timer) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.Timer) -> Void) { self.function = function }

    /// Does nothing.
    @inline(__always)
    init() { function = { _ in } }

    @inline(__always)
    borrowing func call(_ item: RunLoop.Timer) { function(item) }
  }
}

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

extension RunLoop.PortSource {
  struct Body: ~Copyable {
    private let function: (RunLoop.PortSource) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.PortSource) -> Void) { self.function = function }

    @inline(__always)
    borrowing func call(_ item: RunLoop.PortSource) { function(item) }
  }
}

extension RunLoop.FileDescriptorSource {
  struct Body: ~Copyable {
    private let function: (RunLoop.FileDescriptorSource, RunLoop.FileDescriptorSource.Readiness) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.FileDescriptorSource, RunLoop.FileDescriptorSource.Readiness) -> Void) {
      self.function = function
    }

    @inline(__always)
    borrowing func call(_ item: RunLoop.FileDescriptorSource, _ readiness: RunLoop.FileDescriptorSource.Readiness) {
      function(item, readiness)
    }
  }
}

extension RunLoop.SignalSource {
  struct Body: ~Copyable {
    private let function: (RunLoop.SignalSource, RunLoop.SignalInfo) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.SignalSource, RunLoop.SignalInfo) -> Void) { self.function = function }

    @inline(__always)
    borrowing func call(_ item: RunLoop.SignalSource, _ info: RunLoop.SignalInfo) { function(item, info) }
  }
}

extension RunLoop.ChildSource {
  struct Body: ~Copyable {
    private let function: (RunLoop.ChildSource, RunLoop.ExitStatus) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.ChildSource, RunLoop.ExitStatus) -> Void) { self.function = function }

    @inline(__always)
    borrowing func call(_ item: RunLoop.ChildSource, _ status: RunLoop.ExitStatus) { function(item, status) }
  }
}

extension RunLoop.MemoryPressure {
  struct Body: ~Copyable {
    private let function: (RunLoop.MemoryPressure, RunLoop.MemoryPressure.Event) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.MemoryPressure, RunLoop.MemoryPressure.Event) -> Void) {
      self.function = function
    }

    @inline(__always)
    borrowing func call(_ item: RunLoop.MemoryPressure, _ event: RunLoop.MemoryPressure.Event) { function(item, event) }
  }
}

extension RunLoop.FileWatch {
  struct Body: ~Copyable {
    private let function: (RunLoop.FileWatch, RunLoop.FileWatch.Event) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.FileWatch, RunLoop.FileWatch.Event) -> Void) { self.function = function }

    @inline(__always)
    borrowing func call(_ item: RunLoop.FileWatch, _ event: RunLoop.FileWatch.Event) { function(item, event) }
  }
}

extension RunLoop.Port {
  struct Body: ~Copyable {
    private let function: (RunLoop.Port, RunLoop.Message) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.Port, RunLoop.Message) -> Void) { self.function = function }

    @inline(__always)
    borrowing func call(_ item: RunLoop.Port, _ message: RunLoop.Message) { function(item, message) }
  }
}

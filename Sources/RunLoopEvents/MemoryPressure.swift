import RunLoopKit
internal import RunLoopLibc

extension RunLoop {
  /// Calls a closure when work has waited for memory for too long: the moment to free caches, before the kernel ends
  /// processes.
  ///
  /// The kernel adds up the time for which tasks of the machine, or of a control group, were stalled for lack of
  /// memory. It sends an event once in each window in which that time exceeds the limit [RLK-PRESSURE-3]. If the source
  /// is in modes of several loops, one of them gets the event.
  ///
  /// The first poll consumes the kernel's event. The event is therefore lost if a host polls the loop's descriptor
  /// (`hostDescriptor(in:)`): add the source to a loop that sleeps itself. An event may also be lost while a thread
  /// adds the source, or while the loop checks whether it is idle (`performWhenIdle`). The kernel sends another event
  /// in the next window. Source: the kernel's Documentation/accounting/psi.rst.
  public final class MemoryPressure: EventSource, EventService, @unchecked Sendable {
    /// Which stalls count as pressure.
    public enum Stall: Hashable, Sendable {
      /// At least one task waits for memory: work becomes slower.
      case some
      /// All tasks that could run wait for memory: no work gets done.
      case full
    }

    /// Why the closure is called.
    public enum Event: Hashable, Sendable {
      /// The stalls of a window were longer than the limit.
      case pressure
      /// The control group was removed; this is the last event, and after it the source is invalid.
      case ended
    }

    @exclusivity(unchecked) final var body: Body
    /// The path that `init` was given, or the default.
    public let path: String

    /// - Parameters:
    ///   - stall: Which stalls count as pressure.
    ///   - time: The limit of stalled time in a window: more than zero, at most the window; rounded up to microseconds.
    ///   - window: 0.5 to 10 seconds. Without CAP_SYS_RESOURCE it must be a multiple of two seconds, and the kernel
    ///     checks every two seconds.
    ///   - path: The machine's file, or `memory.pressure` of a control group (version 2).
    ///   - order: Ignored: events are served in the order of readiness.
    ///   - body: Called on the thread of the loop that runs, with no lock held.
    /// - Throws: A `RunLoopError.system`: `ENOENT` and `EOPNOTSUPP` if the kernel does not account for pressure (no
    ///   CONFIG_PSI, before Linux 5.2, `psi=0`); `EACCES`, `EPERM` if the process may not use the file; `EINVAL` for a
    ///   time or window out of range, and, before anything is written, for a file that is not a memory pressure file
    ///   [RLK-PRESSURE-1]; `EMFILE`, `ENOMEM`.
    /// - Complexity: Three system calls.
    public convenience init(
      _ stall: Stall, longerThan time: Duration, within window: Duration, path: String = "/proc/pressure/memory",
      order: Int = 0, _ body: @escaping @Sendable (MemoryPressure, Event) -> Void
    ) throws {
      try self.init(stall, time, window, path: path, order: order, onlyLoop: nil, unchecked: body)
    }

    init(
      _ stall: Stall, _ time: Duration, _ window: Duration, path: String, order: Int, onlyLoop: RunLoop?,
      unchecked body: @escaping (MemoryPressure, Event) -> Void
    ) throws {
      self.body = Body(body)
      self.path = path
      let descriptor = try PressureTrigger.open(path)
      let owned = OwnedDescriptor(descriptor)  // closes the descriptor if a later step throws
      try PressureTrigger.write(
        "\(stall.word) \(PressureTrigger.microseconds(time)) \(PressureTrigger.microseconds(window))",
        to: descriptor,
        of: path)
      try super.init(owned, interest: PortRegistration.priority, order: order, onlyLoop: onlyLoop)
    }

    package func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
      let event = ready & FileDescriptorSource.Readiness.error.rawValue == 0 ? Event.pressure : .ended
      _ = __RUNLOOPKIT_IS_CALLING_OUT_TO_A_MEMORY_PRESSURE_SOURCE__(event, self)
      if event == .ended { invalidate() }
      return true
    }

    package func dropClosure() {
      var released = Body { _, _ in }
      swap(&body, &released)
    }

    package var summary: String {
      "<memory pressure source\(labelText) order \(order), \(path), \(isValid ? "valid" : "invalid")>"
    }
  }
}

/// Opens pressure files and sets their triggers; each descriptor has one trigger.
private enum PressureTrigger {
  private static let beginning = "some avg10="

  /// Opens a pressure file and checks how it begins, because writing a trigger to another file would damage that file.
  static func open(_ path: String) throws(RunLoopError) -> Int32 {
    guard path.hasSuffix("/pressure/memory") || path.hasSuffix("memory.pressure"), !path.utf8.contains(0) else {
      let detail = "\(path) is neither /proc/pressure/memory nor a control group's memory.pressure"
      throw .system(EINVAL, detail)
    }
    let made = RunLoopLibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    let descriptor = try RunLoopError.checkDescriptor(made, "open", path)
    var text = [UInt8](repeating: 0, count: beginning.utf8.count)
    let count = read(descriptor, &text, text.count)
    let error = errno
    if count == text.count, text.elementsEqual(beginning.utf8) { return descriptor }
    RunLoop.closeDescriptor(descriptor)
    guard count < 0 else { throw .system(EINVAL, "\(path) is no pressure file") }
    let isOff = error == EOPNOTSUPP
    throw .system(error, call: "read", isOff ? "\(path): the kernel does not account for pressure there" : path)
  }

  static func write(_ trigger: String, to descriptor: Int32, of path: String) throws(RunLoopError) {
    let count = trigger.withCString { RunLoopLibc.write(descriptor, $0, strlen($0) + 1) }
    let error = errno
    guard count < 0 else { return }
    let rule =
      ": the window is 0.5 to 10 s, a multiple of 2 s without CAP_SYS_RESOURCE, the time more than 0 and at most that"
    throw .system(
      error, call: "write", "\"\(trigger)\" (microseconds) to \(path)\(error == EINVAL ? rule : "")")
  }

  /// Converts to microseconds, rounded up; a larger number than the kernel takes becomes the largest that it takes.
  static func microseconds(_ duration: Duration) -> UInt64 {
    let nanoseconds = duration.nanosecondsRoundedUp
    return min(nanoseconds / 1000 + (nanoseconds % 1000 == 0 ? 0 : 1), UInt64(UInt32.max))
  }
}

/// The source's closure, which a callout borrows: see Items/Callouts.swift.
extension RunLoop.MemoryPressure {
  struct Body: ~Copyable {
    private let function: (RunLoop.MemoryPressure, RunLoop.MemoryPressure.Event) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.MemoryPressure, RunLoop.MemoryPressure.Event) -> Void) {
      self.function = function
    }

    borrowing func call(_ item: RunLoop.MemoryPressure, _ event: RunLoop.MemoryPressure.Event) { function(item, event) }
  }
}

extension RunLoop.MemoryPressure.Stall {
  /// The kernel's word for the stall, in the file and in a trigger.
  fileprivate var word: String {
    switch self {
    case .some: "some"
    case .full: "full"
    }
  }
}

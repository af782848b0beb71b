import RunLoopKit

extension RunLoop {
  /// What `signals(_:in:)` makes.
  public typealias SignalSequence = EventSequence<SignalInfo>
  /// What `exits(of:ownership:in:)` makes: the ends of processes.
  public typealias ExitSequence = EventSequence<(processID: Int32, status: ExitStatus)>
  /// What `fileEvents(at:_:in:)` makes.
  public typealias FileEventSequence = EventSequence<FileWatch.Event>
  /// What `memoryPressure(_:longerThan:within:path:in:)` makes.
  public typealias MemoryPressureSequence = EventSequence<MemoryPressure.Event>

  /// A sequence of the signals that the process receives, for tasks. Its `SignalSource` is in the mode while a task
  /// waits.
  ///
  /// Call `RunLoop.Signal.block(_:)` first in `main`: the mask must be as for a `SignalSource`. While the task is busy,
  /// standard signals coalesce, and real-time signals queue.
  ///
  /// ```swift
  /// import Glibc
  /// try RunLoop.Signal.block(.hangup)  // first of all, in main
  /// try RunLoop.main.run {
  ///   let signals = try RunLoop.main.signals(.hangup)
  ///   kill(getpid(), SIGHUP)  // mostly another process does that
  ///   for try await info in signals {
  ///     print(info.signal == .hangup)  // prints true
  ///     break
  ///   }
  /// }
  /// ```
  /// - Parameters:
  ///   - signals: Which signals to receive; at least one.
  ///   - mode: A loop that does not run in this mode delivers nothing.
  /// - Throws: As `SignalSource.init` and `add(_:to:)`.
  /// - Thread: Any. Before a call in a task, block the signals: otherwise the source changes the mask of the thread
  ///   that happens to run the task.
  public func signals(_ signals: Signal..., in mode: Mode = .default) throws -> EventSequence<SignalInfo> {
    try EventSequence(of: self, in: mode) { feed in
      let turn = feed.makeTurn()
      feed.append(try SignalSource(Set(signals)) { _, info in turn.deliver(info) })
    }
  }

  /// A sequence of the ends of processes, for tasks, in the order in which the loop notices them. A `ChildSource` for
  /// each process is in the mode until the process has ended, and keeps runs of the mode going. The sequence ends after
  /// the last process [RLK-STREAM-9]. For a single process, call `exit(of:ownership:in:timeout:)`.
  ///
  /// - Parameters:
  ///   - processIDs: At least 1 each.
  ///   - ownership: With `.killedWhenInvalidated`, the sources end processes that still run when the sequence is
  ///     released, when the loop ends, and if this call throws. The thread that releases the sequence waits until these
  ///     processes have ended.
  ///   - mode: A loop that does not run in this mode notices no end.
  /// - Throws: As `ChildSource.init` and `add(_:to:)`.
  /// - Thread: Any. - Complexity: O(processes).
  public func exits(
    of processIDs: [Int32], ownership: ChildSource.Ownership = .borrowed, in mode: Mode = .default
  ) throws -> EventSequence<(processID: Int32, status: ExitStatus)> {
    try EventSequence(of: self, in: mode, keepingNewest: max(1, processIDs.count)) { feed in
      if processIDs.isEmpty { feed.finish() }
      for processID in processIDs {
        let turn = feed.makeTurn()
        feed.append(
          try ChildSource(processID: processID, ownership: ownership) { _, status in
            turn.deliver((processID, status), isLast: true)
          })
      }
    }
  }

  /// A sequence of the events of a file or folder, for tasks. Its `FileWatch` is in the mode while a task waits. The
  /// sequence ends after `.ended` [RLK-STREAM-9].
  ///
  /// The watch keeps events that come while the task is busy. If they are too many, one `.overflow` replaces the rest.
  /// - Parameters:
  ///   - path: A file or a folder; a symbolic link at its end is followed.
  ///   - events: Which events to deliver.
  ///   - mode: A loop that does not run in this mode delivers nothing.
  /// - Throws: As `FileWatch.init` and `add(_:to:)`.
  /// - Thread: Any. - Complexity: As a `FileWatch`.
  public func fileEvents(
    at path: String, _ events: FileWatch.Event.Kinds = .changes, in mode: Mode = .default
  ) throws -> EventSequence<FileWatch.Event> {
    try fileEvents(pathBytes: Array(path.utf8), events, in: mode)
  }

  /// As `fileEvents(at:_:in:)`, for a path of bytes, which need not be UTF-8 [RLK-WATCH-20].
  public func fileEvents(
    pathBytes: [UInt8], _ events: FileWatch.Event.Kinds = .changes, in mode: Mode = .default
  ) throws -> EventSequence<FileWatch.Event> {
    try EventSequence(of: self, in: mode) { feed in
      let turn = feed.makeTurn()
      feed.append(
        try FileWatch(pathBytes, events: events, limit: nil, order: 0, for: self, onlyLoop: nil) { _, event in
          turn.deliver(event, isLast: event.kind == .ended)
        })
    }
  }

  /// A sequence of shortages of memory, for tasks. Its `MemoryPressure` source stays in the mode, and keeps no run
  /// going.
  ///
  /// Of the events that come while the task is busy, the sequence keeps the newest. It ends after `.ended`
  /// [RLK-STREAM-9].
  /// - Parameters:
  ///   - stall: Which stalls count.
  ///   - time: The limit of stalled time in a window, as for `MemoryPressure`.
  ///   - window: The length of the window.
  ///   - path: The machine's file, or that of a control group.
  ///   - mode: A loop that does not run in this mode delivers nothing.
  /// - Throws: As `MemoryPressure.init` and `add(_:to:)`.
  /// - Thread: Any.
  public func memoryPressure(
    _ stall: MemoryPressure.Stall, longerThan time: Duration, within window: Duration,
    path: String = "/proc/pressure/memory", in mode: Mode = .default
  ) throws -> EventSequence<MemoryPressure.Event> {
    try EventSequence(of: self, in: mode, keepingNewest: 1) { feed in
      let turn = feed.makeTurn()
      let source = try MemoryPressure(stall, longerThan: time, within: window, path: path) { _, event in
        turn.deliver(event, isLast: event == .ended)
      }
      source.keepsRunning = false
      feed.append(source)
    }
  }
}

import RunLoopKit
internal import RunLoopLibc

extension RunLoop {
  /// Calls a closure for each event of a file or folder.
  ///
  /// A watch has one path, and watches the file or folder that the path names when the watch is created, also after a
  /// rename [RLK-WATCH-11]. For a folder it also reports the events of the entries directly in it. There is one callout
  /// for each event, in order [RLK-WATCH-1]; equal events that follow each other directly may coalesce. The kernel's
  /// names and paths are bytes, `Event.nameBytes` and `pathBytes`; `name` and `path` are their text [RLK-WATCH-20].
  ///
  /// If the watched file or folder is deleted, or its file system unmounted, the watch delivers `.ended` last and is
  /// invalid after that call [RLK-WATCH-2, RLK-WATCH-12]. If the kernel's queue is full
  /// (`fs.inotify.max_queued_events`), the watch delivers `.overflow` in place of the lost events: read the files again
  /// [RLK-WATCH-5]. `.ended` is never lost [RLK-WATCH-13].
  ///
  /// The watches that are created for a loop, by its methods or on its thread, share one inotify instance while one of
  /// them exists [RLK-WATCH-14]. They do not take events from each other, even if they watch one file under several
  /// names: each gets the events that it asks for, and no others [RLK-WATCH-3, RLK-WATCH-15]. A loop reads no more
  /// events than it delivers. Events that it reads for watches in modes that do not run wait in order, up to
  /// 16,384 for each watch; `.overflow` replaces the rest [RLK-WATCH-16, RLK-WATCH-17]. A loop that waits in a mode
  /// with a watch also wakes for events of watches in other modes and loops, and makes a pass without a callout. An
  /// overflow of the instance reaches all its watches. Source: inotify(7).
  ///
  /// ```swift
  /// import Glibc
  /// let loop = RunLoop.current
  /// let path = "/tmp/watched-\(getpid())"
  /// close(creat(path, 0o600))
  /// let watch = try RunLoop.FileWatch(path: path, events: .attributes) { _, event in
  ///   print(event.kind)  // prints attributes
  ///   loop.stop()
  /// }
  /// try loop.add(watch)
  /// chmod(path, 0o644)
  /// try loop.run()
  /// unlink(path)
  /// ```
  public final class FileWatch: EventSource, EventService, @unchecked Sendable {
    @exclusivity(unchecked) final var body: Body
    /// The path that `init` was given, as text: bytes that are no UTF-8 are replaced.
    public var path: String { SystemPath.text(queue.path) }
    /// The path that `init` was given.
    public var pathBytes: [UInt8] { queue.path }
    /// Which events the watch delivers, besides `.overflow` and `.ended`.
    public let events: Event.Kinds
    private let queue: FileEventQueue
    private let reader: FileEventReader

    /// - Parameters:
    ///   - path: A file or a folder; a symbolic link at its end is followed.
    ///   - events: Which events to deliver. Choose only those that you use: reading a folder causes `.opened`.
    ///   - limit: How often the loop may call the source; nil for no limit.
    ///   - order: Ignored: events are served in the order of readiness.
    ///   - body: Called on the thread of the loop that runs, with no lock held.
    /// - Throws: A `RunLoopError.system`: `ENOENT`, `EACCES`, `ENOTDIR`...; `EINVAL` for no events, and for a path with
    ///   a zero byte in it; `ENOSPC` beyond the user's number of watches (`fs.inotify.max_user_watches`); `EMFILE` for
    ///   lack of a descriptor, or of an inotify instance if the process has none; `ENOMEM` [RLK-WATCH-6, RLK-WATCH-7].
    /// - Complexity: Two system calls, and one more for the first watch of a loop.
    public convenience init(
      path: String, events: Event.Kinds, limit: RateLimit? = nil, order: Int = 0,
      _ body: @escaping @Sendable (FileWatch, Event) -> Void
    ) throws {
      try self.init(
        Array(path.utf8), events: events, limit: limit, order: order, for: nil, onlyLoop: nil, unchecked: body)
    }

    /// As `init(path:events:limit:order:_:)`, for a path of bytes without a zero at the end, which need not be UTF-8.
    public convenience init(
      pathBytes: [UInt8], events: Event.Kinds, limit: RateLimit? = nil, order: Int = 0,
      _ body: @escaping @Sendable (FileWatch, Event) -> Void
    ) throws {
      try self.init(pathBytes, events: events, limit: limit, order: order, for: nil, onlyLoop: nil, unchecked: body)
    }

    /// - Parameter loop: The loop whose instance the watch shares; nil for the loop of this thread.
    init(
      _ path: [UInt8], events: Event.Kinds, limit: RateLimit?, order: Int, for loop: RunLoop?, onlyLoop: RunLoop?,
      unchecked body: @escaping (FileWatch, Event) -> Void
    ) throws {
      self.body = Body(body)
      self.events = events
      let mask = events.intersection(.all).rawValue
      try SystemPath.check(path, mask: mask)
      queue = try FileEventQueue(path, mask: mask)
      reader = try FileEventReaders.current.insert(queue, for: (loop ?? onlyLoop)?.serial ?? ThreadRecord.loopSerial)
      try super.init(queue.port.owned, limit: limit, order: order, onlyLoop: onlyLoop, reader: reader.shared)
      reader.assign(self, to: queue)
    }

    deinit { leaveReader() }

    package func hasJoined() { reader.hasJoined(queue) }

    package func hasEnded() { leaveReader() }

    private func leaveReader() { if queue.leave() { FileEventReaders.current.remove(queue, from: reader) } }

    package func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
      guard let event = reader.nextEvent(of: queue, in: mode) else { return false }
      _ = __RUNLOOPKIT_IS_CALLING_OUT_TO_A_FILE_WATCH__(self, event)
      if event.kind == .ended { invalidate() }
      return true
    }

    package func dropClosure() {
      var released = Body { _, _ in }
      swap(&body, &released)
    }

    package var summary: String {
      "<file watch\(labelText) order \(order), \(path), \(isValid ? "valid" : "invalid")>"
    }
  }
}

/// The watch's closure, which a callout borrows: see Items/Callouts.swift.
extension RunLoop.FileWatch {
  struct Body: ~Copyable {
    private let function: (RunLoop.FileWatch, RunLoop.FileWatch.Event) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.FileWatch, RunLoop.FileWatch.Event) -> Void) { self.function = function }

    borrowing func call(_ item: RunLoop.FileWatch, _ event: RunLoop.FileWatch.Event) { function(item, event) }
  }
}

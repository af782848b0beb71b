import RunLoopKit
internal import RunLoopLibc

extension RunLoop {
  /// Calls a closure for what happens to a file, or in a folder.
  ///
  /// A watch has one path, and watches what the path names when the watch is created, also after a rename
  /// [RLK-WATCH-11]. For a folder it reports what happens to the entries directly in it. There is one callout for each
  /// event, in order [RLK-WATCH-1]; equal events that follow each other directly may coalesce. The
  /// kernel's names and paths are bytes, `Event.nameBytes` and `pathBytes`; `name` and `path` are their text
  /// [RLK-WATCH-20].
  ///
  /// If the target is deleted, or its file system unmounted, the watch delivers `.ended` last and is invalid then
  /// [RLK-WATCH-2, RLK-WATCH-12]. If more happens than the system keeps (`fs.inotify.max_queued_events`), the watch
  /// delivers `.overflow` in place of what was lost: look at the files again [RLK-WATCH-5]. `.ended` is never lost
  /// [RLK-WATCH-13].
  ///
  /// The watches that are created for a loop, by its methods or on its thread, share one inotify instance while there
  /// is one of them [RLK-WATCH-14]. They do not take events from each other, also if they watch one file under several
  /// names: each gets what it wants, and no more [RLK-WATCH-3, RLK-WATCH-15]. A loop reads no further than it calls.
  /// Events that it reads for watches in modes that do not run wait for them in order, 16,384 for each; then
  /// `.overflow` [RLK-WATCH-16, RLK-WATCH-17]. A loop that waits in a mode with a watch makes a pass without a callout
  /// when there are events only for watches elsewhere. An overflow of the instance is reported to all its watches.
  /// Source: inotify(7).
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
    ///   - events: Which events to deliver. Choose only those that you use: to read a folder causes `.opened` itself.
    ///   - limit: How often it may be called; nil: always.
    ///   - order: Ignored: events are served in the order of readiness.
    ///   - body: Called on the thread of the loop that runs, with no lock held.
    /// - Throws: A `RunLoopError.system`: `ENOENT`, `EACCES`, `ENOTDIR`...; `EINVAL` for no events, and for a path with
    ///   a zero byte in it; `ENOSPC` beyond the user's number of watches (`fs.inotify.max_user_watches`), `EMFILE`
    ///   beyond that of descriptors, or of instances if the process has none; `ENOMEM` [RLK-WATCH-6, RLK-WATCH-7].
    /// - Complexity: Two system calls, and one for the first watch of a loop.
    public convenience init(
      path: String, events: Event.Kinds, limit: RateLimit? = nil, order: Int = 0,
      _ body: @escaping @Sendable (FileWatch, Event) -> Void
    ) throws {
      try self.init(
        Array(path.utf8), events: events, limit: limit, order: order, for: nil, onlyHost: nil, unchecked: body)
    }

    /// The same for a path of bytes, as the system has it, without a zero at the end: it need not be UTF-8.
    public convenience init(
      pathBytes: [UInt8], events: Event.Kinds, limit: RateLimit? = nil, order: Int = 0,
      _ body: @escaping @Sendable (FileWatch, Event) -> Void
    ) throws {
      try self.init(pathBytes, events: events, limit: limit, order: order, for: nil, onlyHost: nil, unchecked: body)
    }

    /// - Parameter loop: Whose instance it is to share; nil: the loop's of this thread.
    init(
      _ path: [UInt8], events: Event.Kinds, limit: RateLimit?, order: Int, for loop: RunLoop?, onlyHost: RunLoop?,
      unchecked body: @escaping (FileWatch, Event) -> Void
    ) throws {
      self.body = Body(body)
      self.events = events
      let mask = events.intersection(.all).rawValue
      try SystemPath.check(path, mask: mask)
      queue = try FileEventQueue(path, mask: mask)
      reader = try FileEventReaders.current.insert(queue, for: (loop ?? onlyHost)?.serial ?? ThreadRecord.loopSerial)
      try super.init(queue.port.owned, limit: limit, order: order, onlyHost: onlyHost, reader: reader.shared)
      queue.watch = self
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

extension RunLoop.FileWatch {
  /// One thing that has happened.
  public struct Event: Hashable, Sendable, CustomStringConvertible {
    /// The kinds of events.
    public enum Kind: Hashable, Sendable {
      /// See the options of `Kinds` with the same names.
      case created, deleted, modified, closedAfterWriting, closedAfterReading, attributes, opened, accessed
      /// The two halves of a rename.
      case movedAway, movedHere
      /// The target itself was removed or renamed.
      case targetDeleted, targetMoved
      /// Events were lost.
      case overflow
      /// The target's file system was unmounted; `.ended` follows.
      case unmounted
      /// The last event: nothing can come any more.
      case ended
    }

    /// What has happened.
    public let kind: Kind
    /// The name of the entry in a watched folder, as the file system has it; nil for the target itself. A name may
    /// hold any bytes but 0 and `/` [RLK-WATCH-20].
    public let nameBytes: [UInt8]?
    /// The name as text: bytes that are no UTF-8 are replaced, so that the text may name no file, or another one.
    /// - Complexity: O(length).
    public var name: String? { nameBytes.map { String(decoding: $0, as: UTF8.self) } }
    /// Equal in the two halves of a rename, and different from all others'; else 0.
    public let cookie: UInt32
    /// True if the entry or target is a folder.
    public let isDirectory: Bool

    /// Kind and name.
    public var description: String { name.map { "\(kind) \($0)" } ?? "\(kind)" }
  }
}

extension RunLoop.FileWatch.Event {
  /// Kinds of events, to choose from: those that a watch delivers.
  public struct Kinds: OptionSet, Hashable, Sendable {
    /// Bits of inotify(7).
    public let rawValue: UInt32

    /// Bits that are no events are ignored.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// In a folder: an entry was made.
    public static let created = Kinds(rawValue: 0x100)
    /// In a folder: an entry was removed.
    public static let deleted = Kinds(rawValue: 0x200)
    /// It was written to or truncated.
    public static let modified = Kinds(rawValue: 0x2)
    /// A file that was open for writing was closed: the moment to read it.
    public static let closedAfterWriting = Kinds(rawValue: 0x8)
    /// A file that was open for reading was closed.
    public static let closedAfterReading = Kinds(rawValue: 0x10)
    /// Its owner, permissions, times or number of links have changed.
    public static let attributes = Kinds(rawValue: 0x4)
    /// It was opened.
    public static let opened = Kinds(rawValue: 0x20)
    /// It was read or executed.
    public static let accessed = Kinds(rawValue: 0x1)
    /// In a folder: an entry got another name or place; the two halves of a rename have the same cookie.
    public static let movedAway = Kinds(rawValue: 0x40)
    /// In a folder: an entry came from another name or place.
    public static let movedHere = Kinds(rawValue: 0x80)
    /// The watched file or folder itself was removed.
    public static let targetDeleted = Kinds(rawValue: 0x400)
    /// The watched file or folder itself got another name or place. It is still watched.
    public static let targetMoved = Kinds(rawValue: 0x800)

    /// What changes a folder's list of entries, or their contents, and what befalls the target [RLK-WATCH-18].
    ///
    /// The kernel reports each write to an open file as `.modified`, and may unite equal events that follow each other.
    /// To be called once for each file, after a writer has closed it, choose `.closedAfterWriting` without `.modified`.
    /// The kernel does not report what is written to a mapping (mmap(2)).
    public static let changes: Kinds = [
      .created, .deleted, .modified, .closedAfterWriting, .movedAway, .movedHere, .targetDeleted, .targetMoved,
    ]
    /// All kinds.
    public static let all = Kinds(rawValue: 0xFFF)
  }
}

/// A path as the system has it.
enum SystemPath {
  static func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

  static func check(_ path: [UInt8], mask: UInt32) throws(RunLoopError) {
    if path.isEmpty { throw .system(ENOENT, "the path is empty") }
    if let zero = path.firstIndex(of: 0) { throw .system(EINVAL, "\(text(path)): byte \(zero) of the path is zero") }
    if mask == 0 { throw .system(EINVAL, "\(text(path)): no event to watch for was named") }
  }
}

/// The closure, which a callout borrows: see Items/Callouts.swift.
extension RunLoop.FileWatch {
  struct Body: ~Copyable {
    private let function: (RunLoop.FileWatch, RunLoop.FileWatch.Event) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.FileWatch, RunLoop.FileWatch.Event) -> Void) { self.function = function }

    @inline(__always)
    borrowing func call(_ item: RunLoop.FileWatch, _ event: RunLoop.FileWatch.Event) { function(item, event) }
  }
}

import RunLoopKit
internal import RunLoopLibc

extension RunLoop {
  /// Calls a closure for what happens to a file, or in a folder.
  ///
  /// A watch has one path, and watches what the path names when the watch is created, also after a rename
  /// [RLK-WATCH-11]. For a folder it reports what happens to the entries directly in it. There is one callout for each
  /// event, in order [RLK-WATCH-1]; equal events that follow each other directly may coalesce.
  ///
  /// If the target is deleted, or its file system unmounted, the watch delivers `.ended` last and is invalid then
  /// [RLK-WATCH-2, RLK-WATCH-12]. If more happens than the system keeps (`fs.inotify.max_queued_events`), the watch
  /// delivers `.overflow` in place of what was lost: look at the files again [RLK-WATCH-5].
  ///
  /// Each watch has an inotify instance of its own: two watches of one file do not share a mask, and do not take events
  /// from each other [RLK-WATCH-3]. A user may have `fs.inotify.max_user_instances` (often 128) of them. Source:
  /// inotify(7).
  public final class FileWatch: EventSource, EventService, @unchecked Sendable {
    @exclusivity(unchecked) final var body: Body
    /// The path that `init` was given.
    public let path: String
    /// Which events the watch delivers, besides `.overflow` and `.ended`.
    public let events: Event.Kinds
    private let reader: FileEventReader

    /// - Parameters:
    ///   - path: A file or a folder; a symbolic link at its end is followed.
    ///   - events: Which events to deliver. Choose only those that you use: to read a folder causes `.opened` itself.
    ///   - limit: How often it may be called; nil: always.
    ///   - order: Ignored: events are served in the order of readiness.
    ///   - body: Called on the thread of the loop that runs, with no lock held.
    /// - Throws: A `RunLoopError.system`: `ENOENT`, `EACCES`, `ENOTDIR`...; `EINVAL` for no events; `ENOSPC` beyond
    ///   the user's number of watches (`fs.inotify.max_user_watches`), `EMFILE` beyond that of instances or
    ///   descriptors; `ENOMEM` [RLK-WATCH-6, RLK-WATCH-7].
    /// - Complexity: Six system calls.
    public convenience init(
      path: String, events: Event.Kinds, limit: RateLimit? = nil, order: Int = 0,
      _ body: @escaping @Sendable (FileWatch, Event) -> Void
    ) throws {
      try self.init(path: path, events: events, limit: limit, order: order, onlyHost: nil, unchecked: body)
    }

    init(
      path: String, events: Event.Kinds, limit: RateLimit?, order: Int, onlyHost: RunLoop?,
      unchecked body: @escaping (FileWatch, Event) -> Void
    ) throws {
      self.body = Body(body)
      self.path = path
      self.events = events
      reader = try FileEventReader(path: path, events: events)
      try super.init(reader.port.owned, limit: limit, order: order, onlyHost: onlyHost)
    }

    package func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
      guard let event = reader.nextEvent() else { return false }
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
  /// - Thread: Any: a value.
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
    /// The name of the entry in a watched folder; nil for the target itself. Bytes that are no UTF-8 are replaced.
    public let name: String?
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
  /// - Thread: Any: a value.
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

    /// What changes a folder's list of entries, or their contents, and what befalls the target.
    public static let changes: Kinds = [
      .created, .deleted, .closedAfterWriting, .movedAway, .movedHere, .targetDeleted, .targetMoved,
    ]
    /// All kinds.
    public static let all = Kinds(rawValue: 0xFFF)
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

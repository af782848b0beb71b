import RunLoopKit

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
      /// The last event: no more can come.
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
    /// Equal in the two halves of a rename, and different in other renames; 0 in all other events.
    public let cookie: UInt32
    /// True if the entry or target is a folder.
    public let isDirectory: Bool

    /// Kind and name.
    public var description: String { name.map { "\(kind) \($0)" } ?? "\(kind)" }
  }
}

extension RunLoop.FileWatch.Event {
  /// The kinds of events that a watch delivers.
  public struct Kinds: OptionSet, Hashable, Sendable {
    /// Bits of inotify(7).
    public let rawValue: UInt32

    /// Bits that are no events are ignored.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// In a folder: an entry was made.
    public static let created = Kinds(rawValue: 0x100)
    /// In a folder: an entry was removed.
    public static let deleted = Kinds(rawValue: 0x200)
    /// A file was written to or truncated.
    public static let modified = Kinds(rawValue: 0x2)
    /// A file that was open for writing was closed: the moment to read it.
    public static let closedAfterWriting = Kinds(rawValue: 0x8)
    /// A file that was open for reading was closed.
    public static let closedAfterReading = Kinds(rawValue: 0x10)
    /// The owner, permissions, times or number of links have changed.
    public static let attributes = Kinds(rawValue: 0x4)
    /// A file or folder was opened.
    public static let opened = Kinds(rawValue: 0x20)
    /// A file was read or executed.
    public static let accessed = Kinds(rawValue: 0x1)
    /// In a folder: an entry got another name or place; the two halves of a rename have the same cookie.
    public static let movedAway = Kinds(rawValue: 0x40)
    /// In a folder: an entry came from another name or place.
    public static let movedHere = Kinds(rawValue: 0x80)
    /// The watched file or folder itself was removed.
    public static let targetDeleted = Kinds(rawValue: 0x400)
    /// The watched file or folder itself got another name or place. It is still watched.
    public static let targetMoved = Kinds(rawValue: 0x800)

    /// Changes of a folder's list of entries and of the contents of files, and the removal or renaming of the watched
    /// file or folder itself: `.created`, `.deleted`, `.modified`, `.closedAfterWriting`, `.movedAway`, `.movedHere`,
    /// `.targetDeleted` and `.targetMoved` [RLK-WATCH-18].
    ///
    /// The kernel reports each write to an open file as `.modified`, and may coalesce equal events that follow each
    /// other. When the writer closes the file, `.closedAfterWriting` follows. For that event without one for each
    /// write, choose `.closedAfterWriting` without `.modified`. The kernel does not report what is written to a mapping
    /// (mmap(2)).
    public static let changes: Kinds = [
      .created, .deleted, .modified, .closedAfterWriting, .movedAway, .movedHere, .targetDeleted, .targetMoved,
    ]
    /// All kinds.
    public static let all = Kinds(rawValue: 0xFFF)
  }
}

extension RunLoop.FileWatch.Event {
  static var overflow: Self { Self(kind: .overflow) }
  static var ended: Self { Self(kind: .ended) }

  private init(kind: Kind) { self.init(kind: kind, nameBytes: nil, cookie: 0, isDirectory: false) }

  init?(_ record: Inotify.Record) {
    guard let kind = Kind(mask: record.mask) else { return nil }
    self.init(
      kind: kind, nameBytes: record.name.isEmpty ? nil : Array(record.name), cookie: record.cookie,
      isDirectory: record.mask & Inotify.folder != 0)
  }
}

extension RunLoop.FileWatch.Event.Kind {
  init?(mask: UInt32) {
    switch mask & 0xFFFF {
    case 0x1: self = .accessed
    case 0x2: self = .modified
    case 0x4: self = .attributes
    case 0x8: self = .closedAfterWriting
    case 0x10: self = .closedAfterReading
    case 0x20: self = .opened
    case 0x40: self = .movedAway
    case 0x80: self = .movedHere
    case 0x100: self = .created
    case 0x200: self = .deleted
    case 0x400: self = .targetDeleted
    case 0x800: self = .targetMoved
    case Inotify.unmounted: self = .unmounted
    case Inotify.overflow: self = .overflow
    case Inotify.ignored: self = .ended
    default: return nil
    }
  }
}

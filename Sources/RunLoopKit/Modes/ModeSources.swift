internal import Synchronization

/// The signalled sources of a mode. Guarded by the loop's lock.
struct ModeSources: ~Copyable {
  private(set) var row: ContiguousArray<Entry> = []
  private let count = Atomic<Int>(0)
  /// Sources whose equality is more than identity.
  private var withIdentity = 0

  struct Entry {
    let source: RunLoop.Source
    let stamp: UInt64
  }

  /// Which of them are signalled.
  enum Signalled {
    case none
    case one(Int)
    case several
  }

  /// Read without the lock.
  @inline(__always)
  var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

  @inline(__always)
  var signalled: Signalled {
    var found = Signalled.none
    for index in 0..<row.count {
      // Under the lock: it stays in the row.
      let source = Unmanaged.passUnretained(row[index].source)
      guard source._withUnsafeGuaranteedRef({ $0.isSignalled }) else { continue }
      if case .one = found { return .several }
      found = .one(index)
    }
    return found
  }

  var hasSignalled: Bool { row.contains { $0.source.isSignalled } }

  func forEachWithIdentity(_ body: (RunLoop.Source) -> Void) {
    guard withIdentity > 0 else { return }
    for entry in row where entry.source.hasIdentity { body(entry.source) }
  }

  mutating func insert(_ source: RunLoop.Source, stamp: UInt64) {
    row.append(Entry(source: source, stamp: stamp))
    if source.hasIdentity { withIdentity += 1 }
    count.store(row.count, ordering: .releasing)
  }

  /// False if it is none of them.
  mutating func remove(_ source: RunLoop.Source) -> Bool {
    guard let index = row.firstIndex(where: { $0.source === source }) else { return false }
    row.remove(at: index)
    if source.hasIdentity { withIdentity -= 1 }
    count.store(row.count, ordering: .releasing)
    return true
  }
}

internal import Synchronization

/// The signalled sources of a mode. Guarded by the loop's lock.
struct ModeSources: ~Copyable {
  private(set) var row: ContiguousArray<Entry> = []
  private let count = Atomic<Int>(0)
  /// The sources with an identity, by number. Of equal sources only one is a member (rule 28).
  private var byNumber: [UInt: RunLoop.Source] = [:]

  struct Entry {
    let source: RunLoop.Source
    let stamp: UInt64
  }

  /// Which sources are signalled. `one` gives the source's index in `row`.
  enum Signalled {
    case none
    case one(Int)
    case several
  }

  /// The loop's thread reads this without the lock.
  @inline(__always)
  var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

  @inline(__always)
  var signalled: Signalled {
    var found = Signalled.none
    for index in 0..<row.count {
      // Under the lock the source stays in the row, so no reference count is needed.
      let source = Unmanaged.passUnretained(row[index].source)
      guard source._withUnsafeGuaranteedRef({ $0.isSignalled }) else { continue }
      if case .one = found { return .several }
      found = .one(index)
    }
    return found
  }

  var hasSignalled: Bool { row.contains { $0.source.isSignalled } }

  mutating func insert(_ source: RunLoop.Source, stamp: UInt64) {
    row.append(Entry(source: source, stamp: stamp))
    if source.hasIdentity { byNumber[source.identityNumber] = source }
    count.store(row.count, ordering: .releasing)
  }

  /// The member that equals the source: the source itself or another one.
  func member(equalTo source: RunLoop.Source) -> RunLoop.Source? { byNumber[source.identityNumber] }

  /// Removes the source that was inserted with the stamp. Returns false if there is none. The caller retains the
  /// source.
  mutating func remove(stamp: UInt64) -> Bool {
    var (low, high) = (0, row.count)  // the stamps in `row` grow
    while low < high {
      let middle = (low + high) / 2
      if row[middle].stamp < stamp { low = middle + 1 } else { high = middle }
    }
    guard low < row.count, row[low].stamp == stamp else { return false }
    let source = row.remove(at: low).source
    if source.hasIdentity { byNumber[source.identityNumber] = nil }
    count.store(row.count, ordering: .releasing)
    return true
  }
}

internal import Synchronization

/// The observers of a mode. Guarded by the loop's lock.
struct ModeObservers: ~Copyable {
  /// Sorted by order. Observers of equal order are sorted by the time of adding.
  private(set) var row: ContiguousArray<Entry> = []
  /// Changes whenever `row` does.
  private(set) var version: UInt64 = 0
  /// The activities that any observer wants. `want` reads them without the lock.
  private let activities = Atomic<UInt>(0)

  struct Entry {
    let observer: RunLoop.Observer
    let stamp: UInt64

    func isMember(of mode: ModePointer) -> Bool { observer.token(in: mode) == stamp }
  }

  func want(_ activity: RunLoop.Activity) -> Bool {
    activities.load(ordering: .acquiring) & activity.rawValue != 0
  }

  /// True if any observer is notified when a wait begins or has ended.
  var wantWaits: Bool { want(.beforeWaiting) || want(.afterWaiting) }

  mutating func insert(_ observer: RunLoop.Observer, stamp: UInt64) {
    var index = row.endIndex
    while index > 0, row[index - 1].observer.order > observer.order { index -= 1 }
    row.insert(Entry(observer: observer, stamp: stamp), at: index)
    version &+= 1
    let mask = activities.load(ordering: .relaxed) | observer.activities.rawValue
    activities.store(mask, ordering: .releasing)
  }

  mutating func remove(_ observer: RunLoop.Observer) {
    guard let index = row.firstIndex(where: { $0.observer === observer }) else { return }
    row.remove(at: index)
    version &+= 1
    let before = activities.load(ordering: .relaxed)
    var mask: UInt = 0
    for entry in row {
      mask |= entry.observer.activities.rawValue
      if mask == before { return }
    }
    activities.store(mask, ordering: .releasing)
  }
}

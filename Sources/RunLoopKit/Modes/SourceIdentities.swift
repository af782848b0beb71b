/// The sources of a loop whose equality is more than identity (rule 28), by their hash: those that are in any of its
/// modes or in its record of common items. Guarded by the loop's lock.
struct SourceIdentities {
  /// Grows whenever one comes: what was compared before is not all then.
  private(set) var version: UInt64 = 0
  private var sources: [Int: [Member]] = [:]

  private struct Member {
    let source: RunLoop.Source
    /// Modes that it is in, and the record.
    var places: Int
  }

  /// It is in one place more.
  mutating func insert(_ source: RunLoop.Source) {
    version += 1
    let hash = source.identityHash
    if let index = index(of: source, hash) {
      sources[hash]![index].places += 1  // `index` has found it there
    } else {
      sources[hash, default: []].append(Member(source: source, places: 1))
    }
  }

  /// It is in one place less. The caller holds it.
  mutating func remove(_ source: RunLoop.Source) {
    let hash = source.identityHash
    guard let index = index(of: source, hash) else { return }
    sources[hash]![index].places -= 1  // `index` has found it there
    if sources[hash]![index].places == 0 { sources[hash]!.remove(at: index) }
    if sources[hash]!.isEmpty { sources[hash] = nil }
  }

  /// Those of the same hash, itself left out. - Complexity: O(1), unless hashes collide.
  func likely(_ source: RunLoop.Source) -> [RunLoop.Source] {
    (sources[source.identityHash] ?? []).map(\.source).filter { $0 !== source }
  }

  private func index(of source: RunLoop.Source, _ hash: Int) -> Int? {
    sources[hash]?.firstIndex { $0.source === source }
  }
}

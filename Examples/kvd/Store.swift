/// The values, and the log that they come back from. A value counts from its commit on.
final class Store {
  enum Found {
    case none
    case value(Bytes)
    /// Not on the disk yet: to be told only after the next commit.
    case staged(Bytes)
  }

  private struct Entry {
    let value: Bytes
    /// The number of the commit that stores it.
    let commit: UInt64
  }

  /// What is staged is among them: one look for each request. Taken back if its commit fails.
  private var entries: [Bytes: Entry]
  /// What the staged ones have replaced, in order.
  private var replaced: [(key: Bytes, entry: Entry?)] = []
  private var nextCommit: UInt64 = 1
  /// A batch that is not sealed yet.
  private var records: [UInt8] = []
  private let log: Log
  /// What the log's size would be if nothing in it were out of date.
  private(set) var liveSize = LogHeader.size

  init(in directory: String) throws {
    var entries: [Bytes: Entry] = [:]
    log = try Log(in: directory) { entries[$0] = Entry(value: $1, commit: 0) }
    self.entries = entries
    liveSize += entries.reduce(0) { $0 + Record.size($1.key, $1.value.value) }
  }

  var logSize: Int { log.end }
  var hasStaged: Bool { !records.isEmpty }
  var stagedSize: Int { records.count }

  func get(_ key: Bytes) -> Found {
    guard let entry = entries[key] else { return .none }
    return entry.commit == nextCommit ? .staged(entry.value) : .value(entry.value)
  }

  /// From the next commit on.
  func set(_ key: Bytes, _ value: Bytes) {
    if records.isEmpty { Batch.begin(&records) }
    Record.append(key, value, salt: log.header.salt, to: &records)
    let old = entries.updateValue(Entry(value: value, commit: nextCommit), forKey: key)
    replaced.append((key, old))
    liveSize += Record.size(key, value) - (old.map { Record.size(key, $0.value) } ?? 0)
  }

  /// All that is staged, with one fdatasync(2). After an error nothing of it is kept.
  func commit() throws {
    guard hasStaged else { return }
    defer {
      records.removeAll(keepingCapacity: records.capacity <= 1 << 20)
      replaced.removeAll(keepingCapacity: replaced.capacity <= 1 << 14)
    }
    Batch.seal(&records, salt: log.header.salt)
    do {
      try log.append(records)
    } catch {
      takeBack()
      throw error
    }
    nextCommit += 1
  }

  private func takeBack() {
    for (key, old) in replaced.reversed() {
      guard let new = entries[key] else { continue }
      liveSize += (old.map { Record.size(key, $0.value) } ?? 0) - Record.size(key, new.value)
      entries[key] = old
    }
  }

  /// The log goes on in a file that holds what it holds. What is staged is in neither yet.
  func replaceLog(with snapshot: String, andWhatFollows offset: Int) throws {
    try log.replace(with: snapshot, andWhatFollows: offset)
  }
}

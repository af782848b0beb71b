/// The values, and the log that they come back from. A value counts from its commit on.
final class Store {
  enum Found {
    case none
    case value(Bytes)
    /// Not on the disk yet: to be told only after the next commit.
    case staged(Bytes)
  }

  private(set) var values: [Bytes: Bytes] = [:]
  private var staged: [Bytes: Bytes] = [:]
  private var records: [UInt8] = []
  private let log: Log
  /// What the log's size would be if nothing in it were out of date.
  private(set) var liveSize = LogHeader.size

  init(in directory: String) throws {
    var values: [Bytes: Bytes] = [:]
    log = try Log(in: directory) { values[$0] = $1 }
    self.values = values
    liveSize += values.reduce(0) { $0 + Record.size($1.key, $1.value) }
  }

  var logSize: Int { log.end }
  var hasStaged: Bool { !records.isEmpty }
  var stagedSize: Int { records.count }

  func get(_ key: Bytes) -> Found {
    if let value = staged[key] { return .staged(value) }
    return values[key].map { .value($0) } ?? .none
  }

  /// From the next commit on.
  func set(_ key: Bytes, _ value: Bytes) {
    Record.append(key, value, salt: log.header.salt, to: &records)
    staged[key] = value
  }

  /// All that is staged, with one fdatasync(2). After an error nothing of it is kept.
  func commit() throws {
    guard hasStaged else { return }
    defer {
      records.removeAll(keepingCapacity: records.capacity <= 1 << 20)
      staged.removeAll(keepingCapacity: true)
    }
    try log.append(records)
    for (key, value) in staged {
      let old = values.updateValue(value, forKey: key)
      liveSize += Record.size(key, value) - (old.map { Record.size(key, $0) } ?? 0)
    }
  }

  /// The log goes on in a file that holds what it holds. What is staged is in neither yet.
  func replaceLog(with snapshot: String, andWhatFollows offset: Int) throws {
    try log.replace(with: snapshot, andWhatFollows: offset)
  }
}

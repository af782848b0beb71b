/// Messages of tasks that wait for room in a port, first come, first served. Guarded by the mailbox's lock.
struct RoomLine: ~Copyable {
  private var first: PlaceInLine?
  /// Retained by the place before it, or by `first`.
  private unowned(unsafe) var last: PlaceInLine?
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ place: PlaceInLine) {
    place.isInLine = true
    place.previous = last
    if let last { last.next = place } else { first = place }
    last = place
    count += 1
  }

  /// False if the place has left the line. - Complexity: O(1).
  mutating func remove(_ place: PlaceInLine) -> Bool {
    guard place.isInLine else { return false }
    let next = place.next.take()
    if let next { next.previous = place.previous } else { last = place.previous }
    if let previous = place.previous { previous.next = next } else { first = next }
    place.previous = nil
    place.isInLine = false
    count -= 1
    return true
  }

  mutating func removeFirst() -> PlaceInLine? {
    guard let first, remove(first) else { return nil }
    return first
  }

  mutating func removeAll() -> [PlaceInLine] {
    var all: [PlaceInLine] = []
    while let first = removeFirst() { all.append(first) }
    return all
  }
}

/// A message that waits for room, and the closure that gets the result.
final class PlaceInLine: @unchecked Sendable {
  // Guarded by the mailbox's lock:
  fileprivate var next: PlaceInLine?
  fileprivate unowned(unsafe) var previous: PlaceInLine?
  fileprivate var isInLine = false
  /// Used only by the thread that has taken the place out of the line.
  private var parcel: Parcel?
  private let whenOver: SendEnd
  /// Set by `takeMessage`.
  private(set) var hasDescriptors = false

  init(_ parcel: consuming Parcel, _ whenOver: @escaping SendEnd) {
    self.parcel = consume parcel
    self.whenOver = whenOver
  }

  /// Returns the receiver's copy of the message, which owns the descriptors. If this fails, the sender still owns all
  /// of them.
  func takeMessage() -> Result<RunLoop.Message, any Error> {
    // The parcel may have the last reference to an object, so this keeps it until `clear`, which is called with no lock
    // held.
    guard let parcel = self.parcel.take() else { return .failure(RunLoopError.portInvalid) }
    let result: Result<RunLoop.Message, any Error>
    do throws(RunLoopError) {
      try parcel.moveDescriptors()
      hasDescriptors = parcel.descriptorCount > 0
      result = .success(parcel.message)
    } catch {
      result = .failure(error)
    }
    self.parcel = consume parcel
    return result
  }

  /// Reports the result. Call it once, with no lock held.
  func end(_ result: Result<Void, any Error>) {
    whenOver(result)  // before `clear` releases a right to answer in the message
    clear()
  }

  /// Releases the message, so that only the receiver has the right to answer, even while the place is referenced.
  func clear() { parcel = nil }
}

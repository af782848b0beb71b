/// Messages of tasks that wait for room in a port, in the order of their coming. Guarded by the mailbox's lock.
struct RoomLine: ~Copyable {
  private var first: PlaceInLine?
  /// Held by the one before it, or as the first.
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

  /// False if it is not there any more. - Complexity: O(1).
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

/// A message that waits, and who wants to know what becomes of it.
final class PlaceInLine: @unchecked Sendable {
  // Guarded by the mailbox's lock:
  @exclusivity(unchecked) fileprivate var next: PlaceInLine?
  @exclusivity(unchecked) fileprivate unowned(unsafe) var previous: PlaceInLine?
  @exclusivity(unchecked) fileprivate var isInLine = false
  /// That of who has taken the place out of the line.
  private var parcel: Parcel?
  private let whenOver: SendEnd
  /// Of the message that was taken.
  private(set) var hasDescriptors = false

  init(_ parcel: consuming Parcel, _ whenOver: @escaping SendEnd) {
    self.parcel = consume parcel
    self.whenOver = whenOver
  }

  /// The receiver's message: the descriptors are the receiver's from now on, or, if it fails, all the sender's.
  func takeMessage() -> Result<RunLoop.Message, any Error> {
    // Here it stays until it is cleared with no lock held: it may have the last reference to something.
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

  /// Tells it. With no lock held; once.
  func end(_ result: Result<Void, any Error>) {
    whenOver(result)  // before a right to answer in the message goes
    clear()
  }

  /// The right to answer is the receiver's alone from now on, whoever holds the place.
  func clear() { parcel = nil }
}

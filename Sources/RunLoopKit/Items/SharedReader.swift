/// Reads one descriptor for several items, its clients. The reader's own item is a member of each mode that has a
/// client, and of no other mode.
///
/// The reader's item enters a mode with the first client and leaves it with the last, under the same hold of the loop's
/// lock. So no client is ever in a mode without the reader.
package final class SharedReader: Sendable {
  /// Its kind is `.connection`: programs cannot find it, and it keeps no run going.
  package let item: RunLoop.EventSource
  private let lock = Lock()
  /// The number of clients in each mode. Guarded by `lock`.
  private nonisolated(unsafe) var counts: [ModePointer: Int] = [:]

  package init(_ item: RunLoop.EventSource) { self.item = item }

  /// Adds `change`, 1 or -1, to the mode's count, and returns the previous count. Under the lock of the mode's loop.
  fileprivate func add(_ change: Int, in mode: ModePointer) -> Int {
    lock.withLock {
      let count = counts[mode] ?? 0
      counts[mode] = count + change > 0 ? count + change : nil
      return count
    }
  }
}

extension ModePointer {
  /// Counts a client that enters the mode. If it is the first, the reader's item enters, too. Under the loop's lock.
  func enter(_ reader: SharedReader, on loop: RunLoop) throws(RunLoopError) {
    guard reader.add(1, in: self) == 0 else { return }
    do throws(RunLoopError) {
      _ = try insert(reader.item, on: loop)
    } catch {
      _ = reader.add(-1, in: self)
      throw error
    }
  }

  /// Counts a client that leaves the mode. If it is the last, the reader's item leaves, too. The client retains the
  /// reader. Under the loop's lock.
  func leave(_ reader: SharedReader, on loop: RunLoop) {
    if reader.add(-1, in: self) == 1 { leave(reader.item, on: loop) }
  }
}

/// Reads one descriptor for several items: it is a member of each mode that one of them is in, and of no other.
///
/// It enters and leaves in one section with the items, under the lock of the mode's loop, whatever makes them members:
/// no watch is in a mode that its reader is not in.
package final class SharedReader: Sendable {
  /// Of the kind `.connection`: programs do not find it, and it keeps no run going.
  package let item: RunLoop.EventSource
  private let lock = Lock()
  /// How many of a mode's members it reads for. Guarded by `lock`.
  private nonisolated(unsafe) var counts: [ModePointer: Int] = [:]

  package init(_ item: RunLoop.EventSource) { self.item = item }

  /// One more, or one less: 1 or -1. How many there were before. Under the lock of the mode's loop.
  fileprivate func add(_ change: Int, in mode: ModePointer) -> Int {
    lock.withLock {
      let count = counts[mode] ?? 0
      counts[mode] = count + change > 0 ? count + change : nil
      return count
    }
  }
}

extension ModePointer {
  /// With the first member that it reads for. Under the loop's lock.
  func enter(_ reader: SharedReader, on loop: RunLoop) throws(RunLoopError) {
    guard reader.add(1, in: self) == 0 else { return }
    do throws(RunLoopError) {
      _ = try insert(reader.item, on: loop)
    } catch {
      _ = reader.add(-1, in: self)
      throw error
    }
  }

  /// With the last one, which holds it.
  func leave(_ reader: SharedReader, on loop: RunLoop) {
    if reader.add(-1, in: self) == 1 { leave(reader.item, on: loop) }
  }
}

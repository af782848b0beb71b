/// Reads one descriptor for several items. The reader's own item is a member of each mode that one of them is in, and
/// of no other mode.
///
/// The reader's item enters and leaves a mode together with those items, under one hold of the loop's lock. So none of
/// them is ever in a mode without the reader.
package final class SharedReader: Sendable {
  /// Its kind is `.connection`: programs cannot find it, and it keeps no run going.
  package let item: RunLoop.EventSource
  private let lock = Lock()
  /// How many members of each mode it reads for. Guarded by `lock`.
  private nonisolated(unsafe) var counts: [ModePointer: Int] = [:]

  package init(_ item: RunLoop.EventSource) { self.item = item }

  /// Adds `change`, 1 or -1, to the mode's count, and returns the count before. Under the lock of the mode's loop.
  fileprivate func add(_ change: Int, in mode: ModePointer) -> Int {
    lock.withLock {
      let count = counts[mode] ?? 0
      counts[mode] = count + change > 0 ? count + change : nil
      return count
    }
  }
}

extension ModePointer {
  /// Counts one more member for the reader, whose item enters the mode with the first. Under the loop's lock.
  func enter(_ reader: SharedReader, on loop: RunLoop) throws(RunLoopError) {
    guard reader.add(1, in: self) == 0 else { return }
    do throws(RunLoopError) {
      _ = try insert(reader.item, on: loop)
    } catch {
      _ = reader.add(-1, in: self)
      throw error
    }
  }

  /// Counts one member less. The reader's item leaves the mode with the last member, which retains the reader.
  func leave(_ reader: SharedReader, on loop: RunLoop) {
    if reader.add(-1, in: self) == 1 { leave(reader.item, on: loop) }
  }
}

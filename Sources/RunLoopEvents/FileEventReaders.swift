import RunLoopKit
internal import RunLoopLibc

/// The inotify instances of this process. A loop has one while there are watches that were created for it.
final class FileEventReaders: ProcessWideObject, @unchecked Sendable {
  private let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// By the loop's serial; 0 for threads without a loop. Guarded by `lock`.
  private var readers: [UInt64: FileEventReader] = [:]

  private static let shared = ProcessWide<FileEventReaders>()

  static var current: FileEventReaders { shared.current(FileEventReaders.init) }

  /// Adds a queue to an instance, makes the instance watch the queue's path, and returns the instance.
  func insert(_ queue: FileEventQueue, for loop: UInt64) throws(RunLoopError) -> FileEventReader {
    while true {
      let reader = try lock.withLock { () throws(RunLoopError) in try findReader(for: loop, about: queue.path) }
      do throws(RunLoopError) {
        if try reader.insert(queue) { return reader }
      } catch {
        remove(queue, from: reader)
        throw error
      }
      forget(reader)
    }
  }

  func remove(_ queue: FileEventQueue, from reader: FileEventReader) {
    if reader.remove(queue) { forget(reader) }
  }

  /// Removes an instance that was closed.
  private func forget(_ reader: FileEventReader) {
    let gone = lock.withLock { () -> FileEventReader? in
      guard let loop = readers.first(where: { $0.value === reader })?.key else { return nil }
      return readers.removeValue(forKey: loop)
    }
    withExtendedLifetime(gone) {}
  }

  /// Returns the loop's instance, which it creates if there is none. If the kernel allows this user no more instances,
  /// returns another loop's.
  private func findReader(for loop: UInt64, about path: [UInt8]) throws(RunLoopError) -> FileEventReader {
    if let reader = readers[loop] { return reader }
    do throws(RunLoopError) {
      let made = try FileEventReader(about: path)
      readers[loop] = made
      return made
    } catch {
      guard error.errno == EMFILE, let other = readers.first?.value else { throw error }
      return other
    }
  }
}

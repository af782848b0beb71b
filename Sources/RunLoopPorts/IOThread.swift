import RunLoopKit

/// The process's thread for connections. Its loop reads connections that no loop of the program reads, to notice their
/// ends, and connections on which tasks await answers. It also waits for room for the messages of tasks.
enum IOThread {
  private static let thread = ProcessWide<ServiceThread>()

  /// The thread's loop; nil while no thread runs.
  static var currentLoop: RunLoop? { thread.existing?.current?.loop }

  /// Returns the thread's loop; starts the thread if there is none. Throws if the system has no thread, or no
  /// descriptors for its loop.
  private static func loop() throws -> RunLoop {
    try thread.current { ServiceThread("runloop-ports") }.running().loop
  }

  /// Adds the watch to the thread's loop, or removes it. Returns the error if it cannot be added. At most one thread
  /// may call this for a watch at a time.
  static func serve(_ watch: RunLoop.PeerWatch, _ isWanted: Bool) -> (any Error)? {
    guard isWanted else {
      currentLoop?.remove(watch)
      return nil
    }
    do {
      try loop().add(watch)
      return nil
    } catch {
      warnOfRefusal(watch, "\(error)")
      return error
    }
  }

  static func add(_ source: RunLoop.FileDescriptorSource) throws {
    try loop().add(source)
  }

  /// Runs a block on the I/O thread. False if the thread cannot be started.
  static func perform(_ block: @escaping @Sendable () -> Void) -> Bool {
    (try? loop().perform(block: block)) != nil
  }

  /// Warns the user, because the public functions that lead here do not throw.
  private static func warnOfRefusal(_ watch: RunLoop.PeerWatch, _ why: String) {
    Diagnosis.warnLocked("the end of \(watch) will go unnoticed until a loop serves it: \(why)")
  }
}

import RunLoopKit

/// Serves connections whose end a call waits for, and which no loop of the program serves at that moment, and those on
/// which a task waits for an answer or for room: by the loop of a thread of its own.
enum IOThread {
  private static let thread = ProcessWide<ServiceThread>()

  /// Nil before it is needed.
  static var currentLoop: RunLoop? { thread.existing?.current?.loop }

  /// Started if there is none. Throws if no thread can be started for it, or its loop gets no descriptors.
  private static func loop() throws -> RunLoop {
    try thread.current { ServiceThread("runloop-ports") }.running().loop
  }

  /// Is called for one connection by one thread at a time. The error if it is wanted and refused.
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

  /// The source is called on the I/O thread.
  static func add(_ source: RunLoop.FileDescriptorSource) throws {
    try loop().add(source)
  }

  /// On the I/O thread. False if there is none.
  static func perform(_ block: @escaping @Sendable () -> Void) -> Bool {
    (try? loop().perform(block: block)) != nil
  }

  /// No call is there that could throw.
  private static func warnOfRefusal(_ watch: RunLoop.PeerWatch, _ why: String) {
    Diagnosis.warnLocked("the end of \(watch) will go unnoticed until a loop serves it: \(why)")
  }
}

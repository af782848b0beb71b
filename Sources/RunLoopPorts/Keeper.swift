import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// Serves connections whose end a call waits for, and which no loop of the program serves at that moment, and those on
/// which a task waits for an answer or for room: a thread with a loop of its own, which is started for the first of
/// them and then kept, and again if that has ended: its loop can lose its descriptors.
final class Keeper: @unchecked Sendable {
  private static let lock = Lock()
  /// Guarded by `lock`.
  nonisolated(unsafe) private static var current: Keeper?
  private static let isMade = Atomic<Bool>(false)

  private let thread: RunLoop.Thread
  private let loop: RunLoop

  private init() throws {
    let thread = RunLoop.Thread(name: "runloop-ports") { loop in try loop.add(RunLoop.Source { _ in }) }
    try thread.startForProcess()
    guard let loop = thread.loop else { throw RunLoopError.loopEnded }
    self.thread = thread
    self.loop = loop
  }

  /// Nil if there is none, as in a child of fork(2).
  private static var existing: Keeper? {
    guard isMade.load(ordering: .acquiring), let keeper = lock.withLock({ current }) else { return nil }
    return keeper.thread.isRunning ? keeper : nil
  }

  /// Made if there is none. Throws if no thread can be started for it, or its loop gets no descriptors.
  private static func wanted() throws -> Keeper {
    try lock.withLock {
      if let current, current.thread.isRunning { return current }
      let keeper = try Keeper()
      current = keeper
      isMade.store(true, ordering: .releasing)
      return keeper
    }
  }

  /// Nil before it is needed.
  static var currentLoop: RunLoop? { existing?.loop }

  /// Is called for one connection by one thread at a time. The error if it is wanted and refused.
  static func serve(_ follower: RunLoop.PortFollower, _ isWanted: Bool) -> (any Error)? {
    guard isWanted else {
      existing?.loop.remove(follower)
      return nil
    }
    do {
      try wanted().loop.add(follower)
      return nil
    } catch {
      tellRefusal(follower, "\(error)")
      return error
    }
  }

  /// The source is called on the keeper's thread.
  static func add(_ source: RunLoop.FileDescriptorSource) throws {
    try wanted().loop.add(source)
  }

  /// On the keeper's thread. False if there is none.
  static func perform(_ block: @escaping @Sendable () -> Void) -> Bool {
    (try? wanted().loop.perform(block: block)) != nil
  }

  /// No call is there that could throw.
  private static func tellRefusal(_ follower: RunLoop.PortFollower, _ why: String) {
    Diagnosis.warnLocked("the end of \(follower) will go unnoticed until a loop serves it: \(why)")
  }
}

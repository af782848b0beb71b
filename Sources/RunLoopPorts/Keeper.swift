import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// Serves connections whose end a call waits for, and which no loop of the program serves at that moment, and those on
/// which a task waits for an answer or for room: a thread with a loop of its own, which is started for the first of
/// them and then kept.
final class Keeper: @unchecked Sendable {
  private static let lock = Lock()
  /// Guarded by `lock`.
  nonisolated(unsafe) private static var current: Keeper?
  private static let isMade = Atomic<Bool>(false)

  private let thread: RunLoop.Thread
  private let loop: RunLoop
  private let generation = Kernel.forkGeneration

  private init?() {
    let thread = RunLoop.Thread(name: "runloop-ports") { loop in try loop.add(RunLoop.Source { _ in }) }
    guard (try? thread.startForProcess()) != nil, let loop = thread.loop else { return nil }
    self.thread = thread
    self.loop = loop
  }

  /// Nil if there is none, or no thread can be started for it.
  private static func keeper(isWanted: Bool) -> Keeper? {
    guard isWanted || isMade.load(ordering: .acquiring) else { return nil }
    let keeper = lock.withLock {
      if isWanted, current?.generation != Kernel.forkGeneration {
        current = Keeper()
        isMade.store(true, ordering: .releasing)
      }
      return current
    }
    return keeper?.generation == Kernel.forkGeneration ? keeper : nil
  }

  /// Nil before it is needed.
  static var currentLoop: RunLoop? { keeper(isWanted: false)?.loop }

  private static var noThread: RunLoopError {
    .system(EAGAIN, call: "pthread_create", "no thread can be started for it")
  }

  /// Is called for one connection by one thread at a time. The error if it is wanted and refused.
  static func serve(_ follower: RunLoop.PortFollower, _ isWanted: Bool) -> (any Error)? {
    let keeper = keeper(isWanted: isWanted)
    guard isWanted else {
      keeper?.loop.remove(follower)
      return nil
    }
    do {
      guard let keeper else { throw noThread }
      try keeper.loop.add(follower)
      return nil
    } catch {
      tellRefusal(follower, "\(error)")
      return error
    }
  }

  /// The source is called on the keeper's thread.
  static func add(_ source: RunLoop.FileDescriptorSource) throws {
    guard let keeper = keeper(isWanted: true) else { throw noThread }
    try keeper.loop.add(source)
  }

  /// On the keeper's thread. False if there is none.
  static func perform(_ block: @escaping @Sendable () -> Void) -> Bool {
    guard let keeper = keeper(isWanted: true) else { return false }
    return (try? keeper.loop.perform(block: block)) != nil
  }

  /// Reports on standard error, because no call is there that could throw.
  private static func tellRefusal(_ follower: RunLoop.PortFollower, _ why: String) {
    StandardError.write("RunLoopKit: the end of \(follower) will go unnoticed until a loop serves it: \(why)\n")
  }
}

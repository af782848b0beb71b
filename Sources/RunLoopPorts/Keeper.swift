import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// Serves connections whose end a call waits for, and which no loop of the program serves at that moment: a thread with
/// a loop of its own, which is started for the first of them and then kept.
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

  /// Is called for one connection by one thread at a time.
  static func serve(_ follower: RunLoop.PortFollower, _ isWanted: Bool) {
    guard isWanted || isMade.load(ordering: .acquiring) else { return }
    let keeper = lock.withLock {
      if isWanted, current?.generation != Kernel.forkGeneration {
        current = Keeper()
        isMade.store(true, ordering: .releasing)
      }
      return current
    }
    guard let keeper, keeper.generation == Kernel.forkGeneration else {
      if isWanted { tellRefusal(follower, "no thread can be started for it") }
      return
    }
    guard isWanted else {
      keeper.loop.remove(follower)
      return
    }
    do { try keeper.loop.add(follower) } catch { tellRefusal(follower, "\(error)") }
  }

  /// Reports on standard error, because no call is there that could throw.
  private static func tellRefusal(_ follower: RunLoop.PortFollower, _ why: String) {
    StandardError.write("RunLoopKit: the end of \(follower) will go unnoticed until a loop serves it: \(why)\n")
  }
}

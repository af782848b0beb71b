import FlyingSocks
import RunLoopKit
import Synchronization

/// The tasks that wait for one number of a descriptor, by one source.
final class WatchedSocket: Sendable {
  typealias Readiness = RunLoop.FileDescriptorSource.Readiness

  private struct Waiter {
    let id: UInt64
    let interest: Readiness
    let continuation: UnsafeContinuation<Void, any Error>
  }

  private struct State {
    var source: RunLoop.FileDescriptorSource?
    var waiters: [Waiter] = []
    var lastID: UInt64 = 0
    var end: (any Error)?

    /// Of all that wait: a socket that can be written, which nobody asks for, would be reported each time.
    var interest: Readiness { waiters.reduce([]) { $0.union($1.interest) } }

    mutating func takeWaiters(where isWanted: (Waiter) -> Bool) -> [Waiter] {
      let taken = waiters.filter(isWanted)
      waiters.removeAll(where: isWanted)
      return taken
    }
  }

  private let number: Int32
  private let loop: RunLoop
  private let mode: RunLoop.Mode
  private let state = Mutex(State())

  init(_ number: Int32, _ loop: RunLoop, _ mode: RunLoop.Mode) {
    self.number = number
    self.loop = loop
    self.mode = mode
  }

  func wait(for interest: Readiness) async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        begin(Waiter(id: id, interest: interest, continuation: continuation))
      }
    } onCancel: {
      cancel(id)
    }
  }

  private func begin(_ waiter: Waiter) {
    let failed = state.withLock { state -> [(Waiter, any Error)] in
      if let end = state.end { return [(waiter, end)] }
      state.waiters.append(waiter)
      return arm(&state)
    }
    for (waiter, error) in failed { waiter.continuation.resume(throwing: error) }
    // It was cancelled before it was among them.
    if Task.isCancelled { cancel(waiter.id) }
  }

  /// Under the lock. Asks the kernel: who is ready already is reported, too. Those that cannot wait.
  private func arm(_ state: inout State) -> [(Waiter, any Error)] {
    var failed: [(Waiter, any Error)] = []
    if let source = state.source {
      do {
        try source.setInterest(state.interest)
        return []
      } catch {
        // The socket was closed, and its number is another one's: those that wait have waited for the old one.
        source.invalidate()
        state.source = nil
        let newest = state.waiters.removeLast()
        failed = state.waiters.map { ($0, SocketError.disconnected) }
        state.waiters = [newest]
      }
    }
    do {
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: number, interest: state.interest, trigger: .edge
      ) { [weak self] _, ready in self?.isReady(ready) }
      source.keepsRunning = false
      try loop.add(source, to: mode)
      state.source = source
    } catch {
      failed += state.waiters.map { ($0, error) }
      state.waiters = []
    }
    return failed
  }

  /// On the loop's thread. The next wait arms it.
  private func isReady(_ ready: Readiness) {
    let isOver = !ready.isDisjoint(with: [.hangup, .error])
    let woken = state.withLock { $0.takeWaiters { isOver || !$0.interest.isDisjoint(with: ready) } }
    for waiter in woken { waiter.continuation.resume() }
  }

  private func cancel(_ id: UInt64) {
    let cancelled = state.withLock { $0.takeWaiters { $0.id == id } }
    for waiter in cancelled { waiter.continuation.resume(throwing: CancellationError()) }
  }

  func finish(_ why: any Error) {
    let (source, waiters) = state.withLock { state in
      defer { (state.source, state.waiters) = (nil, []) }
      state.end = why
      return (state.source, state.waiters)
    }
    source?.invalidate()
    for waiter in waiters { waiter.continuation.resume(throwing: why) }
  }
}

public import FlyingSocks
public import RunLoopKit
import Synchronization

/// FlyingFox's sockets wait on a run loop.
///
/// ```swift
/// let server = HTTPServer(address: .loopback(port: 8080), pool: RunLoopSocketPool(on: loop))
/// ```
///
/// The loop has to run: a `RunLoop.Thread`, or the main thread's. Only the waiting is the loop's; the server's tasks run
/// where they would run otherwise.
///
/// A socket that a task has waited for stays in the mode, edge-triggered: each wait asks the kernel anew by one system
/// call. FlyingFox does not tell a pool that a socket was closed, so what watches it is kept until its number is used
/// again, or `run()` ends: at most one source for each number.
public final class RunLoopSocketPool: AsyncSocketPool {
  private struct State {
    /// Why nobody can wait any more.
    var end: (any Error)?
    var sockets: [Int32: WatchedSocket] = [:]
  }

  private let loop: RunLoop
  private let mode: RunLoop.Mode
  private let state = Mutex(State())

  /// - Parameters:
  ///   - loop: Retained.
  ///   - mode: In which the sockets are watched.
  public init(on loop: RunLoop, in mode: RunLoop.Mode = .default) {
    self.loop = loop
    self.mode = mode
  }

  /// Throws `RunLoopError.loopEnded` if there is nothing left to wait on.
  public func prepare() async throws {
    if loop.hasEnded { throw RunLoopError.loopEnded }
    state.withLock { $0.end = nil }
  }

  /// Returns never: it throws `CancellationError` when the task is cancelled, and `RunLoopError.loopEnded` when the loop
  /// ends. All who wait throw the same then.
  public func run() async throws {
    let (right, none) = loop.messages(in: mode)  // while there is a right, they do not end
    defer { withExtendedLifetime(right) {} }
    do {
      for try await _ in none {}
    } catch {
      finish(error)
      throw error
    }
    finish(CancellationError())
    throw CancellationError()
  }

  private func finish(_ why: any Error) {
    let all = state.withLock { state in
      defer { state.sockets = [:] }
      state.end = why
      return Array(state.sockets.values)
    }
    for socket in all { socket.finish(why) }
  }

  /// Returns when the socket is ready, also for an error, which the next call of the socket reports.
  ///
  /// Throws `CancellationError`, and `RunLoopError` if the loop has ended or the descriptor cannot be watched.
  public func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {
    var interest: RunLoop.FileDescriptorSource.Readiness = []
    if events.contains(.read) { interest.insert(.readable) }
    if events.contains(.write) { interest.insert(.writable) }
    try await watched(socket.file.rawValue).wait(for: interest)
  }

  private func watched(_ number: Int32) throws -> WatchedSocket {
    try state.withLock { state in
      if let end = state.end { throw end }
      if let known = state.sockets[number] { return known }
      let made = WatchedSocket(number, loop, mode)
      state.sockets[number] = made
      return made
    }
  }
}

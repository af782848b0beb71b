public import FlyingSocks
public import RunLoopKit

/// FlyingFox's sockets wait on a run loop.
///
/// ```swift
/// let server = HTTPServer(address: .loopback(port: 8080), pool: RunLoopSocketPool(on: loop))
/// ```
///
/// The loop has to run: a `RunLoop.Thread`, or the main thread's. Only the waiting is the loop's; the server's tasks run
/// where they would run otherwise. A socket is in the mode only while a task waits for it.
public struct RunLoopSocketPool: AsyncSocketPool {
  private let loop: RunLoop
  private let mode: RunLoop.Mode

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
  }

  /// Returns never: it throws `CancellationError` when the task is cancelled, and `RunLoopError.loopEnded` when the loop
  /// ends.
  public func run() async throws {
    for try await _ in loop.messages(in: mode).messages {}
  }

  /// Returns when the socket is ready, also for an error, which the next call of the socket reports.
  ///
  /// Throws `CancellationError`, and `RunLoopError` if the loop has ended or the descriptor cannot be watched.
  public func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {
    var interest: RunLoop.FileDescriptorSource.Readiness = []
    if events.contains(.read) { interest.insert(.readable) }
    if events.contains(.write) { interest.insert(.writable) }
    for try await _ in try loop.readiness(of: socket.file.rawValue, for: interest, in: mode) { return }
  }
}

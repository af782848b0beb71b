import Glibc
import RunLoopKit
import Synchronization

extension Demo {
  /// Sends every line back as soon as it is complete. One thread, no blocking call: the loop says which descriptor is
  /// ready.
  final class EchoServer: Sendable {
    struct Counts: Sendable {
      var accepted = 0
      var closed = 0
      var resets = 0
      var lines = 0
      var bytes = 0
      var halfLines = 0  // reads that ended in the middle of a line
      var pauses = 0  // times that a client who does not read was not read from
    }

    let port: UInt16
    let counts = Mutex(Counts())
    private let loop: RunLoop
    private let listener: Int32
    private let expectedClients: Int
    private let connections = Mutex<[Int32: RunLoop.FileDescriptorSource]>([:])

    /// Stops the loop's run when that many clients have come and gone.
    init(on loop: RunLoop, expectedClients: Int) throws {
      self.loop = loop
      self.expectedClients = expectedClients
      (listener, port) = try Socket.listen()
    }

    /// The source keeps the server alive, the server does not keep the source.
    func start() throws -> RunLoop.FileDescriptorSource {
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: listener, interest: .readable) { _, _ in
        self.acceptOne()
      }
      try loop.add(source)
      return source
    }

    deinit { close(listener) }

    /// Hangs up on whoever is still there. On the loop's thread.
    func hangUp() {
      let left = connections.withLock { connections in
        defer { connections = [:] }
        return connections
      }
      for (descriptor, source) in left {
        source.invalidate()
        close(descriptor)
      }
    }

    /// One per callout is enough: while another connection waits, the listener stays readable.
    private func acceptOne() {
      do {
        guard let descriptor = try Socket.accept(listener, sendBuffer: 32 << 10) else { return }
        counts.withLock { $0.accepted += 1 }
        let source = try makeSource(descriptor, connection: Shared(EchoConnection(descriptor: descriptor)))
        try loop.add(source)
        connections.withLock { $0[descriptor] = source }
      } catch {
        // What cannot be accepted stays in front, and the listener ready.
        end(because: error)
      }
    }

    private func makeSource(_ descriptor: Int32, connection: Shared) throws -> RunLoop.FileDescriptorSource {
      try RunLoop.FileDescriptorSource(fileDescriptor: descriptor, interest: .readable) { source, readiness in
        let (next, delta) = connection.state.withLock { connection in
          (connection.serve(readiness), connection.takeDelta())
        }
        self.counts.withLock { $0.add(delta) }
        switch next {
        case .wait(let interest):
          // Setting it costs a system call.
          if source.interest != interest { source.interest = interest }
        case .close(let wasReset):
          // In this order: a closed number may be given to the next connection.
          self.connections.withLock { $0[descriptor] = nil }
          source.invalidate()
          close(descriptor)
          self.leave { if wasReset { $0.resets += 1 } }
        }
      }
    }

    private func leave(_ note: (inout Counts) -> Void) {
      let closed = counts.withLock { counts in
        note(&counts)
        counts.closed += 1
        return counts.closed
      }
      if closed == expectedClients { loop.stop() }
    }
  }

  /// A closure cannot capture a Mutex; it can capture a class that holds one. Only the loop's thread ever takes it.
  private final class Shared: Sendable {
    let state: Mutex<EchoConnection>
    init(_ connection: EchoConnection) { state = Mutex(connection) }
  }
}

extension Demo.EchoServer.Counts {
  mutating func add(_ delta: Self) {
    lines += delta.lines
    bytes += delta.bytes
    halfLines += delta.halfLines
    pauses += delta.pauses
  }
}

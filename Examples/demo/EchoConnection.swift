import Glibc
import RunLoopKit

extension Demo {
  /// The server's end of one connection: what came and is not a line yet, what goes back and is not sent yet.
  struct EchoConnection: Sendable {
    enum Next: Equatable {
      case wait(for: RunLoop.FileDescriptorSource.Readiness)
      case close(wasReset: Bool)
    }

    /// More unsent bytes than this, and the client is not read from until it has read.
    static let highWater = 64 << 10

    private let descriptor: Int32
    private var unfinished: [UInt8] = []
    private var unsent: [UInt8] = []
    private var hasEnded = false  // the client sends no more
    private var isPaused = false
    private var delta = EchoServer.Counts()

    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Does the reading and writing that is possible now and says what to wait for.
    mutating func serve(_ readiness: RunLoop.FileDescriptorSource.Readiness) -> Next {
      if !readiness.isDisjoint(with: [.readable, .hangup, .error]) && !hasEnded {
        guard receive() else { return .close(wasReset: true) }
      }
      guard flush() else { return .close(wasReset: true) }
      if unsent.isEmpty && hasEnded { return .close(wasReset: false) }
      return .wait(for: interest())
    }

    /// What was counted since the last time.
    mutating func takeDelta() -> EchoServer.Counts {
      defer { delta = EchoServer.Counts() }
      return delta
    }

    private mutating func interest() -> RunLoop.FileDescriptorSource.Readiness {
      if unsent.isEmpty {
        isPaused = false
        return .readable
      }
      if unsent.count > Self.highWater && !isPaused {
        isPaused = true
        delta.pauses += 1
      }
      return isPaused || hasEnded ? .writable : [.readable, .writable]
    }

    /// False if the connection is broken. One read is enough: what is left makes the descriptor ready again.
    private mutating func receive() -> Bool {
      let result = withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
        let result = Socket.read(descriptor, into: buffer)
        if case .moved(let count) = result { take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
        return result
      }
      switch result {
      case .moved, .wouldBlock: return true
      case .failed: return false
      case .ended:
        // A last line without an end goes back as it is.
        hasEnded = true
        unsent += unfinished
        unfinished = []
        return true
      }
    }

    private mutating func take(_ bytes: UnsafeRawBufferPointer) {
      delta.bytes += bytes.count
      let newline = UInt8(ascii: "\n")
      guard let last = bytes.lastIndex(of: newline) else {
        unfinished += bytes
        delta.halfLines += 1
        return
      }
      delta.lines += bytes.count { $0 == newline }
      unsent += unfinished
      unsent += bytes[...last]
      unfinished = Array(bytes[(last + 1)...])
      if !unfinished.isEmpty { delta.halfLines += 1 }
    }

    private mutating func flush() -> Bool {
      guard !unsent.isEmpty else { return true }
      switch Socket.write(descriptor, unsent[...], waiting: false) {
      case .moved(let count): unsent.removeFirst(count)
      case .wouldBlock: break
      case .ended, .failed: return false
      }
      return true
    }
  }
}

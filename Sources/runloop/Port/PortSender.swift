import RunLoopKit
internal import RunLoopLibc
import RunLoopPorts
import Synchronization

/// `runloop port send`
enum PortSender {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  static func run(_ name: String, _ letter: PortCommand.Letter) throws {
    var components: [RunLoop.Message.Component] = []
    if let bytes = try bytes(letter.content) { components.append(.bytes(RunLoop.Message.Bytes(bytes))) }
    let deadline = RunLoop.Instant.now.advanced(by: letter.timeout)
    for path in letter.paths {
      guard let descriptor = try descriptor(path, before: deadline) else {
        throw Failure(description: "\(path): not open within \(letter.timeout): a FIFO waits for its writer")
      }
      components.append(.descriptor(descriptor))
    }
    let message = RunLoop.Message(id: letter.id, components)
    let answer: RunLoop.Message
    do {
      answer = try RunLoop.Port.connect(to: name).request(
        message, timeout: RunLoop.Instant.now.duration(to: deadline))
    } catch RunLoopError.noSuchPort {
      throw Failure(description: "no process serves '\(name)'")
    } catch RunLoopError.timedOut {
      throw Failure(description: "'\(name)' has not answered within \(letter.timeout)")
    }
    Output.write(answer.line + "\n")
  }

  private static func bytes(_ content: PortCommand.Letter.Content) throws -> [UInt8]? {
    switch content {
    case .nothing: nil
    case .text(let text): Array(text.utf8)
    case .standardInput: try all(of: STDIN_FILENO)
    }
  }

  private static func all(of descriptor: Int32) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count > 0 {
        bytes += chunk[..<count]
      } else if count == 0 {
        return bytes
      } else if errno != EINTR {
        throw Failure(description: "standard input: \(String(cString: strerror(errno)))")
      }
    }
  }

  /// Opens a file on a separate thread, because open(2) has no time limit. Returns nil at the deadline, and leaves the
  /// thread behind.
  private static func descriptor(
    _ path: String, before deadline: RunLoop.Instant
  ) throws -> RunLoop.Message.Descriptor? {
    let (isDone, result) = (ThreadGate(), OpenResult())
    pthread_detach(
      startThread {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        result.value.withLock { $0 = number < 0 ? -errno : number }
        isDone.open()
      })
    guard isDone.wait(until: deadline) else { return nil }
    let number = result.value.withLock { $0 }
    guard number >= 0 else { throw Failure(description: "\(path): \(String(cString: strerror(-number)))") }
    return try RunLoop.Message.Descriptor(owning: number)
  }

  /// A descriptor, or -errno.
  private final class OpenResult: Sendable {
    let value = Mutex<Int32>(0)
  }
}

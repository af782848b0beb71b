import Glibc
import RunLoopKit

/// `runloop port send`
enum PortSender {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  static func run(_ name: String, _ letter: PortCommand.Letter) throws {
    var components: [RunLoop.Message.Component] = []
    if let bytes = try bytes(letter.content) { components.append(.bytes(RunLoop.Message.Bytes(bytes))) }
    for path in letter.paths { components.append(.descriptor(try descriptor(path))) }
    let message = RunLoop.Message(id: letter.id, components)
    let deadline = RunLoop.Instant.now.advanced(by: letter.timeout)
    let answer: RunLoop.Message
    do throws(RunLoopError) {
      answer = try RunLoop.Port.connect(to: name).request(message, before: deadline)
    } catch .noSuchPort {
      throw Failure(description: "no process serves '\(name)'")
    } catch .timedOut {
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

  private static func descriptor(_ path: String) throws -> RunLoop.Message.Descriptor {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw Failure(description: "\(path): \(String(cString: strerror(errno)))") }
    return try RunLoop.Message.Descriptor(owning: number)
  }
}

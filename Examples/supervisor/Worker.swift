import Glibc
import RunLoopKit
import RunLoopPorts

/// The other side: serves its port until the supervisor is gone.
enum Worker {
  static func run(name: String, supervisor: String) throws {
    let loop = RunLoop.current
    let port = RunLoop.Port(replying: { _, message in
      do { return try answer(message, as: name) } catch { return RunLoop.Message(bytes: .init("\(name): \(error)")) }
    })
    try loop.add(port)
    let home = try RunLoop.Port.connect(to: supervisor)
    // No orphans: when the supervisor ends, however it ends, its port is gone. The block wakes the loop.
    home.onInvalidation { try? loop.perform(in: .default) { loop.stop() } }
    let hello = RunLoop.Message(.hello, [.bytes(.init(name)), .right(port.sendRight)])
    _ = try home.request(hello, timeout: .seconds(30))
    // A stop that came while the request ran its own passes has ended those; the port tells that it has come.
    while home.isValid { try loop.run() }
  }

  private static func answer(_ message: RunLoop.Message, as name: String) throws -> RunLoop.Message? {
    switch message.topic {
    case .countLines?:
      guard let file = message.descriptors.first else { return nil }
      return RunLoop.Message(.countLines, [.bytes(.init("\(try lines(in: file))"))])
    case .report?:
      return RunLoop.Message(.report, [.descriptor(try report(name))])
    case .delegate?:
      // The right came from the supervisor; the answer comes from the other worker, not through the supervisor.
      guard let colleague = message.rights.first, let file = message.descriptors.first else { return nil }
      return try colleague.request(
        RunLoop.Message(.countLines, [.descriptor(file)]), timeout: .seconds(30))
    case .crash?: kill(getpid(), SIGKILL)
    case .hello?, nil: break
    }
    // No answer: who waits for one is told so.
    return nil
  }

  private static func lines(in file: RunLoop.Message.Descriptor) throws -> Int {
    var chunk = [UInt8](repeating: 0, count: 4096)
    var (place, lines) = (0, 0)
    // All have the same open file, and so one place in it: pread(2) does not move it.
    while true {
      let size = pread(file.fileDescriptor, &chunk, chunk.count, off_t(place))
      guard size > 0 else { return lines }
      place += size
      lines += chunk[..<size].count { $0 == UInt8(ascii: "\n") }
    }
  }

  /// The reading end of a pipe that holds the report already.
  private static func report(_ name: String) throws -> RunLoop.Message.Descriptor {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw RunLoopError.system(errno, call: "pipe") }
    let reading = try RunLoop.Message.Descriptor(owning: ends[0])
    let text = Array("\(name) is process \(getpid())".utf8)
    _ = write(ends[1], text, text.count)
    close(ends[1])
    return reading
  }
}

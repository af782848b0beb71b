import ExampleSupport
import Glibc
import RunLoopKit

/// Small programs about ports within a process. Each checks what it prints; the guide is docs/guide/ports.md.
@main enum Ports {
  static func main() {
    StandardOutput.watch()
    Ending.ofErrors {
      try aMessageAndItsAnswer()
      try aRequest()
      try aFullPort()
      try aDescriptorMoves()
      try theEndOfAPort()
      print("all as it should be")
    }
  }

  /// Ends the program where what was said is not so.
  static func expect(_ condition: Bool, _ text: String) {
    print("\(condition ? "yes" : "NO ") \(text)")
    if !condition { Ending.fail("NO \(text)") }
  }

  /// The error that `body` throws.
  static func error(_ body: () throws -> Void) -> RunLoopError? {
    do {
      try body()
      return nil
    } catch {
      return error as? RunLoopError
    }
  }

  /// A thread that does what messages ask it to.
  private final class Worker: RunLoop.PortDelegate, Sendable {
    static let checkIn: UInt32 = 150

    func port(_ port: RunLoop.Port, didReceive message: RunLoop.Message) {
      guard message.id == Worker.checkIn, let reply = message.reply else { return }
      try? reply.send(RunLoop.Message(id: message.id, bytes: "worker here"))
    }
  }

  private static func aMessageAndItsAnswer() throws {
    let worker = Worker()
    let port = RunLoop.Port(delegate: worker)
    let thread = RunLoop.Thread(name: "worker") { loop in try loop.add(port) }
    try thread.start()

    let loop = RunLoop.current
    try loop.assumeOnLoop { local in
      var text = ""
      let answers = try local.port { _, message in
        text = String(decoding: message.bytes ?? "", as: UTF8.self)
        loop.stop()
      }
      try port.sendRight.send(RunLoop.Message(id: Worker.checkIn, [.bytes("hello")], reply: answers.sendRight))
      expect(try loop.run() == .stopped, "the loop has run until the answer came")
      answers.invalidate()
      expect(text == "worker here", "the delegate was called on its loop, and its answer has come")
    }
    thread.stop()
    try thread.join()
    withExtendedLifetime(worker) {}
  }

  private static func aRequest() throws {
    let squares = RunLoop.Port(replying: { _, message in
      message.id < 1000 ? RunLoop.Message(id: message.id * message.id) : nil
    })
    let thread = RunLoop.Thread(name: "squares") { loop in try loop.add(squares) }
    try thread.start()
    let right = squares.sendRight
    // In a mode of its own: nothing else of this loop is called meanwhile.
    let answer = try right.request(RunLoop.Message(id: 12), timeout: .seconds(30), in: "asking")
    expect(answer.id == 144, "a request returns its answer")
    let failure = error { _ = try right.request(RunLoop.Message(id: 5000), in: "asking") }
    expect(failure == .noReply, "who gets no answer is told so")
    thread.stop()
    try thread.join()
  }

  private static func aFullPort() throws {
    let port = RunLoop.Port(queueLimit: 2) { _, _ in }
    for id in 1...2 { try port.sendRight.send(RunLoop.Message(id: UInt32(id))) }
    let right = port.sendRight
    expect(error { try right.trySend(RunLoop.Message()) } == .portFull, "a full port says so")
    let late = error { try right.send(RunLoop.Message(), timeout: .milliseconds(5)) }
    expect(late == .timedOut && port.pendingCount == 2, "a send with a timeout throws if there is no room in time")
  }

  private static func aDescriptorMoves() throws {
    var ends: [Int32] = [-1, -1]
    expect(pipe(&ends) == 0, "a pipe")
    let writing = try RunLoop.Message.Descriptor(owning: ends[1])
    let port = RunLoop.Port { _, message in
      _ = write(message.descriptors[0].fileDescriptor, "from the receiver", 17)
      RunLoop.current.stop()
    }
    try RunLoop.current.add(port)
    try port.sendRight.send(RunLoop.Message([.descriptor(writing)]))
    expect(writing.fileDescriptor == -1, "the sender has it no more")
    try RunLoop.current.run()
    port.invalidate()
    var text = [UInt8](repeating: 0, count: 64)
    expect(read(ends[0], &text, 64) == 17, "the receiver has used it")
    expect(read(ends[0], &text, 64) == 0, "and closed it, by letting go of the message")
    close(ends[0])
  }

  private static func theEndOfAPort() throws {
    var port: RunLoop.Port? = RunLoop.Port { _, _ in }
    let right = port!.sendRight
    right.onInvalidation { print("yes an observer hears of the end") }
    try right.send(RunLoop.Message(id: 1))
    port = nil  // it was in no mode: nobody else holds it
    expect(error { try right.send(RunLoop.Message(id: 2)) } == .portInvalid, "a sender, too")
  }
}
